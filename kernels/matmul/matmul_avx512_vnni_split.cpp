// Idea: bf16 activations times int8 weights by vpdpbusd, without widening the weights: a row of X
// in units of a power of two has 15 bits, which are two bytes, and the sums of both are added up.
// Bound: the DRAM read roof for few rows; then half the vpdpbusd roof.
// Gains over avx512_bf16_bytes, weights packed before, cold, 4096 x 4096, four cores of Zen 4: M =
// 1 1.08, 4 1.13, 8 1.24, 16 1.36, 32 1.32, 256 1.24 times as fast; over avx512_bf16_packed, whose
// weights are widened as they are packed, 1.03 at 1024 and 2048 cubed on one core.
#include "kernels/matmul/matmul_avx512_units.hpp"
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::matmul {
namespace {

/// Of a panel of X, rows of high bytes and of low ones take turns, 256 high + low; its head has
/// what their sums start from, as Int8Vnni's, and then the rows' units. A block of K has units of
/// its own.
struct Int8Split : Int8Vnni<std::int8_t> {
  using X = bf16;
  using Z = float;
  static constexpr int kRows = 7, kParts = 2, kUnits = 64, kHeader = 128;

  static __m512 join(const Xp* header, std::int64_t row, V high, V low) {
    const __m512 both =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(256), _mm512_cvtepi32_ps(low));
    return _mm512_mul_ps(both, _mm512_set1_ps(unit(header, row)));
  }
  static void put(Z* z, __m512 sum, bool accumulate, const float* scales, int column) {
    FloatAvx512<Avx512::F32, float, float>::put(z, sum, accumulate, scales, column);
  }
  static void open_row(Xp* header, std::int64_t row, const X* x, std::int64_t n) {
    const float unit = unit_of(x, n);
    __builtin_memcpy(header + kUnits + row * 4, &unit, sizeof unit);
  }
  static void pack_x(const X* x, Xp* out, const Xp* header, std::int64_t row) {
    const float inverse = 1 / unit(header, row);
    for (int i = 0; i < kChunk; i += 32) split(in_units(x + i, inverse), out + i, out + kChunk + i);
  }

 private:
  static float unit(const Xp* header, std::int64_t row) {
    float unit;
    __builtin_memcpy(&unit, header + kUnits + row * 4, sizeof unit);
    return unit;
  }
};

}  // namespace

extern const Kernel avx512_vnni_split = {.exec_unit = Avx512Vnni::kUnit,
                                         .bf16_s8 = Packed<Int8Split>::routine(),
                                         .bf16_s8_roof = "bf16xs8",
                                         .bf16_s8_rounding = kUnitRounding};

}  // namespace kernels::matmul
