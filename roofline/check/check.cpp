#include "roofline/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/check/audits.hpp"
#include "roofline/check/thresholds.hpp"
#include "roofline/results/run_notes.hpp"

namespace roofline::check {
namespace {

namespace fs = std::filesystem;

void add_causes(const std::vector<Finding>& findings, Resource& resource) {
  const std::string key = resource.key();
  for (const Finding& finding : findings) {
    if (finding.grade < Grade::kNote) continue;
    const bool explains =
        std::any_of(finding.explains.begin(), finding.explains.end(),
                    [&](const std::string& start) { return key.starts_with(start); });
    if (explains) resource.causes.push_back(finding.name);
  }
}

/// Results folders down to `depth` levels below a root: 0 for results/<machine>/, 1 for results/.
std::vector<fs::path> folders_under(const fs::path& root, int depth) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::recursive_directory_iterator entries(root, fs::directory_options::skip_permission_denied,
                                           error);
  if (error) throw BadInput(fmt::format("cannot read {}: {}", root.string(), error.message()));
  for (auto at = begin(entries); at != end(entries); at.increment(error)) {
    if (error) break;
    if (!at->is_directory(error)) continue;
    const bool results = fs::exists(at->path() / "ceilings.csv", error) &&
                         fs::exists(at->path() / "machine.json", error);
    if (results) out.push_back(at->path());
    if (results || at.depth() >= depth) at.disable_recursion_pending();
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// What of `other` may be held against `box`: the rows of a device that is the same in both.
std::optional<Box> same_machine(const Box& box, Box other) {
  const bool cpu = other.machine.text("/name") == box.machine.text("/name");
  const bool gpu =
      !box.gpu.text("/name").empty() && other.gpu.text("/name") == box.gpu.text("/name");
  std::erase_if(other.ceilings, [&](const Ceiling& c) { return c.device == "gpu" ? !gpu : !cpu; });
  if (other.ceilings.empty()) return std::nullopt;
  return other;
}

/// A verdict on few resources says that they are few.
void note_missing(const Box& box, Report& report) {
  for (const char* device : {"gpu", "cpu"}) {
    if (!box.has(device)) continue;
    const auto has = [&](const char* what, std::string_view resource, std::string_view level) {
      if (std::none_of(box.ceilings.begin(), box.ceilings.end(), [&](const Ceiling& c) {
            return c.device == device && c.resource == resource && c.level == level &&
                   !is_of_pages(c);
          })) {
        report.notes.push_back(fmt::format("{}: {} was not measured", device, what));
      }
    };
    has("arithmetic", "compute", "");
    has("main memory", "bandwidth", std::string_view(device) == "gpu" ? "HBM" : "DRAM");
  }
}

}  // namespace

std::string_view word(Grade grade) {
  constexpr std::string_view kWords[] = {"PASS", "UNKNOWN", "NOTE", "WARN", "FAIL"};
  return kWords[static_cast<int>(grade)];
}

Report check(const Box& box, const std::vector<Box>& others) {
  Report out;
  out.machine = box.machine.text("/name");
  out.folder = box.folder;
  out.gpu = box.gpu_index ? box.gpu.text("/name") : "";
  out.gpu_index = box.gpu_index;
  for (const char* device : {"gpu", "cpu"}) {
    if (!box.has(device)) continue;
    for (const auto audit : {audit_size, audit_clock, audit_sharing, audit_memory, audit_link}) {
      for (Finding& finding : audit(box, device)) {
        finding.device = device;
        out.findings.push_back(std::move(finding));
      }
    }
  }
  if (box.gpu_index && !box.chip) {
    const bool theory = std::any_of(box.ceilings.begin(), box.ceilings.end(), [](const auto& c) {
      return c.device == "gpu" && c.resource == "compute" && !std::isnan(c.theory_at_clock);
    });
    out.notes.push_back(fmt::format(
        "nothing is known to be advertised for the GPU '{}'{}", box.gpu.text("/name"),
        theory ? fmt::format("; its theory is that of its architecture (compute capability {})",
                             box.capability)
               : ""));
  }
  out.resources = judge(box, others);
  bool passed = false;
  for (Resource& resource : out.resources) {
    if (resource.verdict >= Grade::kWarn) {
      add_causes(out.findings, resource);
      if (resource.causes.empty()) resource.causes.push_back("cause not found");
    }
    passed |= resource.verdict == Grade::kPass;
    if (resource.verdict == Grade::kUnknown && resource.key().starts_with("cpu/bandwidth/DRAM")) {
      out.notes.push_back(fmt::format(
          "cpu: nothing is known to hold main memory against, so a missing module goes unseen; {} "
          "other runs of this machine tell what is typical",
          Thresholds::get().limit("typical_runs")));
    }
    out.verdict = std::max(out.verdict, resource.verdict);
  }
  note_missing(box, out);
  for (const Finding& finding : out.findings) out.verdict = std::max(out.verdict, finding.grade);
  if (out.verdict <= Grade::kNote) out.verdict = passed ? Grade::kPass : Grade::kUnknown;
  return out;
}

Report check_folder(const fs::path& folder, const fs::path& root,
                    const std::vector<fs::path>& more) {
  Box box = read_box(folder);
  if (box.has("gpu")) box.gpu_sms = sms_seen(folder);
  if (box.ceilings.empty()) {
    throw BadInput(
        fmt::format("{}: has no rows: nothing was measured", (folder / "ceilings.csv").string()));
  }
  std::vector<Box> others;
  std::vector<std::string> notes;
  const fs::path own = fs::canonical(folder);
  // A copy of a run is no other run.
  std::set<std::string> seen = {read_text(folder / "ceilings.csv")};
  std::vector<fs::path> paths =
      root.empty() ? folders_under(own.parent_path(), 0) : folders_under(root, 1);
  paths.insert(paths.end(), more.begin(), more.end());
  for (const fs::path& path : paths) {
    if (fs::weakly_canonical(path) == own) continue;
    try {
      if (!seen.insert(read_text(path / "ceilings.csv")).second) continue;
      if (auto other = same_machine(box, read_box(path))) others.push_back(std::move(*other));
    } catch (const BadInput& fault) {
      notes.push_back(fmt::format("left out: {}", fault.what()));
    }
  }
  Report out = check(box, others);
  out.run = run_notes(folder);
  out.notes.insert(out.notes.end(), notes.begin(), notes.end());
  return out;
}

}  // namespace roofline::check
