#include "roofline/run_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "roofline/error.hpp"

namespace roofline {
namespace {

constexpr std::string_view kCeilingsProgram = "bench_ceilings";

bool of_ceilings(const ListedBenchmark& entry) {
  return !entry.own && entry.program.filename() == kCeilingsProgram;
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
  bool probe = false, any = false;
  try {
    const std::regex expression(filter);
    for (std::size_t i = 0; i < listed.size(); ++i) {
      chosen[i] = std::regex_search(listed[i].name, expression);
      any = any || chosen[i];
      probe = probe || (chosen[i] && of_ceilings(listed[i]));
    }
  } catch (const std::regex_error& error) {
    throw BadInput(fmt::format("--filter '{}' is not a regular expression", filter));
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

/// Reads of the main memory on so many threads: the largest size listed, by all variants that can
/// run.
Unit memory_probe(const std::vector<ListedBenchmark>& listed, int threads) {
  constexpr std::string_view kKeys = "/access:read/size:";
  Unit out{.roof = true};
  std::int64_t largest = 0;
  for (const ListedBenchmark& entry : listed) {
    const std::size_t at = entry.name.find(kKeys);
    if (!of_ceilings(entry) || entry.device != "cpu" || entry.threads != threads ||
        !entry.needs_missing.empty() || at == std::string::npos) {
      continue;
    }
    const std::int64_t size = std::atoll(entry.name.c_str() + at + kKeys.size());
    if (size < largest) continue;
    if (size > largest) out.names.clear();
    largest = size;
    out.program = entry.program;
    out.names.push_back(entry.name);
  }
  return out;
}

}  // namespace

std::size_t Group::benchmarks() const {
  std::size_t sum = 0;
  for (const Unit& unit : units) sum += unit.names.size();
  return sum;
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
    const bool cpu = entry.device == "cpu" && !entry.own;
    const bool cold = cpu && entry.name.find("/temp:cold") != std::string::npos;
    group.large = group.large || cold;
    auto& units = group.units;
    // Ours share the first process; a library has one of its own, since some read their settings
    // once, at load, and several export the same symbols.
    const std::string library = entry.library ? entry.variant : "";
    const auto same = std::find_if(units.begin(), units.end(), [&](const Unit& unit) {
      return unit.program == entry.program && unit.library == library;
    });
    if (same != units.end()) {
      same->names.push_back(entry.name);
    } else {
      units.push_back(
          {.program = entry.program, .library = library, .names = {entry.name}, .own = entry.own});
      if (fresh && ((cpu && entry.op == "decode") || (cold && full))) {
        Unit probe = memory_probe(listed, entry.threads);
        if (!probe.names.empty()) units.push_back(std::move(probe));
      }
    }
  }
  return plan;
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

std::string exact_filter(const std::vector<std::string>& names) {
  std::string out = "^(";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += '|';
    for (const char c : names[i]) {
      if (std::string_view(".[]{}()*+?^$|\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out +
         ")(/(real_time|manual_time|process_time|iterations:.*|repeats:.*|min_time:.*|"
         "min_warmup_time:.*))*$";
}

}  // namespace roofline
