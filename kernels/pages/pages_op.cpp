// The probe of pages at random as an operation: private pages for each thread, touched first by it.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/keys.hpp"
#include "kernels/live.hpp"
#include "kernels/pages/pages.hpp"
#include "kernels/registry.hpp"
#include "kernels/shares.hpp"

namespace kernels::pages {
namespace {

constexpr std::int64_t kCallBytes = 4 << 20;  // of a thread
constexpr std::int64_t kPieceBytes = 256 << 10;

/// Of each thread its pages, in the order in which they are read, whose beginning follows its end.
struct Pool {
  std::vector<std::shared_ptr<std::byte>> blocks;
  std::vector<std::vector<const float*>> orders;
  std::int64_t next = 0;  ///< call
};

/// A case's pool, for all of its variants: to fill one takes longer than to measure it, and what
/// one variant has read another must not find in a cache.
std::shared_ptr<Pool> pool_of(const Case& c) {
  static Live<Pool> live;
  return shared(live, c.name(), [] { return std::make_shared<Pool>(); });
}

/// Throws BadInput unless it is a power of two of at least kLeastPage.
std::int64_t page_bytes_of(const Case& c) {
  const std::int64_t bytes = c.size("page_bytes");
  if (bytes < kLeastPage || !std::has_single_bit(static_cast<std::uint64_t>(bytes)))
    throw BadInput("shape: page_bytes:" + c.text("page_bytes") +
                   " must be a power of two of at least " + std::to_string(kLeastPage));
  return bytes;
}

/// A call reads the next pages of every thread's own order of its pages, in pieces that the threads
/// take as they are free (shares.hpp); the order is gone through again and again.
class Pages final : public Problem {
 public:
  Pages(const Kernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel), case_(c), caches_(caches), page_bytes_(page_bytes_of(c)) {
    const std::int64_t size = c.size("size");
    calls_ = std::max<std::int64_t>(1, size / std::max(kCallBytes, kSideBySide * page_bytes_));
    call_pages_ = size / page_bytes_ / calls_ / kSideBySide * kSideBySide;
    if (call_pages_ == 0)
      throw BadInput("shape: size:" + c.text("size") + " must be at least " +
                     std::to_string(kSideBySide) + " pages of " + c.text("page_bytes"));
    require_memory(static_cast<double>(size) * c.threads, caches);
    shares_.resize(c.threads);
    seen_.resize(c.threads);
    pool_ = pool_of(c);
    if (pool_->orders.empty()) fill();
  }

  void run(std::int64_t, std::int64_t count) override {
    read_calls(pool_->next, count);
    pool_->next = (pool_->next + count) % calls_;
  }

  /// Every page of all threads, once.
  std::string verify() override {
    for (Seen& seen : seen_) seen.bits = 0;
    read_calls(0, calls_);
    std::uint32_t bits = 0;
#pragma omp parallel num_threads(case_.threads) reduction(^ : bits)
    {
      const int t = omp_get_thread_num();
      bits ^= seen_[t].bits;
      const auto* const words = reinterpret_cast<const std::uint64_t*>(pool_->blocks[t].get());
      std::uint64_t all = 0;
      for (std::int64_t i = 0; i < thread_words(); ++i) all ^= words[i];
      bits ^= static_cast<std::uint32_t>(all ^ all >> 32);
    }
    return bits == 0 ? std::string() : "pages " + case_.name() + ": not every page once";
  }

  Cost cost() const override {
    return {0, static_cast<double>(call_pages_ * page_bytes_) * case_.threads};
  }
  LevelBytes traffic() const override {
    const double set = working_set_bytes();
    return streaming_traffic(cost().bytes, set / case_.threads, set, caches_);
  }
  double shared_bytes() const override { return working_set_bytes(); }
  double working_set_bytes() const override {
    return static_cast<double>(thread_bytes()) * case_.threads;
  }
  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, case_.dtype};
  }

 private:
  /// What a thread has read, under exclusive or.
  struct alignas(128) Seen {
    std::uint32_t bits = 0;
  };

  std::int64_t thread_pages() const { return calls_ * call_pages_; }
  std::int64_t thread_bytes() const { return thread_pages() * page_bytes_; }
  std::int64_t thread_words() const { return thread_bytes() / 8; }
  std::int64_t page_floats() const {
    return page_bytes_ / static_cast<std::int64_t>(sizeof(float));
  }

  void fill() {
    const int threads = case_.threads;
    for (int t = 0; t < threads; ++t) pool_->blocks.push_back(allocate(thread_bytes()));
    pool_->orders.resize(threads, std::vector<const float*>(thread_pages() + kBehind));
    if (threads == 1) provide(pool_->blocks[0].get(), thread_bytes());
#pragma omp parallel num_threads(threads)
    {
      const int t = omp_get_thread_num();
      auto* const words = reinterpret_cast<std::uint64_t*>(pool_->blocks[t].get());
      for (std::int64_t i = 0; i < thread_words(); ++i) words[i] = hash(t, i);
      shuffle(t);
    }
  }
  void shuffle(int t) {
    auto& order = pool_->orders[t];
    const auto* const first = reinterpret_cast<const float*>(pool_->blocks[t].get());
    const std::int64_t n = thread_pages();
    for (std::int64_t i = 0; i < n; ++i) order[i] = first + i * page_floats();
    for (std::int64_t i = n - 1; i > 0; --i)
      std::swap(order[i], order[hash(t + 1, i) % static_cast<std::uint64_t>(i + 1)]);
    for (std::int64_t i = 0; i < kBehind; ++i) order[n + i] = order[i % n];
  }

  void read_calls(std::int64_t first, std::int64_t count) {
    const std::int64_t piece = std::max(kSideBySide, kPieceBytes / page_bytes_),
                       pieces = (call_pages_ + piece - 1) / piece;
    clear(shares_.data(), case_.threads);
#pragma omp parallel num_threads(case_.threads)
    {
      const int t = omp_get_thread_num();
      take_pieces(shares_.data(), case_.threads, t, count * pieces, [&](int owner, std::int64_t i) {
        const std::int64_t call = (first + i / pieces) % calls_, begin = i % pieces * piece,
                           end = std::min(begin + piece, call_pages_);
        seen_[t].bits ^= kernel_.read(pool_->orders[owner].data() + call * call_pages_ + begin,
                                      end - begin, page_floats());
      });
    }
  }

  const Kernel& kernel_;
  Case case_;
  Caches caches_;
  std::int64_t page_bytes_, calls_ = 1, call_pages_ = 0;
  std::shared_ptr<Pool> pool_;
  std::vector<Share> shares_;
  std::vector<Seen> seen_;
};

bool supports(const KernelInfo&, const Case& c) {
  require_keys(c, "pages", {"page_bytes", "size"});
  return c.dtype == "f32" && page_bytes_of(c) > 0 && c.size("size") > 0;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<Pages>(*static_cast<const Kernel*>(info.table), c, caches);
}

Case make_case(std::int64_t page_bytes, std::int64_t size, int threads, bool quick) {
  return {.dtype = "f32",
          .keys = {{"page_bytes", std::to_string(page_bytes)}, {"size", std::to_string(size)}},
          .threads = threads,
          .quick = quick};
}

/// Pages of 16 tokens with 128 dimensions of one kv head, in int8, bf16 and fp32, of main memory
/// that no cache holds a part of, not either where threads do not divide it evenly. The quick suite
/// has those of bf16.
std::vector<Case> cases(const Caches& caches) {
  constexpr double kMargin = 1.02;
  constexpr std::int64_t kWhole = kSideBySide * 8192;
  std::vector<Case> all;
  for (const int threads : {1, caches.cores}) {
    const double share = kMargin * static_cast<double>(cold_footprint(caches)) / threads;
    const std::int64_t size = (static_cast<std::int64_t>(share) / kWhole + 1) * kWhole;
    for (const std::int64_t page : {2048, 4096, 8192})
      all.push_back(make_case(page, size, threads, page == 4096));
    if (caches.cores == 1) break;
  }
  return all;
}

std::vector<Case> test_cases() {
  return {make_case(1024, 4096, 1, false),    make_case(2048, 40960, 3, false),
          make_case(4096, 9 << 20, 2, false), make_case(4096, (1 << 20) + 4 * 4096, 2, false),
          make_case(8192, 1 << 20, 1, false), make_case(2 << 20, 16 << 20, 1, false)};
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::pages
