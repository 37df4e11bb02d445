// Runs CUDA kernels on the host, so that their indexing, masks and reductions are tested without a
// GPU. Force-included before a .cu file whose launches have been rewritten (translate.sh).
//
// A CUDA thread is a fiber; blocks (clusters, where there are any) run one after the other, threads
// of a block in turns, switched at barriers and warp-wide operations. Hopper's asynchronous copies
// and wgmma are in hopper.hpp. What it cannot show: races between barriers, wrong memory order,
// anything of timing, and instructions that only exist as PTX (kernels/cuda here states what each
// wrapper means).
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one after the other
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace emulation {

struct Thread {
  dim3 thread, block;
  int lane, warp;
  int rank;  ///< of its block in the cluster
};
extern Thread* current;
extern dim3 grid_size, block_size;
extern bool backwards;  ///< blocks run from the last along x to the first

/// What a launch throws that a GPU would hang on or end with a fault.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Ends the launch with a Fault.
[[noreturn]] void fail(const std::string& what);

/// Lets the other threads run until `ready`. A launch in which every thread waits, and no
/// asynchronous operation is under way, is a Fault.
void wait_until(const std::function<bool()>& ready);

/// Waits for all threads of the block that have not ended.
void synchronise_block();
/// bar.sync: waits until `threads` threads of the block have come to barrier `id`.
void synchronise_named(int id, int threads);
/// Waits for all threads of the cluster that have not ended.
void synchronise_cluster();

/// This block's dynamic shared memory: at a multiple of 256 KiB and as large as the launch said.
unsigned char* dynamic_shared();
/// That of block `rank` of the cluster, as long as one of its threads runs; else a Fault.
unsigned char* dynamic_shared_of(int rank);
bool block_runs(int rank);
std::size_t dynamic_shared_bytes();
extern std::uintptr_t last_shared_address;  ///< what ptx::shared_address was last asked for

/// Hands in `bytes` of this lane's input and waits for the others of the warp; then `lane_input(l)`
/// is what lane l handed in, until this lane's next warp-wide operation.
void exchange(const void* input, std::size_t bytes);
const void* lane_input(int lane);

template <class T>
T from_lane(int lane) {
  T value;
  std::memcpy(static_cast<void*>(&value), lane_input(lane), sizeof value);
  return value;
}

/// The most dynamic shared memory that a kernel may be launched with: 48 KB until it asks for more.
std::size_t& shared_limit(const void* kernel);

/// Runs or, while a stream captures, records a launch in clusters of `cluster` blocks along x.
void run(dim3 grid, dim3 block, std::size_t dynamic_shared, unsigned cluster,
         std::function<void()> kernel);

/// Copies that a thread has under way, in groups (cp.async).
void copy_later(void* to, const void* from, int valid);
void commit_copies();
void wait_copies(int groups_left);

/// What stands for `kernel<<<grid, block, shared, stream>>>(arguments…)`.
class Launch {
 public:
  Launch(dim3 grid, dim3 block, std::size_t dynamic_shared = 0, cudaStream_t = nullptr)
      : grid_(grid), block_(block), dynamic_shared_(dynamic_shared) {}
  template <class Kernel, class... Arguments>
  void operator()(Kernel kernel, Arguments... arguments) const {
    run(grid_, block_, dynamic_shared_, 1, [=] { kernel(arguments...); });
  }

 private:
  dim3 grid_, block_;
  std::size_t dynamic_shared_;
};

}  // namespace emulation

// The templates that nvcc adds to the runtime's C interface.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
      cluster = c->attrs[i].val.clusterDim.x;
  if (c->dynamicSmemBytes > emulation::shared_limit(reinterpret_cast<const void*>(kernel)))
    return cudaErrorInvalidValue;
  emulation::run(c->gridDim, c->blockDim, c->dynamicSmemBytes, cluster,
                 [=] { kernel(arguments...); });
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value > 227 << 10) return cudaErrorInvalidValue;
  emulation::shared_limit(reinterpret_cast<const void*>(kernel)) = value;
  return cudaSuccess;
}
/// An error where a chip may as well answer 0: asked before the kernel was allowed its memory.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel* kernel,
                                           const cudaLaunchConfig_t* c) {
  if (c->dynamicSmemBytes > emulation::shared_limit(reinterpret_cast<const void*>(kernel)))
    return cudaErrorInvalidValue;
  return *clusters = 3, cudaSuccess;
}

#define threadIdx (::emulation::current->thread)
#define blockIdx (::emulation::current->block)
// No macros: launch settings have members of these names.
inline const dim3& gridDim = emulation::grid_size;
inline const dim3& blockDim = emulation::block_size;

inline void __syncthreads() { emulation::synchronise_block(); }
inline void __threadfence() {}
inline void __trap() { emulation::fail("trap"); }
inline void __syncwarp() {
  const char nothing = 0;
  emulation::exchange(&nothing, sizeof nothing);
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int lanes) {
  emulation::exchange(&value, sizeof value);
  return emulation::from_lane<T>(emulation::current->lane ^ lanes);
}

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  emulation::exchange(&value, sizeof value);
  return emulation::from_lane<T>(lane);
}

inline int __any_sync(unsigned, int mine) {
  emulation::exchange(&mine, sizeof mine);
  int any = 0;
  for (int lane = 0; lane < 32; ++lane) any |= emulation::from_lane<int>(lane) != 0;
  return any;
}

inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  emulation::exchange(&value, sizeof value);
  unsigned sum = 0;
  for (int lane = 0; lane < 32; ++lane) sum += emulation::from_lane<unsigned>(lane);
  return sum;
}

template <class T, class U>
T atomicAdd(T* p, U value) {
  const T before = *p;
  *p = before + static_cast<T>(value);
  return before;
}
inline unsigned atomicInc(unsigned* p, unsigned last) {
  const unsigned before = *p;
  *p = before >= last ? 0 : before + 1;
  return before;
}

inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i)
    sum += static_cast<std::int8_t>(a >> 8 * i) * static_cast<std::int8_t>(b >> 8 * i);
  return sum;
}

template <class T>
T __ldcs(const T* p) {
  return *p;
}

template <class T>
T __ldcg(const T* p) {
  return *p;
}

inline unsigned __float_as_uint(float f) {
  unsigned bits;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
/// Rounded down.
inline float __fadd_rd(float a, float b) {
  const double sum = static_cast<double>(a) + b;  // exact unless exponents lie 29 apart
  const auto nearest = static_cast<float>(sum);
  return nearest > sum ? std::nextafter(nearest, -INFINITY) : nearest;
}

/// Byte i of the result is byte (selector >> 4i & 7) of b:a.
inline float __uint_as_float(unsigned bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
}

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
using std::fma;
inline int min(int a, int b) { return a < b ? a : b; }
