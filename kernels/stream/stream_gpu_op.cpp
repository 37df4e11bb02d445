// The bandwidth probe on a GPU as an operation.
#include <array>
#include <cstring>
#include <map>

#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/reference.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/keys.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/stream_gpu.hpp"

namespace kernels::stream {
namespace {

struct Access {
  const char* name;
  int arrays;
  GpuLaunch GpuKernel::*launch;
};
constexpr std::array<Access, 4> kAccesses = {{{"read", 1, &GpuKernel::read},
                                              {"write", 1, &GpuKernel::write},
                                              {"copy", 2, &GpuKernel::copy},
                                              {"triad", 3, &GpuKernel::triad}}};

const Access& access_of(const Case& c) {
  const std::string name = c.text("access");
  for (const auto& access : kAccesses)
    if (name == access.name) return access;
  throw BadInput("shape: access:" + name + " (a GPU has: read, write, copy, triad)");
}

constexpr float kScalar = 3.0f;

/// A call is one pass; `count` calls are one launch with as many passes.
class GpuStream final : public cuda::GpuProblem {
 public:
  GpuStream(const GpuKernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel), case_(c), caches_(caches), access_(access_of(c)) {
    n_ = c.size("size") / (access_.arrays * std::int64_t{sizeof(float)}) / kGpuGrain * kGpuGrain;
    if (kernel.per_sm) n_ = caches.cores * kSmSlice / std::int64_t{sizeof(float)};
    if (n_ == 0) throw BadInput("shape: size:" + c.text("size") + " must be at least 48");
    cuda::require_device_memory(working_set_bytes(), caches);
    for (int array = 0; array < access_.arrays; ++array) {
      arrays_[array] = cuda::allocate(n_ * sizeof(float));
      cuda::fill(cuda::Type::f32, arrays_[array].get(), {1, n_, n_}, array, cuda::Values::integers);
    }
    sum_ = cuda::allocate(sizeof(std::uint32_t));
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    (kernel_.*access_.launch)(
        {at(0), at(1), at(2), kScalar, n_, count, cuda::as<std::uint32_t>(sum_), caches_.cores},
        stream);
    return 1;
  }

  std::string verify() override {
    const std::string name = access_.name;
    if (name == "read") {
      CUDA_CHECK(cudaMemset(sum_.get(), 0, sizeof(std::uint32_t)));
      run(0, 1);
      const auto bytes = cuda::to_host(sum_.get(), sizeof(std::uint32_t));
      std::uint32_t sum = 0;
      std::memcpy(&sum, bytes.data(), sizeof sum);
      return sum == cuda::word_sum(at(0), n_) ? std::string() : message("the sum is wrong");
    }
    cuda::poison(at(0), n_ * sizeof(float));
    run(0, 1);
    const std::int64_t wrong = cuda::count_wrong(at(0), at(1), at(2), kScalar, n_);
    return wrong == 0 ? std::string() : message(std::to_string(wrong) + " elements are wrong");
  }

  Cost cost() const override {
    return {access_.arrays == 3 ? 2.0 * static_cast<double>(n_) : 0, working_set_bytes()};
  }

  /// What lies between half of L2 (a chip may keep two halves apart) and kBeyondL2 times L2 belongs
  /// to no level: its traffic is not known.
  LevelBytes traffic() const override {
    const double set = working_set_bytes(), l2 = static_cast<double>(caches_.l2);
    const double asked =
        static_cast<double>(case_.size("size"));  // a set is whole vectors of each array
    if (kernel_.per_sm) return {.l1 = set};
    if (l2 > 0 && set <= 0.5 * l2) return {.l1 = set, .l2 = set};
    if (l2 > 0 && asked >= cuda::kBeyondL2 * l2) return {.l1 = set, .l2 = set, .dram = set};
    return {};
  }
  double working_set_bytes() const override {
    return static_cast<double>(n_) * sizeof(float) * access_.arrays;
  }
  std::pair<std::string, std::string> exec_unit() const override { return {"cuda-core", "f32"}; }

 private:
  float* at(int array) const { return cuda::as<float>(arrays_[array]); }
  std::string message(const std::string& what) const {
    return "stream " + case_.name() + ": " + what;
  }

  const GpuKernel& kernel_;
  Case case_;
  Caches caches_;
  const Access& access_;
  std::int64_t n_ = 0;
  std::array<cuda::Memory, 3> arrays_;
  cuda::Memory sum_;
};

bool supports(const KernelInfo& info, const Case& c) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  if (c.text("access").empty()) return false;  // a case of another probe
  require_keys(c, "stream", {"access", "size", "level"});
  if (const auto level = c.text("level"); !level.empty() && level != "L1")
    throw BadInput("shape: level:" + level + " (known: L1)");
  return c.dtype == "f32" && kernel.*access_of(c).launch != nullptr &&
         (c.text("level") == "L1") == kernel.per_sm;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuStream>(*static_cast<const GpuKernel*>(info.table), c, caches);
}

Case make_case(const char* access, std::int64_t size, bool quick) {
  return {
      .dtype = "f32", .keys = {{"access", access}, {"size", std::to_string(size)}}, .quick = quick};
}

Case sm_case(const Caches& caches) {
  Case c = make_case("read", kSmSlice * std::max(1, caches.cores), true);
  c.keys.emplace_back("level", "L1");
  return c;
}

std::vector<Case> cases(const Caches& caches) {
  constexpr std::int64_t kMb = 1 << 20;
  std::map<std::int64_t, bool> sizes;  // whether quick
  for (const std::int64_t mb : {1,  2,  4,  8,  12,  16,  20,  24,  28,   32,   40,  48,
                                56, 64, 80, 96, 128, 192, 256, 512, 1024, 2048, 4096})
    sizes[mb * kMb] = false;
  for (const double times : {1.0, 2.0})  // HBM
    sizes[cuda::size_beyond_l2(times, caches)] = true;
  for (const std::int64_t size : cuda::sizes_in_l2({20 * kMb, 24 * kMb}, caches))
    sizes[size] = true;
  std::vector<Case> all = {sm_case(caches)};
  for (const auto& access : kAccesses)
    for (const auto& [size, quick] : sizes) {
      if (caches.memory > 0 && 1.2 * static_cast<double>(size) > caches.memory) continue;
      all.push_back(make_case(access.name, size, quick));
    }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all = {sm_case({.cores = 0})};
  for (const auto& access : kAccesses)
    for (const std::int64_t size : {48, 4096, 24576, 200016, 1000008, 5000016})
      all.push_back(make_case(access.name, size, false));
  return all;
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind};

}  // namespace kernels::stream
