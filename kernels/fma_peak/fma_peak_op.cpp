// The compute probe as an operation.
#include <omp.h>

#include <cmath>
#include <vector>

#include "kernels/fma_peak/fma_peak.hpp"
#include "kernels/keys.hpp"
#include "kernels/registry.hpp"
#include "kernels/shares.hpp"

namespace kernels::fma_peak {
namespace {

const Chain* chain_of(const KernelInfo& info, const std::string& dtype) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  if (dtype == "f64") return &kernel.f64;
  if (dtype == "f32") return &kernel.f32;
  if (dtype == "bf16") return &kernel.bf16;
  if (dtype == "s8") return &kernel.s8;
  if (dtype == "bf16xs8") return &kernel.bf16_s8;
  throw BadInput("fma_peak: dtype '" + dtype + "' (known: f64, f32, bf16, s8, bf16xs8)");
}

class Peak final : public Problem {
 public:
  Peak(const char* exec_unit, const Chain& chain, const Case& c)
      : exec_unit_(exec_unit), chain_(chain), case_(c), shares_(c.threads) {}

  /// A thread that is through with its calls takes what others have left of theirs, or the slowest
  /// core sets the peak of all while two virtual CPUs share it.
  void run(std::int64_t, std::int64_t count) override {
    const volatile int opaque_one = 1;
    const int one = opaque_one;
    double total = 0;
    clear(shares_.data(), case_.threads);
#pragma omp parallel num_threads(case_.threads) reduction(+ : total)
    take_pieces(shares_.data(), case_.threads, omp_get_thread_num(), count,
                [&](int, std::int64_t) { total += chain_.run(kIterations, one); });
    sum_ = total;
  }

  std::string verify() override {
    sum_ = kUnknown;
    run(0, 1);
    const double adds = chain_.flops_per_iteration / 2 * kIterations * case_.threads;
    if (sum_ == adds) return {};
    return "fma_peak " + case_.name() + ": chains sum to " + std::to_string(sum_) + ", must be " +
           std::to_string(adds);
  }

  Cost cost() const override {
    return {chain_.flops_per_iteration * kIterations * case_.threads, 0};
  }
  LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return kUnknown; }
  std::pair<std::string, std::string> exec_unit() const override {
    return {exec_unit_, case_.dtype};
  }

 private:
  const char* exec_unit_;
  Chain chain_;
  Case case_;
  std::vector<Share> shares_;
  double sum_ = 0;
};

bool supports(const KernelInfo& info, const Case& c) {
  require_keys(c, "fma_peak", {});
  return chain_of(info, c.dtype)->run != nullptr;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches&) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  return std::make_unique<Peak>(kernel.exec_unit, *chain_of(info, c.dtype), c);
}

std::vector<Case> cases_for(std::vector<int> thread_counts) {
  std::vector<Case> all;
  for (const char* dtype : {"f64", "f32", "bf16", "s8", "bf16xs8"})
    for (const int threads : thread_counts)
      all.push_back({.dtype = dtype, .threads = threads, .quick = true});
  return all;
}

std::vector<Case> cases(const Caches& caches) {
  return caches.cores > 1 ? cases_for({1, caches.cores}) : cases_for({1});
}

std::vector<Case> test_cases() { return cases_for({1, 3}); }

}  // namespace

Adds adds_of(std::string_view exec_unit) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == "fma_peak" && !info.gpu() && missing(info.needs).empty())
      if (const auto& kernel = *static_cast<const Kernel*>(info.table);
          exec_unit.starts_with(kernel.exec_unit) && kernel.adds.dense != nullptr)
        return kernel.adds;
  return {};
}

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::fma_peak
