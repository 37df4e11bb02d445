// Idea: a tile is stored while the first step of the next one is multiplied. Products come into
// registers of their own, so that sums can leave, a quarter of the columns at a time, until the
// next tile's products of that quarter are there.
// Bound: as v16's, and 2048 clocks a tile of shared memory, where 128 KB of sums go in and out.
// Not timed yet. Predicted over v16: of the 7 000 to 9 000 clocks between its tiles 2 000 to 4 000
// are left: 1.06 to 1.09 times at 64 steps of K, twice the gain at 32.
#include "kernels/matmul/wgmma_pairs.cuh"
#include "kernels/matmul/wgmma_quarters.cuh"

namespace kernels::matmul {
namespace {

struct Behind {
  template <class Type, class Out, class Release>
  static __device__ __forceinline__ void run(TileShared<Type>& shared, const ZTarget& z,
                                             const Share& share, int group, bool sends,
                                             const Release& release) {
    RingPosition<TileShared<Type>::kStages> at;
    float d[kTileN / 2];
    Quarters q;
    clear_quarters(d, q);
    const std::uint32_t row = slice_row(group);
    TileAt sums{};    // the pair of tiles that d is of
    int before = -1;  // the stage of the step before
    const auto send = [&]<int kAt>(PartAt<kAt>) {
      // Parts leave in the order 3, 0, 1, 2, by two pairs of panels in turn.
      constexpr int kPanels = kPart * sizeof(Out) / kSpan, kTo = kAt % 2 == 0 ? kPanels : 0;
      send_panels<Out, kAt * kPanels, kPanels, kPanels>(d, shared.out[group] + kTo, z,
                                                        share.row(sums, group), sums.n * kTileN,
                                                        sums.batch, 1 + group, sends);
      clear_part<kAt>(d);
    };
    // One loop for all steps: with a first one of its own, ptxas keeps registers for X in both, and
    // spills.
    for (int i = share.first;; i += share.step) {
      const TileAt pair = tile_at<kGroup>(share.pairs, i);
      if (pair.batch >= share.pairs.batch) break;
      for (int s = 0; s < share.steps; ++s, at.advance()) {
        const bool has_tile = s == 0 && before >= 0;
        const auto release_before = [&] {
          if (before >= 0) release(before);
        };
        multiply_quarters(d, q, shared, at, row, release_before, [&]<int kAt>(PartAt<kAt> part) {
          if (!has_tile) return;
          if constexpr (kAt == 0) {
            if (has_rest(z, sums.n * kTileN, kTileN))
              store_rest<Out>(d, z, share.row(sums, group), sums.n * kTileN, sums.batch);
            send(PartAt<3>{});
          }
          send(part);
        });
        before = at.stage;
      }
      sums = pair;
    }
    finish_quarters(d, q);
    release(before);
    store_by_tma<Out>(d, shared.out[group], z, share.row(sums, group), sums.n * kTileN, sums.batch,
                      1 + group, sends);
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_pairs<E4m3, float, Behind>(a, types);
}

}  // namespace

extern const GpuKernel sm90a_v17_behind = {.exec_unit = "wgmma",
                                           .e4m3 = launch_pairs<E4m3, float, Behind>,
                                           .tiles = kTiles<E4m3>,
                                           .open = open,
                                           .open_each = true};

}  // namespace kernels::matmul
