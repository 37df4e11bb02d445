// Idea: GotoBLAS: packed panels, a 6 x 16 (f64: 6 x 8) tile of Z in twelve vector registers.
// Bound: two FMA a cycle; bf16 is widened to fp32 as it is packed, int8 to 16 bits for vpmaddwd.
// Gains over blocked: every loaded vector of Y is used six times, every value of X for 16 columns.
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::matmul {
namespace {

/// int8 as pairs of 16-bit values: vpmaddwd multiplies them exactly and adds the pair into 32 bits.
/// vpmaddubsw would take twice the values, but it saturates its 16-bit sums: 2 * 128 * 128 does not
/// fit, so it is wrong for some inputs.
struct Int8Engine {
  using X = std::int8_t;
  using Y = std::int8_t;
  using Z = std::int32_t;
  using Xp = std::int16_t;
  using Yp = std::int16_t;
  using V = __m256i;
  using W = __m256i;
  static constexpr int kRows = 6, kVectors = 2, kLanes = 8, kGroup = 2, kChunk = 16;

  static V zero() { return _mm256_setzero_si256(); }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(y));
    w[1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(y + 16));
  }
  static V broadcast(const Xp* x) {
    std::int32_t pair;
    __builtin_memcpy(&pair, x, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static V step(V acc, W y, V x) { return _mm256_add_epi32(acc, _mm256_madd_epi16(x, y)); }
  static void put(Z* z, V acc, bool accumulate, const float*, int) {
    auto* to = reinterpret_cast<__m256i*>(z);
    _mm256_storeu_si256(to, accumulate ? _mm256_add_epi32(acc, _mm256_loadu_si256(to)) : acc);
  }
  static __m256i widen(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void pack_x(const X* x, Xp* out) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), widen(x));
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y + ldy));
    auto* to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b)));
    _mm256_storeu_si256(to + 1, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b)));
  }
};

template <class F, class X, class Y>
using Engine = FloatEngine<F, X, Y, 6, 2>;

}  // namespace

extern const Kernel avx2_packed = {
    .exec_unit = Avx2::kUnit,
    .f64 = Packed<Engine<Avx2::F64, double, double>>::routine(),
    .f32 = Packed<Engine<Avx2::F32, float, float>>::routine(),
    .bf16_f32 = Packed<Engine<Avx2::F32, bf16, bf16>>::routine(),
    .s8_s32 = Packed<Int8Engine>::routine(),
    .bf16_s8 = Packed<Engine<Avx2::F32, bf16, std::int8_t>>::routine()};

}  // namespace kernels::matmul
