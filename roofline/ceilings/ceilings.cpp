#include "roofline/ceilings/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <tuple>

#include "roofline/base/statistics.hpp"
#include "roofline/ceilings/ceiling_doubts.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

/// Which samples count.
enum class Moments { kQuiet, kAsLived };

const std::vector<double>& times_of(const Benchmark& row, Moments moments) {
  return moments == Moments::kQuiet ? row.times_s : row.lived_times_s;
}

double clock_of(const Benchmark& row, Moments moments) {
  return moments == Moments::kQuiet ? row.clock_hz : row.lived_clock_hz;
}

std::string condition_of(const Benchmark& row, Moments moments) {
  std::string out;
  for (const char* key : {"data", "hold"}) {
    if (const std::string value = row.key(key); !value.empty()) out += value + "+";
  }
  return out + (moments == Moments::kQuiet ? "quiet" : "as-lived");
}

/// `work` / time, or the time itself where work is 0.
Probed probed(const Benchmark& row, Moments moments, std::string resource, std::string level,
              std::string operation, double work) {
  const auto& times = times_of(row, moments);
  Probed out;
  out.device = row.device;
  out.resource = std::move(resource);
  out.level = std::move(level);
  out.operation = std::move(operation);
  out.dtype = row.dtype;
  out.exec_unit = row.exec_unit;
  out.threads = row.threads;
  out.condition = condition_of(row, moments);
  out.working_set_bytes = row.working_set_bytes;
  out.measured = median(times);
  if (const auto interval = median_interval(times)) {
    std::tie(out.measured_low, out.measured_high) = *interval;
  }
  if (work > 0) {
    out.measured = work / out.measured;
    std::tie(out.measured_low, out.measured_high) =
        std::pair(work / out.measured_high, work / out.measured_low);
  }
  out.samples = static_cast<int>(times.size());
  out.samples_rejected = static_cast<int>(row.lived_times_s.size() - times.size());
  out.disagreement = disagreement(times);
  out.clock_fall = clock_fall(row, moments == Moments::kQuiet);
  out.clock_hz = clock_of(row, moments);
  return out;
}

double key_number(const Benchmark& row, std::string_view key) {
  const std::string text = row.key(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value > 0;
  return good ? value : kUnknownNumber;
}

SweepPoint sweep_point(const Benchmark& row, Moments moments, const CeilingContext& context) {
  const bool chase = row.kernel == "chase";
  SweepPoint out{probed(row, moments, chase ? "latency" : "bandwidth", "",
                        chase || row.key("access").empty() ? row.kernel : row.key("access"),
                        chase ? 0 : row.bytes)};
  out.variant = row.variant;
  out.probe = row.name;
  out.size_bytes = key_number(row, "size");
  out.relative_mad = relative_mad(times_of(row, moments));
  if (!row.key("level").empty()) {
    out.level = row.key("level");
    out.level_named = true;
  } else if (row.device == "gpu") {
    if (!row.level_bytes.empty()) out.level = row.level_bytes.back().first;
  } else {
    out.level = level_of_size(out.size_bytes, out.threads, context.caches);
  }
  return out;
}

/// The points of one level of one sweep, by size: marks the flat piece and returns the best point
/// of it; `flat` tells whether there is one.
std::size_t take_plateau(std::span<SweepPoint> points, bool& flat) {
  const auto value = [&](std::size_t i) { return rank(points[i].resource, points[i].measured); };
  std::size_t best = 0, first = 0, last = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (value(i) > value(best)) best = i;
  }
  flat = false;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    double low = value(i), high = value(i);
    std::size_t top = i;
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      low = std::min(low, value(j));
      high = std::max(high, value(j));
      if (low < high * (1 - kPlateauTolerance)) break;
      if (value(j) > value(top)) top = j;
      const bool faster = !flat || value(top) > value(best);
      const bool longer = flat && value(top) == value(best) && j - i > last - first;
      if (faster || longer) {
        flat = true;
        best = top;
        first = i;
        last = j;
      }
    }
  }
  if (flat) {
    for (std::size_t i = first; i <= last; ++i) points[i].plateau = true;
  }
  return best;
}

/// The points of all sweeps at these moments, and from each level of each sweep a ceiling.
Ceilings take_sweeps(const std::vector<Benchmark>& rows, Moments moments,
                     const CeilingContext& context) {
  const auto sweep_key = [](const SweepPoint& p) {
    return std::tie(p.device, p.resource, p.operation, p.dtype, p.exec_unit, p.variant, p.condition,
                    p.threads);
  };
  Ceilings out;
  for (const Benchmark& row : rows) {
    if (row.kernel == "stream" || row.kernel == "chase") {
      out.sweep.push_back(sweep_point(row, moments, context));
    }
  }
  // Of several attempts at one size the best comes first, and stays.
  std::stable_sort(out.sweep.begin(), out.sweep.end(), [&](const auto& a, const auto& b) {
    return std::tuple_cat(sweep_key(a), std::tuple(a.size_bytes, -rank(a.resource, a.measured))) <
           std::tuple_cat(sweep_key(b), std::tuple(b.size_bytes, -rank(b.resource, b.measured)));
  });
  const auto same_size = [&](const SweepPoint& a, const SweepPoint& b) {
    return sweep_key(a) == sweep_key(b) && a.size_bytes == b.size_bytes;
  };
  out.sweep.erase(std::unique(out.sweep.begin(), out.sweep.end(), same_size), out.sweep.end());
  for (auto begin = out.sweep.begin(); begin != out.sweep.end();) {
    const auto end = std::find_if(begin, out.sweep.end(), [&](const SweepPoint& p) {
      return sweep_key(p) != sweep_key(*begin) || p.level != begin->level;
    });
    const std::span points(begin, end);
    begin = end;
    if (points[0].level.empty()) continue;
    bool flat = false;
    const SweepPoint& best = points[take_plateau(points, flat)];
    Ceiling row{static_cast<const Probed&>(best)};
    for (const SweepPoint& point : points) row.probes.push_back(point.probe);
    const bool may_be_alone = best.resource == "latency" || best.level_named;
    if (!flat && !(may_be_alone && points.size() == 1)) {
      flag(row, "no-plateau",
           points.size() == 1
               ? "one size only within this level"
               : fmt::format(
                     "no two neighbouring sizes of {} within this level agree within {:.0f} %",
                     points.size(), 100 * kPlateauTolerance));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

/// The ceilings of probes of one size or none.
std::vector<Ceiling> take_points(const std::vector<Benchmark>& rows, Moments moments,
                                 const CeilingContext& context) {
  std::vector<Ceiling> out;
  for (const Benchmark& row : rows) {
    const auto add = [&](const char* resource, const std::string& level,
                         const std::string& operation, double work) {
      out.push_back({probed(row, moments, resource, level, operation, work)});
      out.back().probes = {row.name};
    };
    if (row.kernel == "fma_peak") {
      add("compute", "", row.kernel, row.flops);
    } else if (row.kernel == "launch") {
      add("latency", "launch", row.variant, 0);
    } else if (row.kernel == "link") {
      add("link", row.variant, row.key("access"), row.bytes);
    } else if (row.kernel == "pages") {
      const std::string level = level_of_size(key_number(row, "size"), row.threads, context.caches);
      if (!level.empty() && !std::isnan(key_number(row, "page_bytes"))) {
        add("bandwidth", level, "pages_" + row.key("page_bytes"), row.bytes);
      }
    }
  }
  return out;
}

/// Of several variants on one execution unit the best one stays; a flat one before one that is not.
void keep_best(std::vector<Ceiling>& rows) {
  std::vector<Ceiling> kept;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> index;
  for (Ceiling& row : rows) {
    const auto [found, fresh] =
        index.try_emplace({row.device, row.id(), row.dtype, row.condition}, kept.size());
    if (fresh) {
      kept.push_back(std::move(row));
      continue;
    }
    Ceiling& other = kept[found->second];
    const bool flat = row.verdict == "ok", other_flat = other.verdict == "ok";
    if (flat != other_flat
            ? flat
            : rank(row.resource, row.measured) > rank(row.resource, other.measured)) {
      other = std::move(row);
    }
  }
  rows = std::move(kept);
}

double memory_clock_of(const std::vector<Benchmark>& rows) {
  std::vector<double> seen;
  for (const Benchmark& row : rows) {
    if (!std::isnan(row.memory_clock_hz)) seen.push_back(row.memory_clock_hz);
  }
  return median(std::move(seen));
}

double gpu_sms_of(const std::vector<Benchmark>& rows) {
  for (const Benchmark& row : rows) {
    if (row.device == "gpu" && !std::isnan(row.gpu_sms)) return row.gpu_sms;
  }
  return kUnknownNumber;
}

}  // namespace

std::string level_of_size(double size_bytes, int threads, std::span<const machine::Cache> caches) {
  constexpr double kLeastCold = 256 << 20;  // as cold_footprint() in kernels/cost.hpp
  if (!(size_bytes > 0)) return {};
  if (caches.empty()) return size_bytes * threads >= kLeastCold ? "DRAM" : "";
  double inner_share = 0, largest = 0;  // on some servers the L2s are, together
  for (const machine::Cache& cache : caches) {
    const int sharers = std::max(1, std::min(threads, cache.cores_sharing));
    const double share = static_cast<double>(cache.bytes) / sharers;
    largest = std::max(largest, static_cast<double>(std::max(cache.total_bytes, cache.bytes)));
    if (size_bytes >= 2 * inner_share && size_bytes <= 0.75 * share) {
      return fmt::format("L{}", cache.level);
    }
    inner_share = share;
  }
  return size_bytes * threads >= 4 * largest ? "DRAM" : "";
}

Ceilings ceilings_from(const std::vector<Benchmark>& all, const CeilingContext& context) {
  std::vector<Benchmark> rows, quiet;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [](const Benchmark& row) { return is_probe(row) && row.roof_of.empty(); });
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(quiet),
               [](const Benchmark& row) { return row.gated() && row.quiet(); });
  Ceilings out = take_sweeps(quiet, Moments::kQuiet, context);
  const Ceilings lived = take_sweeps(rows, Moments::kAsLived, context);
  for (const SweepPoint& point : lived.sweep) {
    const bool known = std::any_of(out.sweep.begin(), out.sweep.end(), [&](const SweepPoint& p) {
      return p.probe == point.probe && p.device == point.device;
    });
    if (!known) out.sweep.push_back(point);
  }
  for (const auto& found : {take_points(quiet, Moments::kQuiet, context),
                            take_points(rows, Moments::kAsLived, context), lived.rows}) {
    out.rows.insert(out.rows.end(), found.begin(), found.end());
  }
  keep_best(out.rows);
  const auto order = [](const Ceiling& c) {
    // Compute, bandwidth, latency, link: alphabetical but for compute, which sorts first anyway.
    return std::make_tuple(c.device, c.resource != "compute", c.resource, c.operation, c.dtype,
                           c.exec_unit, c.threads, c.condition, level_rank(c.level));
  };
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [&](const Ceiling& a, const Ceiling& b) { return order(a) < order(b); });
  const double gpu_sms = gpu_sms_of(rows), memory_clock = memory_clock_of(rows);
  for (Ceiling& row : out.rows) {
    row.machine = context.machine_of(row.device);
    if (row.device == "gpu") {
      row.gpu_sms = gpu_sms;
      row.memory_clock_hz = memory_clock;
    }
    if (context.theory) row.theory_at_clock = context.theory(row);
    if (context.advertised) {
      const Advertised advertised = context.advertised(row);
      row.advertised = advertised.value;
      row.advertised_source = advertised.source;
    }
  }
  flag_doubtful(out.rows, rows);
  return out;
}

}  // namespace roofline
