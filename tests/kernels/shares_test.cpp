#include "kernels/shares.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace kernels {
namespace {

TEST(Shares, OneThreadTakesItsOwnAndThenThoseOfTheOthersInOrder) {
  std::vector<Share> shares(3);
  std::vector<std::pair<int, std::int64_t>> taken;
  const auto take = [&](int thread) {
    take_pieces(shares.data(), 3, thread, 2,
                [&](int owner, std::int64_t i) { taken.emplace_back(owner, i); });
  };
  take(1);
  EXPECT_EQ(taken, (std::vector<std::pair<int, std::int64_t>>{
                       {1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 0}, {0, 1}}));
  taken.clear();
  take(0);
  EXPECT_TRUE(taken.empty());
  for (const Share& share : shares) EXPECT_EQ(share.taken, 2);  // looked at, not written to
  clear(shares.data(), 3);
  take(0);
  EXPECT_EQ(taken.size(), 6u);
}

TEST(Shares, OthersTakeWhatAThreadThatIsHeldUpHasLeft) {
  constexpr int kThreads = 3, kPieces = 100;
  std::vector<Share> shares(kThreads);
  std::vector<std::atomic<int>> times(kThreads * kPieces);
  std::atomic<int> done = 0;
#pragma omp parallel num_threads(kThreads)
  {
    const int thread = omp_get_thread_num();
    take_pieces(shares.data(), kThreads, thread, kPieces, [&](int owner, std::int64_t i) {
      ++times[owner * kPieces + i];
      ++done;
      while (thread == 0 && done < kThreads * kPieces) std::this_thread::yield();
    });
  }
  for (const auto& count : times) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace kernels
