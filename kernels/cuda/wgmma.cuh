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

/// D[64, 256] += A[64, 16] . B[16, 256] over a warpgroup, A and B in shared memory. Register r of
/// thread t holds row 16 (t / 32) + (t % 32) / 4 + 8 ((r >> 1) & 1), column 8 (r >> 2) + 2 (t % 4)
/// + (r & 1).
PTX_INLINE void wgmma_m64n256k16_bf16(float (&d)[128], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127"
      "}, %128, %129, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
        "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
        "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
        "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
        "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
        "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b));
}

// The other element types, with the same tile and the same map of D. K is 32 bytes long; tf32, fp8
// and int8 know K-major tiles only, so they take no word on that.
#define WGMMA_D_NAMES                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
  "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, " \
  "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, " \
  "%87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "   \
  "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, "  \
  "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127 "
#define WGMMA_D(c)                                                                              \
  "+" c(d[0]), "+" c(d[1]), "+" c(d[2]), "+" c(d[3]), "+" c(d[4]), "+" c(d[5]), "+" c(d[6]),    \
      "+" c(d[7]), "+" c(d[8]), "+" c(d[9]), "+" c(d[10]), "+" c(d[11]), "+" c(d[12]),          \
      "+" c(d[13]), "+" c(d[14]), "+" c(d[15]), "+" c(d[16]), "+" c(d[17]), "+" c(d[18]),       \
      "+" c(d[19]), "+" c(d[20]), "+" c(d[21]), "+" c(d[22]), "+" c(d[23]), "+" c(d[24]),       \
      "+" c(d[25]), "+" c(d[26]), "+" c(d[27]), "+" c(d[28]), "+" c(d[29]), "+" c(d[30]),       \
      "+" c(d[31]), "+" c(d[32]), "+" c(d[33]), "+" c(d[34]), "+" c(d[35]), "+" c(d[36]),       \
      "+" c(d[37]), "+" c(d[38]), "+" c(d[39]), "+" c(d[40]), "+" c(d[41]), "+" c(d[42]),       \
      "+" c(d[43]), "+" c(d[44]), "+" c(d[45]), "+" c(d[46]), "+" c(d[47]), "+" c(d[48]),       \
      "+" c(d[49]), "+" c(d[50]), "+" c(d[51]), "+" c(d[52]), "+" c(d[53]), "+" c(d[54]),       \
      "+" c(d[55]), "+" c(d[56]), "+" c(d[57]), "+" c(d[58]), "+" c(d[59]), "+" c(d[60]),       \
      "+" c(d[61]), "+" c(d[62]), "+" c(d[63]), "+" c(d[64]), "+" c(d[65]), "+" c(d[66]),       \
      "+" c(d[67]), "+" c(d[68]), "+" c(d[69]), "+" c(d[70]), "+" c(d[71]), "+" c(d[72]),       \
      "+" c(d[73]), "+" c(d[74]), "+" c(d[75]), "+" c(d[76]), "+" c(d[77]), "+" c(d[78]),       \
      "+" c(d[79]), "+" c(d[80]), "+" c(d[81]), "+" c(d[82]), "+" c(d[83]), "+" c(d[84]),       \
      "+" c(d[85]), "+" c(d[86]), "+" c(d[87]), "+" c(d[88]), "+" c(d[89]), "+" c(d[90]),       \
      "+" c(d[91]), "+" c(d[92]), "+" c(d[93]), "+" c(d[94]), "+" c(d[95]), "+" c(d[96]),       \
      "+" c(d[97]), "+" c(d[98]), "+" c(d[99]), "+" c(d[100]), "+" c(d[101]), "+" c(d[102]),    \
      "+" c(d[103]), "+" c(d[104]), "+" c(d[105]), "+" c(d[106]), "+" c(d[107]), "+" c(d[108]), \
      "+" c(d[109]), "+" c(d[110]), "+" c(d[111]), "+" c(d[112]), "+" c(d[113]), "+" c(d[114]), \
      "+" c(d[115]), "+" c(d[116]), "+" c(d[117]), "+" c(d[118]), "+" c(d[119]), "+" c(d[120]), \
      "+" c(d[121]), "+" c(d[122]), "+" c(d[123]), "+" c(d[124]), "+" c(d[125]), "+" c(d[126]), \
      "+" c(d[127])
#define WGMMA_M64N256(name, shape_and_types, scalar, constraint, tail)              \
  PTX_INLINE void name(scalar(&d)[128], std::uint64_t a, std::uint64_t b) {         \
    asm volatile("wgmma.mma_async.sync.aligned." shape_and_types " {" WGMMA_D_NAMES \
                 "}, %128, %129, 1" tail ";"                                        \
                 : WGMMA_D(constraint)                                              \
                 : "l"(a), "l"(b));                                                 \
  }
WGMMA_M64N256(wgmma_m64n256k16_f16, "m64n256k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
WGMMA_M64N256(wgmma_m64n256k8_tf32, "m64n256k8.f32.tf32.tf32", float, "f", ", 1, 1")
WGMMA_M64N256(wgmma_m64n256k32_e4m3, "m64n256k32.f32.e4m3.e4m3", float, "f", ", 1, 1")
WGMMA_M64N256(wgmma_m64n256k32_s8, "m64n256k32.s32.s8.s8", int, "r", "")
#undef WGMMA_M64N256
#undef WGMMA_D
#undef WGMMA_D_NAMES

template <int N>
PTX_INLINE void pin(int (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace kernels::cuda::ptx
