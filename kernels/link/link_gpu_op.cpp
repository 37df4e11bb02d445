// The link probe as an operation. One call is one copy.
#include <cstring>

#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/keys.hpp"
#include "kernels/link/link_gpu.hpp"
#include "kernels/registry.hpp"
#include "kernels/values.hpp"

namespace kernels::link {
namespace {

class GpuLink final : public cuda::GpuProblem {
 public:
  GpuLink(const GpuKernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel), case_(c), bytes_(c.size("size")), in_(c.text("access") == "h2d") {
    cuda::require_device_memory(static_cast<double>(bytes_), caches);
    host_ = cuda::allocate_pinned(bytes_);
    device_ = cuda::allocate(bytes_);
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    for (std::int64_t i = 0; i < count; ++i) {
      if (in_)
        kernel_.to_device(device_.get(), host_.get(), bytes_, stream);
      else
        kernel_.to_host(host_.get(), device_.get(), bytes_, stream);
    }
    return count;
  }

  std::string verify() override {
    auto* host = cuda::as<std::uint8_t>(host_);
    if (in_) {
      for (std::int64_t i = 0; i < bytes_; ++i) host[i] = value(i);
      cuda::poison(device_.get(), bytes_);
    } else {
      std::memset(host, 0xff, bytes_);
      cuda::fill(cuda::Type::s8, device_.get(), {1, bytes_, bytes_}, kSeed, cuda::Values::random);
    }
    run(0, 1);
    const auto back = in_ ? cuda::to_host(device_.get(), bytes_) : std::vector<std::byte>();
    const auto* got = in_ ? reinterpret_cast<const std::uint8_t*>(back.data()) : host;
    for (std::int64_t i = 0; i < bytes_; ++i)
      if (got[i] != value(i))
        return "link " + case_.name() + ": byte " + std::to_string(i) + " is wrong";
    return {};
  }

  Cost cost() const override { return {0, static_cast<double>(bytes_)}; }
  /// The link is a resource of its own, behind none of the memory levels.
  LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return static_cast<double>(bytes_); }
  std::pair<std::string, std::string> exec_unit() const override { return {"copy-engine", "u8"}; }

 private:
  static constexpr std::uint64_t kSeed = 5;
  static std::uint8_t value(std::int64_t i) {
    return static_cast<std::uint8_t>(random_value<std::int8_t>(kSeed, i));
  }

  const GpuKernel& kernel_;
  Case case_;
  std::int64_t bytes_;
  bool in_;
  cuda::Memory host_, device_;
};

bool supports(const KernelInfo&, const Case& c) {
  if (c.dtype != "u8") return false;  // a case of another probe
  require_keys(c, "link", {"access", "size"});
  const std::string access = c.text("access");
  if (access != "h2d" && access != "d2h")
    throw BadInput("shape: access:" + access + " (known: h2d, d2h)");
  return true;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuLink>(*static_cast<const GpuKernel*>(info.table), c, caches);
}

Case make_case(const char* access, std::int64_t size, bool quick) {
  return {
      .dtype = "u8", .keys = {{"access", access}, {"size", std::to_string(size)}}, .quick = quick};
}

std::vector<Case> cases(const Caches&) {
  std::vector<Case> all;
  for (const char* access : {"h2d", "d2h"})
    for (const std::int64_t mb : {1, 16, 64, 256})
      all.push_back(make_case(access, mb << 20, mb == 64));
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const char* access : {"h2d", "d2h"})
    for (const std::int64_t size : {1, 4097, 1 << 20})
      all.push_back(make_case(access, size, false));
  return all;
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind};

}  // namespace kernels::link
