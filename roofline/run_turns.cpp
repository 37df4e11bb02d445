#include "roofline/run_turns.hpp"

#include <algorithm>

namespace roofline {
namespace {

// Bytes a process: all hold their data at once.
constexpr double kUsual = 4e9, kLarge = 6e9;
constexpr double kOnGpu = 6e9;  // its context included

}  // namespace

bool fit_together(const Group& group, const Room& room) {
  // A probe of the main memory is small beside what is large.
  const auto holders = std::count_if(group.units.begin(), group.units.end(),
                                     [](const Unit& unit) { return !unit.roof; });
  const auto count = static_cast<double>(holders);
  if (std::any_of(group.units.begin(), group.units.end(), [](const Unit& u) { return u.gpu; })) {
    return !room.gpu.one_process && room.gpu.free_bytes >= kOnGpu * count;
  }
  return room.memory_bytes >= (group.large && holders > 1 ? kLarge : kUsual) * count;
}

}  // namespace roofline
