// Runs CUDA kernels on the host, so that their indexing, masks and reductions are tested without a
// GPU. Force-included before a .cu file whose launches have been rewritten (translate.sh).
//
// A CUDA thread is a fiber; blocks run one after the other, threads of a block in turns, switched
// at barriers and warp-wide operations. What it cannot show: races between barriers, wrong memory
// order, anything of timing, and instructions that only exist as PTX (ptx.cuh here states what each
// wrapper means).
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one after the other
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace emulation {

struct Thread {
  dim3 thread, block;
  int lane, warp;
};
extern Thread* current;
extern dim3 grid_size, block_size;

/// Waits for all threads of the block that have not ended.
void synchronise_block();

/// Hands in `bytes` of this lane's input and waits for the others of the warp; then `lane_input(l)`
/// is what lane l handed in, until this lane's next warp-wide operation.
void exchange(const void* input, std::size_t bytes);
const void* lane_input(int lane);

template <class T>
T from_lane(int lane) {
  T value;
  std::memcpy(&value, lane_input(lane), sizeof value);
  return value;
}

/// Runs or, while a stream captures, records a launch.
void run(dim3 grid, dim3 block, std::function<void()> kernel);

/// Copies that a thread has under way, in groups (cp.async).
void copy_later(void* to, const void* from, int valid);
void commit_copies();
void wait_copies(int groups_left);

/// What stands for `kernel<<<grid, block, shared, stream>>>(arguments…)`.
class Launch {
 public:
  Launch(dim3 grid, dim3 block, std::size_t = 0, cudaStream_t = nullptr)
      : grid_(grid), block_(block) {}
  template <class Kernel, class... Arguments>
  void operator()(Kernel kernel, Arguments... arguments) const {
    run(grid_, block_, [=] { kernel(arguments...); });
  }

 private:
  dim3 grid_, block_;
};

}  // namespace emulation

#define threadIdx (::emulation::current->thread)
#define blockIdx (::emulation::current->block)
#define gridDim (::emulation::grid_size)
#define blockDim (::emulation::block_size)

inline void __syncthreads() { emulation::synchronise_block(); }
inline void __threadfence() {}
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

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
using std::fma;
inline int min(int a, int b) { return a < b ? a : b; }
