// The index arithmetic of the tensor-core kernels, walked on the host: copy into swizzled shared
// memory, ldmatrix, mma.sync, by the instructions' documented maps.
#include "kernels/matmul/mma_tile.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/cuda/fragments.hpp"

namespace kernels::matmul {
namespace {

using Registers = std::array<std::array<unsigned char, 4>, 4>;  ///< four registers of four bytes

/// ldmatrix x4: lane 8 r + i names row i of matrix r; lane l gets bytes 4 (l % 4) … of row l / 4.
template <class RowOf>
Registers load_matrix(const std::vector<unsigned char>& tile, int lane, RowOf row_of) {
  Registers out{};
  for (int r = 0; r < 4; ++r)
    std::memcpy(out[r].data(), &tile[row_of(8 * r + lane / 4) + 4 * (lane % 4)], 4);
  return out;
}

/// The same with each 8 x 8 matrix of 16-bit elements transposed.
template <class RowOf>
Registers load_matrix_transposed(const std::vector<unsigned char>& tile, int lane, RowOf row_of) {
  Registers out{};
  for (int r = 0; r < 4; ++r)
    for (int e = 0; e < 2; ++e)
      std::memcpy(&out[r][2 * e], &tile[row_of(8 * r + 2 * (lane % 4) + e) + 2 * (lane / 4)], 2);
  return out;
}

template <class T>
T element(const std::array<unsigned char, 4>& reg, int i) {
  T value;
  std::memcpy(&value, &reg[i * sizeof(T)], sizeof(T));
  return value;
}

template <class T>
T value(int row, int column) {
  return static_cast<T>((row * 31 + column * 7) % 101 - 50);
}

/// One warp's 16 x 16 product of a tile over 64 bytes of K, from shared memory to registers.
template <class T, bool transposed>
void check_product(int first_row, int first_column) {
  constexpr int kPer = 4 / sizeof(T), kChunk = 16 / sizeof(T), kStep = 64 / sizeof(T);
  std::vector<unsigned char> x(128 * 64), y(128 * 64);
  const auto put = [](std::vector<unsigned char>& tile, int at, T v) {
    std::memcpy(&tile[at], &v, sizeof v);
  };
  for (int r = 0; r < 128; ++r)
    for (int k = 0; k < kStep; ++k) {
      const int inside = k % kChunk * sizeof(T);
      put(x, at_64(r, k / kChunk) + inside, value<T>(r, k));
      if (transposed)
        put(y, at_64(r, k / kChunk) + inside, value<T>(k, r));
      else
        put(y, at_256(k, r / kChunk) + r % kChunk * static_cast<int>(sizeof(T)), value<T>(k, r));
    }

  int d[2][16][8] = {};
  for (int half = 0; half < 2; ++half) {
    int a[16][8 * kPer], b[2][8 * kPer][8];
    for (int lane = 0; lane < 32; ++lane) {
      const Registers xf =
          load_matrix(x, lane, [&](int l) { return x_fragment_row(l, first_row, half); });
      const Registers yf =
          transposed ? load_matrix(y, lane,
                                   [&](int l) { return y_fragment_row_nk(l, first_column, half); })
                     : load_matrix_transposed(y, lane, [&](int l) {
                         return y_fragment_row_kn(l, first_column, half);
                       });
      for (int i = 0; i < kPer; ++i) {
        for (int r = 0; r < 4; ++r) {
          const cuda::At at = cuda::a_at<kPer>(lane, r, i);
          a[at.row][at.column] = element<T>(xf[r], i);
        }
        for (int j = 0; j < 2; ++j)
          for (int r = 0; r < 2; ++r) {
            const cuda::At at = cuda::b_at<kPer>(lane, r, i);
            b[j][at.row][at.column] = element<T>(yf[2 * j + r], i);
          }
      }
    }
    for (int j = 0; j < 2; ++j)
      for (int r = 0; r < 16; ++r)
        for (int c = 0; c < 8; ++c)
          for (int k = 0; k < 8 * kPer; ++k) d[j][r][c] += a[r][k] * b[j][k][c];
  }
  for (int j = 0; j < 2; ++j)
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        int expected = 0;
        for (int k = 0; k < kStep; ++k)
          expected += value<T>(first_row + r, k) * value<T>(k, first_column + 8 * j + c);
        ASSERT_EQ(d[j][r][c], expected) << r << " " << c << " " << j;
      }
}

TEST(MmaTile, GivesTheProductFor16BitElements) {
  for (const int row : {0, 16, 48, 112})
    for (const int column : {0, 16, 96, 112}) check_product<std::int16_t, false>(row, column);
}

TEST(MmaTile, GivesTheProductForBytesStoredTransposed) {
  for (const int row : {0, 16, 48, 112})
    for (const int column : {0, 16, 96, 112}) check_product<std::int8_t, true>(row, column);
}

/// The eight rows of each 8 x 8 matrix must lie in eight different groups of four banks.
template <class RowOf>
void expect_no_conflicts(RowOf row_of) {
  for (int matrix = 0; matrix < 4; ++matrix) {
    std::set<int> groups;
    for (int i = 0; i < 8; ++i) groups.insert(row_of(8 * matrix + i) / 16 % 8);
    EXPECT_EQ(groups.size(), 8u) << "matrix " << matrix;
  }
}

TEST(MmaTile, ReadsWithoutBankConflicts) {
  for (int half = 0; half < 2; ++half)
    for (int first = 0; first < 128; first += 16) {
      expect_no_conflicts([&](int l) { return x_fragment_row(l, first, half); });
      expect_no_conflicts([&](int l) { return y_fragment_row_nk(l, first, half); });
      expect_no_conflicts([&](int l) { return y_fragment_row_kn(l, first, half); });
    }
}

TEST(MmaTile, PutsEveryChunkInAPlaceOfItsOwn) {
  std::set<int> along_k, along_n;
  for (int r = 0; r < 128; ++r)
    for (int c = 0; c < 4; ++c) along_k.insert(at_64(r, c));
  for (int r = 0; r < 32; ++r)
    for (int c = 0; c < 16; ++c) along_n.insert(at_256(r, c));
  EXPECT_EQ(along_k.size(), 512u);
  EXPECT_EQ(along_n.size(), 512u);
  EXPECT_EQ(*along_k.rbegin(), 8192 - 16);
  EXPECT_EQ(*along_n.rbegin(), 8192 - 16);
}

template <int per>
void expect_bijective() {
  std::set<std::pair<int, int>> a, b;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < per; ++i) {
      for (int r = 0; r < 4; ++r) {
        const cuda::At at = cuda::a_at<per>(lane, r, i);
        EXPECT_LT(at.row, 16);
        EXPECT_LT(at.column, 8 * per);
        a.emplace(at.row, at.column);
      }
      for (int r = 0; r < 2; ++r) {
        const cuda::At at = cuda::b_at<per>(lane, r, i);
        b.emplace(at.row, at.column);
      }
    }
  EXPECT_EQ(a.size(), 16u * 8 * per);
  EXPECT_EQ(b.size(), 8u * 8 * per);
}

TEST(Fragments, HoldEveryElementOnce) {
  expect_bijective<1>();
  expect_bijective<2>();
  expect_bijective<4>();
  std::set<std::pair<int, int>> d;
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 4; ++r) d.emplace(cuda::d_at(lane, r).row, cuda::d_at(lane, r).column);
  EXPECT_EQ(d.size(), 128u);
}

}  // namespace
}  // namespace kernels::matmul
