#include "roofline/ceilings/ceilings_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/base/error.hpp"

namespace roofline {

CsvTable ceilings_table(const std::vector<Ceiling>& rows) {
  CsvTable table(kCeilingsColumns);
  for (const Ceiling& row : rows) {
    table.add_row();
    table.set("machine", row.machine);
    table.set("device", row.device);
    table.set("resource", row.resource);
    table.set("level", row.level);
    table.set("operation", row.operation);
    table.set("dtype", row.dtype);
    table.set("exec_unit", row.exec_unit);
    table.set("threads", row.threads);
    table.set("condition", row.condition);
    table.set("working_set_bytes", row.working_set_bytes);
    table.set("measured", row.measured);
    table.set("measured_low", row.measured_low);
    table.set("measured_high", row.measured_high);
    table.set("samples", row.samples);
    table.set("samples_rejected", row.samples_rejected);
    table.set("clock_hz", row.clock_hz);
    table.set("theory_at_clock", row.theory_at_clock);
    table.set("fraction_of_theory", row.measured / row.theory_at_clock);
    table.set("advertised", row.advertised);
    table.set("advertised_source", row.advertised_source);
    table.set("fraction_of_advertised", row.measured / row.advertised);
    table.set("verdict", row.verdict);
    table.set("cause", row.cause);
  }
  return table;
}

CsvTable sweep_table(const std::vector<SweepPoint>& rows, const CeilingContext& context) {
  CsvTable table(kSweepColumns);
  for (const SweepPoint& row : rows) {
    table.add_row();
    table.set("machine", context.machine_of(row.device));
    table.set("device", row.device);
    table.set("resource", row.resource);
    table.set("level", row.level);
    table.set("operation", row.operation);
    table.set("variant", row.variant);
    table.set("dtype", row.dtype);
    table.set("exec_unit", row.exec_unit);
    table.set("threads", row.threads);
    table.set("size_bytes", row.size_bytes);
    table.set("working_set_bytes", row.working_set_bytes);
    table.set("measured", row.measured);
    table.set("measured_low", row.measured_low);
    table.set("measured_high", row.measured_high);
    table.set("samples", row.samples);
    table.set("samples_rejected", row.samples_rejected);
    table.set("relative_mad", row.relative_mad);
    table.set("clock_hz", row.clock_hz);
    table.set("plateau", row.plateau ? 1 : 0);
  }
  return table;
}

std::vector<Ceiling> read_ceilings(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  for (const char* column : {"device", "resource", "measured"}) {
    // Any text is a table without rows.
    if (!table.has(column)) {
      throw BadInput(fmt::format("{}: no column '{}'", path.string(), column));
    }
  }
  const auto positive = [&](std::size_t i, std::string_view column) {
    const double value = table.number(i, column);
    if (value <= 0) {
      throw BadInput(fmt::format("{}: column '{}': {} is not above 0", table.where(i), column,
                                 table.text(i, column)));
    }
    return value;
  };
  const auto count = [&](std::size_t i, std::string_view column, int otherwise) {
    const double value = table.number(i, column);
    if (std::isnan(value)) return otherwise;
    if (value < 0 || value > 1e9 || value != std::floor(value)) {
      throw BadInput(fmt::format("{}: column '{}': '{}' is not a count", table.where(i), column,
                                 table.text(i, column)));
    }
    return static_cast<int>(value);
  };
  std::vector<Ceiling> out;
  std::map<std::string, std::string> machines;  // by device
  std::map<std::vector<std::string>, std::string> seen;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Ceiling row;
    row.machine = table.text(i, "machine");
    row.device = table.text(i, "device");
    if (row.device != "cpu" && row.device != "gpu") {
      throw BadInput(fmt::format("{}: column 'device': '{}' is neither cpu nor gpu", table.where(i),
                                 row.device));
    }
    row.resource = table.text(i, "resource");
    constexpr std::string_view kResources[] = {"compute", "bandwidth", "latency", "link"};
    if (std::find(std::begin(kResources), std::end(kResources), row.resource) ==
        std::end(kResources)) {
      throw BadInput(
          fmt::format("{}: column 'resource': '{}' is not compute, bandwidth, latency "
                      "or link",
                      table.where(i), row.resource));
    }
    row.level = table.text(i, "level");
    row.operation = table.text(i, "operation");
    row.dtype = table.text(i, "dtype");
    row.exec_unit = table.text(i, "exec_unit");
    row.threads = count(i, "threads", 1);
    row.condition = table.text(i, "condition");
    row.working_set_bytes = positive(i, "working_set_bytes");
    row.measured = positive(i, "measured");
    row.measured_low = positive(i, "measured_low");
    row.measured_high = positive(i, "measured_high");
    row.samples = count(i, "samples", 0);
    row.samples_rejected = count(i, "samples_rejected", 0);
    row.clock_hz = positive(i, "clock_hz");
    row.theory_at_clock = positive(i, "theory_at_clock");
    row.advertised = positive(i, "advertised");
    row.advertised_source = table.text(i, "advertised_source");
    row.verdict = table.text(i, "verdict");
    row.cause = table.text(i, "cause");
    if (row.measured_low > row.measured || row.measured_high < row.measured) {
      throw BadInput(fmt::format("{}: 'measured' is not between 'measured_low' and 'measured_high'",
                                 table.where(i)));
    }
    const auto [first, fresh] = machines.try_emplace(row.device, row.machine);
    if (!fresh && first->second != row.machine) {
      throw BadInput(
          fmt::format("{}: column 'machine': '{}', but '{}' above: one machine at a time",
                      table.where(i), row.machine, first->second));
    }
    const auto [above, first_of_it] =
        seen.try_emplace({row.device, row.resource, row.level, row.operation, row.dtype,
                          row.exec_unit, std::to_string(row.threads), row.condition},
                         table.where(i));
    if (!first_of_it) {
      throw BadInput(fmt::format("{}: the same ceiling as {}", table.where(i), above->second));
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace roofline
