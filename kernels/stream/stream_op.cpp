// The bandwidth probe as an operation: private buffers for each thread, touched first by it.
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <tuple>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/registry.hpp"
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

/// Values repeat, to be made in no time, but for the first of every kGrain.
constexpr std::int64_t kPeriod = 2048;
float pattern(std::int64_t i) { return static_cast<float>(i % 37 + 1); }

/// Each thread's block, kept from one size of a sweep to the next: touching gigabytes anew for
/// every point would take longer than measuring them. Rounded up, so that it rarely moves: memory
/// that is not touched costs nothing.
std::shared_ptr<std::byte> block_of(int thread, std::size_t bytes) {
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };
  static std::vector<Block> blocks(1024);
  Block& block = blocks.at(thread);
  if (block.bytes < bytes) {
    block.memory.reset();
    const std::size_t rounded = std::bit_ceil(bytes);
    block = {allocate(rounded), rounded};
  }
  return block.memory;
}

/// Three arrays in one thread's block, a line apart modulo a page, so that loads and stores at the
/// same index never look like the same address to the store buffer (4 KiB aliasing).
class Stream final : public Problem {
 public:
  Stream(const Kernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel),
        case_(c),
        caches_(caches),
        access_(access_of(c)),
        n_(c.size("size") / (access_.arrays * std::int64_t{sizeof(float)}) / access_.grain *
           access_.grain) {
    if (n_ == 0)
      throw BadInput("shape: size:" + c.text("size") + " must be at least " +
                     std::to_string(access_.grain * access_.arrays * sizeof(float)));
    require_memory(static_cast<double>(c.size("size")) * c.threads, caches);
    for (int t = 0; t < c.threads; ++t)
      blocks_.push_back(block_of(t, access_.arrays * (n_ + kPad) * sizeof(float)));
    reads_.resize(c.threads);
    wrong_.resize(c.threads);
  }

  void run(std::int64_t, std::int64_t count) override {
#pragma omp parallel num_threads(case_.threads)
    pass(omp_get_thread_num(), count);
  }

  std::string verify() override {
#pragma omp parallel num_threads(case_.threads)
    {
      const int t = omp_get_thread_num();
      for (int array = 0; array < access_.arrays; ++array) {
        float* p = at(t, array);
        for (std::int64_t i = 0; i < std::min(n_, kPeriod); ++i) p[i] = pattern(i);
        for (std::int64_t i = kPeriod; i < n_; i += kPeriod)
          std::copy_n(p, std::min(n_ - i, kPeriod), p + i);
        for (std::int64_t i = 0; i < n_; i += kGrain) p[i] = static_cast<float>(i / kGrain + t);
      }
    }
    run(0, 1);
#pragma omp parallel num_threads(case_.threads)
    wrong_[omp_get_thread_num()].count = mismatches(omp_get_thread_num());
    for (int t = 0; t < case_.threads; ++t)
      if (wrong_[t].count > 0)
        return "stream " + case_.name() + ": " + std::to_string(wrong_[t].count) +
               " wrong values of thread " + std::to_string(t);
    return {};
  }

  Cost cost() const override { return {flops(), bytes()}; }
  LevelBytes traffic() const override {
    return streaming_traffic(bytes(), bytes() / case_.threads, bytes(), caches_);
  }
  double working_set_bytes() const override { return bytes(); }
  double owned_bytes() const override { return 0; }
  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, case_.dtype};
  }

 private:
  static constexpr std::int64_t kPad = 1024 + 32;
  struct alignas(128) Read {
    std::uint32_t value;
  };
  struct alignas(128) Wrong {
    std::int64_t count;
  };

  float* at(int thread, int array) const {
    return reinterpret_cast<float*>(blocks_[thread].get()) + array * (n_ + kPad);
  }
  double bytes() const {
    return static_cast<double>(n_) * sizeof(float) * access_.arrays * case_.threads;
  }
  double flops() const {
    return access_.name[0] == 't' ? 2.0 * static_cast<double>(n_) * case_.threads : 0;
  }
  std::int64_t mismatches(int t) const {
    const float *a = at(t, 0), *b = at(t, 1), *c = at(t, 2);
    const char kind = access_.name[0];
    std::int64_t wrong = 0;
    if (kind == 'r') {
      std::uint32_t all = 0;
      for (std::int64_t i = 0; i < n_; ++i) all ^= std::bit_cast<std::uint32_t>(a[i]);
      wrong = reads_[t].value != all;
    } else if (kind == 'w') {
      for (std::int64_t i = 0; i < n_; ++i) wrong += a[i] != kScalar;
    } else if (kind == 'c') {
      for (std::int64_t i = 0; i < n_; ++i) wrong += a[i] != b[i];
    } else {
      for (std::int64_t i = 0; i < n_; ++i) wrong += a[i] != b[i] + kScalar * c[i];
    }
    return wrong;
  }

  void pass(int t, std::int64_t repeats) {
    float *a = at(t, 0), *b = at(t, 1), *c = at(t, 2);
    const std::string_view name = access_.name;
    if (name == "read")
      reads_[t].value = kernel_.read(a, n_, repeats);
    else if (name == "write")
      kernel_.write(a, kScalar, n_, repeats);
    else if (name == "copy")
      kernel_.copy(a, b, n_, repeats);
    else if (name == "triad")
      kernel_.triad(a, b, c, kScalar, n_, repeats);
    else if (name == "write_nt")
      kernel_.write_nt(a, kScalar, n_, repeats);
    else if (name == "copy_nt")
      kernel_.copy_nt(a, b, n_, repeats);
    else
      kernel_.triad_nt(a, b, c, kScalar, n_, repeats);
  }

  const Kernel& kernel_;
  Case case_;
  Caches caches_;
  const Access& access_;
  std::int64_t n_;
  std::vector<std::shared_ptr<std::byte>> blocks_;
  std::vector<Read> reads_;
  std::vector<Wrong> wrong_;
};

bool supports(const KernelInfo& info, const Case& c) {
  return c.dtype == "f32" && access_of(c).has(*static_cast<const Kernel*>(info.table));
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

/// Three sizes inside each level, and a geometric sweep for the full suite. L3 and DRAM sets are
/// shared out over the threads.
std::vector<Size> sizes(const Caches& caches, int threads) {
  const auto grain = [](double bytes) { return static_cast<std::int64_t>(bytes) / 3072 * 3072; };
  std::vector<Size> all;
  const double last = static_cast<double>(cold_footprint(caches)) / threads;
  int rank = 0;
  for (const double part : {0.375, 0.5, 0.75}) {
    all.push_back({grain(part * caches.l1d), rank});
    all.push_back({grain(part * caches.l2), rank});
    if (caches.l3 > 0) all.push_back({grain(part * caches.l3 / threads), rank});
    all.push_back({grain((0.625 + part) * last), rank});
    ++rank;
  }
  bool other = false;
  for (double size = 6144; size < 2 * last; size *= 1.35, other = !other)
    all.push_back({grain(size), other ? kReadsOnly : kFullOnly});
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
        if (name.ends_with("_nt") && size * threads <= caches.l3) continue;
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
  for (const auto& access : kAccesses)
    for (const std::int64_t size : {3072, 6144, 15360, 98304})
      for (const int threads : {1, 3}) all.push_back(make_case(access.name, size, threads, false));
  return all;
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::stream
