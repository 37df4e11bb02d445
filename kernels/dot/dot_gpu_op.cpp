// The dot product on a GPU as an operation: its cases, its inputs, its oracle.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/reference.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/dot/dot.hpp"
#include "kernels/dot/dot_gpu.hpp"
#include "kernels/keys.hpp"
#include "kernels/registry.hpp"

namespace kernels::dot {
namespace {

using cuda::Memory;
using cuda::Type;
using cuda::Values;

GpuLaunch launch_of(const KernelInfo& info, const std::string& dtype) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  switch (cuda::parse_type("dot", dtype)) {
    case Type::f64:
      return kernel.f64;
    case Type::f32:
      return kernel.f32;
    case Type::bf16:
      return kernel.bf16;
    case Type::s8:
      return kernel.s8;
    default:
      return nullptr;
  }
}

/// Of both vectors.
double bytes_of(const Case& c) {
  return 2.0 * static_cast<double>(c.size("N")) * cuda::size_of(cuda::parse_type("dot", c.dtype));
}

/// Copies of the vectors that calls rotate over.
std::int64_t slots_of(const Case& c, const Caches& caches) {
  return c.cold() ? cuda::cold_slots(bytes_of(c), caches) : 1;
}

/// Floating inputs are whole numbers in [-4, 4], whose sums are exact in fp32 up to 2^24 and so in
/// every order (partial sums of 2^33 of them stay within 2^21): a right kernel equals the oracle to
/// the bit.
class GpuDot final : public cuda::GpuProblem {
 public:
  GpuDot(const KernelInfo& info, const Case& c, const Caches& caches)
      : launch_(launch_of(info, c.dtype)),
        label_(static_cast<const GpuKernel*>(info.table)->label),
        repeats_(c.text("region") == "shared"
                     ? static_cast<const GpuKernel*>(info.table)->max_repeats
                     : 1),
        case_(c),
        caches_(caches),
        type_(cuda::parse_type("dot", c.dtype)),
        values_(type_ == Type::s8 ? Values::random : Values::integers),
        n_(c.size("N")) {
    slots_ = slots_of(c, caches);
    cuda::require_device_memory(bytes_of(c) * static_cast<double>(slots_), caches);
    inputs_ = cuda::allocate_many(2 * slots_, n_ * cuda::size_of(type_));
    for (std::int64_t s = 0; s < 2 * slots_; ++s)
      cuda::fill(type_, inputs_[s].get(), {1, n_, n_}, seed(s), values_);
    results_ = cuda::allocate(repeats_ * kResultBytes);
    workspace_ = cuda::allocate_zeroed(kWorkspaceBytes);
  }

  std::int64_t enqueue(std::int64_t first, std::int64_t count, cudaStream_t stream) override {
    std::int64_t launches = 0;
    for (std::int64_t i = first; i < first + count;) {
      const std::int64_t s = i % slots_;
      const int repeats = static_cast<int>(std::min<std::int64_t>(repeats_, first + count - i));
      launches += launch_({inputs_[2 * s].get(), inputs_[2 * s + 1].get(), n_, results_.get(),
                           workspace_.get(), caches_.cores, repeats},
                          stream);
      i += repeats;
    }
    return launches;
  }

  std::string verify() override {
    const std::int64_t s = slots_ - 1;
    cuda::poison(results_.get(), repeats_ * kResultBytes);
    run(s, repeats_ > 1 ? repeats_ + 1 : 1);
    const double expected = n_ <= kHostOracle ? on_host(s)
                                              : cuda::dot_reference(type_, inputs_[2 * s].get(),
                                                                    inputs_[2 * s + 1].get(), n_);
    const auto bytes = cuda::to_host(results_.get(), repeats_ * kResultBytes);
    const Type type = type_ == Type::bf16 ? Type::f32 : type_ == Type::s8 ? Type::s64 : type_;
    for (int repeat = 0; repeat < repeats_; ++repeat)
      if (const double got = cuda::load_as_double(type, bytes.data(), repeat); got != expected)
        return "dot " + case_.name() + ": got " + std::to_string(got) + ", the oracle says " +
               std::to_string(expected);
    return {};
  }

  Cost cost() const override { return dot::cost(n_, cuda::size_of(type_)); }
  LevelBytes traffic() const override {
    return cuda::streaming_traffic(cost().bytes, working_set_bytes(), caches_);
  }
  double working_set_bytes() const override {
    return 2.0 * static_cast<double>(n_) * cuda::size_of(type_) * static_cast<double>(slots_);
  }
  std::pair<std::string, std::string> exec_unit() const override {
    return {"cuda-core", type_ == Type::bf16 ? "f32" : case_.dtype};
  }
  std::string label() const override { return label_ != nullptr ? label_() : std::string(); }

 private:
  static constexpr std::int64_t kHostOracle = std::int64_t{1} << 22;
  static constexpr std::int64_t kResultBytes = 8;  ///< of the widest type

  static std::uint64_t seed(std::int64_t input) { return static_cast<std::uint64_t>(input) + 1; }

  /// From the values that the inputs must have, not from device memory.
  double on_host(std::int64_t s) const {
    double sum = 0;
    for (std::int64_t i = 0; i < n_; ++i)
      sum += cuda::value_at(type_, seed(2 * s), i, values_) *
             cuda::value_at(type_, seed(2 * s + 1), i, values_);
    return sum;
  }

  GpuLaunch launch_;
  std::string (*label_)();
  int repeats_;  ///< products that share a launch, all of the same copy
  Case case_;
  Caches caches_;
  Type type_;
  Values values_;
  std::int64_t n_, slots_ = 1;
  std::vector<Memory> inputs_;  ///< x and y of each copy
  Memory results_, workspace_;
};

bool supports(const KernelInfo& info, const Case& c) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  require_keys(c, "dot", {"N", "temp", "region"});
  require_known_region(c);
  if (c.text("region") == "shared" && (c.cold() || kernel.max_repeats == 1)) return false;
  const std::int64_t most = kernel.max_n;
  return launch_of(info, c.dtype) != nullptr && (most == 0 || c.size("N") <= most);
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuDot>(info, c, caches);
}

std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  return cuda::device_memory_missing(bytes_of(c) * static_cast<double>(slots_of(c, caches)),
                                     caches);
}

constexpr const char* kTypes[] = {"f64", "f32", "bf16", "s8"};

/// Sets from launch-bound to HBM: warm ones stay in L2, cold ones are rotated beyond it. region:
/// shared: products that share a launch, which else takes as long as L2 does. What does not fit
/// this GPU is listed all the same (unfit()).
std::vector<Case> cases(const Caches&) {
  constexpr std::int64_t kMb = 1 << 20;
  std::vector<Case> all;
  for (const char* dtype : kTypes) {
    const auto add = [&](std::int64_t set_bytes, bool cold, bool quick, bool shared = false) {
      const std::int64_t n = set_bytes / (2 * cuda::size_of(cuda::parse_type("dot", dtype)));
      all.push_back({.dtype = dtype, .keys = {{"N", std::to_string(n)}}, .quick = quick});
      if (shared) all.back().keys.emplace_back("region", "shared");
      all.back().keys.emplace_back("temp", cold ? "cold" : "warm");
    };
    for (const std::int64_t mb : {1, 4, 16, 32}) add(mb * kMb, false, mb == 16);
    for (const std::int64_t mb : {1, 4, 16}) add(mb * kMb, false, mb == 16, true);
    for (const std::int64_t mb : {1, 16, 64, 256, 1024, 4096}) add(mb * kMb, true, mb == 1024);
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const char* dtype : kTypes)
    for (const std::int64_t n :
         {1, 2, 3, 15, 16, 17, 31, 33, 255, 256, 257, 1000, 4099, 65536, 1000003, 5000011})
      all.push_back({.dtype = dtype, .keys = {{"N", std::to_string(n)}}});
  for (const char* dtype : kTypes)
    for (const std::int64_t n : {1, 4099, 65536})
      all.push_back({.dtype = dtype, .keys = {{"N", std::to_string(n)}, {"region", "shared"}}});
  return all;
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind, unfit};

}  // namespace kernels::dot
