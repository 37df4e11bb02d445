#include "kernels/stream/own_memory.hpp"

#include <omp.h>

#include <algorithm>

#include "kernels/registry.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {
namespace {

constexpr std::size_t kGrainBytes = kReadGrain * sizeof(float);
constexpr double kRingBytes = 32 << 20;  // a millisecond
constexpr double kMostBytes = 1 << 30;
/// Of a region that threads share: 256 KB, which on Zen 4 read as fast as 64 KB.
constexpr std::int64_t kPieceGrains = (256 << 10) / static_cast<std::int64_t>(kGrainBytes);

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
  const int ways = threads > 1 ? 2 : 1;
  const bool share = loop % ways == 1;
  const Read read = read_loop(loop / ways);
  if (read == nullptr) return 0;
  const double part = std::min(1.0, kMostBytes / bytes_of(regions));
  double bytes = 0;
#pragma omp parallel num_threads(threads) reduction(+ : bytes)
  for (const Region& region : regions) {
    const auto grains = static_cast<std::int64_t>(static_cast<double>(grains_of(region)) * part);
    const auto* const at = reinterpret_cast<const float*>(region.data());
    const auto read_from = [&](std::int64_t begin, std::int64_t end) {
      if (begin >= end) return;
      read(at + begin * kReadGrain, (end - begin) * kReadGrain, 1);
      bytes += static_cast<double>(end - begin) * kGrainBytes;
    };
    if (share) {
#pragma omp for schedule(guided) nowait
      for (std::int64_t begin = 0; begin < grains; begin += kPieceGrains)
        read_from(begin, std::min(begin + kPieceGrains, grains));
    } else {
      const Slice own = slice(grains, omp_get_thread_num(), omp_get_num_threads());
      read_from(own.begin, own.end);
    }
  }
  return bytes;
}

double read_ring(int loop, int threads, std::int64_t next, std::int64_t slots,
                 const std::function<std::vector<Region>(std::int64_t)>& regions_of) {
  if (slots < 2) return 0;
  const double slot_bytes = bytes_of(regions_of(0));
  if (slot_bytes == 0) return 0;
  // The half of the ring that is farthest from the next call.
  const std::int64_t half = slots / 2, first = next + std::max<std::int64_t>(1, slots / 4),
                     wanted = static_cast<std::int64_t>(kRingBytes / slot_bytes) + 1,
                     count = std::min(wanted, half);
  std::vector<Region> regions;
  for (std::int64_t i = 0; i < count; ++i)
    for (const Region& region : regions_of((first + (loop * count + i) % half) % slots))
      regions.push_back(region);
  return read_regions(loop, threads, regions);
}

}  // namespace kernels::stream
