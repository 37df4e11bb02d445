#include "kernels/stream/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::stream {
namespace {

constexpr std::int64_t kPart = 4 << 20;  // bytes of a ring that one call goes through

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 2};

KernelInfo info_of(const Kernel* kernel) {
  return {"stream", "of a test", Need::none, Threads::any, "", kernel};
}

Case writes(std::int64_t size) {
  return {.dtype = "f32", .keys = {{"access", "write"}, {"size", std::to_string(size)}}};
}

struct Call {
  float* at;
  std::int64_t n, repeats;
};
std::vector<Call> calls;
void record(float* a, float value, std::int64_t n, std::int64_t repeats) {
  calls.push_back({a, n, repeats});
  std::fill_n(a, n, value);
}
void skip_the_last(float* a, float value, std::int64_t n, std::int64_t) {
  std::fill_n(a, n - 1, value);
}

std::unique_ptr<Problem> bind(const Kernel& kernel, const Case& c) {
  const KernelInfo info = info_of(&kernel);
  return operation_of(info).bind(info, c, kCaches);
}

TEST(StreamRing, GoesThroughOnePartACallAndLeavesNoneOut) {
  const Kernel kernel = {.exec_unit = "scalar", .write = record};
  const auto problem = bind(kernel, writes(8 * kPart));
  EXPECT_EQ(problem->verify(), "");
  EXPECT_EQ(problem->working_set_bytes(), 8 * problem->cost().bytes);
  EXPECT_NEAR(problem->cost().bytes, kPart, 0.01 * kPart);
  calls.clear();
  problem->run(0, 9);
  ASSERT_EQ(calls.size(), 9u);
  std::set<float*> parts;
  for (int i = 0; i < 8; ++i) parts.insert(calls[i].at);
  EXPECT_EQ(parts.size(), 8u);
  EXPECT_EQ(calls[8].at, calls[0].at);
}

TEST(StreamRing, NeverComesByWhatAnotherProblemHasJustRead) {
  const Kernel kernel = {.exec_unit = "scalar", .write = record};
  const auto shorter = bind(kernel, writes(8 * kPart)), longer = bind(kernel, writes(12 * kPart));
  calls.clear();
  shorter->run(0, 3);
  longer->run(0, 4);
  shorter->run(3, 1);
  std::set<float*> parts;
  for (const Call& call : calls) parts.insert(call.at);
  EXPECT_EQ(parts.size(), 8u);
}

TEST(StreamRing, CatchesAFloatLeftOut) {
  const Kernel kernel = {.exec_unit = "scalar", .write = skip_the_last};
  EXPECT_NE(bind(kernel, writes(8 * kPart))->verify(), "");
}

std::atomic<std::int64_t> written;
void count(float* a, float value, std::int64_t n, std::int64_t) {
  written += n;
  std::fill_n(a, n, value);
}

TEST(StreamRing, OfATeamIsGoneThroughInPieces) {
  const Kernel kernel = {.exec_unit = "scalar", .write = count};
  Case c = writes(8 * kPart);
  c.threads = 3;
  const auto problem = bind(kernel, c);
  EXPECT_EQ(problem->verify(), "");
  written = 0;
  problem->run(0, 2);
  EXPECT_EQ(written * sizeof(float), 2 * problem->cost().bytes);
  const Kernel faulty = {.exec_unit = "scalar", .write = skip_the_last};
  EXPECT_NE(bind(faulty, c)->verify(), "");
}

std::uint32_t bits_of_half(const float* a, std::int64_t n, std::int64_t) {
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < n / 2; ++i) bits ^= std::bit_cast<std::uint32_t>(a[i]);
  return bits;
}

TEST(StreamRing, CatchesAReadThatLeavesOutHalf) {
  const Kernel kernel = {.exec_unit = "scalar", .read = bits_of_half};
  Case c = writes(8 * kPart);
  c.keys[0].second = "read";
  for (c.threads = 1; c.threads <= 3; c.threads += 2)
    EXPECT_NE(bind(kernel, c)->verify(), "") << c.threads;
}

TEST(StreamSet, IsReadWholeAsOftenAsAsked) {
  const Kernel kernel = {.exec_unit = "scalar", .write = record};
  const auto problem = bind(kernel, writes(1 << 20));
  calls.clear();
  problem->run(0, 5);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].n, (1 << 20) / 4);
  EXPECT_EQ(calls[0].repeats, 5);
}

TEST(StreamSet, IsOnlyForKernelsThatTakeItsSize) {
  const Kernel kernel = {
      .exec_unit = "scalar", .least_size = 1 << 20, .most_size = 2 << 20, .write = record};
  const KernelInfo info = info_of(&kernel);
  EXPECT_FALSE(operation_of(info).supports(info, writes((1 << 20) - 1)));
  EXPECT_TRUE(operation_of(info).supports(info, writes(1 << 20)));
  EXPECT_TRUE(operation_of(info).supports(info, writes(2 << 20)));
  EXPECT_FALSE(operation_of(info).supports(info, writes((2 << 20) + 1)));
}

void copy_nothing(float*, const float*, std::int64_t, std::int64_t) {}
void copy_half(float* a, const float* b, std::int64_t n, std::int64_t) { std::copy_n(b, n / 2, a); }
void copy_back(float* a, const float* b, std::int64_t n, std::int64_t) {
  std::copy_n(a, n, const_cast<float*>(b));
}
void copy_from_before(float* a, const float* b, std::int64_t n, std::int64_t) {
  std::copy_n(b, n - 1, a + 1);
  a[0] = b[0];
}
void write_nothing(float*, float, std::int64_t, std::int64_t) {}
void triad_nothing(float*, const float*, const float*, float, std::int64_t, std::int64_t) {}
void triad_swapped(float* a, const float* b, const float* c, float s, std::int64_t n,
                   std::int64_t) {
  for (std::int64_t i = 0; i < n; ++i) a[i] = c[i] + s * b[i];
}
void triad_of_one(float* a, const float* b, const float*, float s, std::int64_t n, std::int64_t) {
  for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + s * b[i];
}
std::uint32_t bits_of_none(const float*, std::int64_t, std::int64_t) { return 0; }
/// One line of sixteen, as far as pairs of 2048 numbers go.
std::uint32_t bits_of_some_lines(const float* a, std::int64_t n, std::int64_t) {
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (i >= n / 4096 * 4096 || i % 256 < 16) bits ^= std::bit_cast<std::uint32_t>(a[i]);
  return bits;
}
/// As many loads as asked for.
std::uint32_t bits_of_a_half_for_the_other(const float* a, std::int64_t n, std::int64_t) {
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < n; ++i) bits ^= std::bit_cast<std::uint32_t>(a[i % (n / 2)]);
  return bits;
}

TEST(StreamVerify, CatchesWhatWasNotDone) {
  struct Wrong {
    const char* name;
    const char* access;
    Kernel kernel;
  };
  const Wrong all[] = {
      {"read nothing", "read", {.read = bits_of_none}},
      {"read some lines", "read", {.read = bits_of_some_lines}},
      {"read a half twice", "read", {.read = bits_of_a_half_for_the_other}},
      {"write nothing", "write", {.write = write_nothing}},
      {"copy nothing", "copy", {.copy = copy_nothing}},
      {"copy half", "copy_nt", {.copy_nt = copy_half}},
      {"copy back", "copy", {.copy = copy_back}},
      {"copy one off", "copy", {.copy = copy_from_before}},
      {"triad of nothing", "triad_nt", {.triad_nt = triad_nothing}},
      {"triad swapped", "triad", {.triad = triad_swapped}},
      {"triad of one array", "triad", {.triad = triad_of_one}},
  };
  for (const Wrong& wrong : all)
    for (const std::int64_t size : {std::int64_t{98304}, 9 * kPart})
      for (const int threads : {1, 2, 3}) {
        Case c = writes(size);
        c.keys[0].second = wrong.access;
        c.threads = threads;
        EXPECT_NE(bind(wrong.kernel, c)->verify(), "") << wrong.name << " " << size;
      }
}

/// Exactly as long as the array, so that AddressSanitizer sees loads beyond it.
TEST(StreamRead, OfSeveralPassesGivesTheBitsOfOne) {
  for (const KernelInfo& info : all_kernels()) {
    if (info.op != "stream" || info.gpu() || !missing(info.needs).empty()) continue;
    const auto read = static_cast<const Kernel*>(info.table)->read;
    for (const std::int64_t n : {kReadGrain, 7 * kReadGrain}) {
      std::vector<float> a(static_cast<std::size_t>(n));
      std::uint32_t expected = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i * i + 1);
        expected ^= std::bit_cast<std::uint32_t>(a[i]);
      }
      for (const std::int64_t repeats : {1, 2, 5})
        EXPECT_EQ(read(a.data(), n, repeats), expected) << info.variant << " " << n;
    }
  }
}

TEST(StreamTraffic, ComesFromMemoryWhereTheCachesOfItsThreadsEnd) {
  constexpr std::int64_t kMb = 1 << 20;
  const auto from_memory = [](double set, int threads, const Caches& caches) {
    return !std::isnan(streaming_traffic(set, set / threads, set, caches).dram);
  };
  // 64 cores with an L2 each and no L3: what one thread reads is not kept in the others' L2s.
  const Caches own{.l1d = 64 << 10, .l2 = kMb, .cores = 64};
  EXPECT_TRUE(from_memory(8 * kMb, 1, own));
  EXPECT_FALSE(from_memory(8 * kMb, 16, own));
  // Four cores share 2 MB, all of which one of them reaches.
  const Caches shared{.l1d = 32 << 10, .l2 = kMb / 2, .l2_all = 2 * kMb, .cores = 4};
  EXPECT_FALSE(from_memory(1.5 * kMb, 1, shared));
  EXPECT_TRUE(from_memory(3 * kMb, 1, shared));
  // A machine that tells nothing.
  EXPECT_TRUE(from_memory(static_cast<double>(cold_footprint({})), 1, {}));
  EXPECT_FALSE(from_memory(64 * kMb, 1, {}));
}

TEST(StreamCases, AskForNoMoreL3ThanIsSure) {
  Caches server = kCaches;
  server.l2 = 2 << 20;
  server.l3 = std::int64_t{480} << 20;
  EXPECT_EQ(sure_l3(server, 1), 32 << 20);
  EXPECT_EQ(sure_l3(kCaches, 2), 2 << 20);
  int in_l3 = 0;
  for (const Case& c : operation_of(info_of(nullptr)).cases(server)) {
    const std::int64_t size = c.size("size");
    if (!c.quick || size <= server.l2 || size * c.threads > server.l3) continue;
    EXPECT_LT(size, 32 << 20) << c.name();
    ++in_l3;
  }
  EXPECT_GE(in_l3, 6);
}

/// Quick sizes of a level as ceilings.cpp knows them: between twice the level before and three
/// quarters of a thread's share, or four times all of the largest.
struct Found {
  int l3 = 0, dram = 0;
};
Found quick_reads(const Operation& operation, const Caches& caches, int threads) {
  Found found;
  const double share = static_cast<double>(caches.l3) / threads;
  for (const Case& c : operation.cases(caches)) {
    if (!c.quick || c.threads != threads || c.text("access", "read") != "read") continue;
    const auto size = static_cast<double>(c.size("size"));
    found.l3 += size >= 2.0 * static_cast<double>(caches.l2) && size <= 0.75 * share;
    found.dram += size * threads >= 4.0 * static_cast<double>(largest_level(caches));
  }
  return found;
}

TEST(StreamCases, HaveSizesInEveryLevelThatThereIs) {
  constexpr std::int64_t kMb = 1 << 20;
  const Operation& stream = operation_of(info_of(nullptr));
  const auto caches = [](std::int64_t l2, std::int64_t l3, int cores) {
    return Caches{.l1d = 32 << 10, .l2 = l2, .l3 = l3, .cores = cores};
  };
  // L3 four times L2 (Zen 4), a thread's share of it smaller than that (a hybrid, a server), none.
  const Caches zen4 = caches(kMb, 64 * kMb, 16), hybrid = caches(2 * kMb, 36 * kMb, 24),
               server = caches(2 * kMb, 105 * kMb, 56), none = caches(kMb, 0, 128);
  EXPECT_EQ(quick_reads(stream, zen4, 16).l3, 3);
  EXPECT_EQ(quick_reads(stream, hybrid, 24).l3, 0);
  EXPECT_EQ(quick_reads(stream, server, 56).l3, 0);
  EXPECT_EQ(quick_reads(stream, server, 1).l3, 3);
  for (const Caches& c : {zen4, hybrid, server, none})
    EXPECT_EQ(quick_reads(stream, c, c.cores).dram, 3) << c.cores;
  EXPECT_EQ(cold_footprint(server), 4 * 112 * kMb);  // all L2s, which are more than L3
  EXPECT_EQ(cold_footprint(none), 512 * kMb);
}

TEST(ChaseCases, HaveASizeInEveryLevelThatIsKnownAndEachNameOnce) {
  constexpr std::int64_t kMb = 1 << 20;
  const Operation& chase = operation_of(
      *std::find_if(all_kernels().begin(), all_kernels().end(),
                    [](const KernelInfo& info) { return info.op == "chase" && !info.gpu(); }));
  const Caches zen4 = {.l1d = 32 << 10, .l2 = kMb, .l3 = 64 * kMb, .cores = 16};
  EXPECT_EQ(quick_reads(chase, zen4, 16).l3, 1);
  const Caches thirds = {.l1d = 32 << 10, .l2 = kMb, .l3 = 96 * kMb, .cores = 3};
  EXPECT_EQ(quick_reads(chase, thirds, 3).dram, 1);
  for (const Caches& caches : {zen4, thirds, Caches{.cores = 2}}) {
    std::set<std::string> names;
    for (const Case& c : chase.cases(caches)) {
      EXPECT_TRUE(names.insert(c.name()).second) << c.name();
      EXPECT_GE(c.size("size"), 128) << c.name();
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(Provide, WritesTheFirstByteOfAPageAtMost) {
  constexpr std::size_t kBytes = std::size_t{65} << 20, kPage = 4096;
  constexpr std::byte kMark{0x5a};
  const auto memory = allocate(kBytes + kPage);
  std::fill_n(memory.get(), kBytes + kPage, kMark);
  provide(memory.get(), kBytes);
  std::size_t at = 0;  // of the first other byte that is written
  while (at < kBytes + kPage && ((at % kPage == 0 && at < kBytes) || memory.get()[at] == kMark))
    ++at;
  EXPECT_EQ(at, kBytes + kPage);
}

TEST(OwnMemory, OfARingIsFarFromTheNextCallAndCountsWholeGrains) {
  constexpr std::size_t kGrainBytes = kReadGrain * sizeof(float);
  const std::vector<std::byte> memory(3 * kGrainBytes + 5);
  std::set<std::int64_t> read;
  const auto regions_of = [&](std::int64_t slot) {
    read.insert(slot);
    return std::vector<Region>{memory, Region(memory).first(kGrainBytes - 1)};
  };
  if (missing(Need::avx2).empty() || missing(Need::neon).empty()) {
    // Less than is worth a look in all of them: half the ring, a quarter of it off on both sides.
    EXPECT_EQ(read_ring(0, 3, 102, 8, regions_of), 4 * 3.0 * kGrainBytes);
    read.erase(0);  // asked for its size
    EXPECT_EQ(read, (std::set<std::int64_t>{1, 2, 3}));
    read.clear();
    EXPECT_EQ(read_ring(0, 1, 6, 2, regions_of), 3.0 * kGrainBytes);
    EXPECT_EQ(read, (std::set<std::int64_t>{0, 1}));
    EXPECT_EQ(read_ring(0, 1, 7, 1, regions_of), 3.0 * kGrainBytes) << "the only slot";
  }
  EXPECT_EQ(read_ring(99, 1, 0, 8, regions_of), 0) << "no such loop";
}

TEST(OwnMemory, ATeamReadsAllOfEveryRegionOnce) {
  constexpr std::size_t kGrainBytes = kReadGrain * sizeof(float);
  const std::vector<std::byte> memory(1700 * kGrainBytes);  // more than a piece for each of three
  const std::vector<Region> regions{memory, Region(memory).first(2 * kGrainBytes)};
  const auto loops = [&](int threads) {
    int count = 0;
    for (; read_regions(count, threads, regions) > 0; ++count)
      EXPECT_EQ(read_regions(count, threads, regions), 1702.0 * kGrainBytes) << count;
    return count;
  };
  EXPECT_EQ(loops(3), loops(1));
}

TEST(OwnMemory, EveryColdCaseHasSome) {
  if (!missing(Need::avx2).empty() && !missing(Need::neon).empty()) GTEST_SKIP() << "no probes";
  const auto bytes = [](const char* op, const Case& c) -> double {
    for (const KernelInfo& info : all_kernels())
      if (info.op == op && info.needs == Need::none && !info.gpu() && !info.library() &&
          operation_of(info).supports(info, c))
        return operation_of(info).bind(info, c, kCaches)->read_own_memory(0, 0);
    return 0;
  };
  Case dot = {.dtype = "f32", .keys = {{"N", "65536"}, {"temp", "cold"}}};
  EXPECT_GE(bytes("dot", dot), 32 << 20);
  dot.keys.back().second = "warm";
  EXPECT_EQ(bytes("dot", dot), 0);
  Case matmul = {.dtype = "f32",
                 .keys = {{"M", "1"}, {"N", "512"}, {"K", "512"}, {"temp", "cold"}}};
  EXPECT_GE(bytes("matmul", matmul), 32 << 20);
  matmul.keys.back().second = "warm";
  EXPECT_EQ(bytes("matmul", matmul), 0);
  Case attention = {.dtype = "f32",
                    .keys = {{"batch", "1"},
                             {"context", "1024"},
                             {"heads", "4"},
                             {"kv_heads", "2"},
                             {"head_dim", "64"},
                             {"layout", "contiguous"},
                             {"temp", "cold"}}};
  EXPECT_GT(bytes("attention", attention), 8 << 20);
  attention.keys[1].second = "262144";  // 256 MB: a slot alone
  EXPECT_EQ(bytes("attention", attention), 256 << 20);
  attention.keys.back().second = "warm";
  EXPECT_EQ(bytes("attention", attention), 0);
}

}  // namespace
}  // namespace kernels::stream
