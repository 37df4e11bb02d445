#include "roofline/run/run_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"

namespace roofline {
namespace {

constexpr std::string_view kCeilingsProgram = "bench_ceilings";
constexpr const char* kTuned = "_tuned";

bool of_ceilings(const ListedBenchmark& entry) {
  return !entry.own && entry.program.filename() == kCeilingsProgram;
}

/// Of op/variant/dtype/…
std::string_view dtype_of(const ListedBenchmark& entry) {
  const std::string_view name = entry.name;
  const std::size_t begin = name.find('/', name.find('/') + 1) + 1;
  return name.substr(begin, name.find('/', begin) - begin);
}

/// Of the suite's own, on a CPU: data that comes from the main memory.
bool cold_on_cpu(const ListedBenchmark& entry) {
  return entry.device == "cpu" && !entry.own && entry.name.find("/temp:cold") != std::string::npos;
}

/// The name without its variant, fit for a file.
std::string group_name(const ListedBenchmark& entry) {
  std::string name = entry.op;
  if (entry.own) {
    name = "own-" + entry.program.filename().string();
  } else if (of_ceilings(entry)) {
    name += fmt::format("/threads:{}", entry.threads);
    // Peaks under seconds of load, apart from those of a rested chip.
    const std::size_t hold = entry.name.find("/hold:");
    if (hold != std::string::npos) {
      name += entry.name.substr(hold, entry.name.find('/', hold + 1) - hold);
    }
  } else {
    const std::size_t rest = entry.name.find('/', entry.op.size() + 1 + entry.variant.size());
    if (rest != std::string::npos) name += entry.name.substr(rest);
  }
  if (entry.device == "gpu") name += "/gpu";
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
    c = plain ? c : c == '/' ? '_' : '-';
  }
  constexpr std::size_t kLongest = 200;  // file systems take 255
  return name.substr(0, kLongest);
}

/// The entries that the user's expression selects.
std::vector<bool> selection(const std::vector<ListedBenchmark>& listed, const std::string& filter) {
  std::vector<bool> chosen(listed.size(), true);
  if (filter.empty()) return chosen;
  const std::regex expression = filter_expression(filter);
  bool probe = false, any = false;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    chosen[i] = std::regex_search(listed[i].name, expression);
    any = any || chosen[i];
    probe = probe || (chosen[i] && of_ceilings(listed[i]));
  }
  if (!any) {
    throw BadInput(
        fmt::format("--filter '{}' matches none of {} benchmarks", filter, listed.size()));
  }
  for (std::size_t i = 0; i < listed.size() && !probe; ++i) {
    if (of_ceilings(listed[i])) chosen[i] = true;
  }
  return chosen;
}

/// Peaks on so many threads of the types that an operation on `dtype` may compute in.
std::vector<const ListedBenchmark*> peak_probes(const std::vector<ListedBenchmark>& listed,
                                                std::string_view dtype, int threads) {
  const auto computes_in = [&](std::string_view type) {
    if (dtype == "f64") return type == "f64";
    if (dtype == "s8" || dtype == "u8xs8") return type == "s8";
    return type == "f32" || type == "bf16" || type == dtype;
  };
  std::vector<const ListedBenchmark*> out;
  for (const ListedBenchmark& entry : listed) {
    const bool can_run =
        entry.device == "cpu" && entry.threads == threads && entry.needs_missing.empty();
    if (of_ceilings(entry) && can_run && entry.op == "fma_peak" && computes_in(dtype_of(entry))) {
      out.push_back(&entry);
    }
  }
  return out;
}

/// The roofs of `entry`'s group, to be measured beside it; no names where it has none.
Unit roofs_beside(const std::vector<ListedBenchmark>& listed, const ListedBenchmark& entry,
                  bool full) {
  Unit out{.roof = true};
  if (entry.device != "cpu" || entry.own) return out;
  if (entry.op != "decode" && !(full && entry.op == "matmul")) return out;
  for (const ListedBenchmark* probe : peak_probes(listed, dtype_of(entry), entry.threads)) {
    out.program = probe->program;
    out.names.push_back(probe->name);
  }
  return out;
}

}  // namespace

std::size_t benchmarks_of(const std::vector<Unit>& units) {
  std::size_t sum = 0;
  for (const Unit& unit : units) sum += unit.names.size();
  return sum;
}

bool Group::on_gpu() const {
  return std::any_of(units.begin(), units.end(), [](const Unit& unit) { return unit.gpu; });
}

std::vector<std::filesystem::path> find_programs(const std::filesystem::path& bin) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(bin, error)) {
    if (entry.path().filename().string().starts_with("bench_") &&
        !std::filesystem::is_directory(entry.path()) && ::access(entry.path().c_str(), X_OK) == 0) {
      out.push_back(std::filesystem::absolute(entry.path()));
    }
  }
  if (out.empty()) {
    throw BadInput(
        fmt::format("no bench_* programs in {}: build them, or give --bin", bin.string()));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.filename() != kCeilingsProgram, a) <
           std::pair(b.filename() != kCeilingsProgram, b);
  });
  return out;
}

std::vector<ListedBenchmark> parse_list(std::string_view text,
                                        const std::filesystem::path& program) {
  const std::string source = program.filename().string() + " --list";
  const auto list = parse_json(text, source);
  std::vector<ListedBenchmark> out;
  try {
    for (const auto& item : list) {
      ListedBenchmark entry;
      entry.program = program;
      item.at("name").get_to(entry.name);
      item.at("op").get_to(entry.op);
      item.at("variant").get_to(entry.variant);
      item.at("device").get_to(entry.device);
      item.at("library").get_to(entry.library);
      item.at("threads").get_to(entry.threads);
      item.at("needs_missing").get_to(entry.needs_missing);
      entry.tuned = item.value("tuned", "");
      out.push_back(std::move(entry));
    }
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(fmt::format("{}: not a list of benchmarks: {}", source, error.what()));
  }
  return out;
}

Plan make_plan(const std::vector<ListedBenchmark>& listed, const std::string& filter, bool full) {
  const auto chosen = selection(listed, filter);
  Plan plan;
  std::map<std::string, std::size_t> index;
  std::set<std::string> names;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const ListedBenchmark& entry = listed[i];
    if (!chosen[i]) continue;
    if (!names.insert(entry.name).second) {
      throw BadInput(fmt::format("{}: another benchmark has the name '{}' too",
                                 entry.program.filename().string(), entry.name));
    }
    if (!entry.needs_missing.empty()) {
      plan.skipped.push_back({entry.name, entry.needs_missing});
      continue;
    }
    const auto [found, fresh] = index.try_emplace(group_name(entry), plan.groups.size());
    if (fresh) plan.groups.push_back({found->first, false, {}});
    Group& group = plan.groups[found->second];
    group.large = group.large || cold_on_cpu(entry);
    auto& units = group.units;
    // Ours share the first process; a library has one of its own, since some read their settings
    // once, at load, and several export the same symbols.
    const std::string library = entry.library ? entry.variant : "";
    const auto add = [&](const std::string& name, const std::string& tuned) {
      const auto same = std::find_if(units.begin(), units.end(), [&](const Unit& unit) {
        return unit.program == entry.program && unit.library == library && unit.tuned == tuned;
      });
      if (same != units.end()) {
        same->names.push_back(name);
      } else {
        units.push_back({.program = entry.program,
                         .library = library,
                         .names = {name},
                         .tuned = tuned,
                         .own = entry.own,
                         .gpu = entry.device == "gpu" && !entry.own});
      }
    };
    add(entry.name, "");
    if (!entry.tuned.empty()) add(tuned_name(entry.name), entry.tuned);
    if (fresh) {
      Unit roofs = roofs_beside(listed, entry, full);
      if (!roofs.names.empty()) units.push_back(std::move(roofs));
    }
  }
  return plan;
}

std::vector<std::string> devices_without_rows(const Plan& plan,
                                              const std::vector<Benchmark>& rows) {
  std::set<std::string> devices;
  for (const Group& group : plan.groups) {
    for (const Unit& unit : group.units) {
      if (!unit.own) devices.insert(unit.gpu ? "gpu" : "cpu");
    }
  }
  for (const Benchmark& row : rows) devices.erase(row.device);
  return {devices.begin(), devices.end()};
}

std::string tuned_name(const std::string& name) {
  const std::size_t end = name.find('/', name.find('/') + 1);
  return name.substr(0, end) + kTuned + (end == std::string::npos ? "" : name.substr(end));
}

std::vector<std::string> program_names(const Unit& unit) {
  std::vector<std::string> out = unit.names;
  if (unit.tuned.empty()) return out;
  for (std::string& name : out) name.erase(name.find(kTuned), std::strlen(kTuned));
  return out;
}

void keep_only(std::vector<Unit>& units, const std::set<std::string>& names) {
  for (Unit& unit : units) {
    std::erase_if(unit.names, [&](const std::string& name) { return !names.contains(name); });
  }
  std::erase_if(units, [](const Unit& unit) { return unit.names.empty(); });
}

std::vector<Unit> units_of(const Plan& plan, const std::set<std::string>& names) {
  std::vector<Unit> out;
  for (const Group& group : plan.groups) {
    std::copy_if(group.units.begin(), group.units.end(), std::back_inserter(out),
                 [](const Unit& unit) { return !unit.roof; });
  }
  keep_only(out, names);
  return out;
}

std::regex filter_expression(const std::string& filter) {
  try {
    return std::regex(filter);
  } catch (const std::regex_error&) {
    throw BadInput(fmt::format("--filter '{}' is not a regular expression", filter));
  }
}

std::string exact_filter(const std::vector<std::string>& names) {
  std::string out = "^(";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += '|';
    for (const char c : names[i]) {
      // Not ] and }, which stand for themselves: some of Google Benchmark's regular expressions
      // take no escape that is not needed.
      if (std::string_view(".[{()*+?^$|\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out +
         ")(/(real_time|manual_time|process_time|iterations:.*|repeats:.*|min_time:.*|"
         "min_warmup_time:.*))*$";
}

}  // namespace roofline
