// The bandwidth probe as an operation: private buffers for each thread, touched first by it.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/keys.hpp"
#include "kernels/l2_pages.hpp"
#include "kernels/registry.hpp"
#include "kernels/shares.hpp"
#include "kernels/stream/stream.hpp"
#include "kernels/stream/stream_cases.hpp"
#include "kernels/stream/stream_values.hpp"

namespace kernels::stream {
namespace {

/// What one thread reads and writes, first touched by it.
struct Block {
  std::shared_ptr<std::byte> memory;
  std::size_t bytes = 0;
  std::size_t touched = 0;
  std::int64_t next = 0;  ///< part of a ring that was left alone longest
};

constexpr std::int64_t kPiece = (512 << 10) / sizeof(float);  // of each array

/// Each thread's block, kept from one size of a sweep to the next: touching gigabytes anew for
/// every point would take longer than measuring them. Rounded up, so that it rarely moves: memory
/// that is not touched costs nothing. A ring is apart from sets that caches hold, or it would find
/// its parts there, and what L2 may hold from what is larger, or it would not lie in the pages that
/// suit it (l2_pages.hpp).
Block& block_of(int thread, bool ring, std::size_t bytes) {
  static std::deque<Block> blocks;  // they stay where they are as it grows
  const bool small = bytes <= kHugePage;
  const std::size_t at = 3 * static_cast<std::size_t>(thread) + (ring ? 2 : small ? 0 : 1);
  if (at >= blocks.size()) blocks.resize(at + 1);
  Block& block = blocks[at];
  if (block.bytes < bytes) {
    block = {};
    const std::size_t more = std::bit_ceil(bytes + bytes / 4),
                      rounded = small ? std::min(more, kHugePage) : more;
    block = {allocate(rounded), rounded};
  }
  return block;
}

/// Three arrays in one part of a thread's block, a line apart modulo a page, so that loads and
/// stores at the same index never look like the same address to the store buffer (4 KiB aliasing).
class Stream final : public Problem {
 public:
  Stream(const Kernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel), case_(c), caches_(caches), access_(access_of(c)) {
    const std::int64_t size = c.size("size");
    const auto parts = static_cast<std::int64_t>(std::llround(static_cast<double>(size) / kPart));
    if (size * c.threads >= 2 * largest_level(caches) && parts >= kFewestParts) parts_ = parts;
    const std::int64_t room =
        parts_ > 1 ? static_cast<std::int64_t>(kPart / sizeof(float)) - access_.arrays * kPad
                   : size / static_cast<std::int64_t>(sizeof(float));
    n_ = room / access_.arrays / access_.grain * access_.grain;
    if (n_ == 0)
      throw BadInput("shape: size:" + c.text("size") + " must be at least " +
                     std::to_string(access_.grain * access_.arrays * sizeof(float)));
    require_memory(static_cast<double>(size) * c.threads, caches);
    const std::size_t bytes =
        parts_ > 1 ? parts_ * kPart : access_.arrays * (n_ + kPad) * sizeof(float);
    for (int t = 0; t < c.threads; ++t) blocks_.push_back(&block_of(t, parts_ > 1, bytes));
    shares_.resize(c.threads);
    seen_.resize(c.threads);
#pragma omp parallel num_threads(c.threads)
    touch(omp_get_thread_num(), bytes);
  }

  void run(std::int64_t, std::int64_t count) override {
    if (parts_ == 1) {
#pragma omp parallel num_threads(case_.threads)
      {
        const int t = omp_get_thread_num();
        seen_[t].bits ^= pass(t, 0, {0, n_}, count);
      }
      return;
    }
    pass_parts(count, [this](int owner, std::int64_t call) {
      return (blocks_[owner]->next + call) % parts_;
    });
    for (Block* block : blocks_) block->next = (block->next + count) % parts_;
  }

  /// All of a set that is gone through in one call; of a ring some parts, the first and the last
  /// among them.
  std::string verify() override {
    constexpr std::int64_t kVerified = 8;
    const std::int64_t steps = std::min(parts_, kVerified) - 1;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i <= steps; ++i) {
      const std::int64_t part = steps == 0 ? 0 : i * (parts_ - 1) / steps;
#pragma omp parallel num_threads(case_.threads)
      {
        const int t = omp_get_thread_num();
        for (int array = 0; array < access_.arrays; ++array)
          if (float* const p = at(t, part, array); array > 0 || reads())
            fill(p, n_, Values(t, part, array));
          else
            std::fill_n(p, n_, std::numeric_limits<float>::quiet_NaN());
        seen_[t].bits = 0;
      }
      if (parts_ == 1)
        run(0, 1);
      else
        pass_parts(1, [part](int, std::int64_t) { return part; });
      std::uint32_t bits = 0;
#pragma omp parallel num_threads(case_.threads) reduction(+ : wrong) reduction(^ : bits)
      {
        const int t = omp_get_thread_num();
        wrong += mismatches(t, part);
        bits ^= seen_[t].bits;
        if (reads()) bits ^= bits_of(t, part);
      }
      wrong += bits != 0;
    }
    return wrong == 0 ? std::string()
                      : "stream " + case_.name() + ": " + std::to_string(wrong) + " wrong values";
  }

  Cost cost() const override { return {flops(), bytes()}; }
  LevelBytes traffic() const override {
    return streaming_traffic(bytes(), working_set_bytes() / case_.threads, working_set_bytes(),
                             caches_);
  }
  double working_set_bytes() const override { return bytes() * static_cast<double>(parts_); }
  double owned_bytes() const override { return 0; }
  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, case_.dtype};
  }

 private:
  static constexpr std::int64_t kPad = 1024 + 32;
  /// What a thread has read, under exclusive or.
  struct alignas(128) Seen {
    std::uint32_t bits = 0;
  };

  float* at(int thread, std::int64_t part, int array) const {
    return reinterpret_cast<float*>(blocks_[thread]->memory.get() + part * kPart) +
           array * (n_ + kPad);
  }
  double bytes() const {
    return static_cast<double>(n_) * sizeof(float) * access_.arrays * case_.threads;
  }
  bool reads() const { return access_.kind == Kind::read; }
  double flops() const {
    return access_.kind == Kind::triad ? 2.0 * static_cast<double>(n_) * case_.threads : 0;
  }

  void touch(int t, std::size_t bytes) {
    Block& block = *blocks_[t];
    if (block.touched >= bytes) return;
    if (case_.threads == 1) provide(block.memory.get() + block.touched, bytes - block.touched);
    fill(reinterpret_cast<float*>(block.memory.get() + block.touched),
         static_cast<std::int64_t>((bytes - block.touched) / sizeof(float)), Values(t, 0, 0));
    block.touched = bytes;
  }
  /// One part of every thread's `calls` times, `part_of(thread, call)`, by whichever threads are
  /// free: memory that all cores together can draw on is not had in equal slices where one of them
  /// is slower to it (four cores of Zen 4).
  template <class PartOf>
  void pass_parts(std::int64_t calls, PartOf part_of) {
    const int threads = case_.threads;
    const std::int64_t piece = threads > 1 ? kPiece : n_, pieces = (n_ + piece - 1) / piece;
    clear(shares_.data(), threads);
#pragma omp parallel num_threads(threads)
    {
      const int t = omp_get_thread_num();
      take_pieces(shares_.data(), threads, t, calls * pieces, [&](int owner, std::int64_t i) {
        const std::int64_t begin = i % pieces * piece;
        const Slice range = {begin, std::min(begin + piece, n_)};
        seen_[t].bits ^= pass(owner, part_of(owner, i / pieces), range, 1);
      });
    }
  }

  /// What a thread's part was filled with, under exclusive or.
  std::uint32_t bits_of(int t, std::int64_t part) const {
    std::uint32_t all = 0;
    const Values values(t, part, 0);
    for_each_block(n_, [&](std::int64_t begin, std::int64_t count) {
      const std::uint32_t of_block = values.of_block(begin);
      for (std::int64_t i = 0; i < count; ++i) all ^= Values::bits(i, of_block);
    });
    return all;
  }

  /// Values that were not written as they should have been: by what the inputs were filled with,
  /// not by what they hold now, which a copy in the wrong direction changes.
  std::int64_t mismatches(int t, std::int64_t part) const {
    switch (access_.kind) {
      case Kind::write:
        return differing(t, part, [](float, float) { return kScalar; });
      case Kind::copy:
        return differing(t, part, [](float b, float) { return b; });
      case Kind::triad:
        return differing(t, part, [](float b, float c) { return b + kScalar * c; });
      case Kind::read:
        break;
    }
    return 0;
  }
  /// `expected(b, c)` of the values of the second and the third array.
  template <class Expected>
  std::int64_t differing(int t, std::int64_t part, Expected expected) const {
    const float* const a = at(t, part, 0);
    const Values second(t, part, 1), third(t, part, 2);
    std::int64_t wrong = 0;
    for_each_block(n_, [&](std::int64_t begin, std::int64_t count) {
      const std::uint32_t b = second.of_block(begin), c = third.of_block(begin);
      std::int32_t in_block = 0;
      for (std::int64_t i = 0; i < count; ++i)
        in_block += a[begin + i] != expected(Values::at(i, b), Values::at(i, c));
      wrong += in_block;
    });
    return wrong;
  }

  /// A range of a thread's arrays. Returns what a read has seen, else 0.
  std::uint32_t pass(int owner, std::int64_t part, Slice range, std::int64_t repeats) {
    const Piece piece{at(owner, part, 0) + range.begin, at(owner, part, 1) + range.begin,
                      at(owner, part, 2) + range.begin, range.end - range.begin};
    return access_.pass(kernel_, piece, repeats);
  }

  const Kernel& kernel_;
  Case case_;
  Caches caches_;
  const Access& access_;
  std::int64_t parts_ = 1;
  std::int64_t n_;  ///< floats an array has in a part
  std::vector<Block*> blocks_;
  std::vector<Share> shares_;
  std::vector<Seen> seen_;
};

bool supports(const KernelInfo& info, const Case& c) {
  require_keys(c, "stream", {"access", "size"});
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  const std::int64_t size = c.size("size");
  return c.dtype == "f32" && access_of(c).has(kernel) && size >= kernel.least_size &&
         (kernel.most_size == 0 || size <= kernel.most_size);
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<Stream>(*static_cast<const Kernel*>(info.table), c, caches);
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::stream
