#include "roofline/run/run_budget.hpp"

#include <algorithm>

#include "roofline/run/run_cost.hpp"

namespace roofline {
namespace {

// Samples are short: phases in which a core is shared last tens of milliseconds, and a sample that
// is longer than they are is never quiet.
constexpr Effort kQuick = {3, 3, 24, 4, 4, 0.002, 0.01};
constexpr Effort kFull = {3, 3, 0, 120, 120, 0.0065, 0.0065};

}  // namespace

Effort effort_of(bool full) { return full ? kFull : kQuick; }

Budget::Budget(bool full, const std::vector<const Group*>& groups, const Room& room,
               double cold_bytes)
    : rounds_left_s(effort_of(full).rounds_s),
      again_left_s(effort_of(full).again_s),
      effort_(effort_of(full)),
      room_(room),
      full_(full),
      cold_bytes_(cold_bytes) {
  for (const Group* group : groups) {
    if (group->on_gpu()) continue;
    benchmarks_left_ += group->benchmarks();
    processes_left_ += processes(*group);
  }
  first_sample_s_ = cpu_sample_s(0);
}

int Budget::rounds(const Group& group) const {
  return group.units.size() == 1 || fit_together(group, room_) ? 1 : effort_.rounds;
}

double Budget::expected(const Group& group) const {
  double sum = 0;
  for (const Unit& unit : group.units) {
    sum += expected_s(unit, {rounds(group), static_cast<double>(effort_.samples()), first_sample_s_,
                             cold_bytes_});
    if (full_) sum += counting_s(unit);
  }
  return sum;
}

double Budget::sample_s(const Group& group, double elapsed_s) const {
  return group.on_gpu() ? effort_.shortest_sample_s : cpu_sample_s(elapsed_s - gpu_s_);
}

double Budget::cpu_sample_s(double elapsed_s) const {
  if (effort_.budget_s == 0 || benchmarks_left_ == 0) return effort_.longest_sample_s;
  return std::clamp(sample_within(effort_.budget_s - elapsed_s, benchmarks_left_, processes_left_,
                                  effort_.samples()),
                    effort_.shortest_sample_s, effort_.longest_sample_s);
}

double Budget::sample_again_s(std::size_t benchmarks) const {
  return std::clamp(sample_within(again_left_s, benchmarks, 0, effort_.samples()),
                    effort_.shortest_sample_s, effort_.longest_sample_s);
}

void Budget::spend(const Group& group, double seconds) {
  if (group.on_gpu()) {
    gpu_s_ += seconds;
  } else {
    benchmarks_left_ -= group.benchmarks();
    processes_left_ -= processes(group);
  }
}

}  // namespace roofline
