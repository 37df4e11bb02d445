#include "kernels/stream/own_memory.hpp"

#include <omp.h>

#include <algorithm>

#include "kernels/registry.hpp"
#include "kernels/shares.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {
namespace {

constexpr std::size_t kGrainBytes = kReadGrain * sizeof(float);
/// A millisecond or so of reading: what it takes to begin and end with the threads stays small, on
/// hundreds of cores too.
double bytes_of_read(int threads) {
  constexpr double kLeast = 32 << 20, kThread = 4 << 20;
  return std::max(kLeast, kThread * threads);
}

constexpr double kMostBytes = 1 << 30;
/// 512 KB: four cores of Zen 4 read as fast in 1 MB, a tenth slower in 64 KB.
constexpr std::int64_t kPieceGrains = (512 << 10) / static_cast<std::int64_t>(kGrainBytes);

using Read = decltype(Kernel::read);

Read read_loop(int loop) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == "stream" && !info.gpu() && missing(info.needs).empty() && loop-- == 0)
      return static_cast<const Kernel*>(info.table)->read;
  return nullptr;
}

std::int64_t grains_of(const Region& region) {
  return static_cast<std::int64_t>(region.size() / kGrainBytes);
}

double bytes_of(const std::vector<Region>& regions) {
  double bytes = 0;
  for (const Region& region : regions)
    bytes += static_cast<double>(grains_of(region)) * kGrainBytes;
  return bytes;
}

}  // namespace

double read_regions(int loop, int threads, const std::vector<Region>& regions) {
  const Read read = read_loop(loop);
  if (read == nullptr) return 0;
  const double part = std::min(1.0, kMostBytes / bytes_of(regions));
  const auto grains = [&](const Region& region) {
    return static_cast<std::int64_t>(static_cast<double>(grains_of(region)) * part);
  };
  // Up to each region's end, the pieces of a thread's slices.
  std::vector<std::int64_t> ends;
  for (const Region& region : regions) {
    const Slice largest = slice(grains(region), threads - 1, threads);
    const std::int64_t pieces = (largest.end - largest.begin + kPieceGrains - 1) / kPieceGrains;
    ends.push_back((ends.empty() ? 0 : ends.back()) + pieces);
  }
  std::vector<Share> shares(threads);
  double bytes = 0;
#pragma omp parallel num_threads(threads) reduction(+ : bytes)
  take_pieces(
      shares.data(), threads, omp_get_thread_num(), ends.back(), [&](int owner, std::int64_t i) {
        const auto r = std::upper_bound(ends.begin(), ends.end(), i) - ends.begin();
        const Slice own = slice(grains(regions[r]), owner, threads);
        const std::int64_t begin = own.begin + (i - (r > 0 ? ends[r - 1] : 0)) * kPieceGrains,
                           end = std::min(begin + kPieceGrains, own.end);
        if (begin >= end) return;
        read(reinterpret_cast<const float*>(regions[r].data()) + begin * kReadGrain,
             (end - begin) * kReadGrain, 1);
        bytes += static_cast<double>(end - begin) * kGrainBytes;
      });
  return bytes;
}

double read_ring(int loop, int threads, std::int64_t next, std::int64_t slots,
                 const std::function<std::vector<Region>(std::int64_t)>& regions_of) {
  if (slots < 2) return read_regions(loop, threads, regions_of(0));
  const double slot_bytes = bytes_of(regions_of(0));
  if (slot_bytes == 0) return 0;
  // The half of the ring that is farthest from the next call.
  const std::int64_t half = slots / 2, first = next + std::max<std::int64_t>(1, slots / 4),
                     wanted = static_cast<std::int64_t>(bytes_of_read(threads) / slot_bytes) + 1,
                     count = std::min(wanted, half);
  std::vector<Region> regions;
  for (std::int64_t i = 0; i < count; ++i)
    for (const Region& region : regions_of((first + (loop * count + i) % half) % slots))
      regions.push_back(region);
  return read_regions(loop, threads, regions);
}

}  // namespace kernels::stream
