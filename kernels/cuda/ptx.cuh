// PTX in thin wrappers, one instruction each. The only place with inline assembly for sm_80 and
// later; Hopper's own instructions are in wgmma.cuh.
#pragma once

#include <cstdint>

namespace kernels::cuda::ptx {

#define PTX_INLINE __device__ __forceinline__

PTX_INLINE unsigned long long global_timer_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

PTX_INLINE unsigned sm_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

PTX_INLINE std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// The block's dynamic shared memory as a T. wgmma's and TMA's 128-byte swizzle XORs absolute
/// addresses: a tile must start on 1024 bytes, which the launch gives but nothing promises.
template <class T>
PTX_INLINE T& dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_bytes[];
  if (shared_address(dynamic_shared_bytes) % 1024 != 0) __trap();
  return *reinterpret_cast<T*>(dynamic_shared_bytes);
}

/// 16 bytes of data that is read once: the first to leave L1 again.
PTX_INLINE uint4 load_streaming(const void* p) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

/// The same, or zeros, with nothing read, where `taken` is false. The registers are written by this
/// alone: nothing waits for the load before they are used.
PTX_INLINE uint4 load_streaming_if(const void* p, bool taken) {
  uint4 v;
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0;"
      "mov.b32 %3, 0; @p ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];}"
      : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
      : "l"(p), "r"(static_cast<int>(taken)));
  return v;
}

/// 16 bytes from L2, never from L1.
PTX_INLINE uint4 load_past_l1(const void* p) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

/// 16 bytes through L1, which keeps them. ptxas folds loads of one address, volatile or not.
PTX_INLINE uint4 load_cached(const void* p) {
  uint4 v;
  asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

/// 16 bytes of shared memory. ptxas folds loads of one address, volatile or not.
PTX_INLINE uint4 load_shared(std::uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address));
  return v;
}

PTX_INLINE std::uint32_t load_shared_word(std::uint32_t address) {
  std::uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
  return v;
}

/// A pointer that lies in global memory.
PTX_INLINE const void* load_pointer(const void* p) {
  std::uint64_t v;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(p));
  return reinterpret_cast<const void*>(v);
}

/// 16 bytes to global memory in one store, which the compiler may else take apart.
PTX_INLINE void store_16(float* p, float4 v) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

/// Copies 16 bytes to shared memory, of which `valid` (0..16) come from `global` and the rest is
/// zero. Both addresses 16-byte aligned; with valid = 0 nothing is read.
PTX_INLINE void copy_async_16(void* shared, const void* global, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(valid)
               : "memory");
}
/// The same of all 16.
PTX_INLINE void copy_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
               "l"(global)
               : "memory");
}
PTX_INLINE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `N` of the groups committed last are in flight.
template <int N>
PTX_INLINE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
PTX_INLINE void load_matrix_x4(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
PTX_INLINE void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  load_matrix_x4(r, shared_address(row));
}
/// The same, each matrix transposed.
PTX_INLINE void load_matrix_x4_transposed(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
PTX_INLINE void load_matrix_x4_transposed(std::uint32_t (&r)[4], const void* row) {
  load_matrix_x4_transposed(r, shared_address(row));
}

// Tensor cores, D += A . B, m16n8. k: 16 (bf16, f16), 8 (tf32), 32 (s8, e4m3). With g = lane / 4
// and q = lane % 4, D holds (g, 2q), (g, 2q+1), (g+8, 2q), (g+8, 2q+1); A's registers are rows g,
// g+8, g, g+8, the last two half a k on; B's are column g, lower and upper half of k (PTX
// ISA 9.7.14.5).
#define MMA_M16N8(name, shape_and_types, scalar, constraint)                                    \
  PTX_INLINE void name(scalar(&d)[4], const std::uint32_t(&a)[4], const std::uint32_t(&b)[2]) { \
    asm volatile("mma.sync.aligned." shape_and_types                                            \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"             \
                 : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),            \
                   "+" constraint(d[3])                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));           \
  }
MMA_M16N8(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
MMA_M16N8(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
MMA_M16N8(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
MMA_M16N8(mma_s8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")
MMA_M16N8(mma_u8s8, "m16n8k32.row.col.s32.u8.s8.s32", int, "r")
/// sm_89 and later. Not on Hopper: there nvcc makes conversions and two products in fp16 of it.
MMA_M16N8(mma_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")
#undef MMA_M16N8

/// m8n8k4 in fp64: a at (g, q), b at (q, g), d at (g, 2q) and (g, 2q+1).
PTX_INLINE void mma_f64(double (&d)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a), "d"(b));
}

/// Computes `x` here: nvcc may else compute it anew wherever it is used, in a loop as well.
PTX_INLINE void compute_here(std::uint32_t& x) { asm volatile("" : "+r"(x)); }

/// Four e4m3 as two pairs of fp16, exactly. sm_89 and later.
PTX_INLINE void widen_e4m3(std::uint32_t (&pairs)[2], std::uint32_t four) {
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %2;"
      "cvt.rn.f16x2.e4m3x2 %0, low; cvt.rn.f16x2.e4m3x2 %1, high;}"
      : "=r"(pairs[0]), "=r"(pairs[1])
      : "r"(four));
}

/// 2^x, relative error at most 2^-22; results below 2^-126 are zero.
PTX_INLINE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// d = d * a + b on two elements at once, each rounded once.
PTX_INLINE void fma_f16x2(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
  asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(d) : "r"(a), "r"(b));
}
PTX_INLINE void fma_bf16x2(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
  asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(d) : "r"(a), "r"(b));
}

/// m16n8k16 in fp64, sm_90 and later: one element a register, where fragments.hpp has those of 32
/// bits.
PTX_INLINE void mma_f64_k16(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

}  // namespace kernels::cuda::ptx
