#include "roofline/run/run_results.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "roofline/base/bench_words.hpp"
#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/results/bench_json.hpp"
#include "roofline/results/bench_name.hpp"
#include "roofline/run/run_rows.hpp"

namespace roofline {

using nlohmann::json;

namespace {

/// Whatever was wrong once has no time, in samples before or after neither.
void drop_times(json& rows) {
  std::erase_if(rows.get_ref<json::array_t&>(),
                [](const json& row) { return !row.value("error_occurred", false); });
}

}  // namespace

std::string RunResults::take(const Unit& unit, const Outcome& outcome, double timeout,
                             const std::filesystem::path& file, int round, bool in_turns) {
  // Exit code 1 stands for wrong kernels; their rows say so.
  if (outcome.exit_code != 0 && outcome.exit_code != 1) return outcome.words(timeout);
  json parsed;
  try {
    const std::string text = read_text(file);
    parse_bench_json(text, "its JSON");  // every row must be one that can be analysed
    parsed = parse_json(text, "its JSON");
  } catch (const BadInput& error) {
    return outcome.clean() ? error.what() : outcome.words(timeout);
  }
  std::map<std::string, Result> fresh;
  for (const std::string& name : unit.names) fresh[name];
  for (json& row : parsed.at("benchmarks")) {
    if (row.value("run_type", "iteration") == "aggregate") continue;
    if (!unit.tuned.empty()) row["name"] = tuned_name(row.at("name").get<std::string>());
    const auto found = fresh.find(benchmark_name(row.at("name").get<std::string>()));
    if (found == fresh.end()) continue;
    if (row.value("error_occurred", false)) {
      const std::string message = row.value("error_message", "no reason given");
      const bool wrong = unit.own || message.starts_with(kWrongResult);
      if (outcome.exit_code == 1 && wrong) {
        found->second.failure = message;
        found->second.wrong = true;
      } else if (in_turns && message.starts_with(kOutOfMemory)) {
        found->second.crowded = true;
      } else {
        found->second.skipped = true;
        skipped_.push_back({found->first, message});
      }
    }
    row["round"] = round;
    if (unit.roof) row["roof_of"] = group_;
    if (attempt_ > 0) row["attempt"] = attempt_;
    json* first = first_sample(results_[found->first].rows);
    if (first == nullptr) first = first_sample(found->second.rows);
    if (first != nullptr) add_reasons(*first, row);
    shorten(row, first != nullptr);
    found->second.rows.push_back(std::move(row));
  }
  const bool told = std::any_of(fresh.begin(), fresh.end(),
                                [](const auto& item) { return !item.second.failure.empty(); });
  if (outcome.exit_code == 1 && !told) return outcome.words(timeout);
  if (context_.is_null() && parsed.contains("context")) {
    context_ = parsed["context"];
    // A results folder may be sent to others: no host names, no paths.
    context_.erase("host_name");
    context_["executable"] = unit.program.filename().string();
  }
  for (auto& [name, result] : fresh) {
    Result& sum = results_[name];
    sum.crowded = result.crowded;
    if (result.crowded) continue;
    if (result.rows.empty()) result.failure = "the program gave no row for it";
    for (json& row : result.rows) sum.rows.push_back(std::move(row));
    if (!result.failure.empty()) sum.failure = result.failure;
    sum.wrong = sum.wrong || result.wrong;
    if (sum.wrong) drop_times(sum.rows);
    sum.skipped = sum.skipped || result.skipped;
  }
  return {};
}

void RunResults::add_counted(const Benchmark& row) {
  json& rows = results_[row.name].rows;
  if (rows.empty()) return;
  json& first = rows.front();
  if (!std::isnan(row.counted_flops)) first["counted_flops"] = row.counted_flops;
  for (const auto& [level, bytes] : row.counted_bytes) first["counted_bytes_" + level] = bytes;
}

bool RunResults::take_crowded(const std::string& name) {
  return std::exchange(results_[name].crowded, false);
}

bool RunResults::good(const std::string& name) const {
  const auto found = results_.find(name);
  return found == results_.end() || (found->second.failure.empty() && !found->second.skipped);
}

std::vector<Benchmark> RunResults::benchmarks() const {
  json rows = json::array();
  for (const auto& [name, result] : results_) {
    for (const json& row : result.rows) rows.push_back(row);
  }
  if (rows.empty()) return {};
  return parse_bench_json(file_text(context_, rows), "its JSON").benchmarks;
}

std::string RunResults::text(const std::vector<Unit>& units) {
  json rows = json::array();
  for (const Unit& unit : units) {
    for (const std::string& name : unit.names) {
      for (json& row : results_[name].rows) rows.push_back(std::move(row));
      results_[name].rows.clear();
    }
  }
  return rows.empty() ? "" : file_text(context_, rows);
}

}  // namespace roofline
