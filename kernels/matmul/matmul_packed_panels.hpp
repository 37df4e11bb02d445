// Panels of the packed matmul (matmul_packed.hpp): how X and Y are packed, and what is packed or
// asked for into L2 while tiles are multiplied. What is asked for tells its next piece to every
// tile.
#pragma once

#include "kernels/matmul/matmul_packed_layout.hpp"

namespace kernels::matmul {
namespace {

/// What a panel of X holds before its values, once those are there.
template <class E>
void pack_header(std::int64_t rows, std::int64_t depth, typename E::Xp* panel) noexcept {
  if constexpr (E::kHeader > 0)
    E::pack_header(panel, rows * parts_of<E>(), panel + E::kHeader, blocks_of(depth, E::kChunk));
}

/// Packs `rows` rows of x, `depth` steps deep, stride ldx.
template <class E>
void pack_x(const typename E::X* x, std::int64_t ldx, std::int64_t rows, std::int64_t depth,
            typename E::Xp* out) noexcept {
  using X = typename E::X;
  constexpr int kParts = parts_of<E>();
  typename E::Xp* const header = out;
  out += E::kHeader;
  if constexpr (kParts > 1)
    for (std::int64_t r = 0; r < rows; ++r) E::open_row(header, r, x + r * ldx, depth);
  const auto pack_chunk = [&](const X* from, std::int64_t r) {
    if constexpr (kParts > 1)
      E::pack_x(from, out, header, r);
    else
      E::pack_x(from, out);
    out += kParts * E::kChunk;
  };
  std::int64_t k = 0;
  for (; k + E::kChunk <= depth; k += E::kChunk)
    for (std::int64_t r = 0; r < rows; ++r) pack_chunk(x + r * ldx + k, r);
  if (k < depth)
    for (std::int64_t r = 0; r < rows; ++r) {
      X edge[E::kChunk] = {};
      for (std::int64_t i = k; i < depth; ++i) edge[i - k] = x[r * ldx + i];
      pack_chunk(edge, r);
    }
  pack_header<E>(rows, depth, header);
}

/// Panels of X, each packed in the tile of the one before it, while the first panel of Y is
/// multiplied.
template <class E>
class NextX {
 public:
  using X = typename E::X;
  using Xp = typename E::Xp;

  NextX() = default;
  /// Panels [begin, end) of a block of K, of which the first is packed here.
  NextX(const PackedLayout<E>& l, const X* x, std::int64_t block, std::int64_t begin,
        std::int64_t end, Xp* panels)
      : l_(&l), x_(x + block * l.kc), depth_(l.depth(block)), end_(end), panels_(panels) {
    const std::int64_t at_once = parts_of<E>() == 1 && depth_ % E::kChunk == 0 ? begin + 1 : end;
    for (std::int64_t q = begin; q < at_once; ++q)
      pack_x<E>(x_ + l.row(q) * l.s.k, l.s.k, rows(q), depth_, panel(q));
    if (at_once == end) end_ = 0;
  }
  /// What the tile of panel q is to pack.
  Copy<E> behind(std::int64_t q) const {
    if (q + 1 >= end_) return {};
    return {x_ + l_->row(q + 1) * l_->s.k, l_->s.k, panel(q + 1) + E::kHeader, rows(q + 1)};
  }
  /// It has.
  void packed_behind(std::int64_t q) const {
    if (q + 1 < end_) pack_header<E>(rows(q + 1), depth_, panel(q + 1));
  }
  void all_packed() { end_ = 0; }

 private:
  std::int64_t rows(std::int64_t q) const { return l_->row(q + 1) - l_->row(q); }
  Xp* panel(std::int64_t q) const { return panels_ + q * l_->x_panel; }
  const PackedLayout<E>* l_ = nullptr;
  const X* x_ = nullptr;
  std::int64_t depth_ = 0, end_ = 0;
  Xp* panels_ = nullptr;
};

/// Packs column panels [begin, end) of `depth` rows of y, stride n, `panel` elements apart. Walks
/// a few rows of y side by side across all panels, so that DRAM sees long streams.
template <class E>
void pack_y(const PackedLayout<E>& l, const typename E::Y* y, std::int64_t depth,
            std::int64_t begin, std::int64_t end, typename E::Yp* out, std::int64_t panel,
            Ahead ahead = {}) noexcept {
  using Y = typename E::Y;
  using Yp = typename E::Yp;
  constexpr std::int64_t kNr = PackedLayout<E>::kNr;
  constexpr std::int64_t kRows = 8;
  static_assert(kRows % E::kGroup == 0);
  for (std::int64_t k = 0; k < depth; k += kRows) {
    if (k % E::kChunk == 0) {
      for (std::int64_t row = 0; row < ahead.rows; ++row) ahead.ask_for(row, 0);
      ahead.at += ahead.further;
    }
    const std::int64_t rows = lesser(kRows, depth - k);
    for (std::int64_t p = begin; p < end; ++p) {
      const Y* from = y + k * l.s.n + p * kNr;
      Yp* to = out + (p - begin) * panel + k * kNr;
      if constexpr (PackedLayout<E>::kPairs) {
        if (p + 2 <= end && (p + 2) * kNr <= l.s.n && rows == kRows) {
          for (std::int64_t g = 0; g < rows; g += E::kGroup, to += kNr * E::kGroup)
            E::pack_two(from + g * l.s.n, l.s.n, to, to + panel);
          ++p;
          continue;
        }
      }
      const bool whole = (p + 1) * kNr <= l.s.n;
      for (std::int64_t g = 0; g < rows; g += E::kGroup, to += kNr * E::kGroup) {
        if (whole && g + E::kGroup <= rows) {
          E::pack_y(from + g * l.s.n, l.s.n, to);
        } else {
          Y edge[E::kGroup * kNr] = {};
          for (std::int64_t i = 0; i < E::kGroup && g + i < rows; ++i)
            for (std::int64_t j = 0; j < kNr && p * kNr + j < l.s.n; ++j)
              edge[i * kNr + j] = from[(g + i) * l.s.n + j];
          E::pack_y(edge, kNr, to);
        }
      }
    }
  }
}

/// The rows of X that are packed next come to L2, one in each tile of `chunks` chunks before.
template <class E>
class NextRows {
 public:
  using X = typename E::X;

  /// Of panels [begin, end); none behind the last block.
  NextRows(const PackedLayout<E>& l, const X* x, std::int64_t block, std::int64_t begin,
           std::int64_t end, std::int64_t chunks)
      : at_(reinterpret_cast<const std::byte*>(x + l.row(begin) * l.s.k + block * l.kc)),
        apart_(l.s.k * std::int64_t{sizeof(X)}),
        rows_(block < l.k_blocks ? l.row(end) - l.row(begin) : 0),
        lines_a_chunk_(
            blocks_of(blocks_of(l.depth(block) * std::int64_t{sizeof(X)}, kLine), chunks)) {}

  Ahead piece() {
    if (rows_ <= 0) return {};
    const std::byte* const at = at_;
    at_ += apart_;
    --rows_;
    return {.at = at, .rows = lines_a_chunk_};
  }

 private:
  const std::byte* at_;
  std::int64_t apart_, rows_, lines_a_chunk_;
};

/// A packed panel of Y that comes to L2 while another one is multiplied, dealt out over the tiles
/// of that, in l.ask_streams streams side by side.
template <class E>
class NextPanel {
 public:
  using Yp = typename E::Yp;

  /// None if `y` is null.
  NextPanel(const PackedLayout<E>& l, const Yp* y, std::int64_t depth, std::int64_t tiles)
      : at_(reinterpret_cast<const std::byte*>(y)),
        chunks_(greater(1, depth / E::kChunk)),
        streams_(l.ask_streams),
        apart_(blocks_of(l.y_panel * std::int64_t{sizeof(Yp)}, streams_ * kLine) * kLine),
        lines_(y != nullptr ? apart_ / kLine : 0),
        lines_a_chunk_(blocks_of(lines_, chunks_ * tiles)) {}

  Ahead piece() {
    if (lines_ <= 0) return {};
    const std::byte* const at = at_;
    at_ += lines_a_chunk_ * chunks_ * kLine;
    lines_ -= lines_a_chunk_ * chunks_;
    if (streams_ == 1) return {.at = at, .rows = lines_a_chunk_};
    return {.at = at,
            .rows = streams_,
            .apart = apart_,
            .lines = lines_a_chunk_,
            .further = lines_a_chunk_ * kLine};
  }

 private:
  const std::byte* at_;
  std::int64_t chunks_, streams_, apart_, lines_, lines_a_chunk_;  ///< lines: of a stream
};

/// Rows of Y that come to L2 while a strip of kStrip panels is packed and multiplied: those of
/// the next strip, dealt out over the `pieces` of that work.
template <class E>
class NextStrip {
 public:
  using Y = typename E::Y;

  /// `panels` panels of `depth` rows from y on; none if that is null.
  NextStrip(const PackedLayout<E>& l, const Y* y, std::int64_t depth, std::int64_t panels,
            std::int64_t pieces)
      : at_(reinterpret_cast<const std::byte*>(y)),
        apart_(l.s.n * std::int64_t{sizeof(Y)}),
        chunks_(greater(1, depth / E::kChunk)),
        rows_(y != nullptr ? depth : 0),
        rows_a_chunk_(blocks_of(depth, pieces * chunks_)),
        lines_(blocks_of(panels * PackedLayout<E>::kNr * std::int64_t{sizeof(Y)}, kLine)) {}

  Ahead piece() {
    if (rows_ <= 0) return {};
    const std::byte* const at = at_;
    at_ += rows_a_chunk_ * chunks_ * apart_;
    rows_ -= rows_a_chunk_ * chunks_;
    asked_ += rows_a_chunk_ * chunks_;
    return {.at = at, .rows = rows_a_chunk_, .apart = apart_, .lines = lines_};
  }
  std::int64_t asked() const { return asked_; }  ///< rows, with those behind the last

 private:
  const std::byte* at_;
  std::int64_t apart_, chunks_, rows_, rows_a_chunk_, lines_, asked_ = 0;
};

/// What follows the strip that begins at panel `strip` of a block: the one beside it or, behind
/// the last, the first of the next block.
template <class E>
NextStrip<E> next_strip(const PackedLayout<E>& l, const typename E::Y* y, std::int64_t block,
                        std::int64_t strip, std::int64_t begin, std::int64_t end) {
  using L = PackedLayout<E>;
  const bool beside = strip + L::kStrip < end;
  const std::int64_t p = beside ? strip + L::kStrip : begin;
  block += beside ? 0 : 1;
  const typename E::Y* const from =
      block < l.k_blocks ? y + block * l.kc * l.s.n + p * L::kNr : nullptr;
  return {l, from, l.depth(block), lesser(L::kStrip, end - p),
          L::kStrip / L::kAtOnce + L::kStrip * l.panels};
}

/// Panels of Y that are packed between the tiles of those before: after each tile, the rows asked
/// for before it. Rows a power of two apart share few sets of L2: of a whole panel's, asked for at
/// once, most are gone when they are packed. NOTES.md, "Y packed between the tiles".
template <class E>
class NextPacked {
 public:
  using Y = typename E::Y;
  using Yp = typename E::Yp;
  static constexpr std::int64_t kNr = PackedLayout<E>::kNr;

  /// Panels [begin, end) of `depth` rows, none if begin is end, packed to `to` in `pieces`.
  NextPacked(const PackedLayout<E>& l, const Y* y, std::int64_t depth, std::int64_t begin,
             std::int64_t end, Yp* to, std::int64_t pieces)
      : strip_(l, begin < end ? y + begin * kNr : nullptr, depth, end - begin, pieces),
        l_(l),
        y_(y),
        depth_(begin < end ? depth : 0),
        begin_(begin),
        end_(end),
        to_(to) {}

  Ahead piece() {
    near_ = strip_.asked();
    return strip_.piece();
  }
  void pack() { pack_to(lesser(near_ / E::kChunk * E::kChunk, depth_)); }
  void pack_all() { pack_to(depth_); }

 private:
  void pack_to(std::int64_t row) {
    if (row <= packed_) return;
    pack_y<E>(l_, y_ + packed_ * l_.s.n, row - packed_, begin_, end_, to_ + packed_ * kNr,
              l_.y_panel);
    packed_ = row;
  }

  NextStrip<E> strip_;
  const PackedLayout<E>& l_;
  const Y* y_;
  std::int64_t depth_, begin_, end_;
  Yp* to_;
  std::int64_t near_ = 0, packed_ = 0;
};

struct Nothing {
  static Ahead piece() { return {}; }
};

}  // namespace
}  // namespace kernels::matmul
