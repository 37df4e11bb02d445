#include "roofline/run/trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "roofline/machine/state.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {
namespace {

/// The fastest core: idle ones may show their lowest clock.
double core_clock_hz() {
  double best = kUnknownNumber;
  for (int cpu = 0;; ++cpu) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
    double khz = 0;
    if (!(file >> khz)) break;
    best = std::fmax(best, khz * 1e3);
  }
  if (!std::isnan(best)) return best;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    best = std::fmax(best, std::atof(line.c_str() + colon + 1) * 1e6);
  }
  return best;
}

double temperature_c() {
  double best = kUnknownNumber;
  for (int zone = 0;; ++zone) {
    std::ifstream file(fmt::format("/sys/class/thermal/thermal_zone{}/temp", zone));
    double milli = 0;
    if (!(file >> milli)) break;
    best = std::fmax(best, milli / 1e3);
  }
  return best;
}

/// Of a file of another version, its columns that there are today. Throws BadInput for a time that
/// is none.
CsvTable earlier_rows(const std::filesystem::path& file) {
  CsvTable out(kTraceColumns);
  if (!std::filesystem::exists(file)) return out;
  const CsvTable rows = CsvTable::read(file);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    out.add_row();
    for (const Column& column : kTraceColumns)
      if (rows.has(column.name)) out.set(column.name, rows.text(i, column.name));
    out.set("time_s", rows.number(i, "time_s"));
  }
  return out;
}

}  // namespace

Trace::Trace(std::filesystem::path file, const machine::GpuWatch* gpus)
    : file_(std::move(file)), table_(earlier_rows(file_)), gpus_(gpus) {
  if (table_.rows() > 0) offset_s_ = std::fmax(0, table_.number(table_.rows() - 1, "time_s"));
}

void Trace::sample(double time_s, const std::string& during) {
  table_.add_row();
  table_.set("time_s", std::round((offset_s_ + time_s) * 100) / 100);
  table_.set("device", "cpu");
  table_.set("during", during);
  table_.set("clock_hz", core_clock_hz());
  table_.set("power_w", package_power_.since_last(time_s));
  table_.set("temperature_c", temperature_c());
  double load = 0;
  if (std::ifstream("/proc/loadavg") >> load) table_.set("load", load);
  std::string stat;
  std::ifstream file("/proc/stat");
  std::getline(file, stat);
  const machine::CpuTime now = machine::cpu_time(stat);
  if (!std::isnan(now.total)) {
    if (ticks_ > 0 && now.total > ticks_) {
      table_.set("steal", (now.steal - stolen_) / (now.total - ticks_));
    }
    ticks_ = now.total;
    stolen_ = now.steal;
  }
  if (gpus_ == nullptr) return;
  for (const machine::GpuMoment& gpu : gpus_->look()) {
    table_.add_row();
    table_.set("time_s", std::round((offset_s_ + time_s) * 100) / 100);
    table_.set("device", gpu.index == 0 ? "gpu" : fmt::format("gpu{}", gpu.index));
    table_.set("during", during);
    table_.set("clock_hz", gpu.sm_clock_hz);
    table_.set("memory_clock_hz", gpu.memory_clock_hz);
    table_.set("power_w", gpu.power_w);
    table_.set("temperature_c", gpu.temperature_c);
    if (gpu.throttle) table_.set("throttle", fmt::format("{:#x}", *gpu.throttle));
  }
}

}  // namespace roofline
