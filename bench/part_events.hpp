// Times the parts of a program on a GPU: an event at the end of every stretch. An event takes time
// of its own (a microsecond is expected, none has been measured), so that these are calls apart
// from those of the whole.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/cuda/problem.hpp"

namespace bench {

class PartEvents {
 public:
  PartEvents(kernels::cuda::GpuProblem& problem, cudaStream_t stream)
      : problem_(problem), stream_(stream) {
    problem_.watch([this](std::size_t part) { mark(part); });
  }
  ~PartEvents() { problem_.watch({}); }
  PartEvents(const PartEvents&) = delete;
  PartEvents& operator=(const PartEvents&) = delete;

  /// One call. The first one makes the events.
  void enqueue(std::int64_t call) {
    ends_.clear();
    mark(0);  // where the first stretch begins
    problem_.enqueue(call, 1, stream_);
  }

  /// Adds the last call's seconds by part. After the stream was waited for.
  void add_to(std::vector<double>& seconds) const {
    for (std::size_t i = 1; i < ends_.size(); ++i) {
      float milliseconds = 0;
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_[i - 1].get(), events_[i].get()));
      seconds[ends_[i]] += 1e-3 * milliseconds;
    }
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy>;

  void mark(std::size_t part) {
    if (ends_.size() == events_.size()) {
      cudaEvent_t event = nullptr;
      CUDA_CHECK(cudaEventCreate(&event));
      events_.emplace_back(event);
    }
    CUDA_CHECK(cudaEventRecord(events_[ends_.size()].get(), stream_));
    ends_.push_back(part);
  }

  kernels::cuda::GpuProblem& problem_;
  cudaStream_t stream_;
  std::vector<Event> events_;
  std::vector<std::size_t> ends_;  ///< the part that ends at each event but the first
};

}  // namespace bench
