#include "bench/rest.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace bench {
namespace {

TEST(WaitForRest, LastsUntilNoThreadSpins) {
  std::atomic<bool> begun = false, ended = false;
  std::thread spinning([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    begun = true;
    while (std::chrono::steady_clock::now() < end) {
    }
    ended = true;
  });
  while (!begun) std::this_thread::yield();
  wait_for_rest();
  EXPECT_TRUE(ended);
  spinning.join();
}

TEST(WaitForRest, GivesUpOnAThreadThatNeverRests) {
  std::atomic<bool> stop = false;
  std::thread spinning([&] {
    while (!stop) {
    }
  });
  const auto start = std::chrono::steady_clock::now();
  wait_for_rest();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(250));
  stop = true;
  spinning.join();
}

}  // namespace
}  // namespace bench
