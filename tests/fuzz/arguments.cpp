// The command line of `roofline`, one argument a line. Commands that measure, draw or write are
// stubs or left out; the calculators and the readers really run, in a folder with two small files.
#include <algorithm>
#include <vector>

#include "roofline/report/report.hpp"
#include "roofline/run/run.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int roofline_main(int argc, char** argv);  // main() of roofline/cli/main.cpp

namespace roofline {
int run(const RunOptions&) { return 0; }
Drawn draw(const std::vector<std::filesystem::path>&, const std::filesystem::path&) { return {}; }
Drawn draw_prediction(const std::string&, const std::filesystem::path&) { return {}; }
}  // namespace roofline

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const bool prepared = [] {
    folder.write("bench.json", fuzz::kBenchJson);
    folder.write("ceilings.csv", fuzz::kCeilingsCsv);
    return ::chdir(folder.path().c_str()) == 0;
  }();
  if (!prepared || std::find(data, data + size, '\0') != data + size) return -1;
  std::vector<std::string> words{"roofline"};
  std::string_view rest = fuzz::text_of(data, size);
  while (!rest.empty()) {
    words.emplace_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), words.back().size() + 1));
  }
  const auto any = [&](const auto& test) { return std::any_of(words.begin(), words.end(), test); };
  const bool writes = any([](const std::string& w) { return w.starts_with("--out"); }) &&
                      any([](const std::string& w) {
                        return w.find("analyze") != w.npos || w.find("sweep") != w.npos;
                      });
  const bool probes = any([](const std::string& w) { return w == "machine"; });  // slow
  // Outside of its folder it would read whatever there is, devices too.
  const bool leaves =
      any([](const std::string& w) { return w.find("..") != w.npos || w.find("/") != w.npos; });
  if (writes || probes || leaves) return -1;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  roofline_main(static_cast<int>(words.size()), argv.data());
  return 0;
}
