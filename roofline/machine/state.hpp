// What affects timing and may change from one day to the next.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "roofline/machine/processor.hpp"

namespace roofline::machine {

/// The choice in brackets: "always [madvise] never" -> "madvise"; empty if there is none.
std::string bracketed(std::string_view text);

/// Ticks since boot of all CPUs together, as a text of /proc/stat has them; NaN if unknown.
struct CpuTime {
  double busy, steal, total;
};
CpuTime cpu_time(std::string_view proc_stat);

/// Share of all CPU time since boot that the hypervisor gave to others (/proc/stat); NaN if
/// unknown.
double steal_fraction(std::string_view proc_stat);

/// Share of all CPU time between two states of /proc/stat that programs took; NaN if unknown.
double busy_share(std::string_view before, std::string_view after);

/// The same of half a second in which this program sleeps.
double busy_share_now();

/// Governor, boost, huge pages, load, steal, hypervisor, kernel … An unknown is null. `root` is
/// put before /proc and /sys (tests).
nlohmann::json read_state(const Processor& processor, const std::filesystem::path& root = "/");

}  // namespace roofline::machine
