// Idea: one block an SM reads the same slice of global memory again and again, 16 bytes a lane; L1
// keeps it.
// Bound: L1's data path: 128 bytes a clock and SM, as shared memory's, if the tags keep up.
// Gains over shared: nothing; it says what L1 hits cost beside it.
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

__global__ void __launch_bounds__(kThreads, 1) l1_read_kernel(GpuArguments a) {
  const auto* mine = reinterpret_cast<const uint4*>(a.a) + std::int64_t{blockIdx.x} * kVectors;
  mine += threadIdx.x;
  std::uint32_t sum = 0;
#pragma unroll 4
  for (std::int64_t pass = 0; pass < a.repeats; ++pass) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint4 v = ptx::load_cached(mine + i * kThreads);
      sum += v.x + v.y + v.z + v.w;
    }
    mine += a.hop;
  }
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(a.sum, sum);
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  l1_read_kernel<<<a.sms, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("l1_read");
}

}  // namespace

extern const GpuKernel sm80_l1 = {.read = launch, .per_sm = true};

}  // namespace kernels::stream
