// Which matrix element a lane's register holds in mma.sync m16n8 (PTX ISA 9.7.14.5). `per` elements
// share a 32-bit register: 1 (tf32), 2 (16-bit), 4 (8-bit); the contraction is 8 * per long.
#pragma once

namespace kernels::cuda {

struct At {
  int row, column;
};

/// A is [16, k].
template <int per>
constexpr At a_at(int lane, int reg, int element) {
  return {lane / 4 + 8 * (reg % 2), per * (lane % 4) + element + 4 * per * (reg / 2)};
}

/// B is [k, 8].
template <int per>
constexpr At b_at(int lane, int reg, int element) {
  return {per * (lane % 4) + element + 4 * per * reg, lane / 4};
}

/// D is [16, 8], one 32-bit element a register.
constexpr At d_at(int lane, int reg) {
  return {lane / 4 + 8 * (reg / 2), 2 * (lane % 4) + reg % 2};
}

}  // namespace kernels::cuda
