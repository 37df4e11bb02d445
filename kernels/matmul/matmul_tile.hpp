// The register tile of the packed matmul, over an engine (matmul_engine.hpp): all products of one
// panel of X and one of Y.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/matmul/matmul_engine.hpp"

namespace kernels::matmul {
namespace {

constexpr std::int64_t kLine = 64;

/// Memory that is needed next, asked for while a tile is computed: for each kChunk steps so many
/// rows, `apart` bytes from one to the next, of so many lines each; for the next steps `further`
/// bytes on. Of several panels side by side, those of each. What comes into L2 may be asked for
/// once more, into L1, when it is nearer: NOTES.md, "Into L2, then into L1".
struct Ahead {
  const std::byte* at = nullptr;
  std::int64_t rows = 0, apart = kLine, lines = 1, further = rows * apart;
  bool into_l1 = false;   ///< or into L2
  std::int64_t back = 0;  ///< once more, so many bytes before and into L1; 0: not

  /// `kTwice`: by `back`, too. Tiles that never do leave out the look at it, which took up to 1 %
  /// of squares.
  template <bool kTwice = false>
  void ask_for(std::int64_t row, std::int64_t panel_bytes) const {
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::byte* const to = at + row * apart + line * kLine + panel_bytes;
      if (into_l1) {
        __builtin_prefetch(to, 0, 3);
        asm volatile("");  // or GCC drops both
      } else {
        __builtin_prefetch(to, 0, 2);
        if (kTwice && back > 0) __builtin_prefetch(to - back, 0, 3);
      }
    }
  }
};

/// A panel of X that is packed meanwhile, beside multiply-adds, which leave loads and stores room:
/// for each kChunk steps those of `rows` rows, `apart` values from one to the next. NOTES.md, "X
/// copied within a tile".
template <class E>
struct Copy {
  const typename E::X* from = nullptr;
  std::int64_t apart = 0;
  typename E::Xp* to = nullptr;
  std::int64_t rows = 0;

  [[gnu::always_inline]] void chunk() {
    if constexpr (parts_of<E>() == 1) {
      if (rows == 0) return;
      for (std::int64_t row = 0; row < rows; ++row, to += E::kChunk)
        E::pack_x(from + row * apart, to);
      from += E::kChunk;
    }
  }
};

/// What goes to Z of row r and vector v of a tile.
template <class E, class V>
[[gnu::always_inline]] inline auto sums_of(const typename E::Xp* head, int r,
                                           const V (*acc)[E::kVectors], int v) {
  if constexpr (parts_of<E>() == 2)
    return E::join(head, r, acc[2 * r][v], acc[2 * r + 1][v]);
  else
    return acc[r][v];
}

/// In how many goes a tile of R rows asks for a chunk's lines: many at once wait for each other (a
/// fourth at a time, M = 1, cold, Xeon with AMX: 9 to 15 % faster). In none: a tile that asks for
/// nothing, Z's lines included, and packs nothing. NOTES.md, "Lines asked for in fourths".
constexpr int asks_of(int rows, bool streams) { return rows <= 8 || streams ? 4 : 1; }

/// One step of K: R rows of a panel of X by a group of Y's.
template <class E, int R, class V>
[[gnu::always_inline]] inline void add_step(V (&acc)[R][E::kVectors], const typename E::Xp* x,
                                            const typename E::Yp* y) {
  typename E::W w[E::kVectors];
  E::load_y(y, w);
  // Pinned, as sums are (add_product).
#pragma GCC unroll 4
  for (int v = 0; v < E::kVectors; ++v) opaque(w[v]);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const auto b = E::broadcast(x + r * E::kChunk);
#pragma GCC unroll 4
    for (int v = 0; v < E::kVectors; ++v) add_product<E>(acc[r][v], w[v], b);
  }
}

/// R rows of sums to Z.
template <class E, int R, class S>
[[gnu::always_inline]] inline void put_rows(const S (&sums)[R][E::kVectors], typename E::Z* z,
                                            std::int64_t ldz, bool accumulate,
                                            const float* scales) {
  const auto put = [&](auto added, const float* with) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        E::put(z + r * ldz + v * E::kLanes, sums[r][v], added(), with, v * E::kLanes);
  };
  if (scales != nullptr)
    accumulate ? put(std::true_type(), scales) : put(std::false_type(), scales);
  else
    accumulate ? put(std::true_type(), nullptr) : put(std::false_type(), nullptr);
}

/// Whether a tile of R rows ends in thirds of them, one after the other multiplied by the last
/// chunk of K and stored: a core of Zen 4 takes about eight stores beside its multiply-adds, and
/// each more in a row costs two of those. NOTES.md, "Tiles that end in thirds".
template <class E, int R, int P, int Asks>
constexpr bool kInThirds = P == 1 && R > 8 && Asks == 1 &&
                           parts_of<E>() == 1 && E::kLanes * sizeof(typename E::Z) == kLine;

/// Rows [kBegin, kEnd) of a tile's last chunk.
template <class E, int kBegin, int kEnd, class V>
[[gnu::always_inline]] inline void finish_rows(const V (*acc)[E::kVectors], const typename E::Xp* x,
                                               const typename E::Yp* y, typename E::Z* z,
                                               std::int64_t ldz, bool accumulate,
                                               const float* scales) {
  constexpr int kSteps = E::kChunk / E::kGroup, kNr = E::kVectors * E::kLanes;
  V sums[kEnd - kBegin][E::kVectors];
#pragma GCC unroll 16
  for (int r = kBegin; r < kEnd; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < E::kVectors; ++v) sums[r - kBegin][v] = acc[r][v];
#pragma GCC unroll 16
  for (int g = 0; g < kSteps; ++g)
    add_step<E>(sums, x + kBegin * E::kChunk + g * E::kGroup, y + g * kNr * E::kGroup);
  put_rows<E>(sums, z + kBegin * ldz, ldz, accumulate, scales);
}

/// P tiles side by side, each R rows by the engine's nr columns; `groups` groups of K. Panels of Y
/// lie `panel` elements apart; `width` columns of the last one count, all of the others.
/// `accumulate`: adds to Z. `ahead` and `beside` are asked for meanwhile. NOTES.md, "The register
/// tile".
template <class E, int R, int P, int Asks = asks_of(R, false)>
[[gnu::noinline]] void tile(std::int64_t groups, const typename E::Xp* x, const typename E::Yp* y,
                            std::int64_t panel, typename E::Z* z, std::int64_t ldz,
                            std::int64_t width, bool accumulate, const float* scales,
                            const Ahead& ahead_from, const Ahead& beside_from,
                            const Copy<E>& copy_from) noexcept {
  using V = typename E::V;
  constexpr int kSteps = E::kChunk / E::kGroup, kNr = E::kVectors * E::kLanes;
  constexpr int kParts = parts_of<E>(), kRows = R * kParts;
  // A low tile has too few sums to hide the latency of a multiply-add: it keeps several of each.
  constexpr int kSums = P * kRows * E::kVectors, kSets = kSums >= 8 ? 1 : kSums >= 4 ? 2 : 4;
  constexpr int kLineEntries = kLine / sizeof(typename E::Z),
                kZLines = P * kNr > kLineEntries ? P * kNr / kLineEntries : 1;
  Ahead ahead = ahead_from, beside = beside_from;
  Copy<E> copy = copy_from;
  int z_row = 0, z_line = 0;
  const auto ask_for_z = [&] {
    if (z_row == R) return;
    __builtin_prefetch(z + z_row * ldz + z_line * kLineEntries, 1);
    if (++z_line == kZLines) z_line = 0, ++z_row;
  };
  V acc[kSets][P][kRows][E::kVectors];
#pragma GCC unroll 4
  for (int s = 0; s < kSets; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v) acc[s][p][r][v] = s == 0 ? E::first(x, r) : E::zero();
  const typename E::Xp* const head = x;
  x += E::kHeader;
  const auto step = [&](int s, const typename E::Xp* xs, const typename E::Yp* ys)
      __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) add_step<E>(acc[s][p], xs, ys + p * panel);
  };
  const bool in_thirds = kInThirds<E, R, P, Asks> && width == kNr && groups >= kSteps;
  for (std::int64_t chunks = groups / kSteps - in_thirds; chunks > 0; --chunks) {
    if constexpr (Asks == 0) {
#pragma GCC unroll 16
      for (int g = 0; g < kSteps; ++g) step(g % kSets, x + g * E::kGroup, y + g * kNr * E::kGroup);
    } else {
      ask_for_z();
      ask_for_z();
      std::int64_t row = 0;
#pragma GCC unroll 8
      for (int ask = 0; ask < Asks; ++ask) {
        for (; row < ahead.rows * (ask + 1) / Asks; ++row)
#pragma GCC unroll 4
          for (int p = 0; p < P; ++p)
            ahead.template ask_for<(Asks > 1)>(row,
                                               p * panel * std::int64_t{sizeof(typename E::Yp)});
#pragma GCC unroll 8
        for (int g = ask * kSteps / Asks; g < (ask + 1) * kSteps / Asks; ++g)
          step(g % kSets, x + g * E::kGroup, y + g * kNr * E::kGroup);
      }
      ahead.at += ahead.further;
      for (std::int64_t row = 0; row < beside.rows; ++row) beside.ask_for(row, 0);
      beside.at += beside.further;
      copy.chunk();
    }
    x += kRows * E::kChunk;
    y += kSteps * kNr * E::kGroup;
  }
  const typename E::Xp* const last_x = x;
  const typename E::Yp* const last_y = y;
  if (in_thirds) {
    x += kRows * E::kChunk;
    y += kSteps * kNr * E::kGroup;
  }
  for (groups %= kSteps; groups > 0; --groups, x += E::kGroup, y += kNr * E::kGroup) step(0, x, y);
  if constexpr (kInThirds<E, R, P, Asks>) {
    if (in_thirds) {
      for (std::int64_t row = 0; row < ahead.rows; ++row) ahead.ask_for(row, 0);
      for (std::int64_t row = 0; row < beside.rows; ++row) beside.ask_for(row, 0);
      constexpr int kOne = (R + 2) / 3, kTwo = (2 * R + 2) / 3;
      finish_rows<E, 0, kOne>(acc[0][0], last_x, last_y, z, ldz, accumulate, scales);
      finish_rows<E, kOne, kTwo>(acc[0][0], last_x, last_y, z, ldz, accumulate, scales);
      copy.chunk();
      finish_rows<E, kTwo, R>(acc[0][0], last_x, last_y, z, ldz, accumulate, scales);
      return;
    }
  }
#pragma GCC unroll 4
  for (int s = 1; s < kSets; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          acc[0][p][r][v] = E::add(acc[0][p][r][v], acc[s][p][r][v]);
  decltype(sums_of<E>(head, 0, acc[0][0], 0)) sums[P][R][E::kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) sums[p][r][v] = sums_of<E>(head, r, acc[0][p], v);

  if (width == kNr) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
      put_rows<E>(sums[p], z + p * kNr, ldz, accumulate,
                  scales != nullptr ? scales + p * kNr : nullptr);
  } else if constexpr (P == 1) {
    alignas(64) typename E::Z out[kNr];
    float edge_scales[kNr];
    for (std::int64_t j = 0; scales != nullptr && j < kNr; ++j)
      edge_scales[j] = j < width ? scales[j] : 0.0f;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        E::put(out + v * E::kLanes, sums[0][r][v], false, scales != nullptr ? edge_scales : nullptr,
               v * E::kLanes);
      typename E::Z* to = z + r * ldz;
      for (std::int64_t j = 0; j < width; ++j) to[j] = accumulate ? to[j] + out[j] : out[j];
    }
  }
}

/// What is asked for and copied comes by reference: copied to the stack by wider loads than it was
/// written by, it would wait for every store of the tile before.
template <class E>
using TileFunction = void (*)(std::int64_t, const typename E::Xp*, const typename E::Yp*,
                              std::int64_t, typename E::Z*, std::int64_t, std::int64_t, bool,
                              const float*, const Ahead&, const Ahead&, const Copy<E>&) noexcept;

template <class E, int R, bool Streams = false>
constexpr TileFunction<E> pick_tile(std::int64_t rows) {
  if constexpr (R == 1)
    return tile<E, 1, 1>;
  else
    return rows == R ? tile<E, R, 1, asks_of(R, Streams)> : pick_tile<E, R - 1, Streams>(rows);
}

}  // namespace
}  // namespace kernels::matmul
