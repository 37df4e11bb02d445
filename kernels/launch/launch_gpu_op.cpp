// The launch probe as an operation.
#include "kernels/launch/launch_gpu.hpp"

#include <cstring>

#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/registry.hpp"

namespace kernels::launch {
namespace {

class GpuLaunches final : public cuda::GpuProblem {
 public:
  explicit GpuLaunches(const GpuKernel& kernel)
      : kernel_(kernel), counter_(cuda::allocate_zeroed(sizeof(unsigned long long))) {
    if (kernel.open != nullptr) state_ = kernel.open(counter());
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    kernel_.run(state_.get(), counter(), count, stream);
    return count;
  }

  std::string verify() override {
    constexpr unsigned long long kCalls = 77;
    const auto before = ran();
    run(0, kCalls);
    const auto after = ran();
    if (after - before == kCalls) return {};
    return "launch: " + std::to_string(after - before) + " of " + std::to_string(kCalls) +
           " kernels ran";
  }

  Cost cost() const override { return {}; }
  LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return kUnknown; }
  std::pair<std::string, std::string> exec_unit() const override { return {"cuda-core", "u64"}; }

 private:
  unsigned long long* counter() const { return cuda::as<unsigned long long>(counter_); }
  unsigned long long ran() const {
    unsigned long long n = 0;
    const auto bytes = cuda::to_host(counter_.get(), sizeof n);
    std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }

  const GpuKernel& kernel_;
  cuda::Memory counter_;
  std::shared_ptr<void> state_;
};

bool supports(const KernelInfo&, const Case& c) { return c.dtype == "u64" && c.keys.empty(); }

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case&, const Caches&) {
  return std::make_unique<GpuLaunches>(*static_cast<const GpuKernel*>(info.table));
}

std::vector<Case> cases(const Caches&) { return {{.dtype = "u64", .quick = true}}; }
std::vector<Case> test_cases() { return cases({}); }

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind};

}  // namespace kernels::launch
