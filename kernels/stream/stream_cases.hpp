// The accesses of the bandwidth probe, and which sizes of them are timed and tested.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/op.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {

inline constexpr float kScalar = 3.0f;  ///< what is written, and the triad's factor

/// A piece of a thread's arrays, of n floats each.
struct Piece {
  float *a, *b, *c;
  std::int64_t n;
};

enum class Kind { read, write, copy, triad };

/// A loop of a Kernel over as many arrays, the whole done `repeats` times. `pass` returns the bits
/// that a read has seen, else 0.
struct Access {
  const char* name;
  Kind kind;
  int arrays;
  std::int64_t grain;
  bool (*has)(const Kernel&);
  std::uint32_t (*pass)(const Kernel&, const Piece&, std::int64_t repeats);
};

template <auto kLoop>
bool has(const Kernel& kernel) {
  return kernel.*kLoop != nullptr;
}
template <auto kLoop>
std::uint32_t read(const Kernel& kernel, const Piece& p, std::int64_t repeats) {
  return (kernel.*kLoop)(p.a, p.n, repeats);
}
template <auto kLoop>
std::uint32_t write(const Kernel& kernel, const Piece& p, std::int64_t repeats) {
  (kernel.*kLoop)(p.a, kScalar, p.n, repeats);
  return 0;
}
template <auto kLoop>
std::uint32_t copy(const Kernel& kernel, const Piece& p, std::int64_t repeats) {
  (kernel.*kLoop)(p.a, p.b, p.n, repeats);
  return 0;
}
template <auto kLoop>
std::uint32_t triad(const Kernel& kernel, const Piece& p, std::int64_t repeats) {
  (kernel.*kLoop)(p.a, p.b, p.c, kScalar, p.n, repeats);
  return 0;
}

inline constexpr std::array<Access, 7> kAccesses = {{
    {"read", Kind::read, 1, kReadGrain, has<&Kernel::read>, read<&Kernel::read>},
    {"write", Kind::write, 1, kGrain, has<&Kernel::write>, write<&Kernel::write>},
    {"copy", Kind::copy, 2, kGrain, has<&Kernel::copy>, copy<&Kernel::copy>},
    {"triad", Kind::triad, 3, kGrain, has<&Kernel::triad>, triad<&Kernel::triad>},
    {"write_nt", Kind::write, 1, kGrain, has<&Kernel::write_nt>, write<&Kernel::write_nt>},
    {"copy_nt", Kind::copy, 2, kGrain, has<&Kernel::copy_nt>, copy<&Kernel::copy_nt>},
    {"triad_nt", Kind::triad, 3, kGrain, has<&Kernel::triad_nt>, triad<&Kernel::triad_nt>},
}};

/// Throws BadInput where there is no such access.
const Access& access_of(const Case& c);

/// A set of twice the L3 or more is a ring of parts, and a call goes through the next one: as cold
/// as all of it in a row, in milliseconds. A team goes through its threads' parts in pieces.
inline constexpr std::size_t kPart = std::size_t{4} << 20;  // bytes
inline constexpr std::int64_t kFewestParts = 8;

/// The suite on a machine with these caches.
std::vector<Case> cases(const Caches& caches);
/// Every access on sets that caches hold and on a ring, on 1 and 3 threads.
std::vector<Case> test_cases();

}  // namespace kernels::stream
