#include "roofline/machine/state.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

#include "roofline/machine/files.hpp"
#include "roofline/machine/limits.hpp"

namespace roofline::machine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json text_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? json(*text) : json(nullptr);
}

json number_in(const fs::path& path, double scale = 1) {
  const auto line = read_line(path);
  if (!line) return nullptr;
  char* end = nullptr;
  const double value = std::strtod(line->c_str(), &end);
  if (end == line->c_str() || !std::isfinite(value)) return nullptr;
  return value * scale;
}

json flag(const std::optional<std::string>& line, std::string_view on) {
  return line ? json(*line == on) : json(nullptr);
}

json boost(const fs::path& cpu) {
  if (const auto no_turbo = read_line(cpu / "intel_pstate/no_turbo")) return *no_turbo == "0";
  return flag(read_line(cpu / "cpufreq/boost"), "1");
}

/// The lowest of what policy and firmware allow, in Hz. A driver that has a table of frequencies
/// (acpi-cpufreq) knows those without boost only: its highest limits nothing.
json clock_limit(const fs::path& frequency) {
  const json policy = number_in(frequency / "scaling_max_freq", 1e3);
  const json firmware = number_in(frequency / "bios_limit", 1e3);
  if (policy.is_null() && firmware.is_null()) return nullptr;
  const double limit = std::min(policy.is_null() ? INFINITY : policy.get<double>(),
                                firmware.is_null() ? INFINITY : firmware.get<double>());
  double highest = 0;
  std::istringstream table(read_line(frequency / "scaling_available_frequencies").value_or(""));
  for (double khz; table >> khz;) highest = std::max(highest, 1e3 * khz);
  if (highest > 0 && limit >= highest) return number_in(frequency / "cpuinfo_max_freq", 1e3);
  return limit;
}

json container(const fs::path& root) {
  std::error_code error;
  if (fs::exists(root / "run/.containerenv", error)) return "podman";
  if (fs::exists(root / ".dockerenv", error)) return "docker";
  const auto environment = read_text(root / "proc/1/environ");
  if (!environment) return nullptr;  // only root may read it
  std::istringstream entries(*environment);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    if (entry.starts_with("container=")) return entry.substr(entry.find('=') + 1);
  }
  return "none";
}

json hypervisor(const Processor& processor, const fs::path& root) {
  if (!processor.hypervisor.empty()) return processor.hypervisor;
  if (const auto type = read_line(root / "sys/hypervisor/type")) return *type;
  if (processor.virtualised) return "unnamed";
#if defined(__x86_64__)
  return "none";
#else
  return nullptr;  // Arm has no bit that tells
#endif
}

json load_average(const fs::path& root) {
  const auto line = read_line(root / "proc/loadavg");
  std::istringstream words(line.value_or(""));
  double one, five, fifteen;
  if (!(words >> one >> five >> fifteen)) return nullptr;
  return json::array({one, five, fifteen});
}

}  // namespace

std::string bracketed(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

CpuTime cpu_time(std::string_view proc_stat) {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; the guests' time is
  // already part of user and nice (proc(5)).
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::istringstream words{std::string(proc_stat)};
  std::string name;
  words >> name;
  double ticks[8], total = 0;
  for (double& field : ticks) {
    if (name != "cpu" || !(words >> field)) return {kNan, kNan, kNan};
    total += field;
  }
  const auto& [user, nice, system, idle, wait, irq, soft_irq, steal] = ticks;
  return {total - idle - wait - steal, steal, total};
}

double steal_fraction(std::string_view proc_stat) {
  const CpuTime time = cpu_time(proc_stat);
  return time.total > 0 ? time.steal / time.total : std::numeric_limits<double>::quiet_NaN();
}

double busy_share(std::string_view before, std::string_view after) {
  const CpuTime a = cpu_time(before), b = cpu_time(after);
  return b.total > a.total ? (b.busy - a.busy) / (b.total - a.total)
                           : std::numeric_limits<double>::quiet_NaN();
}

double busy_share_now() {
  const auto look = [] { return read_line("/proc/stat").value_or(""); };
  const std::string before = look();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return busy_share(before, look());
}

json read_state(const Processor& processor, const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  const fs::path mm = root / "sys/kernel/mm/transparent_hugepage";
  json state;
  utsname kernel{};
  state["kernel"] = uname(&kernel) == 0 ? json(kernel.release) : json(nullptr);
  state["hypervisor"] = hypervisor(processor, root);
  state["container"] = container(root);
  state["governor"] = text_or_null(read_line(cpu / "cpu0/cpufreq/scaling_governor"));
  state["frequency_driver"] = text_or_null(read_line(cpu / "cpu0/cpufreq/scaling_driver"));
  state["boost"] = boost(cpu);
  state["clock_max_hz"] = number_in(cpu / "cpu0/cpufreq/cpuinfo_max_freq", 1e3);
  state["clock_limit_hz"] = clock_limit(cpu / "cpu0/cpufreq");
  state["smt_active"] = flag(read_line(cpu / "smt/active"), "1");
  state["transparent_huge_pages"] = text_or_null(bracketed(read_line(mm / "enabled").value_or("")));
  state["huge_page_defrag"] = text_or_null(bracketed(read_line(mm / "defrag").value_or("")));
  state["numa_balancing"] = flag(read_line(root / "proc/sys/kernel/numa_balancing"), "1");
  state["perf_event_paranoid"] = number_in(root / "proc/sys/kernel/perf_event_paranoid");
  state["clock_source"] = text_or_null(
      read_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"));
  state["load_average"] = load_average(root);
  const auto stat = read_line(root / "proc/stat");
  const double steal = steal_fraction(stat.value_or(""));
  state["steal_fraction_since_boot"] = std::isfinite(steal) ? json(steal) : json(nullptr);
  return state;
}

}  // namespace roofline::machine
