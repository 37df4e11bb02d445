// The compute probe on a GPU as an operation.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/keys.hpp"
#include "kernels/registry.hpp"

namespace kernels::fma_peak {
namespace {

using cuda::Type;

const GpuChain& chain_of(const KernelInfo& info, const std::string& dtype) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  static const GpuChain kNone;
  switch (cuda::parse_type("fma_peak", dtype)) {
    case Type::f64:
      return kernel.f64;
    case Type::f32:
      return kernel.f32;
    case Type::tf32:
      return kernel.tf32;
    case Type::bf16:
      return kernel.bf16;
    case Type::f16:
      return kernel.f16;
    case Type::e4m3:
      return kernel.e4m3;
    case Type::s8:
      return kernel.s8;
    default:
      return kNone;
  }
}

/// A call is kGpuIterations; `count` calls are one launch that goes on longer.
class GpuPeak final : public cuda::GpuProblem {
 public:
  GpuPeak(const KernelInfo& info, const Case& c, const Caches& caches)
      : exec_unit_(static_cast<const GpuKernel*>(info.table)->exec_unit),
        chain_(chain_of(info, c.dtype)),
        case_(c),
        zeros_(c.text("data") == "zeros"),
        blocks_(caches.cores * chain_.blocks_per_sm),
        sums_(cuda::allocate(sum_bytes())) {}

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    chain_.launch({count * kGpuIterations, blocks_, zeros_, cuda::as<double>(sums_)}, stream);
    return 1;
  }

  std::string verify() override {
    cuda::poison(sums_.get(), sum_bytes());
    run(0, 1);
    const auto bytes = cuda::to_host(sums_.get(), sum_bytes());
    std::vector<double> expected = chain_.expected(kGpuIterations);
    if (zeros_) std::fill(expected.begin(), expected.end(), 0.0);
    double largest = 0;
    for (const double e : expected) largest = std::max(largest, std::abs(e));
    for (std::size_t i = 0; i < static_cast<std::size_t>(blocks_) * chain_.threads; ++i) {
      double got = 0;
      std::memcpy(&got, bytes.data() + i * sizeof got, sizeof got);
      const double want = expected[i % chain_.threads];
      if (!(std::abs(got - want) <= chain_.tolerance * largest))
        return "fma_peak " + case_.name() + ": the chains of thread " + std::to_string(i) +
               " sum to " + std::to_string(got) + ", must be " + std::to_string(want);
    }
    return {};
  }

  Cost cost() const override {
    return {chain_.flops_per_iteration * static_cast<double>(kGpuIterations) * blocks_, 0};
  }
  LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return kUnknown; }
  std::pair<std::string, std::string> exec_unit() const override {
    return {exec_unit_, case_.dtype};
  }

 private:
  std::size_t sum_bytes() const {
    return sizeof(double) * static_cast<std::size_t>(blocks_) * chain_.threads;
  }

  const char* exec_unit_;
  const GpuChain& chain_;
  Case case_;
  bool zeros_;
  int blocks_;
  cuda::Memory sums_;
};

bool supports(const KernelInfo& info, const Case& c) {
  const std::string data = c.text("data"), hold = c.text("hold");
  if (data.empty()) return false;  // a case of another probe
  require_keys(c, "fma_peak", {"data", "hold"});
  if (data != "random" && data != "zeros")
    throw BadInput("shape: data:" + data + " (known: random, zeros)");
  if (!hold.empty() && hold != "burst" && hold != "sustained")
    throw BadInput("shape: hold:" + hold + " (known: burst, sustained)");
  return chain_of(info, c.dtype).launch != nullptr;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuPeak>(info, c, caches);
}

constexpr const char* kTypes[] = {"f64", "f32", "tf32", "bf16", "f16", "e4m3", "s8"};

/// How long the load is held before and during a sample is the harness' affair (bench/run_cuda).
std::vector<Case> cases(const Caches&) {
  std::vector<Case> all;
  for (const char* dtype : kTypes) {
    for (const char* data : {"random", "zeros"}) {
      all.push_back({.dtype = dtype, .keys = {{"data", data}}, .quick = true});
      for (const char* hold : {"burst", "sustained"})
        all.push_back({.dtype = dtype, .keys = {{"data", data}, {"hold", hold}}});
    }
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const char* dtype : kTypes)
    for (const char* data : {"random", "zeros"})
      all.push_back({.dtype = dtype, .keys = {{"data", data}}});
  return all;
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind};

}  // namespace kernels::fma_peak
