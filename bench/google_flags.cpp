#include "bench/google_flags.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace bench {
namespace {

using kernels::BadInput;

/// As Google Benchmark reads --benchmark_filter: a POSIX extended expression, a '-' before it for
/// all others.
class Filter {
 public:
  explicit Filter(const std::string& given) {
    const char* const text = given.empty() || given == "all" ? "." : given.c_str();
    negative_ = *text == '-';
    if (regcomp(&regex_, text + negative_, REG_EXTENDED | REG_NOSUB) != 0)
      throw BadInput(fmt::format("--benchmark_filter: '{}' is no regular expression", given));
  }
  ~Filter() { regfree(&regex_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  bool takes(const Entry& entry) const {
    const std::string name = entry.name + (entry.kernel->gpu() ? "/manual_time" : "/real_time");
    return (regexec(&regex_, name.c_str(), 0, nullptr, 0) == 0) != negative_;
  }

 private:
  regex_t regex_;
  bool negative_;
};

/// Creates it where it is missing, and leaves alone what it holds.
void require_writable(const std::string& path) {
  errno = 0;
  if (!std::ofstream(path, std::ios::app))
    throw BadInput(fmt::format("--benchmark_out: cannot write {}: {}", path,
                               std::strerror(errno != 0 ? errno : EIO)));
}

/// As Google Benchmark reads a flag that is yes or no.
bool is_yes(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kNo[] = {"0", "f", "n", "false", "no", "off"};
  return std::find(std::begin(kNo), std::end(kNo), value) == std::end(kNo);
}

/// One that is not below 0: of seconds, which newer versions let have its unit behind it, `s`, or
/// `x` for calls, or a whole one.
bool is_number(const std::string& value, bool seconds) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str() || !(number >= 0) || number > 1e9) return false;
  const std::string_view unit = end;
  return seconds ? unit.empty() || unit == "s" || unit == "x"
                 : unit.empty() && number == std::floor(number);
}

}  // namespace

std::vector<std::string> google_environment() {
  constexpr const char* kNames[] = {"color",
                                    "context",
                                    "counters_tabular",
                                    "display_aggregates_only",
                                    "enable_random_interleaving",
                                    "filter",
                                    "format",
                                    "list_tests",
                                    "min_time",
                                    "min_warmup_time",
                                    "out",
                                    "out_format",
                                    "perf_counters",
                                    "repetitions",
                                    "report_aggregates_only",
                                    "time_unit"};
  std::vector<std::string> flags;
  for (const std::string name : kNames) {
    std::string variable = "BENCHMARK_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const char* const value = std::getenv(variable.c_str());
    if (value != nullptr && *value != 0) flags.push_back("--benchmark_" + name + "=" + value);
  }
  return flags;
}

GoogleFlags read_google_flags(const std::vector<std::string>& flags, int passes) {
  GoogleFlags out;
  bool repeated = false;
  for (const std::string& flag : flags) {
    const std::size_t equals = std::min(flag.find('='), flag.size());
    const std::string name = flag.substr(0, equals),
                      value = flag.substr(std::min(equals + 1, flag.size()));
    const bool format = name == "--benchmark_format" || name == "--benchmark_out_format";
    if (format && value == "csv")
      throw BadInput(name + "=csv: rows have different counters; take json");
    if (name == "--benchmark_out_format" && value != "json")
      throw BadInput(flag + ": files are written as json");
    const bool number = name == "--benchmark_min_time" || name == "--benchmark_min_warmup_time" ||
                        name == "--benchmark_repetitions";
    if (number && !is_number(value, name != "--benchmark_repetitions"))
      throw BadInput(flag + ": not a number");
    if (name == "--benchmark_format") out.on_console = value == "console";
    if (name == "--benchmark_filter") out.filter = value;
    if (name == "--benchmark_out") out.out = value;
    if (name == "--benchmark_list_tests") out.only_list = is_yes(value);
    repeated = repeated || name == "--benchmark_repetitions";
    if (!name.starts_with("--benchmark_out")) out.others.push_back(flag);
  }
  if (out.only_list) return out;
  if (passes > 0 && repeated)
    throw BadInput("--passes are in place of --benchmark_repetitions: give one of them");
  if (passes > 0 && out.out.empty()) throw BadInput("--passes need a file: --benchmark_out=FILE");
  if (passes > 0 && !out.on_console)
    throw BadInput("--benchmark_format: --passes print on the console; their json is in the file");
  if (passes > 0) out.others.push_back("--benchmark_out=");  // also what BENCHMARK_OUT names
  if (!out.out.empty()) require_writable(out.out);
  return out;
}

void check_filter(const std::string& text, const std::vector<Entry>& entries) {
  const Filter filter(text);
  std::string missing;
  for (const Entry& entry : entries) {
    if (!filter.takes(entry)) continue;
    if (entry.missing.empty()) return;
    missing = fmt::format("{}: {}", entry.name, entry.missing);
  }
  throw BadInput(missing.empty()
                     ? fmt::format("--benchmark_filter: no benchmark's name has '{}'", text)
                     : fmt::format("nothing to run: {}", missing));
}

}  // namespace bench
