// Hopper's warpgroup instructions in thin wrappers (PTX ISA 9.7.15). sm_90a only.
#pragma once

#include <cstdint>

#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda::ptx {

/// Before the first wgmma of a batch and after any access to its registers.
PTX_INLINE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
PTX_INLINE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `N` of the groups committed last are in flight.
template <int N>
PTX_INLINE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/// Ordinary stores to shared memory become visible to wgmma and TMA.
PTX_INLINE void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// The compiler takes D for ready at the instruction: pins the registers before a fence and after a
/// wait.
template <int N>
PTX_INLINE void pin(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// A K-major tile of rows of 128 bytes with the 128-byte swizzle, its base on 1024 bytes; the next
/// 32 bytes of K are at descriptor + 2.
PTX_INLINE std::uint64_t descriptor_k_major_128(std::uint32_t shared) {
  const auto field = [](std::uint64_t x) { return (x & 0x3ffff) >> 4; };
  constexpr std::uint64_t kNext8Rows = 1024, kMode128 = 1;
  return field(shared) | field(16) << 16 | field(kNext8Rows) << 32 | kMode128 << 62;
}

/// Where byte `offset` of such a tile lies: bits 4..6 XOR bits 7..9.
__host__ __device__ constexpr std::uint32_t swizzle_128(std::uint32_t offset) {
  return offset ^ ((offset >> 7 & 7) << 4);
}

/// A 16-bit operand with M or N contiguous: panels of rows (along K) of 128 bytes, each panel
/// `panel` bytes behind the one before; the next 16 of K are at descriptor + 128.
PTX_INLINE std::uint64_t descriptor_mn_major_128(std::uint32_t shared, std::uint32_t panel) {
  const auto field = [](std::uint64_t x) { return (x & 0x3ffff) >> 4; };
  constexpr std::uint64_t kNext8OfK = 1024, kMode128 = 1;
  return field(shared) | field(panel) << 16 | field(kNext8OfK) << 32 | kMode128 << 62;
}

/// Four 8x8 matrices of 16-bit elements to shared memory, the inverse of load_matrix_x4; lane l
/// gives the address of row l % 8 of matrix l / 8.
PTX_INLINE void store_matrix_x4(void* row, const std::uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

template <int N>
PTX_INLINE void pin(int (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

// D[64, N] (+)= A . B over a warpgroup, 32 bytes of K deep, N = twice the registers of D; D is
// overwritten where `accumulate` is 0. Register r of thread t holds row 16 (t / 32) + (t % 32) / 4
// + 8 ((r >> 1) & 1), column 8 (r >> 2) + 2 (t % 4) + (r & 1). In 16 bits B may have N contiguous
// (b_mn_major); other than that K is contiguous in A and B.
// clang-format off
#define REGISTERS_4 "%0, %1, %2, %3"
#define REGISTERS_8 REGISTERS_4 ", %4, %5, %6, %7"
#define REGISTERS_16 TEN() "%10, %11, %12, %13, %14, %15"
#define REGISTERS_32 TEN() TEN(1) TEN(2) "%30, %31"
#define TEN(t)                                                                       \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, " \
  "%" #t "8, %" #t "9, "
#define REGISTERS_64 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define REGISTERS_128                                                                  \
  TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
  "%120, %121, %122, %123, %124, %125, %126, %127"
// clang-format on
#define OUT_4_AT(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define OUT_16_AT(c, i) OUT_4_AT(c, i), OUT_4_AT(c, i + 4), OUT_4_AT(c, i + 8), OUT_4_AT(c, i + 12)
#define OUT_4(c) OUT_4_AT(c, 0)
#define OUT_8(c) OUT_4(c), OUT_4_AT(c, 4)
#define OUT_16(c) OUT_16_AT(c, 0)
#define OUT_32(c) OUT_16(c), OUT_16_AT(c, 16)
#define OUT_64(c) OUT_32(c), OUT_16_AT(c, 32), OUT_16_AT(c, 48)
#define OUT_128(c) \
  OUT_64(c), OUT_16_AT(c, 64), OUT_16_AT(c, 80), OUT_16_AT(c, 96), OUT_16_AT(c, 112)

#define WGMMA(name, n, count, a_at, b_at, p_at, types, Scalar, c, scales)                     \
  PTX_INLINE void name(Scalar(&d)[count], std::uint64_t a, std::uint64_t b, int accumulate) { \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " p_at                                        \
                 ", 0; wgmma.mma_async.sync.aligned.m64n" #n types " {" REGISTERS_##count     \
                 "}, " a_at ", " b_at ", p" scales ";}"                                       \
                 : OUT_##count(c)                                                             \
                 : "l"(a), "l"(b), "r"(accumulate));                                          \
  }
#define WGMMA_128_256(name, types, Scalar, c, scales)                 \
  WGMMA(name, 128, 64, "%64", "%65", "%66", types, Scalar, c, scales) \
  WGMMA(name, 256, 128, "%128", "%129", "%130", types, Scalar, c, scales)

WGMMA_128_256(wgmma_bf16, "k16.f32.bf16.bf16", float, "+f", ", 1, 1, 0, 0")
WGMMA_128_256(wgmma_bf16_b_mn_major, "k16.f32.bf16.bf16", float, "+f", ", 1, 1, 0, 1")
WGMMA_128_256(wgmma_f16, "k16.f32.f16.f16", float, "+f", ", 1, 1, 0, 0")
WGMMA_128_256(wgmma_f16_b_mn_major, "k16.f32.f16.f16", float, "+f", ", 1, 1, 0, 1")
WGMMA_128_256(wgmma_tf32, "k8.f32.tf32.tf32", float, "+f", ", 1, 1")
WGMMA_128_256(wgmma_e4m3, "k32.f32.e4m3.e4m3", float, "+f", ", 1, 1")
WGMMA_128_256(wgmma_s8, "k32.s32.s8.s8", int, "+r", "")

// Few columns of D. With `a_mn_major` A has M contiguous: 64 elements are one panel.
#define WGMMA_8_TO_64(name, types, Scalar, c, scales)                \
  WGMMA(name, 8, 4, "%4", "%5", "%6", types, Scalar, c, scales)      \
  WGMMA(name, 16, 8, "%8", "%9", "%10", types, Scalar, c, scales)    \
  WGMMA(name, 32, 16, "%16", "%17", "%18", types, Scalar, c, scales) \
  WGMMA(name, 64, 32, "%32", "%33", "%34", types, Scalar, c, scales)

WGMMA_8_TO_64(wgmma_bf16_a_mn_major, "k16.f32.bf16.bf16", float, "+f", ", 1, 1, 1, 0")
WGMMA_8_TO_64(wgmma_f16_a_mn_major, "k16.f32.f16.f16", float, "+f", ", 1, 1, 1, 0")
WGMMA_8_TO_64(wgmma_e4m3, "k32.f32.e4m3.e4m3", float, "+f", ", 1, 1")
WGMMA_8_TO_64(wgmma_s8, "k32.s32.s8.s8", int, "+r", "")

// For chains of one tile: always accumulating.
#define WGMMA_CHAIN(name, instruction, Scalar)                              \
  PTX_INLINE void name(Scalar(&d)[128], std::uint64_t a, std::uint64_t b) { \
    instruction(d, a, b, 1);                                                \
  }
WGMMA_CHAIN(wgmma_m64n256k16_bf16, wgmma_bf16, float)
WGMMA_CHAIN(wgmma_m64n256k16_f16, wgmma_f16, float)
WGMMA_CHAIN(wgmma_m64n256k8_tf32, wgmma_tf32, float)
WGMMA_CHAIN(wgmma_m64n256k32_e4m3, wgmma_e4m3, float)
WGMMA_CHAIN(wgmma_m64n256k32_s8, wgmma_s8, int)
#undef WGMMA_CHAIN

// A in registers, 32 bytes of K, which must not change until the product was waited for: register i
// has 4 bytes of row R (+ 8 for odd i) from byte 4 (t % 4) on (+ 16 from i = 2 on), R = 16 (t / 32)
// + (t % 32) / 4. K is contiguous in B.
#define WGMMA_A_REGISTERS(name, n, count, a0, a1, a2, a3, b_at, p_at, types, scales)      \
  PTX_INLINE void name(float(&d)[count], const std::uint32_t(&a)[4], std::uint64_t b,     \
                       int accumulate) {                                                  \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " p_at                                    \
                 ", 0; wgmma.mma_async.sync.aligned.m64n" #n types " {" REGISTERS_##count \
                 "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_at ", p" scales ";}"           \
                 : OUT_##count("+f")                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));  \
  }
WGMMA_A_REGISTERS(wgmma_bf16_a_registers, 128, 64, "%64", "%65", "%66", "%67", "%68", "%69",
                  "k16.f32.bf16.bf16", ", 1, 1, 0")
WGMMA_A_REGISTERS(wgmma_e4m3_a_registers, 64, 32, "%32", "%33", "%34", "%35", "%36", "%37",
                  "k32.f32.e4m3.e4m3", ", 1, 1")
#undef WGMMA_A_REGISTERS
/// Keeps A's registers as they are up to here.
template <int N>
PTX_INLINE void pin(std::uint32_t (&a)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+r"(a[i][0]), "+r"(a[i][1]), "+r"(a[i][2]), "+r"(a[i][3])::"memory");
}

#undef WGMMA_8_TO_64
#undef WGMMA_128_256
#undef WGMMA
#undef OUT_128
#undef OUT_64
#undef OUT_32
#undef OUT_16
#undef OUT_8
#undef OUT_4
#undef OUT_16_AT
#undef OUT_4_AT
#undef REGISTERS_128
#undef REGISTERS_64
#undef REGISTERS_32
#undef REGISTERS_16
#undef REGISTERS_8
#undef REGISTERS_4
#undef TEN

}  // namespace kernels::cuda::ptx
