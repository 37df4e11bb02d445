#include "roofline/bench_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "roofline/bench_name.hpp"
#include "roofline/ceilings.hpp"
#include "roofline/csv.hpp"
#include "roofline/error.hpp"
#include "roofline/machine/dtype_names.hpp"
#include "roofline/machine/processor.hpp"
#include "roofline/statistics.hpp"
#include "roofline/throttle_words.hpp"

namespace roofline {
namespace {

using nlohmann::json;

constexpr std::string_view kLevels[] = {"L1", "L2", "L3", "L4", "DRAM", "HBM"};

struct ContextCache {
  int level = 0;
  double bytes = 0;
  double sharing = 1;  ///< cores that share one instance

  /// Of as many instances as `threads` on a core each have.
  double within_reach(double threads) const { return bytes * std::ceil(threads / sharing); }
};

/// Google Benchmark prints counters that are not finite as bare NaN and Infinity, which no JSON
/// parser takes. Made null here, so that only a row that needs the number is refused.
std::string without_bare_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '-' || c == 'N' || c == 'I')) {
      const std::size_t sign = c == '-' ? 1 : 0;
      bool found = false;
      for (const std::string_view word : {"NaN", "Infinity"}) {
        if (text.substr(i + sign, word.size()) == word) {
          out += "null";
          i += sign + word.size() - 1;
          found = true;
          break;
        }
      }
      if (found) continue;
    }
    out += c;
  }
  return out;
}

/// One row of the file with the words for where it stands.
class RowReader {
 public:
  RowReader(const json& row, std::string where) : row_(row), where_(std::move(where)) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw BadInput(fmt::format("{}: {}", where_, what));
  }
  void append_where(std::string_view more) { where_ += more; }

  std::string text(const char* field) const {
    const auto found = row_.find(field);
    if (found == row_.end()) return {};
    if (!found->is_string()) {
      fail(fmt::format("field '{}' is {}, not a string", field, found->type_name()));
    }
    return found->get<std::string>();
  }
  bool flag(const char* field) const {
    const auto found = row_.find(field);
    if (found == row_.end()) return false;
    if (!found->is_boolean()) {
      fail(fmt::format("field '{}' is {}, not true or false", field, found->type_name()));
    }
    return found->get<bool>();
  }
  /// NaN if there is no such field. Null is what a NaN in the file has become.
  double optional_number(const std::string& field) const {
    const auto found = row_.find(field);
    if (found == row_.end() || found->is_null()) return kUnknownNumber;
    if (!found->is_number()) {
      fail(fmt::format("field '{}' is {}, not a number", field, found->type_name()));
    }
    const double value = found->get<double>();
    if (!plausible(value)) fail(fmt::format("field '{}' is beyond 1e-30 to 1e30", field));
    return value;
  }
  /// NaN also for what is no finite number above 0.
  double positive_number(const std::string& field) const {
    const double value = optional_number(field);
    return std::isfinite(value) && value > 0 ? value : kUnknownNumber;
  }
  double counter(const std::string& field) const {
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
  const json& raw() const { return row_; }

 private:
  const json& row_;
  std::string where_;
};

std::map<std::string, std::string> parse_label(std::string_view label) {
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

/// `l2_bytes` is NaN if unknown. Half of an L2 may hold copies of the other half.
std::string gpu_level_that_holds(const Benchmark& row, double l2_bytes) {
  return row.temperature != "cold" && row.working_set_bytes <= l2_bytes / 2 ? "L2" : "HBM";
}

std::string cpu_level_that_holds(const Benchmark& row, const std::vector<ContextCache>& caches) {
  if (row.temperature == "cold" || std::isnan(row.working_set_bytes)) return "DRAM";
  for (const ContextCache& cache : caches) {
    const double bytes = cache.level <= 2 ? cache.within_reach(row.threads) : cache.bytes;
    if (row.working_set_bytes <= bytes) return fmt::format("L{}", cache.level);
  }
  return "DRAM";
}

std::vector<ContextCache> context_caches(const json& context) {
  std::vector<ContextCache> out;
  const auto found = context.find("caches");
  if (found == context.end() || !found->is_array()) return out;
  for (const json& cache : *found) {
    if (!cache.is_object() || cache.value("type", json()) == "Instruction") continue;
    const json level = cache.value("level", json()), size = cache.value("size", json()),
               sharing = cache.value("num_sharing", json());
    if (level.is_number_integer() && size.is_number()) {
      const double cpus = sharing.is_number() ? sharing.get<double>() : 1;
      out.push_back({level.get<int>(), size.get<double>(), std::max(1.0, cpus)});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  // Google Benchmark counts logical CPUs, of which a core's share its L1.
  const double of_a_core = out.empty() || out.front().level > 1 ? 1 : out.front().sharing;
  for (ContextCache& cache : out) cache.sharing = std::max(1.0, cache.sharing / of_a_core);
  return out;
}

/// A count above 0 that a program has added to its context, as text like all that it adds: of the
/// GPU, or of the slice (MIG) that it saw.
double context_count(const json& context, const char* field) {
  const json told = context.value(field, json());
  const std::string text = told.is_string() ? told.get<std::string>() : "";
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool good = error == std::errc() && end == text.data() + text.size() && count > 0;
  return good ? static_cast<double>(count) : kUnknownNumber;
}

std::string context_text(const json& context, const char* field) {
  const json told = context.value(field, json());
  return told.is_string() ? told.get<std::string>() : "";
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
    Benchmark sample = read_sample(row, source, name, caches);
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

  static double read_time(const RowReader& row) {
    const double time = row.optional_number("real_time") * seconds_per_unit(row);
    if (!std::isfinite(time) || time <= 0) row.fail("field 'real_time' is not a number above 0");
    return time;
  }

  static Surroundings read_surroundings(const RowReader& row) {
    return {row.positive_number("clock_hz"),
            row.positive_number("issue_per_cycle"),
            row.positive_number("dispatch_per_cycle"),
            row.optional_number("cpu_wait"),
            row.positive_number("memory_window_bytes_per_s"),
            row.positive_number("own_memory_bytes_per_s"),
            row.positive_number("handover_s")};
  }

  static int read_attempt(const RowReader& row) {
    const double attempt = row.positive_number("attempt");
    return attempt < 1e6 ? static_cast<int>(attempt) : 0;
  }

  Benchmark read_sample(const RowReader& row, const std::string& source, const std::string& name,
                        const std::vector<ContextCache>& caches) {
    Benchmark out;
    out.source = source;
    out.name = name;
    auto label = parse_label(row.text("label"));
    if (const double own = row.optional_number("threads"); own > 1) {
      row.fail(
          fmt::format("ran with {} Google Benchmark threads, which makes flops per iteration "
                      "ambiguous: thread inside the benchmark instead",
                      own));
    }
    out.threads = defaults_.threads;
    if (const std::string& told = label["threads"]; !told.empty()) {
      const auto count = positive_int(told);
      if (!count) row.fail(fmt::format("'threads={}' in the label is not a count", told));
      out.threads = *count;
    }
    if (const auto wrong = read_name(out)) row.fail(*wrong);

    out.flops = row.counter("flops");
    out.bytes = row.counter("bytes");
    const bool no_work = out.flops == 0 && out.bytes == 0;
    if (no_work && out.kernel != "launch") row.fail("counters 'flops' and 'bytes' are both 0");
    if (!label["dtype"].empty()) {
      const auto dtype = canonical_dtype(label["dtype"]);
      if (!dtype) row.fail(fmt::format("dtype '{}' in the label is not known", label["dtype"]));
      out.dtype = *dtype;
    }
    if (out.dtype.empty()) out.dtype = defaults_.dtype;
    if (out.dtype.empty()) {
      row.fail(
          "dtype is not known: put it into the name (…/f32/…) or the label (dtype=f32), or "
          "give analyze --dtype");
    }
    out.device = label["device"].empty() ? defaults_.device : label["device"];
    if (out.device.empty()) {
      row.fail(
          "device is not known: put device=cpu or device=gpu into the label, or give analyze "
          "--device");
    }
    if (out.device != "cpu" && out.device != "gpu") {
      row.fail(fmt::format("device '{}' is neither cpu nor gpu", out.device));
    }
    out.exec_unit = label["exec_unit"].empty() ? defaults_.exec_unit : label["exec_unit"];
    out.roof_dtype = label["roof_dtype"].empty() ? out.dtype : label["roof_dtype"];
    out.library = label["library"];
    out.throttle = label["throttle"];
    out.scope = label["scope"].empty() ? "operation" : label["scope"];
    out.bytes_source = "model";

    out.working_set_bytes = row.optional_number("working_set_bytes");
    if (out.working_set_bytes < 0) row.fail("counter 'working_set_bytes' is below 0");
    if (out.working_set_bytes == 0) out.working_set_bytes = kUnknownNumber;
    if (const double launches = row.positive_number("launches"); !std::isnan(launches)) {
      out.launches = launches;
    }
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
    out.not_counted = label["counters"];
    if (out.level_bytes.empty() && out.bytes > 0) {
      if (!defaults_.level.empty())
        out.level_bytes.emplace_back(defaults_.level, out.bytes);
      else if (out.device == "cpu")
        out.level_bytes.emplace_back(cpu_level_that_holds(out, caches), out.bytes);
    }
    return out;
  }

  static void refuse_misspelt_levels(const RowReader& row) {
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

  /// Without their times.
  static std::vector<Benchmark> read_parts(const RowReader& row, const Benchmark& program) {
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

json parse_json(std::string_view text, const std::string& source) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw BadInput(source + ": is empty");
  }
  const std::string clean = without_bare_nan(text);
  try {
    return json::parse(clean);
  } catch (const json::parse_error& error) {
    const auto end = clean.begin() + static_cast<std::ptrdiff_t>(std::min(
                                         error.byte > 0 ? error.byte - 1 : 0, clean.size()));
    const auto line = 1 + std::count(clean.begin(), end, '\n');
    throw BadInput(fmt::format("{}:{}: not JSON, or cut off, at byte {} of {}", source, line,
                               error.byte, clean.size()));
  } catch (const json::exception& error) {  // a number beyond double's range
    throw BadInput(fmt::format("{}: not JSON that can be read: {}", source, error.what()));
  }
}

bool Benchmark::gated() const {
  return std::any_of(beside.begin(), beside.end(),
                     [](const Surroundings& at) { return !std::isnan(at.issue_per_cycle); });
}

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
