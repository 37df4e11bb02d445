// Work in pieces for a team of threads, the same for each, of which the fast ones take more.
#pragma once

#include <cstdint>

namespace kernels {
namespace {

/// How many of a thread's pieces have been taken.
struct alignas(128) Share {
  std::int64_t taken = 0;
};

/// Calls `work(owner, i)` for pieces i = 0 .. pieces - 1 of each of the threads, by this thread's
/// share of the team: its own in order, and when there are none left those of the next thread, and
/// so on. A thread finds what it has touched first or left in its cache, and none waits for another
/// as long as there are pieces: cores, of virtual machines above all, are not equally fast to the
/// memory. `shares` are `threads` of them, and are cleared between two rounds.
template <class Work>
[[gnu::always_inline]] inline void take_pieces(Share* shares, int threads, int thread,
                                               std::int64_t pieces, Work work) {
  for (int i = 0; i < threads; ++i) {
    const int owner = thread + i < threads ? thread + i : thread + i - threads;
    const auto next = [&] {
      // At the end of a round every thread comes by every other's share: to look is cheap, while
      // threads squared that write wait for each other.
      const std::int64_t taken = __atomic_load_n(&shares[owner].taken, __ATOMIC_RELAXED);
      return taken < pieces ? __atomic_fetch_add(&shares[owner].taken, 1, __ATOMIC_RELAXED) : taken;
    };
    for (std::int64_t piece = next(); piece < pieces; piece = next()) work(owner, piece);
  }
}

inline void clear(Share* shares, int threads) {
  for (int i = 0; i < threads; ++i) shares[i].taken = 0;
}

}  // namespace
}  // namespace kernels
