#include "roofline/results/bench_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "roofline/base/csv.hpp"
#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/results/bench_name.hpp"

namespace roofline {
namespace {

constexpr std::string_view kLevels[] = {"L1", "L2", "L3", "L4", "DRAM", "HBM"};

using Label = std::map<std::string, std::string>;

Label parse_label(std::string_view label) {
  std::map<std::string, std::string> out;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find(';'), label.size());
    std::string_view part = label.substr(0, end);
    label.remove_prefix(std::min(end + 1, label.size()));
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      out[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    }
  }
  return out;
}

double seconds_per_unit(const RowReader& row) {
  const std::string unit = row.text("time_unit");
  if (unit == "ns" || unit.empty()) return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  row.fail(fmt::format("field 'time_unit' is '{}', not ns, us, ms or s", unit));
}

std::string cpu_level_that_holds(const Benchmark& row, const std::vector<ContextCache>& caches) {
  if (row.temperature == "cold" || std::isnan(row.working_set_bytes)) return "DRAM";
  for (const ContextCache& cache : caches) {
    const double bytes = cache.level <= 2 ? cache.within_reach(row.threads) : cache.bytes;
    if (row.working_set_bytes <= bytes) return fmt::format("L{}", cache.level);
  }
  return "DRAM";
}

void refuse_misspelt_levels(const RowReader& row) {
  for (const auto& [field, value] : row.raw().items()) {
    if (!field.starts_with("bytes_")) continue;
    std::string level = field.substr(6);
    for (char& c : level) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const bool known =
        std::find(std::begin(kLevels), std::end(kLevels), level) != std::end(kLevels);
    if (known && field != "bytes_" + level)
      row.fail(fmt::format("counter '{}' is written 'bytes_{}'", field, level));
  }
}

void read_threads(const RowReader& row, Label& label, const RowDefaults& defaults, Benchmark& out) {
  if (const double own = row.optional_number("threads"); own > 1) {
    row.fail(
        fmt::format("ran with {} Google Benchmark threads, which makes flops per iteration "
                    "ambiguous: thread inside the benchmark instead",
                    own));
  }
  out.threads = defaults.threads;
  if (const std::string& told = label["threads"]; !told.empty()) {
    const auto count = positive_int(told);
    if (!count) row.fail(fmt::format("'threads={}' in the label is not a count", told));
    out.threads = *count;
  }
}

/// What ran, and on what: by the label, else as the command line says.
void read_identity(const RowReader& row, Label& label, const RowDefaults& defaults,
                   Benchmark& out) {
  if (!label["dtype"].empty()) {
    const auto dtype = canonical_dtype(label["dtype"]);
    if (!dtype) row.fail(fmt::format("dtype '{}' in the label is not known", label["dtype"]));
    out.dtype = *dtype;
  }
  if (out.dtype.empty()) out.dtype = defaults.dtype;
  if (out.dtype.empty()) {
    row.fail(
        "dtype is not known: put it into the name (…/f32/…) or the label (dtype=f32), or "
        "give analyze --dtype");
  }
  out.device = label["device"].empty() ? defaults.device : label["device"];
  if (out.device.empty()) {
    row.fail(
        "device is not known: put device=cpu or device=gpu into the label, or give analyze "
        "--device");
  }
  if (out.device != "cpu" && out.device != "gpu") {
    row.fail(fmt::format("device '{}' is neither cpu nor gpu", out.device));
  }
  out.exec_unit = label["exec_unit"].empty() ? defaults.exec_unit : label["exec_unit"];
  out.roof_dtype = label["roof_dtype"].empty() ? out.dtype : label["roof_dtype"];
  out.library = label["library"];
  out.throttle = label["throttle"];
  out.scope = label["scope"].empty() ? "operation" : label["scope"];
  out.bytes_source = "model";
  out.not_counted = label["counters"];
}

/// Bytes across each level, by the model and by hardware counters.
void read_levels(const RowReader& row, Benchmark& out) {
  refuse_misspelt_levels(row);
  for (const std::string_view level : kLevels) {
    const std::string counter = fmt::format("bytes_{}", level);
    if (!row.raw().contains(counter)) continue;
    out.level_bytes.emplace_back(level, row.counter(counter));
  }
  if (row.raw().contains("counted_flops")) out.counted_flops = row.counter("counted_flops");
  for (const std::string_view level : kLevels) {
    const std::string counter = fmt::format("counted_bytes_{}", level);
    if (row.raw().contains(counter)) out.counted_bytes.emplace_back(level, row.counter(counter));
  }
}

}  // namespace

void RowReader::fail(std::string_view what) const {
  throw BadInput(fmt::format("{}: {}", where_, what));
}

std::string RowReader::text(const char* field) const {
  const auto found = row_.find(field);
  if (found == row_.end()) return {};
  if (!found->is_string()) {
    fail(fmt::format("field '{}' is {}, not a string", field, found->type_name()));
  }
  return found->get<std::string>();
}

bool RowReader::flag(const char* field) const {
  const auto found = row_.find(field);
  if (found == row_.end()) return false;
  if (!found->is_boolean()) {
    fail(fmt::format("field '{}' is {}, not true or false", field, found->type_name()));
  }
  return found->get<bool>();
}

double RowReader::optional_number(const std::string& field) const {
  const auto found = row_.find(field);
  if (found == row_.end() || found->is_null()) return kUnknownNumber;
  if (!found->is_number()) {
    fail(fmt::format("field '{}' is {}, not a number", field, found->type_name()));
  }
  const double value = found->get<double>();
  if (!plausible(value)) fail(fmt::format("field '{}' is beyond 1e-30 to 1e30", field));
  return value;
}

double RowReader::positive_number(const std::string& field) const {
  const double value = optional_number(field);
  return std::isfinite(value) && value > 0 ? value : kUnknownNumber;
}

double RowReader::counter(const std::string& field) const {
  if (!row_.contains(field)) {
    fail(fmt::format("no counter '{}': set it per iteration, state.counters[\"{}\"] = …", field,
                     field));
  }
  const double value = optional_number(field);
  if (!std::isfinite(value) || value < 0) {
    fail(fmt::format("counter '{}' is not a finite number >= 0", field));
  }
  return value;
}

double read_time(const RowReader& row) {
  const double time = row.optional_number("real_time") * seconds_per_unit(row);
  if (!std::isfinite(time) || time <= 0) row.fail("field 'real_time' is not a number above 0");
  return time;
}

Surroundings read_surroundings(const RowReader& row) {
  return {row.positive_number("clock_hz"),
          row.positive_number("issue_per_cycle"),
          row.positive_number("dispatch_per_cycle"),
          row.optional_number("cpu_wait"),
          row.positive_number("memory_window_bytes_per_s"),
          row.positive_number("own_memory_bytes_per_s"),
          row.positive_number("handover_s")};
}

int read_attempt(const RowReader& row) {
  const double attempt = row.positive_number("attempt");
  return attempt < 1e6 ? static_cast<int>(attempt) : 0;
}

Benchmark read_sample(const RowReader& row, const std::string& source, const std::string& name,
                      const std::vector<ContextCache>& caches, const RowDefaults& defaults) {
  Benchmark out;
  out.source = source;
  out.name = name;
  auto label = parse_label(row.text("label"));
  read_threads(row, label, defaults, out);
  if (const auto wrong = read_name(out)) row.fail(*wrong);
  out.flops = row.counter("flops");
  out.bytes = row.counter("bytes");
  const bool no_work = out.flops == 0 && out.bytes == 0;
  if (no_work && out.kernel != "launch") row.fail("counters 'flops' and 'bytes' are both 0");
  read_identity(row, label, defaults, out);
  out.working_set_bytes = row.optional_number("working_set_bytes");
  if (out.working_set_bytes < 0) row.fail("counter 'working_set_bytes' is below 0");
  if (out.working_set_bytes == 0) out.working_set_bytes = kUnknownNumber;
  if (const double launches = row.positive_number("launches"); !std::isnan(launches)) {
    out.launches = launches;
  }
  read_levels(row, out);
  if (out.level_bytes.empty() && out.bytes > 0) {
    if (!defaults.level.empty())
      out.level_bytes.emplace_back(defaults.level, out.bytes);
    else if (out.device == "cpu")
      out.level_bytes.emplace_back(cpu_level_that_holds(out, caches), out.bytes);
  }
  return out;
}

std::vector<Benchmark> read_parts(const RowReader& row, const Benchmark& program) {
  std::vector<Benchmark> out;
  if (program.scope != "program") return out;
  const auto label = parse_label(row.text("label"));
  const auto in_label = [&](const std::string& key) {
    const auto found = label.find(key);
    return found == label.end() ? std::string() : found->second;
  };
  std::istringstream names(in_label("parts"));
  for (std::string name; names >> name;) {
    const auto words = name_parts(in_label("part_" + name));
    const auto dtype = words.size() == 5 ? canonical_dtype(words[2]) : std::nullopt;
    if (!dtype) {
      row.fail(fmt::format("label 'part_{}' is not op/variant/dtype/exec_unit/roof_dtype", name));
    }
    Benchmark part = program;
    part.scope = "operation";
    part.parent = program.name;
    part.part = name;
    part.part_op = words[0];
    part.kernel = program.kernel + "_" + name;
    part.variant = words[1].empty() ? program.variant : words[1];
    part.dtype = *dtype;
    part.exec_unit = words[3];
    part.roof_dtype = words[4];
    part.name = program.name + " " + name;
    part.flops = row.counter("flops_part_" + name);
    part.bytes = row.counter("bytes_part_" + name);
    part.level_bytes.clear();
    for (const std::string_view level : kLevels) {
      const std::string counter = fmt::format("bytes_{}_part_{}", level, name);
      if (row.raw().contains(counter)) part.level_bytes.emplace_back(level, row.counter(counter));
    }
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace roofline
