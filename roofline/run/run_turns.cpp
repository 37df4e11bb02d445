#include "roofline/run/run_turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/text_table.hpp"

namespace roofline {
namespace {

// Bytes a process: all hold their data at once. A program gives back what it holds for others of
// its benchmarks where less than a quarter of the memory is free.
constexpr double kUsual = 1.5e9;
constexpr double kOnGpu = 6e9;     // its context included
constexpr double kBeside = 0.5e9;  // a program, and what a benchmark has beside its cold data
constexpr std::size_t kKept = 3;   // cold benchmarks: with more, a program makes their data anew

double host_bytes(const Unit& unit, bool large, double cold_bytes) {
  if (!large) return kUsual;
  return kBeside + cold_bytes * static_cast<double>(std::min(kKept, unit.names.size()));
}

}  // namespace

std::string why_apart(const Group& group, const Room& room) {
  // A probe of the main memory is small beside what is large.
  double needed = 0, on_host = 0, on_gpu = 0;
  for (const Unit& unit : group.units) {
    if (unit.roof) continue;
    ++(unit.gpu ? on_gpu : on_host);
    if (!unit.gpu) needed += host_bytes(unit, group.large, room.cold_bytes);
  }
  if (on_host == 1) needed = kUsual;
  const auto lack = [](double programs, double bytes, const char* of, double there) {
    return fmt::format("{} programs may need {} {}, {} are free", programs, with_prefix(bytes, "B"),
                       of, with_prefix(there, "B"));
  };
  if (on_gpu > 1 && room.gpu.one_process) return "the GPU takes one process";
  if (on_gpu > 1 && std::isnan(room.gpu.free_bytes)) return "the GPU's free memory is not known";
  if (on_gpu > 1 && room.gpu.free_bytes < kOnGpu * on_gpu)
    return lack(on_gpu, kOnGpu * on_gpu, "of the GPU's memory", room.gpu.free_bytes);
  return room.memory_bytes >= needed ? "" : lack(on_host, needed, "of memory", room.memory_bytes);
}

bool fit_together(const Group& group, const Room& room) { return why_apart(group, room).empty(); }

std::size_t started_together(const Group& group, const std::vector<Unit>& units, const Room& room) {
  if (!fit_together(group, room)) return 1;
  return fit_together({group.name, group.large, units}, room) ? units.size() : 1;
}

}  // namespace roofline
