// The bandwidth loops, written once over a vector type. Unrolled so that loop control and, for the
// read, the adds' latency stay hidden behind the loads.
#pragma once

#include "kernels/simd/ahead.hpp"
#include "kernels/simd/opaque.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {
namespace {

inline constexpr int kUnroll = 16, kReadUnroll = 32;
inline constexpr int kLine = 64 / sizeof(float);

/// Keeps one pass over the arrays from being merged with the next.
inline void end_of_pass() { asm volatile("" ::: "memory"); }

/// Loads all vectors of a, `repeats` times, and gives each to `take` with its place among them
/// modulo kLoads, those of a step. `kStreams` equal pieces side by side, for the prefetchers.
/// Passes follow each other without a branch, which would be mispredicted once a pass: 5 % of one
/// over half of L1.
template <class F, class How, int kStreams, int kLoads, class Take>
[[gnu::always_inline]] inline void for_each_load(const float* a, std::int64_t n,
                                                 std::int64_t repeats, Take take) {
  constexpr int kBurst = kLoads / kStreams;
  constexpr int kStep = kBurst * F::kWidth;
  const std::int64_t piece = n / kStreams, steps = repeats * (piece / kStep);
  std::int64_t i = 0;
  for (std::int64_t step = 0; step < steps; ++step, end_of_pass()) {
#pragma GCC unroll 4
    for (int stream = 0; stream < kStreams; ++stream) {
      const float* at = a + stream * piece + i;
      opaque(at);  // or GCC computes an address for every other load
#pragma GCC unroll 16
      for (int u = 0; u < kBurst; ++u, at += F::kWidth) {
        if (u * F::kWidth % kLine == 0) How::ask(at);
        take(stream * kBurst + u, F::load(at));
      }
    }
    i += kStep - piece;
    i += piece & (i >> 63);
  }
}

/// All passes but the last only load: any operation on what is loaded takes from L1's rate (one on
/// 512 bits beside two loads 14 % on a Xeon with AMX).
template <class F, class How, int kStreams = 4, int kLoads = kReadUnroll>
std::uint32_t read(const float* a, std::int64_t n, std::int64_t repeats) {
  constexpr int kChains = 8;
  for_each_load<F, How, kStreams, kLoads>(a, n, repeats - 1,
                                          [](int, typename F::V v) { opaque(v); });
  typename F::V acc[kChains], pending;
#pragma GCC unroll 8
  for (auto& v : acc) v = F::zero();
  for_each_load<F, How, kStreams, kLoads>(a, n, 1, [&](int at, typename F::V v) {
    if (at % 2 == 0)
      pending = v;
    else
      acc[at / 2 % kChains] = F::exclusive_or(acc[at / 2 % kChains], pending, v);
  });
  const typename F::V none = F::zero();
  typename F::V last = none;
#pragma GCC unroll 8
  for (const auto& v : acc) last = F::exclusive_or(last, v, none);
  float lanes[F::kWidth];
  F::store(lanes, last);
  std::uint32_t all = 0;
  for (const float lane : lanes) all ^= __builtin_bit_cast(std::uint32_t, lane);
  return all;
}

struct Cached {
  template <class F>
  static void store(float* p, typename F::V v) {
    F::store(p, v);
  }
  static void finish() {}
};

struct NonTemporal {
  template <class F>
  static void store(float* p, typename F::V v) {
    F::stream(p, v);
  }
  static void finish() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
};

/// a[i] = value_at(i) for vectors at i.
template <class F, class How, class Value>
void for_each_vector(float* a, std::int64_t n, std::int64_t repeats, Value value_at) {
  constexpr int kStep = kUnroll * F::kWidth;
  for (std::int64_t r = 0; r < repeats; ++r, end_of_pass())
    for (std::int64_t i = 0; i < n; i += kStep)
#pragma GCC unroll 16
      for (int u = 0; u < kUnroll; ++u) {
        const std::int64_t at = i + u * F::kWidth;
        How::template store<F>(a + at, value_at(at));
      }
  How::finish();
}

template <class F, class How>
void write(float* a, float value, std::int64_t n, std::int64_t repeats) {
  const auto v = F::set1(value);
  for_each_vector<F, How>(a, n, repeats, [=](std::int64_t) { return v; });
}

template <class F, class How>
void copy(float* a, const float* b, std::int64_t n, std::int64_t repeats) {
  for_each_vector<F, How>(a, n, repeats, [=](std::int64_t i) { return F::load(b + i); });
}

template <class F, class How>
void triad(float* a, const float* b, const float* c, float s, std::int64_t n,
           std::int64_t repeats) {
  const auto vs = F::set1(s);
  for_each_vector<F, How>(
      a, n, repeats, [=](std::int64_t i) { return F::fma(vs, F::load(c + i), F::load(b + i)); });
}

/// The _nt loops only where the vectors have a store past the caches.
template <class F>
constexpr Kernel kernel_of(const char* exec_unit) {
  Kernel kernel = {.exec_unit = exec_unit,
                   .read = read<F, Plain>,
                   .write = write<F, Cached>,
                   .copy = copy<F, Cached>,
                   .triad = triad<F, Cached>};
  if constexpr (requires(float* p, typename F::V v) { F::stream(p, v); }) {
    kernel.write_nt = write<F, NonTemporal>;
    kernel.copy_nt = copy<F, NonTemporal>;
    kernel.triad_nt = triad<F, NonTemporal>;
  }
  return kernel;
}

/// Reads of sets that L2 does not hold, asked for ahead of the loads.
template <class F>
constexpr Kernel ahead_of(const char* exec_unit) {
  return {.exec_unit = exec_unit, .least_size = kAheadFrom, .read = read<F, Ahead<24>>};
}

/// Reads of sets that L2 does not hold, asked for into L1 in two streams.
template <class F>
constexpr Kernel ahead_into_l1_of(const char* exec_unit) {
  return {.exec_unit = exec_unit, .least_size = kAheadIntoL1From, .read = read<F, AheadIntoL1, 2>};
}

/// Reads of the same sets in fewer streams, for memory that likes few of its rows open.
template <class F>
constexpr Kernel two_streams_of(const char* exec_unit) {
  return {.exec_unit = exec_unit, .least_size = kAheadFrom, .read = read<F, Plain, 2>};
}

/// Reads of sets that L1 does not hold and L2 does, in one stream and short steps.
template <class F>
constexpr Kernel one_stream_of(const char* exec_unit) {
  return {.exec_unit = exec_unit,
          .least_size = 96 << 10,
          .most_size = kAheadIntoL1From,
          .read = read<F, Plain, 1, 8>};
}

}  // namespace
}  // namespace kernels::stream
