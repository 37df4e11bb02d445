#include "roofline/run_turns.hpp"

namespace roofline {
namespace {

// Bytes a process: all hold their data at once.
constexpr double kUsual = 4e9, kLarge = 6e9;
constexpr double kOnGpu = 6e9;  // its context included

}  // namespace

bool fit_together(const Group& group, const Room& room) {
  // A probe of the main memory is small beside what is large.
  double on_host = 0, on_gpu = 0;
  for (const Unit& unit : group.units) {
    if (!unit.roof) ++(unit.gpu ? on_gpu : on_host);
  }
  const bool gpu_holds =
      on_gpu <= 1 || (!room.gpu.one_process && room.gpu.free_bytes >= kOnGpu * on_gpu);
  const double each = group.large && on_host > 1 ? kLarge : kUsual;
  return gpu_holds && room.memory_bytes >= each * on_host;
}

std::size_t started_together(const Group& group, const std::vector<Unit>& units, const Room& room) {
  if (!fit_together(group, room)) return 1;
  return fit_together({group.name, group.large, units}, room) ? units.size() : 1;
}

}  // namespace roofline
