#include "bench/affinity.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>

#include "kernels/op.hpp"

namespace bench {
namespace {

TEST(PinnedTeam, HasTheThreadsAskedFor) {
  std::atomic<int> seen = 0;
  PinnedTeam(3, {}).run([&](int thread) { seen += 1 << thread; });
  EXPECT_EQ(seen, 7);
}

// A barrier of all would wait for the others for ever.
TEST(PinnedTeam, OneThatOpenMPMakesSmallerIsRefused) {
  omp_set_dynamic(1);  // no more than the machine has
  EXPECT_THROW(PinnedTeam(512, {}), kernels::BadInput);
  omp_set_dynamic(0);
}

}  // namespace
}  // namespace bench
