// The latency probe as an operation. One call is one load.
#include <omp.h>

#include <numeric>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/chase/chase.hpp"
#include "kernels/cost.hpp"
#include "kernels/keys.hpp"
#include "kernels/l2_pages.hpp"
#include "kernels/registry.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::chase {
namespace {

/// Each thread's own buffer, linked into one cycle over all its lines in random order, so that no
/// prefetcher can guess the next one.
class Chase final : public Problem {
 public:
  Chase(const Kernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel), case_(c), caches_(caches), nodes_(c.size("size") / sizeof(Node)) {
    if (nodes_ < 2) throw BadInput("shape: size:" + c.text("size") + " must be at least 128");
    if (nodes_ > kMostNodes)
      throw BadInput("shape: size:" + c.text("size") + " must be at most " +
                     std::to_string(kMostNodes * sizeof(Node)));
    require_memory(static_cast<double>(c.size("size")) * c.threads * 1.1, caches);
    at_.resize(c.threads);
    // Before the region, as nothing may be thrown out of one.
    std::vector<Order> orders;
    for (int t = 0; t < c.threads; ++t) {
      // Latency of a level, not of the page walks to it: also small sets lie in one huge page.
      blocks_.push_back(allocate(std::max(nodes_ * sizeof(Node), kHugePage)));
      orders.emplace_back(nodes_);
    }
    if (c.threads == 1) provide(blocks_[0].get(), nodes_ * sizeof(Node));
#pragma omp parallel num_threads(c.threads)
    {
      const int t = omp_get_thread_num();
      link(reinterpret_cast<Node*>(blocks_[t].get()), orders[t]);
      at_[t].node = reinterpret_cast<const Node*>(blocks_[t].get());
    }
  }

  void run(std::int64_t, std::int64_t count) override {
#pragma omp parallel num_threads(case_.threads)
    {
      auto& at = at_[omp_get_thread_num()];
      at.node = kernel_.follow(at.node, count);
    }
  }

  void read_in_order() override {
#pragma omp parallel num_threads(case_.threads)
    {
      const auto* const nodes = reinterpret_cast<const Node*>(blocks_[omp_get_thread_num()].get());
      for (std::int64_t i = 0; i < nodes_; ++i) {
        const Node* next = nodes[i].next;
        opaque(next);
      }
    }
  }

  /// Whole cycles where that is quick; in memory a walk over all lines would take longer than all
  /// timing of it, so the kernel has to arrive where a plain loop does.
  std::string verify() override {
    for (int t = 0; t < case_.threads; ++t) {
      const auto* start = reinterpret_cast<const Node*>(blocks_[t].get());
      const std::int64_t steps = std::min(nodes_, kVerifiedSteps);
      const Node* expected = start;
      for (std::int64_t i = 0; i < steps; ++i) {
        expected = expected->next;
        if ((expected == start) != (i == nodes_ - 1))
          return "chase " + case_.name() + ": not one cycle over all lines";
      }
      if (kernel_.follow(start, steps) != expected)
        return "chase " + case_.name() + ": arrives at another line";
      at_[t].node = expected;  // the lines up to here are in cache now
    }
    return {};
  }

  /// One load of 8 bytes a thread.
  Cost cost() const override { return {0, 8.0 * case_.threads}; }
  /// Past L1 it is a line.
  LevelBytes traffic() const override {
    const double lines = 64.0 * case_.threads, set = working_set_bytes();
    return crossed({cost().bytes, lines, lines, lines}, set / case_.threads, set, caches_);
  }
  double working_set_bytes() const override {
    return static_cast<double>(nodes_) * sizeof(Node) * case_.threads;
  }
  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, "u64"};
  }

 private:
  using Order = std::vector<std::uint32_t>;
  static constexpr std::int64_t kVerifiedSteps = 1 << 16;
  static constexpr std::int64_t kMostNodes = std::int64_t{1} << 32;
  struct alignas(128) At {
    const Node* node;
  };

  /// Sattolo's shuffle gives a permutation of one single cycle.
  void link(Node* nodes, Order& order) const {
    std::iota(order.begin(), order.end(), 0u);
    for (std::int64_t i = nodes_ - 1; i > 0; --i)
      std::swap(order[i], order[hash(7, i) % static_cast<std::uint64_t>(i)]);
    for (std::int64_t i = 0; i < nodes_; ++i) nodes[i].next = &nodes[order[i]];
  }

  const Kernel& kernel_;
  Case case_;
  Caches caches_;
  std::int64_t nodes_;
  std::vector<std::shared_ptr<std::byte>> blocks_;
  std::vector<At> at_;
};

bool supports(const KernelInfo&, const Case& c) {
  require_keys(c, "chase", {"size"});
  return c.dtype == "u64";
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<Chase>(*static_cast<const Kernel*>(info.table), c, caches);
}

Case make_case(double size, int threads, bool quick) {
  const auto lines = static_cast<std::int64_t>(size) / static_cast<std::int64_t>(sizeof(Node));
  return {.dtype = "u64",
          .keys = {{"size", std::to_string(lines * sizeof(Node))}},
          .threads = threads,
          .quick = quick};
}

/// Two sizes inside each level, so that a plateau can be seen; the quick suite has the smaller one.
/// A level that is not known has none; those of L3 are twice as large as L2.
std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  for (const int threads : {1, caches.cores}) {
    const auto last = static_cast<double>(cold_footprint(caches));
    const auto l3 = static_cast<double>(sure_l3(caches, threads));
    const auto add = [&](double size, bool quick) {
      if (size >= 2 * sizeof(Node)) all.push_back(make_case(size, threads, quick));
    };
    const double least_l3 = 2.0 * static_cast<double>(caches.l2) + sizeof(Node);
    for (const double part : {0.375, 0.625}) {
      const bool quick = part < 0.5;
      add(part * caches.l1d, quick);
      add(part * caches.l2, quick);
      const double even = quick ? least_l3 : (least_l3 + 0.75 * l3) / 2;
      if (least_l3 <= 0.75 * l3) add(std::max(part * l3, even), quick);
      add((0.64 + part) * last / threads, quick);
    }
    if (caches.cores == 1) break;
  }
  return all;
}

std::vector<Case> test_cases() {
  return {make_case(128, 1, false), make_case(4096, 1, false), make_case(100 * 64, 3, false),
          make_case(1 << 20, 2, false)};
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::chase
