#include "roofline/run/run_turns.hpp"

#include <algorithm>

namespace roofline {
namespace {

// Bytes a process: all hold their data at once.
constexpr double kUsual = 4e9;
constexpr double kOnGpu = 6e9;     // its context included
constexpr double kBeside = 0.5e9;  // a program, and what a benchmark has beside its cold data
constexpr std::size_t kKept = 3;   // cold benchmarks: with more, a program makes their data anew

double host_bytes(const Unit& unit, bool large, double cold_bytes) {
  if (!large) return kUsual;
  return kBeside + cold_bytes * static_cast<double>(std::min(kKept, unit.names.size()));
}

}  // namespace

bool fit_together(const Group& group, const Room& room) {
  // A probe of the main memory is small beside what is large.
  double needed = 0, on_host = 0, on_gpu = 0;
  for (const Unit& unit : group.units) {
    if (unit.roof) continue;
    ++(unit.gpu ? on_gpu : on_host);
    if (!unit.gpu) needed += host_bytes(unit, group.large, room.cold_bytes);
  }
  const bool gpu_holds =
      on_gpu <= 1 || (!room.gpu.one_process && room.gpu.free_bytes >= kOnGpu * on_gpu);
  if (on_host == 1) needed = kUsual;
  return gpu_holds && room.memory_bytes >= needed;
}

std::size_t started_together(const Group& group, const std::vector<Unit>& units, const Room& room) {
  if (!fit_together(group, room)) return 1;
  return fit_together({group.name, group.large, units}, room) ? units.size() : 1;
}

}  // namespace roofline
