#include "bench/google_flags.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
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

}  // namespace

GoogleFlags read_google_flags(const std::vector<std::string>& flags, int passes) {
  GoogleFlags out;
  if (const char* const filter = std::getenv("BENCHMARK_FILTER")) out.filter = filter;
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
