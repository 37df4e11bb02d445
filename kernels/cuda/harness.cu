#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/harness.hpp"
#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda {
namespace {

__global__ void gate_kernel(volatile int* flags, unsigned long long timeout_ns) {
  const unsigned long long start = ptx::global_timer_ns();
  while (flags[0] == 0) {
    if (ptx::global_timer_ns() - start > timeout_ns) {
      flags[1] = 1;
      return;
    }
  }
}

/// One block an SM by the scheduler's breadth-first placement; where that fails, an SM is missing
/// from the stamps and left out.
__global__ void stamp_kernel(ClockStamp* stamps, unsigned sms) {
  const unsigned sm = ptx::sm_id();
  if (sm < sms) stamps[sm] = {clock64(), ptx::global_timer_ns()};
}

constexpr int kMaxSmId = 1024;  ///< SM numbers can exceed the count where some are fused off

}  // namespace

Gate::Gate() : flags_(allocate_pinned(2 * sizeof(int))) {}

void Gate::close(cudaStream_t stream) {
  volatile int* flags = as<int>(flags_);
  flags[0] = 0;
  flags[1] = 0;
  gate_kernel<<<1, 1, 0, stream>>>(as<int>(flags_),
                                   static_cast<unsigned long long>(kTimeoutSeconds * 1e9));
  CUDA_CHECK_LAUNCH("gate");
}

void Gate::open() { *static_cast<volatile int*>(flags_.get()) = 1; }

bool Gate::timed_out() const { return as<volatile int>(flags_)[1] != 0; }

ClockMeter::ClockMeter(int sms)
    : sms_(sms), stamps_(allocate_pinned(2 * kMaxSmId * sizeof(ClockStamp))) {}

void ClockMeter::stamp_start(cudaStream_t stream) {
  // Both halves are cleared here: the stream is idle whenever a measurement begins.
  std::fill_n(as<ClockStamp>(stamps_), 2 * kMaxSmId, ClockStamp{0, 0});
  stamp_kernel<<<sms_, 1, 0, stream>>>(as<ClockStamp>(stamps_), kMaxSmId);
  CUDA_CHECK_LAUNCH("clock stamp");
}

void ClockMeter::stamp_stop(cudaStream_t stream) {
  stamp_kernel<<<sms_, 1, 0, stream>>>(as<ClockStamp>(stamps_) + kMaxSmId, kMaxSmId);
  CUDA_CHECK_LAUNCH("clock stamp");
}

double ClockMeter::hz() const {
  const ClockStamp* p = as<ClockStamp>(stamps_);
  return clock_between({p, p + kMaxSmId}, {p + kMaxSmId, p + 2 * kMaxSmId});
}

double clock_between(const std::vector<ClockStamp>& start, const std::vector<ClockStamp>& stop) {
  std::vector<double> hz;
  for (std::size_t i = 0; i < start.size() && i < stop.size(); ++i) {
    if (start[i].nanoseconds == 0 || stop[i].nanoseconds == 0) continue;
    const double ns = static_cast<double>(stop[i].nanoseconds - start[i].nanoseconds);
    if (stop[i].nanoseconds > start[i].nanoseconds && ns >= 1e5)
      hz.push_back(static_cast<double>(stop[i].cycles - start[i].cycles) / ns * 1e9);
  }
  if (hz.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::nth_element(hz.begin(), hz.begin() + hz.size() / 2, hz.end());
  return hz[hz.size() / 2];
}

}  // namespace kernels::cuda
