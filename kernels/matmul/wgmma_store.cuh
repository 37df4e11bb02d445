// What v13, v14, v16, v17 and sm90a_streamk_pairs share: their tiles, and a tile's way out by TMA.
#pragma once

#include "kernels/cuda/pairs.cuh"
#include "kernels/matmul/wgmma_tile.cuh"

namespace kernels::matmul {

constexpr int kConsumers = 2;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;

constexpr int kTileN = 256;

/// What goes out at one time: 64 rows of 128 bytes, swizzled.
struct OutPanel {
  static constexpr int kRows = 64;
  alignas(1024) unsigned char bytes[kRows * kSpan];
};

/// Where in a warp's 16 rows a lane puts its pair of four-byte elements: of the columns from 8 j
/// on, or in odd rows, which the swizzle leaves in the banks of the even row before, from 8 (j ^ 2)
/// on.
__host__ __device__ constexpr int pair_at(int lane, int j, int half) {
  const int row = lane / 4 + 8 * half, group = row % 2 != 0 ? j ^ 2 : j;
  return static_cast<int>(ptx::swizzle_128(row * kSpan + 4 * (8 * group + 2 * (lane % 4))));
}

/// Pairs are stored by half a warp at a time.
constexpr bool no_bank_is_met_twice() {
  for (int j = 0; j < 4; ++j)
    for (int half = 0; half < 2; ++half)
      for (int first = 0; first < 32; first += 16) {
        bool met[16] = {};
        for (int lane = first; lane < first + 16; ++lane) {
          bool& pair = met[pair_at(lane, j, half) / 8 % 16];
          if (pair) return false;
          pair = true;
        }
      }
  return true;
}
static_assert(no_bank_is_met_twice());

/// Panel `p` of a warpgroup's 64 rows, from its registers.
template <class Out, class Scalar, int kRegisters>
__device__ __forceinline__ void fill_panel(OutPanel& panel, const Scalar (&d)[kRegisters], int p) {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  if constexpr (sizeof(Out) == 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // 16 columns
      const int from = 32 * p + 8 * j;
      const std::uint32_t pairs[4] = {cuda::pair_of(Out{}, d[from], d[from + 1]),
                                      cuda::pair_of(Out{}, d[from + 2], d[from + 3]),
                                      cuda::pair_of(Out{}, d[from + 4], d[from + 5]),
                                      cuda::pair_of(Out{}, d[from + 6], d[from + 7])};
      const int r = 16 * (t / 32) + lane % 16, byte = 32 * j + 16 * (lane / 16);
      ptx::store_matrix_x4(panel.bytes + ptx::swizzle_128(r * kSpan + byte), pairs);
    }
  } else {
    struct alignas(8) Pair {
      Scalar first, second;
    };
    const bool odd = lane / 4 % 2 != 0;
    unsigned char* const warp = panel.bytes + 16 * kSpan * (t / 32);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int even_from = 16 * p + 4 * j + 2 * half, odd_from = even_from ^ 8;
        *reinterpret_cast<Pair*>(warp + pair_at(lane, j, half)) = {
            odd ? d[odd_from] : d[even_from], odd ? d[odd_from + 1] : d[even_from + 1]};
      }
  }
}

template <class Type>
struct TileShared {
  /// Three keep the tensor cores fed. The room of a fourth holds panels: a warpgroup that need not
  /// wait for its panels to leave is back at the products sooner.
  static constexpr int kStages = 3, kPanels = 5;
  Stage<kTileN> stages[kStages];
  OutPanel out[kConsumers][kPanels];
  ptx::Mbarrier full[kStages], empty[kStages];
};
static_assert(sizeof(TileShared<Bf16>) <= 227 << 10, "a block's shared memory");

/// Z as TMA stores it, and its rest: TMA writes 16 bytes or nothing, also where a row ends within
/// them, and so gets the columns before `whole` only.
struct ZTarget {
  CUtensorMap map;
  void* z;
  std::int64_t pitch, stride;
  int m, n, whole;
};

/// The columns from `whole` on. Which registers have them is asked of each: an index that is
/// computed would put them into local memory.
template <class Out, class Scalar, int kRegisters>
__device__ __forceinline__ void store_rest(const Scalar (&d)[kRegisters], const ZTarget& to,
                                           int row, int column, int batch) {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t at_row = row + 16 * (t / 32) + lane / 4 + 8 * half;
    Out* const z = static_cast<Out*>(to.z) + batch * to.stride + at_row * to.pitch;
#pragma unroll
    for (int j = 0; j < kRegisters / 4; ++j) {
      const int c = column + 8 * j + 2 * (lane % 4);
      Out pair[2];
      if constexpr (sizeof(Out) == 2) {
        const std::uint32_t word =
            cuda::pair_of(Out{}, d[4 * j + 2 * half], d[4 * j + 2 * half + 1]);
        memcpy(pair, &word, sizeof pair);
      } else {
        pair[0] = d[4 * j + 2 * half];
        pair[1] = d[4 * j + 2 * half + 1];
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (at_row < to.m && c + i >= to.whole && c + i < to.n) z[c + i] = pair[i];
    }
  }
}

/// Fills `out` with `kCount` panels of a warpgroup's 64 rows from panel `kFrom` on and sends them,
/// one copy each, once of the copies before them at most `kReading` still read their panels.
/// `sends`: the one thread that issues the copies.
template <class Out, int kFrom, int kCount, int kReading, class Scalar, int kRegisters>
__device__ __forceinline__ void send_panels(const Scalar (&d)[kRegisters], OutPanel* out,
                                            const ZTarget& to, int row, int column, int batch,
                                            int barrier, bool sends) {
  constexpr int kColumns = kSpan / static_cast<int>(sizeof(Out));
  if (sends) ptx::store_wait_read<kReading>();
  ptx::named_barrier(barrier, kWarpgroup);
#pragma unroll
  for (int i = 0; i < kCount; ++i) fill_panel<Out>(out[i], d, kFrom + i);
  ptx::fence_async_proxy();
  ptx::named_barrier(barrier, kWarpgroup);
  if (!sends) return;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int c = column + (kFrom + i) * kColumns;
    if (c < to.whole) ptx::store_box(to.map, c, row, batch, out[i].bytes);
    ptx::store_commit();
  }
}

/// Whether a tile of `columns` from `column` on has some that TMA does not store.
__device__ __forceinline__ bool has_rest(const ZTarget& to, int column, int columns) {
  return to.whole < to.n && to.whole >= column && to.whole < column + columns;
}

/// Sends a warpgroup's 64 rows out, as many panels at a time as there are: each time costs a fence
/// and two barriers.
template <class Out, class Scalar, int kRegisters, int kPanels>
__device__ __forceinline__ void store_by_tma(const Scalar (&d)[kRegisters],
                                             OutPanel (&out)[kPanels], const ZTarget& to, int row,
                                             int column, int batch, int barrier, bool sends) {
  constexpr int kAll = 2 * kRegisters * static_cast<int>(sizeof(Out)) / kSpan;
  constexpr int kFirst = kAll < kPanels ? kAll : kPanels, kSecond = kAll - kFirst;
  static_assert(kSecond <= kPanels, "twice at most");
  send_panels<Out, 0, kFirst, 0>(d, out, to, row, column, batch, barrier, sends);
  if constexpr (kSecond > 0)
    send_panels<Out, kFirst, kSecond, kFirst - kSecond>(d, out, to, row, column, batch, barrier,
                                                        sends);
  if (has_rest(to, column, 2 * kRegisters)) store_rest<Out>(d, to, row, column, batch);
}

/// open.operator()<Type, Out>() for the types that wgmma has.
template <class Open>
std::shared_ptr<void> open_by_types(const GpuTypes& types, const Open& open) {
  switch (types.x) {
    case cuda::Type::f16:
      return types.z == cuda::Type::f16 ? open.template operator()<F16, __half>()
                                        : open.template operator()<F16, float>();
    case cuda::Type::tf32:
      return open.template operator()<Tf32, float>();
    case cuda::Type::e4m3:
      return open.template operator()<E4m3, float>();
    case cuda::Type::s8:
      return open.template operator()<S8, S8::Accumulator>();
    default:
      return types.z == cuda::Type::bf16 ? open.template operator()<Bf16, bf16>()
                                         : open.template operator()<Bf16, float>();
  }
}

/// Z for store_by_tma.
inline ZTarget z_target(const GpuArguments& a, cuda::Type type) {
  const std::int64_t chunk = 16 / cuda::size_of(type), whole = a.n / chunk * chunk;
  // A map has no width of 0; this one is not used then.
  const cuda::Tensor tensor{type, a.z, std::max(whole, chunk), a.m, a.batch, a.z_pitch, a.z_stride};
  return {cuda::tensor_map(tensor, OutPanel::kRows),
          a.z,
          a.z_pitch,
          a.z_stride,
          static_cast<int>(a.m),
          static_cast<int>(a.n),
          static_cast<int>(whole)};
}

}  // namespace kernels::matmul
