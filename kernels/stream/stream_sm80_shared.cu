// Idea: one block an SM reads its shared memory again and again, 16 bytes a lane without conflicts.
// Bound: 32 banks of 4 bytes: 128 bytes a clock and SM.
// Gains: the roof of shared memory and L1, which share their data path.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/stream/stream_gpu.hpp"

namespace kernels::stream {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 1024;
constexpr int kVectors = kSmSlice / 16;
constexpr int kLoads = kVectors / kThreads;  ///< of a thread and pass
static_assert(kVectors % kThreads == 0, "every pass reads every byte once");

__global__ void __launch_bounds__(kThreads, 1) shared_read_kernel(GpuArguments a) {
  __shared__ uint4 slice[kVectors];
  const auto* from = reinterpret_cast<const uint4*>(a.a) + std::int64_t{blockIdx.x} * kVectors;
  for (int i = threadIdx.x; i < kVectors; i += kThreads) slice[i] = from[i];
  __syncthreads();
  std::uint32_t mine = ptx::shared_address(slice + threadIdx.x);
  const auto hop = static_cast<std::uint32_t>(a.hop);
  std::uint32_t sum = 0;
#pragma unroll 4
  for (std::int64_t pass = 0; pass < a.repeats; ++pass) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint4 v = ptx::load_shared(mine + i * kThreads * 16);
      sum += v.x + v.y + v.z + v.w;
    }
    mine += hop;
  }
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(a.sum, sum);
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  shared_read_kernel<<<a.sms, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("shared_read");
}

}  // namespace

extern const GpuKernel sm80_shared = {.read = launch, .per_sm = true};

}  // namespace kernels::stream
