// The wrappers of kernels/cuda/wgmma.cuh by the emulator's wgmma.
#pragma once

#include "hopper.hpp"
#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda::ptx {

inline void wgmma_fence() { emulation::wgmma_fence(); }
inline void wgmma_commit() { emulation::wgmma_commit(); }
template <int N>
void wgmma_wait() {
  emulation::wgmma_wait(N);
}
inline void fence_async_proxy() {}

inline void store_matrix_x4(void* row, const std::uint32_t (&r)[4]) {
  emulation::exchange(&row, sizeof row);
  const int lane = emulation::current->lane;
  for (int m = 0; m < 4; ++m)
    std::memcpy(emulation::from_lane<unsigned char*>(8 * m + lane / 4) + 4 * (lane % 4), &r[m], 4);
}

template <class Scalar, int N>
void pin(Scalar (&)[N]) {}

inline std::uint64_t descriptor(std::uint32_t shared, std::uint64_t leading, std::uint64_t stride,
                                std::uint64_t mode) {
  const auto field = [](std::uint64_t x) { return (x & 0x3ffff) >> 4; };
  return field(shared) | field(leading) << 16 | field(stride) << 32 | mode << 62;
}
inline std::uint64_t descriptor_k_major_128(std::uint32_t shared) {
  return descriptor(shared, 16, 1024, 1);
}
inline std::uint64_t descriptor_mn_major_128(std::uint32_t shared, std::uint32_t panel) {
  return descriptor(shared, panel, 1024, 1);
}
constexpr std::uint32_t swizzle_128(std::uint32_t offset) {
  return offset ^ ((offset >> 7 & 7) << 4);
}

#define WGMMA(name, type, Scalar, b_mn_major) WGMMA_BOTH(name, type, Scalar, false, b_mn_major)
#define WGMMA_BOTH(name, type, Scalar, a_mn_major, b_mn_major)                     \
  template <int N>                                                                 \
  void name(Scalar(&d)[N], std::uint64_t a, std::uint64_t b, int accumulate) {     \
    emulation::wgmma(emulation::Element::type, 2 * N, d, {a, a_mn_major}, nullptr, \
                     {b, b_mn_major}, accumulate != 0);                            \
  }
WGMMA(wgmma_bf16, bf16, float, false)
WGMMA(wgmma_bf16_b_mn_major, bf16, float, true)
WGMMA(wgmma_f16, f16, float, false)
WGMMA(wgmma_f16_b_mn_major, f16, float, true)
WGMMA(wgmma_tf32, tf32, float, false)
WGMMA(wgmma_e4m3, e4m3, float, false)
WGMMA(wgmma_s8, s8, int, false)
WGMMA_BOTH(wgmma_bf16_a_mn_major, bf16, float, true, false)
WGMMA_BOTH(wgmma_f16_a_mn_major, f16, float, true, false)
#undef WGMMA_BOTH
#undef WGMMA

inline void wgmma_bf16_a_registers(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b,
                                   int accumulate) {
  emulation::wgmma(emulation::Element::bf16, 128, d, {}, a, {b, false}, accumulate != 0);
}
inline void wgmma_e4m3_a_registers(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b,
                                   int accumulate) {
  emulation::wgmma(emulation::Element::e4m3, 64, d, {}, a, {b, false}, accumulate != 0);
}
template <int N>
void pin(std::uint32_t (&)[N][4]) {}

#define WGMMA_CHAIN(name, instruction, Scalar) \
  inline void name(Scalar(&d)[128], std::uint64_t a, std::uint64_t b) { instruction(d, a, b, 1); }
WGMMA_CHAIN(wgmma_m64n256k16_bf16, wgmma_bf16, float)
WGMMA_CHAIN(wgmma_m64n256k16_f16, wgmma_f16, float)
WGMMA_CHAIN(wgmma_m64n256k8_tf32, wgmma_tf32, float)
WGMMA_CHAIN(wgmma_m64n256k32_e4m3, wgmma_e4m3, float)
WGMMA_CHAIN(wgmma_m64n256k32_s8, wgmma_s8, int)
#undef WGMMA_CHAIN

}  // namespace kernels::cuda::ptx
