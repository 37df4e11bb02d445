// The wrappers of kernels/cuda/ptx.cuh in plain C++: what each instruction does, by the PTX ISA.
#pragma once

#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/fragments.hpp"
#include "kernels/cuda/rounding.hpp"
#include "kernels/dtype.hpp"

namespace kernels::cuda::ptx {

inline std::uint64_t shared_window = 0;  ///< upper half of the addresses of shared objects

inline std::uint32_t shared_address(const void* p) {
  const auto address = reinterpret_cast<std::uint64_t>(p);
  shared_window = address >> 32 << 32;
  emulation::last_shared_address = address;
  return static_cast<std::uint32_t>(address);
}

template <class T>
T& dynamic_shared() {
  if (sizeof(T) > emulation::dynamic_shared_bytes())
    emulation::fail("launched with less shared memory than the kernel uses");
  return *reinterpret_cast<T*>(emulation::dynamic_shared());
}

inline uint4 load_streaming(const void* p) {
  uint4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline uint4 load_streaming_if(const void* p, bool taken) {
  return taken ? load_streaming(p) : uint4{0, 0, 0, 0};
}

inline uint4 load_past_l1(const void* p) { return load_streaming(p); }
inline uint4 load_cached(const void* p) { return load_streaming(p); }

inline uint4 load_shared(std::uint32_t address) {
  return *reinterpret_cast<const uint4*>(shared_window | address);
}

inline std::uint32_t load_shared_word(std::uint32_t address) {
  return *reinterpret_cast<const std::uint32_t*>(shared_window | address);
}

inline const void* load_pointer(const void* p) { return *static_cast<const void* const*>(p); }

inline void store_16(float* p, float4 v) { std::memcpy(p, &v, sizeof v); }

inline void copy_async_16(void* shared, const void* global, int valid) {
  emulation::copy_later(shared, global, valid);
}
inline void copy_async_16(void* shared, const void* global) {
  emulation::copy_later(shared, global, 16);
}
inline void copy_async_commit() { emulation::commit_copies(); }
template <int N>
void copy_async_wait() {
  emulation::wait_copies(N);
}

inline void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  emulation::exchange(&row, sizeof row);
  const int lane = emulation::current->lane;
  for (int m = 0; m < 4; ++m) {
    const auto* from = emulation::from_lane<const unsigned char*>(8 * m + lane / 4);
    std::memcpy(&r[m], from + 4 * (lane % 4), 4);
  }
}
inline void load_matrix_x4_transposed(std::uint32_t (&r)[4], const void* row) {
  emulation::exchange(&row, sizeof row);
  const int lane = emulation::current->lane;
  for (int m = 0; m < 4; ++m) {
    std::uint16_t pair[2];
    for (int e = 0; e < 2; ++e) {
      const auto* from = emulation::from_lane<const unsigned char*>(8 * m + 2 * (lane % 4) + e);
      std::memcpy(&pair[e], from + 2 * (lane / 4), 2);
    }
    std::memcpy(&r[m], pair, 4);
  }
}

inline void load_matrix_x4(std::uint32_t (&r)[4], std::uint32_t row) {
  load_matrix_x4(r, reinterpret_cast<const void*>(shared_window | row));
}
inline void load_matrix_x4_transposed(std::uint32_t (&r)[4], std::uint32_t row) {
  load_matrix_x4_transposed(r, reinterpret_cast<const void*>(shared_window | row));
}

template <class Element>
double widened(Element x) {
  return static_cast<double>(x);
}
inline double widened(__half x) { return __half2float(x); }
inline double widened(__nv_fp8_e4m3 x) { return static_cast<float>(x); }
/// The tensor core looks at the upper 19 bits of a tf32 operand.
inline double widened(float x) {
  std::uint32_t u;
  std::memcpy(&u, &x, 4);
  u &= 0xffffe000u;
  std::memcpy(&x, &u, 4);
  return x;
}

/// mma.sync m16n8: each lane reads its rows of A and columns of B from the lanes that hold them.
template <class Element, class Right = Element, class Scalar>
void mma_m16n8(Scalar (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  constexpr int kPer = 4 / sizeof(Element), kHalf = 4 * kPer;
  struct Operands {
    std::uint32_t a[4], b[2];
  } mine;
  std::memcpy(mine.a, a, sizeof a);
  std::memcpy(mine.b, b, sizeof b);
  emulation::exchange(&mine, sizeof mine);
  const auto element = [](auto e, int lane, std::size_t offset, int i) {
    std::memcpy(
        &e, static_cast<const unsigned char*>(emulation::lane_input(lane)) + offset + i * sizeof e,
        sizeof e);
    return widened(e);
  };
  for (int r = 0; r < 4; ++r) {
    const At at = d_at(emulation::current->lane, r);
    double sum = 0;
    for (int k = 0; k < 2 * kHalf; ++k) {
      const int quad = k % kHalf / kPer;
      sum +=
          element(Element{}, at.row % 8 * 4 + quad,
                  offsetof(Operands, a) + 4 * (at.row / 8 + 2 * (k / kHalf)), k % kPer) *
          element(Right{}, at.column * 4 + quad, offsetof(Operands, b) + 4 * (k / kHalf), k % kPer);
    }
    d[r] = static_cast<Scalar>(static_cast<double>(d[r]) + sum);
  }
}

inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<bf16>(d, a, b);
}
inline void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<__half>(d, a, b);
}
inline void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<float>(d, a, b);
}
inline void mma_s8(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<std::int8_t>(d, a, b);
}
inline void mma_u8s8(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<std::uint8_t, std::int8_t>(d, a, b);
}
inline void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  mma_m16n8<__nv_fp8_e4m3>(d, a, b);
}

inline void compute_here(std::uint32_t&) {}

inline void widen_e4m3(std::uint32_t (&pairs)[2], std::uint32_t four) {
  for (int i = 0; i < 2; ++i) {
    const __half2_raw both =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four >> 16 * i), __NV_E4M3);
    pairs[i] = both.x | static_cast<std::uint32_t>(both.y) << 16;
  }
}
inline float exp2_approx(float x) {
  const float y = std::exp2(x);
  return y < 0x1p-126f ? 0.0f : y;
}

template <class T>
void fma_x2(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
  T x[2], y[2], z[2];
  std::memcpy(static_cast<void*>(x), &d, 4);
  std::memcpy(static_cast<void*>(y), &a, 4);
  std::memcpy(static_cast<void*>(z), &b, 4);
  for (int i = 0; i < 2; ++i)
    x[i] = static_cast<T>(round_to_odd(widened(x[i]) * widened(y[i]) + widened(z[i])));
  std::memcpy(&d, x, 4);
}
inline void fma_f16x2(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
  fma_x2<__half>(d, a, b);
}
inline void fma_bf16x2(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
  fma_x2<bf16>(d, a, b);
}

inline void mma_f64(double (&d)[2], double a, double b) {
  const std::pair<double, double> mine(a, b);
  emulation::exchange(&mine, sizeof mine);
  const int lane = emulation::current->lane;
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 4; ++k)
      d[r] += emulation::from_lane<std::pair<double, double>>(lane / 4 * 4 + k).first *
              emulation::from_lane<std::pair<double, double>>((2 * (lane % 4) + r) * 4 + k).second;
}

/// In four steps of K, as the lanes exchange no more at a time.
inline void mma_f64_k16(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
  struct Operands {
    double a[2], b;
  };
  for (int step = 0; step < 4; ++step) {
    const Operands mine = {{a[2 * step], a[2 * step + 1]}, b[step]};
    emulation::exchange(&mine, sizeof mine);
    for (int r = 0; r < 4; ++r) {
      const At at = d_at(emulation::current->lane, r);
      for (int k = 0; k < 4; ++k)
        d[r] += emulation::from_lane<Operands>(at.row % 8 * 4 + k).a[at.row / 8] *
                emulation::from_lane<Operands>(at.column * 4 + k).b;
    }
  }
}

}  // namespace kernels::cuda::ptx
