// The latency probe on a GPU as an operation. One call is one load.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/chase/chase_gpu.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/keys.hpp"
#include "kernels/registry.hpp"
#include "kernels/values.hpp"

namespace kernels::chase {
namespace {

/// All lines linked into one cycle in random order. `count` calls are one launch.
class GpuChase final : public cuda::GpuProblem {
 public:
  GpuChase(const GpuKernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel),
        case_(c),
        caches_(caches),
        count_(c.size("size") / static_cast<std::int64_t>(sizeof(GpuNode))) {
    if (count_ < 2) throw BadInput("shape: size:" + c.text("size") + " must be at least 256");
    if (count_ > std::int64_t{1} << 32)
      throw BadInput("shape: size:" + c.text("size") + " is too large");
    if (kernel.in_shared && count_ > kSharedNodes)
      throw BadInput("shape: size:" + c.text("size") + " is too large for level:shared (at most " +
                     std::to_string(kSharedNodes * sizeof(GpuNode)) + ")");
    cuda::require_device_memory(working_set_bytes(), caches);
    nodes_ = cuda::allocate(count_ * sizeof(GpuNode));
    at_ = cuda::allocate(sizeof(const GpuNode*));
    link();
    start_at(first());
    CUDA_CHECK(cudaDeviceSynchronize());  // copies may go on, and streams do not wait for them
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    kernel_.follow(chain(), count, stream);
    return 1;
  }

  /// A walk over L2's share takes longer than its warm-up, and samples as long as HBM.
  void read_in_order() override {
    if (kernel_.touch == nullptr) return;
    kernel_.touch(chain(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  std::string verify() override {
    start_at(first());
    run(0, walk());
    if (position() == first() + after_walk_) return {};
    return "chase " + case_.name() + ": the walk does not end where the host's does";
  }

  Cost cost() const override { return {0, 8}; }
  LevelBytes traffic() const override {
    const double set = working_set_bytes(), l2 = static_cast<double>(caches_.l2);
    if (kernel_.in_shared) return {.l1 = 8};
    if (set <= 0.25 * static_cast<double>(caches_.l1d)) return {.l1 = 8};
    if (set <= 0.5 * l2 && set >= 8.0 * static_cast<double>(caches_.l1d)) return {.l1 = 8, .l2 = 8};
    // An H200 kept some 110 MB of a set read again and again in its 60 MB (cuda::kBeyondL2).
    if (l2 > 0 && set >= 16 * l2) return {.l1 = 8, .l2 = 8, .dram = 8};
    return {};
  }
  double working_set_bytes() const override {
    return static_cast<double>(count_) * sizeof(GpuNode);
  }
  std::pair<std::string, std::string> exec_unit() const override { return {"cuda-core", "u64"}; }

 private:
  const GpuNode* first() const { return cuda::as<const GpuNode>(nodes_); }
  GpuChain chain() const { return {first(), count_, cuda::as<const GpuNode*>(at_)}; }

  /// Loads that verify() follows: the whole cycle where that is quick.
  std::int64_t walk() const { return std::min<std::int64_t>(count_, 1 << 16); }

  /// Sattolo's shuffle gives a permutation of one single cycle.
  void link() {
    std::vector<std::uint32_t> order(count_);
    std::iota(order.begin(), order.end(), 0u);
    for (std::int64_t i = count_ - 1; i > 0; --i)
      std::swap(order[i], order[hash(7, i) % static_cast<std::uint64_t>(i)]);
    after_walk_ = 0;
    for (std::int64_t i = 0; i < walk(); ++i) after_walk_ = order[after_walk_];
    std::vector<GpuNode> nodes(count_);
    for (std::int64_t i = 0; i < count_; ++i) nodes[i].next = first() + order[i];
    CUDA_CHECK(
        cudaMemcpy(nodes_.get(), nodes.data(), count_ * sizeof(GpuNode), cudaMemcpyHostToDevice));
  }
  void start_at(const GpuNode* node) const {
    CUDA_CHECK(cudaMemcpy(at_.get(), &node, sizeof node, cudaMemcpyHostToDevice));
  }
  const GpuNode* position() const {
    const GpuNode* node = nullptr;
    const auto bytes = cuda::to_host(at_.get(), sizeof node);
    std::memcpy(&node, bytes.data(), sizeof node);
    return node;
  }

  const GpuKernel& kernel_;
  Case case_;
  Caches caches_;
  std::int64_t count_, after_walk_ = 0;  ///< nodes; where walk() loads from the first one lead
  cuda::Memory nodes_, at_;
};

bool supports(const KernelInfo& info, const Case& c) {
  if (c.dtype != "u64") return false;  // a case of another probe
  require_keys(c, "chase", {"size", "level"});
  const std::string level = c.text("level");
  if (!level.empty() && level != "shared")
    throw BadInput("shape: level:" + level + " (known: shared)");
  return (level == "shared") == static_cast<const GpuKernel*>(info.table)->in_shared;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuChase>(*static_cast<const GpuKernel*>(info.table), c, caches);
}

Case make_case(std::int64_t size, bool quick) {
  return {.dtype = "u64", .keys = {{"size", std::to_string(size)}}, .quick = quick};
}

Case shared_case(std::int64_t nodes) {
  Case c = make_case(nodes * static_cast<std::int64_t>(sizeof(GpuNode)), true);
  c.keys.emplace_back("level", "shared");
  return c;
}

std::vector<Case> cases(const Caches& caches) {
  constexpr std::int64_t kKb = 1 << 10, kMb = 1 << 20, kGb = 1 << 30;
  std::map<std::int64_t, bool> sizes;  // whether quick
  for (std::int64_t size = 8 * kKb; size <= 2 * kGb; size *= 2)
    sizes[size] = size == 16 * kKb || size == 32 * kKb || size >= kGb;
  for (const std::int64_t size : cuda::sizes_in_l2({8 * kMb, 16 * kMb}, caches)) sizes[size] = true;
  std::vector<Case> all = {shared_case(kSharedNodes)};
  for (const auto& [size, quick] : sizes)
    if (caches.memory == 0 || 2 * size < caches.memory) all.push_back(make_case(size, quick));
  return all;
}

std::vector<Case> test_cases() {
  return {make_case(256, false),     make_case(4096, false), make_case(100 * 128, false),
          make_case(1 << 20, false), shared_case(2),         shared_case(kSharedNodes)};
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind};

}  // namespace kernels::chase
