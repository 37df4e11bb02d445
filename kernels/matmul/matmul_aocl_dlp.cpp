// Idea: AOCL-DLP's products as they are found; pack:pre brings the weights into its order before.
// Bound: plain packs inside the call. A peer, not a rung.
#include "kernels/cpu_features.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/peers/aocl.hpp"

namespace kernels::matmul {
namespace {

template <class X, class Y, class Z, auto kGemm>
struct Functions {
  static const peers::AoclGemm<X, Y, Z>& gemm() { return peers::aocl_dlp().*kGemm; }

  static void multiply(const Plan& plan, const X* x, const Y* y, char format, Z* z) {
    const Shape& s = plan.shape;
    peers::aocl_dlp().set_threads(plan.threads);
    gemm().run('r', 'n', 'n', s.m, s.n, s.k, 1, x, s.k, 'n', y, s.n, format, 0, z, s.n, nullptr);
  }
  static void run(const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    multiply(plan, x, y, 'n', z);
  }
  static std::int64_t packed_bytes(const Plan& plan) {
    const auto bytes = gemm().packed_bytes('r', 'n', 'B', plan.shape.k, plan.shape.n, nullptr);
    return static_cast<std::int64_t>(bytes);
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Shape& s = plan.shape;
    gemm().pack('r', 'n', 'B', y, static_cast<Y*>(packed), s.k, s.n, s.n, nullptr);
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float*, Z* z) {
    multiply(plan, x, static_cast<const Y*>(packed), 'r', z);
  }
  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run, .packed_bytes = packed_bytes, .pack = pack, .run_packed = run_packed};
  }
};

/// Where it lacks instructions it says so on stdout and leaves Z as it is.
bool offers(std::string_view dtype, const Shape&, int) {
  const auto& features = cpu_features();
  return dtype == "s8" || dtype == "u8xs8" ? features.avx512_vnni : features.avx2;
}

using peers::AoclDlp;
using std::int32_t, std::int8_t, std::uint8_t;

}  // namespace

extern const Kernel aocl_dlp = {
    .exec_unit = "",
    .f32 = Functions<float, float, float, &AoclDlp::f32>::routine(),
    .bf16_f32 = Functions<bf16, bf16, float, &AoclDlp::bf16_f32>::routine(),
    .s8_s32 = Functions<int8_t, int8_t, int32_t, &AoclDlp::s8_s32>::routine(),
    .u8_s8 = Functions<uint8_t, int8_t, int32_t, &AoclDlp::u8_s8>::routine(),
    .bf16_roof = cpu_features().avx512_bf16 ? "bf16" : "f32",
    .label = [] { return peers::aocl_dlp().label; },
    .offers = offers};

}  // namespace kernels::matmul
