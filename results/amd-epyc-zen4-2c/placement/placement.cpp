// Whether two virtual CPUs share a last cache at the moment, and what memory gives them then: one
// line every third of a second, for as many seconds as the argument says.
#include <immintrin.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds that a line takes from one to the other and back: the least of five means over 100.
static double hand_over() {
  alignas(128) static std::atomic<int> ball;
  constexpr int kRounds = 100;
  double least = 1;
  for (int go = 0; go < 5; ++go) {
    ball = 0;
#pragma omp parallel num_threads(2)
    {
      const int me = omp_get_thread_num();
#pragma omp barrier
      const auto start = Clock::now();
      for (int i = 0; i < kRounds; ++i) {
        while (ball.load(std::memory_order_acquire) != 2 * i + me) {
        }
        ball.store(2 * i + me + 1, std::memory_order_release);
      }
      if (me == 0) least = std::min(least, since(start) / kRounds);
    }
  }
  return least;
}

/// Seconds of a parallel region with nothing in it: the least of five means over 20.
static double region() {
  double least = 1;
  for (int go = 0; go < 5; ++go) {
    const auto start = Clock::now();
    for (int i = 0; i < 20; ++i) {
#pragma omp parallel num_threads(2)
      asm volatile("" ::: "memory");
    }
    least = std::min(least, since(start) / 20);
  }
  return least;
}

constexpr std::size_t kBytes = 64 << 20;  // a thread

/// bytes/s that `threads` together read of what no cache holds.
static double memory(const char* block, int threads) {
  const auto start = Clock::now();
#pragma omp parallel num_threads(threads)
  {
    const char* const mine = block + omp_get_thread_num() * kBytes;
    __m256i all = _mm256_setzero_si256();
    for (std::size_t at = 0; at < kBytes; at += 32)
      all = _mm256_or_si256(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mine + at)));
    asm volatile("" ::"x"(all));
  }
  return static_cast<double>(threads) * kBytes / since(start);
}

int main(int, char** argv) {
  char* const block = static_cast<char*>(std::aligned_alloc(4096, 2 * kBytes));
  std::memset(block, 1, 2 * kBytes);
  std::puts("time_s,hand_over_s,region_s,memory_two_bytes_per_s,memory_one_bytes_per_s");
  for (const auto start = Clock::now(); since(start) < std::atof(argv[1]); usleep(300000)) {
    region();
    const double handed = hand_over(), opened = region(), two = memory(block, 2),
                 one = memory(block, 1);
    std::printf("%.1f,%.3g,%.3g,%.3g,%.3g\n", since(start), handed, opened, two, one);
    std::fflush(stdout);
  }
}
