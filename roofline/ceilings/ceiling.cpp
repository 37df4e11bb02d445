#include "roofline/ceilings/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace roofline {
namespace {

bool same(const Ceiling& a, const Ceiling& b) {
  return a.device == b.device && a.dtype == b.dtype && a.id() == b.id();
}

}  // namespace

bool is_roof(const Ceiling& row) {
  return row.condition.find("zeros") == std::string::npos &&
         row.condition.find("burst") == std::string::npos &&
         row.condition.find("sustained") == std::string::npos;
}

bool is_better_roof(const Ceiling& row, const Ceiling& other) {
  const auto doubtful = [](const Ceiling& c) {
    return c.verdict.find("no-plateau") != std::string::npos ||
           c.verdict.find("above-theory") != std::string::npos;
  };
  return doubtful(row) == doubtful(other) ? row.value() > other.value() : doubtful(other);
}

const Ceiling* under(std::span<const Ceiling> rows, const Ceiling& row, std::string_view moments) {
  const auto load = [](const Ceiling& c) {
    return c.condition.substr(0, c.condition.find_last_of('+') + 1);
  };
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Ceiling& other) {
    return other.condition.ends_with(moments) && load(other) == load(row) && same(other, row);
  });
  return found == rows.end() ? nullptr : &*found;
}

bool hidden(std::span<const Ceiling> rows, const Ceiling& row) {
  if (!is_roof(row)) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Ceiling& other) { return is_roof(other) && same(other, row); });
  }
  return !row.condition.ends_with("quiet") && under(rows, row, "quiet") != nullptr;
}

bool limits(std::span<const Ceiling> rows, const Ceiling& row) {
  return is_roof(row) && !hidden(rows, row);
}

int most_threads(std::span<const Ceiling> rows, std::string_view device) {
  int most = 0;
  for (const Ceiling& row : rows) {
    if (row.device == device && row.resource != "latency") most = std::max(most, row.threads);
  }
  return most;
}

double launch_time(std::span<const Ceiling> rows, std::string_view device) {
  double best = kUnknownNumber, on_stream = kUnknownNumber;
  for (const Ceiling& row : rows) {
    if (row.device != device || row.resource != "latency" || row.level != "launch") continue;
    best = std::fmin(best, row.value());
    if (row.operation.ends_with("_stream")) on_stream = std::fmin(on_stream, row.value());
  }
  const double time = std::isnan(on_stream) ? best : on_stream;
  return std::isnan(time) ? 0 : time;
}

void flag(Ceiling& row, std::string_view verdict, std::string cause) {
  if (row.verdict == "ok") {
    row.verdict = verdict;
  } else if (row.verdict.find(verdict) == std::string::npos) {
    row.verdict = fmt::format("{}+{}", row.verdict, verdict);
  }
  row.cause = row.cause.empty() ? std::move(cause) : fmt::format("{}; {}", row.cause, cause);
}

double rank(const std::string& resource, double value) {
  return resource == "latency" ? 1 / value : value;
}

bool is_of_pages(const Ceiling& row) { return row.operation.starts_with("pages_"); }

bool is_main_memory(std::string_view level) { return level == "DRAM" || level == "HBM"; }

int level_rank(std::string_view level) {
  constexpr std::string_view kOrder[] = {"shared", "L1", "L2", "L3", "L4", "DRAM", "HBM"};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), level) -
                          std::begin(kOrder));
}

std::string Ceiling::id() const {
  if (std::isnan(measured)) {  // of a spec chip
    return resource == "compute" ? fmt::format("{}/{}/{}/{}", machine, resource, dtype, exec_unit)
                                 : fmt::format("{}/{}/{}", machine, resource, level);
  }
  return fmt::format("{}/{}/{}/{}/threads:{}", resource, resource == "compute" ? dtype : level,
                     operation, exec_unit, threads);
}

double Ceiling::value() const { return std::isnan(measured) ? advertised : measured; }

bool is_matrix_unit(std::string_view exec_unit) {
  constexpr std::string_view kUnits[] = {"tensor", "mxu", "mma", "wgmma", "tcgen05", "amx"};
  return std::find(std::begin(kUnits), std::end(kUnits), exec_unit) != std::end(kUnits);
}

}  // namespace roofline
