#include "bench/reporters.hpp"

#include <unistd.h>

#include <sstream>
#include <string>

namespace bench {

ConsoleRates::ConsoleRates()
    : ConsoleReporter(isatty(STDOUT_FILENO) ? OO_ColorTabular : OO_Tabular) {}

bool ConsoleRates::ReportContext(const Context& context) {
  std::ostringstream text;
  std::ostream& errors = GetErrorStream();
  SetErrorStream(&text);
  const bool good = ConsoleReporter::ReportContext(context);
  SetErrorStream(&errors);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);)
    if (line.find("Library was built as DEBUG") == std::string::npos) errors << line << '\n';
  errors.flush();
  return good;
}

void ConsoleRates::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> shown = runs;
  for (auto& run : shown) {
    std::erase_if(run.counters, [](const auto& counter) {
      return counter.first != "FLOP/s" && counter.first != "B/s" && counter.first != "clock_hz" &&
             counter.first != "power_w";
    });
    run.report_label.clear();
  }
  ConsoleReporter::ReportRuns(shown);
}

void CheckedJson::Finalize() {
  JSONReporter::Finalize();
  arrived_ = GetOutputStream().flush().good();
}

}  // namespace bench
