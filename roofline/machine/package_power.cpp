#include "roofline/machine/package_power.hpp"

#include <fstream>
#include <limits>
#include <utility>

#include "roofline/machine/files.hpp"

namespace roofline::machine {
namespace {

namespace fs = std::filesystem;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Of a file of microjoules; NaN if it cannot be read.
double joules(const fs::path& file) {
  double micro = 0;
  return std::ifstream(file) >> micro ? micro / 1e6 : kUnknown;
}

/// "intel-rapl:0" has a package's or, as "intel-rapl:0:1", a part of one. "intel-rapl-mmio:0" has
/// the same package's once more.
bool is_package(const fs::path& zone) {
  return zone.filename().string().starts_with("intel-rapl:") &&
         read_line(zone / "name").value_or("").starts_with("package");
}

}  // namespace

PackagePower::PackagePower(fs::path root) : zones_(std::move(root) / "sys/class/powercap") {}

double PackagePower::since_last(double time_s) {
  const double seconds = time_s - std::exchange(time_s_, time_s);
  const auto before = std::exchange(joules_, {});
  double drawn = 0;
  std::error_code none;
  for (const auto& zone : fs::directory_iterator(zones_, none)) {
    if (!is_package(zone.path())) continue;
    const std::string name = zone.path().filename().string();
    const double now = joules_[name] = joules(zone.path() / "energy_uj");
    const auto found = before.find(name);
    const double last = found == before.end() ? kUnknown : found->second;
    // The counter begins anew after its range.
    drawn += now < last ? now + joules(zone.path() / "max_energy_range_uj") - last : now - last;
  }
  return joules_.empty() || !(seconds > 0) ? kUnknown : drawn / seconds;
}

}  // namespace roofline::machine
