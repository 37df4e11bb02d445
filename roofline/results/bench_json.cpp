#include "roofline/results/bench_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/statistics.hpp"
#include "roofline/machine/processor.hpp"
#include "roofline/results/bench_context.hpp"
#include "roofline/results/bench_name.hpp"
#include "roofline/results/bench_row.hpp"
#include "roofline/results/throttle_words.hpp"

namespace roofline {
namespace {

using nlohmann::json;

/// `l2_bytes` is NaN if unknown. Half of an L2 may hold copies of the other half.
std::string gpu_level_that_holds(const Benchmark& row, double l2_bytes) {
  return row.temperature != "cold" && row.working_set_bytes <= l2_bytes / 2 ? "L2" : "HBM";
}

class Reader {
 public:
  explicit Reader(const RowDefaults& defaults) : defaults_(defaults) {}

  void add(std::string_view text, const std::string& source) {
    const json file = parse_json(text, source);
    if (!file.is_object() || !file.contains("benchmarks")) {
      throw BadInput(source + ": no 'benchmarks': not Google Benchmark's JSON output");
    }
    const json& rows = file["benchmarks"];
    if (!rows.is_array()) {
      throw BadInput(fmt::format("{}: 'benchmarks' is {}, not an array", source, rows.type_name()));
    }
    const json context = file.value("context", json::object());
    if (!context.is_object()) {
      throw BadInput(
          fmt::format("{}: 'context' is {}, not an object", source, context.type_name()));
    }
    const auto caches = context_caches(context);
    gpu_sms_ = context_count(context, "gpu_sms");
    gpu_l2_bytes_ = std::fmax(gpu_l2_bytes_, context_count(context, "gpu_l2_bytes"));
    read_machine(context, source);
    std::size_t samples = 0, aggregates = 0;
    std::optional<RowReader> without_work;
    in_file_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto where = fmt::format("{}: benchmarks[{}]", source, i);
      if (!rows[i].is_object()) {
        throw BadInput(fmt::format("{} is {}, not an object", where, rows[i].type_name()));
      }
      RowReader row(rows[i], where);
      const std::string name = row.text("name");
      if (name.empty()) row.fail("no 'name'");
      row.append_where(fmt::format(" '{}'", name));
      const std::string run_type = row.text("run_type");
      if (run_type == "aggregate") {
        ++aggregates;
      } else if (row.flag("error_occurred") || row.flag("skipped")) {
        ++samples;
        skip(name, row.text(row.flag("error_occurred") ? "error_message" : "skip_message"));
      } else {
        ++samples;
        if (!add_sample(row, source, name, caches) && !without_work) without_work.emplace(row);
      }
    }
    if (in_file_.empty() && without_work) without_work->counter("flops");
    if (samples == 0 && aggregates > 0) {
      throw BadInput(source +
                     ": only aggregate rows: leave out --benchmark_report_aggregates_only");
    }
  }

  BenchData finish() {
    for (std::size_t i = 0; i < data_.benchmarks.size(); ++i) {
      Benchmark& row = data_.benchmarks[i];
      // A GPU's kernel: the file that tells the size of L2 may come after its own. Of a probe that
      // names no level the bytes lie between two, or on a link.
      if (row.level_bytes.empty() && row.bytes > 0 && !is_probe(row)) {
        row.level_bytes.emplace_back(gpu_level_that_holds(row, gpu_l2_bytes_), row.bytes);
      }
      row.lived_times_s = row.times_s;
      std::vector<double> clocks;
      for (const Surroundings& beside : row.beside) {
        if (!std::isnan(beside.clock_hz)) clocks.push_back(beside.clock_hz);
      }
      row.clock_hz = row.lived_clock_hz = median(std::move(clocks));
      row.power_w = median(gpu_[i].power_w);
      row.memory_clock_hz = median(gpu_[i].memory_clock_hz);
    }
    std::vector<Benchmark> all;
    for (std::size_t i = 0; i < data_.benchmarks.size(); ++i) {
      all.push_back(std::move(data_.benchmarks[i]));
      const std::size_t program = all.size() - 1;
      for (Benchmark& part : parts_[i]) {
        part.lived_times_s = part.times_s;
        part.beside = all[program].beside;
        part.clock_hz = part.lived_clock_hz = all[program].clock_hz;
        part.power_w = all[program].power_w;
        all.push_back(std::move(part));
      }
    }
    data_.benchmarks = std::move(all);
    return std::move(data_);
  }

 private:
  void read_machine(const json& context, const std::string& source) {
    const std::string name = context_text(context, "machine");
    if (data_.machine.empty()) {
      data_.machine = name;
      machine_source_ = source;
    } else if (!name.empty() && name != data_.machine) {
      throw BadInput(fmt::format("{}: ran on {}, {} on {}: one machine at a time", source, name,
                                 machine_source_, data_.machine));
    }
    if (data_.microarchitecture.empty())
      data_.microarchitecture = context_text(context, "microarchitecture");
    if (data_.gpu.empty()) data_.gpu = machine::plain_name(context_text(context, "gpu"));
  }

  void skip(const std::string& name, const std::string& reason) {
    const std::string plain = benchmark_name(name);
    const bool known = std::any_of(
        data_.skipped.begin(), data_.skipped.end(),
        [&](const SkippedRow& row) { return row.name == plain && row.reason == reason; });
    if (!known) data_.skipped.push_back({plain, reason.empty() ? "no reason given" : reason});
  }

  /// False for a row that does not tell what it does.
  bool add_sample(const RowReader& row, const std::string& source, const std::string& name,
                  const std::vector<ContextCache>& caches) {
    const double time = read_time(row);
    const Surroundings beside = read_surroundings(row);
    const int attempt = read_attempt(row);
    // A later sample may leave out what its first one has said.
    const auto first_row = in_file_.find({benchmark_name(name), attempt});
    if (first_row != in_file_.end() && !row.raw().contains("flops") &&
        !row.raw().contains("bytes") && !row.raw().contains("label")) {
      add_time(row, first_row->second, time, beside);
      add_part_times(row, first_row->second);
      return true;
    }
    if (attempt == 0 && !row.raw().contains("flops") && !row.raw().contains("bytes")) {
      skip(name, "no counters 'flops' and 'bytes'");
      return false;
    }
    Benchmark sample = read_sample(row, source, name, caches, defaults_);
    sample.attempt = attempt;
    sample.gpu_sms = gpu_sms_;
    sample.roof_of = row.text("roof_of");
    auto parts = read_parts(row, sample);
    const auto [found, fresh] = index_.try_emplace(
        {sample.name, sample.device, sample.attempt, sample.roof_of}, data_.benchmarks.size());
    if (fresh) {
      data_.benchmarks.push_back(std::move(sample));
      gpu_.emplace_back();
      parts_.push_back(std::move(parts));
    } else {
      Benchmark& first = data_.benchmarks[found->second];
      if (first.source != source) {
        row.fail(fmt::format("is in {} too: two files may not measure the same", first.source));
      }
      if (const std::string what = difference(first, sample); !what.empty()) {
        row.fail(fmt::format("samples of one benchmark disagree in {}", what));
      }
      first.throttle = united_reasons(first.throttle, sample.throttle);
    }
    in_file_[{data_.benchmarks[found->second].name, attempt}] = found->second;
    add_time(row, found->second, time, beside);
    add_part_times(row, found->second);
    return true;
  }

  /// What two samples of one benchmark may not differ in, and do.
  static std::string difference(const Benchmark& a, const Benchmark& b) {
    const auto differ = [](double x, double y) {
      return std::isnan(x) != std::isnan(y) ||
             std::abs(x - y) > 1e-6 * std::max(std::abs(x), std::abs(y));
    };
    if (differ(a.flops, b.flops) || differ(a.bytes, b.bytes)) return "flops or bytes per iteration";
    if (a.threads != b.threads) return "threads";
    if (a.dtype != b.dtype || a.roof_dtype != b.roof_dtype) return "dtype";
    if (a.exec_unit != b.exec_unit) return "exec_unit";
    if (differ(a.working_set_bytes, b.working_set_bytes)) return "working_set_bytes";
    const bool same_levels = std::equal(
        a.level_bytes.begin(), a.level_bytes.end(), b.level_bytes.begin(), b.level_bytes.end(),
        [&](auto& x, auto& y) { return x.first == y.first && !differ(x.second, y.second); });
    return same_levels ? "" : "the bytes of their levels";
  }

  void add_part_times(const RowReader& row, std::size_t program) {
    for (Benchmark& part : parts_[program]) {
      const double time = row.positive_number("time_part_" + part.part);
      if (std::isnan(time)) {
        row.fail(fmt::format("counter 'time_part_{}' is not a number above 0", part.part));
      }
      part.times_s.push_back(time);
    }
  }

  void add_time(const RowReader& row, std::size_t index, double time, const Surroundings& beside) {
    data_.benchmarks[index].times_s.push_back(time);
    data_.benchmarks[index].beside.push_back(beside);
    for (const auto& [field, values] :
         {std::pair("power_w", &gpu_[index].power_w),
          std::pair("memory_clock_hz", &gpu_[index].memory_clock_hz)}) {
      if (const double value = row.positive_number(field); !std::isnan(value)) {
        values->push_back(value);
      }
    }
  }

  const RowDefaults& defaults_;
  BenchData data_;
  double gpu_sms_ = kUnknownNumber;  // of the file at hand
  double gpu_l2_bytes_ = defaults_.gpu_l2_bytes;
  std::string machine_source_;  // the file that names data_.machine
  std::map<std::tuple<std::string, std::string, int, std::string>, std::size_t> index_;
  std::map<std::pair<std::string, int>, std::size_t> in_file_;  // by name and attempt
  struct OfGpu {
    std::vector<double> power_w, memory_clock_hz;
  };
  std::vector<OfGpu> gpu_;                     // by benchmark
  std::vector<std::vector<Benchmark>> parts_;  // of each, for programs
};

}  // namespace

BenchData read_bench_json(std::span<const std::filesystem::path> files,
                          const RowDefaults& defaults) {
  Reader reader(defaults);
  std::set<std::filesystem::path> known;
  for (const auto& file : files) {
    std::error_code none;
    const auto path = std::filesystem::weakly_canonical(file, none);
    if (!none && !known.insert(path).second) {
      throw BadInput(file.string() + ": given twice: its samples would count double");
    }
    reader.add(read_text(file), file.string());
  }
  return reader.finish();
}

BenchData parse_bench_json(std::string_view text, const std::string& source,
                           const RowDefaults& defaults) {
  Reader reader(defaults);
  reader.add(text, source);
  return reader.finish();
}

}  // namespace roofline
