// Where the mma rung keeps its tiles in shared memory, and which 16-byte row of an 8 x 8 matrix
// each lane names to ldmatrix. Plain arithmetic, so that the tests can walk it without a GPU.
#pragma once

#include <cstdint>

namespace kernels::matmul {

/// Byte offset of 16-byte chunk `c` of row `r`, for rows of 64 and of 256 bytes. In both the eight
/// rows of an ldmatrix fall into eight different groups of four banks.
constexpr int at_64(int r, int c) { return r * 64 + ((c ^ (r >> 1 & 3)) << 4); }
constexpr int at_256(int r, int c) { return r * 256 + ((c ^ (r & 7)) << 4); }

/// X, rows along K: the A fragment of rows first_row … + 15, 32 bytes of K from 32 * half.
constexpr int x_fragment_row(int lane, int first_row, int half) {
  return at_64(first_row + (lane & 15), 2 * half + (lane >> 4));
}
/// Y stored [N][K]: the B fragments of columns first_column … + 15.
constexpr int y_fragment_row_nk(int lane, int first_column, int half) {
  return at_64(first_column + (lane & 7) + 8 * (lane >> 4), 2 * half + (lane >> 3 & 1));
}
/// Y stored [K][N] in 16-bit elements, for the transposing ldmatrix: the same columns.
constexpr int y_fragment_row_kn(int lane, int first_column, int half) {
  return at_256(16 * half + (lane & 15), first_column / 8 + (lane >> 4));
}

/// Bytes of a 16-byte chunk at element `i` of a row of `n` that belong to the row.
template <int bytes>
constexpr int valid_bytes(std::int64_t i, std::int64_t n) {
  const std::int64_t left = (n - i) * bytes;
  return left <= 0 ? 0 : left >= 16 ? 16 : static_cast<int>(left);
}

}  // namespace kernels::matmul
