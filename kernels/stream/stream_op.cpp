// The bandwidth probe as an operation: private buffers for each thread, touched first by it.
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/keys.hpp"
#include "kernels/l2_pages.hpp"
#include "kernels/registry.hpp"
#include "kernels/shares.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {
namespace {

struct Access {
  const char* name;
  int arrays;
  std::int64_t grain;
  bool (*has)(const Kernel&);
};
constexpr std::array<Access, 7> kAccesses = {{
    {"read", 1, kReadGrain, [](const Kernel& k) { return k.read != nullptr; }},
    {"write", 1, kGrain, [](const Kernel& k) { return k.write != nullptr; }},
    {"copy", 2, kGrain, [](const Kernel& k) { return k.copy != nullptr; }},
    {"triad", 3, kGrain, [](const Kernel& k) { return k.triad != nullptr; }},
    {"write_nt", 1, kGrain, [](const Kernel& k) { return k.write_nt != nullptr; }},
    {"copy_nt", 2, kGrain, [](const Kernel& k) { return k.copy_nt != nullptr; }},
    {"triad_nt", 3, kGrain, [](const Kernel& k) { return k.triad_nt != nullptr; }},
}};

const Access& access_of(const Case& c) {
  const std::string name = c.text("access");
  for (const auto& access : kAccesses)
    if (name == access.name) return access;
  throw BadInput("shape: access:" + name +
                 " (known: read, write, copy, triad, write_nt, copy_nt, triad_nt)");
}

constexpr float kScalar = 3.0f;

/// What arrays hold: numbers in [1, 2) of 20 bits, so that a triad is exact whether it rounds once
/// or twice. One of a table and one of its block added up: no two blocks repeat, or a read that
/// left out the same lines of both would have the same bits, and no two arrays are equal, or a copy
/// that did nothing would be right. An add costs as much as copying the table (gigabytes are
/// filled); a hash for every number would not.
constexpr std::int64_t kPeriod = 2048;
constexpr std::array<std::uint32_t, kPeriod> kOfPlace = [] {
  std::array<std::uint32_t, kPeriod> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint32_t>(hash(1, i));
  return table;
}();

class Values {
 public:
  /// Of one array of a thread's part.
  Values(int thread, std::int64_t part, int array)
      : seed_((static_cast<std::uint64_t>(thread) << 32 | static_cast<std::uint64_t>(part)) << 2 |
              static_cast<std::uint64_t>(array)) {}

  /// The summand of the block that begins at i, a multiple of kPeriod.
  std::uint32_t of_block(std::int64_t i) const {
    return static_cast<std::uint32_t>(hash(seed_, static_cast<std::uint64_t>(i)));
  }
  static std::uint32_t bits(std::int64_t place, std::uint32_t of_block) {
    constexpr std::uint32_t kOne = 0x3f800000, kFraction = 0x7ffff8;
    return ((kOfPlace[place] + of_block) & kFraction) | kOne;
  }
  static float at(std::int64_t place, std::uint32_t of_block) {
    return std::bit_cast<float>(bits(place, of_block));
  }

 private:
  std::uint64_t seed_;
};

/// Calls `block(begin, count)` for the blocks of n numbers.
template <class Block>
void for_each_block(std::int64_t n, Block block) {
  for (std::int64_t begin = 0; begin < n; begin += kPeriod)
    block(begin, std::min(n - begin, kPeriod));
}

void fill(float* p, std::int64_t n, const Values& values) {
  for_each_block(n, [&](std::int64_t begin, std::int64_t count) {
    const std::uint32_t of_block = values.of_block(begin);
    for (std::int64_t i = 0; i < count; ++i) p[begin + i] = Values::at(i, of_block);
  });
}

/// What one thread reads and writes, first touched by it.
struct Block {
  std::shared_ptr<std::byte> memory;
  std::size_t bytes = 0;
  std::size_t touched = 0;
  std::int64_t next = 0;  ///< part of a ring that was left alone longest
};

/// A set of twice the L3 or more is a ring of parts, and a call goes through the next one: as cold
/// as all of it in a row, in milliseconds. A team goes through its threads' parts in pieces.
constexpr std::size_t kPart = std::size_t{4} << 20;  // bytes
constexpr std::int64_t kFewestParts = 8;
constexpr std::int64_t kPiece = (512 << 10) / sizeof(float);  // of each array

/// Each thread's block, kept from one size of a sweep to the next: touching gigabytes anew for
/// every point would take longer than measuring them. Rounded up, so that it rarely moves: memory
/// that is not touched costs nothing. A ring is apart from sets that caches hold, or it would find
/// its parts there, and what L2 may hold from what is larger, or it would not lie in the pages that
/// suit it (l2_pages.hpp).
Block& block_of(int thread, bool ring, std::size_t bytes) {
  static std::vector<Block> blocks(3072);
  const bool small = bytes <= kHugePage;
  Block& block = blocks.at(3 * thread + (ring ? 2 : small ? 0 : 1));
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
  bool reads() const { return access_.name[0] == 'r'; }
  double flops() const {
    return access_.name[0] == 't' ? 2.0 * static_cast<double>(n_) * case_.threads : 0;
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
    switch (access_.name[0]) {
      case 'w':
        return differing(t, part, [](float, float) { return kScalar; });
      case 'c':
        return differing(t, part, [](float b, float) { return b; });
      case 't':
        return differing(t, part, [](float b, float c) { return b + kScalar * c; });
      default:
        return 0;
    }
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
    const std::int64_t n = range.end - range.begin;
    float *a = at(owner, part, 0) + range.begin, *b = at(owner, part, 1) + range.begin,
          *c = at(owner, part, 2) + range.begin;
    const std::string_view name = access_.name;
    if (name == "read") return kernel_.read(a, n, repeats);
    if (name == "write")
      kernel_.write(a, kScalar, n, repeats);
    else if (name == "copy")
      kernel_.copy(a, b, n, repeats);
    else if (name == "triad")
      kernel_.triad(a, b, c, kScalar, n, repeats);
    else if (name == "write_nt")
      kernel_.write_nt(a, kScalar, n, repeats);
    else if (name == "copy_nt")
      kernel_.copy_nt(a, b, n, repeats);
    else
      kernel_.triad_nt(a, b, c, kScalar, n, repeats);
    return 0;
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
  return c.dtype == "f32" && access_of(c).has(kernel) && c.size("size") >= kernel.least_size;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<Stream>(*static_cast<const Kernel*>(info.table), c, caches);
}

Case make_case(const char* access, std::int64_t size, int threads, bool quick) {
  return {.dtype = "f32",
          .keys = {{"access", access}, {"size", std::to_string(size)}},
          .threads = threads,
          .quick = quick};
}

/// A size a thread, in bytes, and how many of the quick suite's sizes in its level come before it;
/// kFullOnly for what only the full suite has, kReadsOnly for what it has of reads only.
struct Size {
  std::int64_t bytes;
  int rank;
};
constexpr int kFullOnly = 98, kReadsOnly = 99;

/// Three sizes inside each level, and a geometric sweep for the full suite, coarser where a pass
/// takes long. L3 and DRAM sets are shared out over the threads; those of L3 are twice as large as
/// L2, and there are none where a thread's share of L3 has no room for that. Reads get a fourth in
/// L2: a core of Zen 5 reaches its full rate from 0.38 of L2 on and, where pages lie badly, has
/// lost it again at 0.75.
std::vector<Size> sizes(const Caches& caches, int threads) {
  constexpr std::int64_t kGrain = 3072;
  const auto grain = [](double bytes) {
    return static_cast<std::int64_t>(bytes) / kGrain * kGrain;
  };
  std::vector<Size> all;
  const double last = static_cast<double>(cold_footprint(caches)) / threads;
  const auto l3 = static_cast<double>(sure_l3(caches, threads));
  const double least_l3 = static_cast<double>(2 * caches.l2 + kGrain), most_l3 = 0.75 * l3;
  int rank = 0;
  for (const double part : {0.375, 0.5, 0.75}) {
    all.push_back({grain(part * caches.l1d), rank});
    all.push_back({grain(part * caches.l2), rank});
    const double even = least_l3 + rank * (most_l3 - least_l3) / 2;
    if (least_l3 <= most_l3) all.push_back({grain(std::max(part * l3, even)), rank});
    all.push_back({grain((0.83 + part / 2) * last), rank});
    ++rank;
  }
  all.push_back({grain(0.625 * caches.l2), rank - 1});
  constexpr std::int64_t kWhole = 6144;  // bytes that every access divides into its steps
  constexpr double kStep = 1.35;
  int step = 0;
  for (double size = 6144; size < 2 * last; ++step) {
    const std::int64_t whole = static_cast<std::int64_t>(size) / kWhole * kWhole;
    all.push_back({whole, step % 3 == 0 ? kFullOnly : kReadsOnly});
    size *= size < 4 * l3 ? kStep : kStep * kStep;
  }
  std::erase_if(all, [](const Size& s) { return s.bytes == 0; });
  std::sort(all.begin(), all.end(), [](const Size& a, const Size& b) {
    return std::tie(a.bytes, a.rank) < std::tie(b.bytes, b.rank);
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Size& a, const Size& b) { return a.bytes == b.bytes; }),
            all.end());
  return all;
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  for (const int threads : {1, caches.cores}) {
    for (const auto& [size, rank] : sizes(caches, threads))
      for (const auto& access : kAccesses) {
        const std::string_view name = access.name;
        if (name.ends_with("_nt") && size * threads <= largest_level(caches)) continue;
        // Reads are the roofs; of the others two sizes are enough to see a plateau, and a coarser
        // sweep to see where it ends.
        if (rank == kReadsOnly && name != "read") continue;
        const bool quick = rank < (name == "read" ? 3 : 2);
        all.push_back(make_case(access.name, size, threads, quick));
      }
    if (caches.cores == 1) break;
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  constexpr std::int64_t kRing = (kFewestParts + 1) * std::int64_t{kPart};
  for (const auto& access : kAccesses) {
    for (const std::int64_t size : {3072, 6144, 15360, 98304})
      for (const int threads : {1, 3}) all.push_back(make_case(access.name, size, threads, false));
    for (const int threads : {1, 3}) all.push_back(make_case(access.name, kRing, threads, false));
  }
  return all;
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::stream
