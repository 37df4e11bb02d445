#include "roofline/ceilings/ceilings_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

/// One row, checked field by field. Throws BadInput naming file, line and column.
struct CeilingReader {
  const CsvTable& table;
  std::size_t row;

  std::string text(std::string_view column) const { return table.text(row, column); }

  /// One of the words that a column may hold.
  std::string word(std::string_view column, std::initializer_list<std::string_view> words) const {
    const std::string value = text(column);
    if (std::find(words.begin(), words.end(), value) == words.end()) {
      throw BadInput(fmt::format("{}: column '{}': '{}' is none of {}", table.where(row), column,
                                 value, fmt::join(words, ", ")));
    }
    return value;
  }

  double positive(std::string_view column) const {
    const double value = table.number(row, column);
    if (value <= 0) {
      throw BadInput(fmt::format("{}: column '{}': {} is not above 0", table.where(row), column,
                                 table.text(row, column)));
    }
    return value;
  }

  int count(std::string_view column, int otherwise) const {
    const double value = table.number(row, column);
    if (std::isnan(value)) return otherwise;
    if (value < 0 || value > 1e9 || value != std::floor(value)) {
      throw BadInput(fmt::format("{}: column '{}': '{}' is not a count", table.where(row), column,
                                 table.text(row, column)));
    }
    return static_cast<int>(value);
  }

  Ceiling ceiling() const {
    Ceiling out;
    out.machine = text("machine");
    out.device = word("device", {"cpu", "gpu"});
    out.resource = word("resource", {"compute", "bandwidth", "latency", "link"});
    out.level = text("level");
    out.operation = text("operation");
    out.dtype = text("dtype");
    out.exec_unit = text("exec_unit");
    out.threads = count("threads", 1);
    out.condition = text("condition");
    out.working_set_bytes = positive("working_set_bytes");
    out.measured = positive("measured");
    out.measured_low = positive("measured_low");
    out.measured_high = positive("measured_high");
    out.samples = count("samples", 0);
    out.samples_rejected = count("samples_rejected", 0);
    out.clock_hz = positive("clock_hz");
    out.theory_at_clock = positive("theory_at_clock");
    out.advertised = positive("advertised");
    out.advertised_source = text("advertised_source");
    out.verdict = text("verdict");
    out.cause = text("cause");
    if (out.measured_low > out.measured || out.measured_high < out.measured) {
      throw BadInput(fmt::format("{}: 'measured' is not between 'measured_low' and 'measured_high'",
                                 table.where(row)));
    }
    return out;
  }
};

}  // namespace

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
  std::vector<Ceiling> out;
  std::map<std::string, std::string> machines;  // by device
  std::map<std::vector<std::string>, std::string> seen;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Ceiling row = CeilingReader{table, i}.ceiling();
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
