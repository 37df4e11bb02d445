#include "roofline/results/run_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"

namespace roofline {
namespace {

using nlohmann::json;

/// "attention/avx2" of "attention/avx2/bf16/batch:1 …".
std::string kernel_of(const std::string& benchmark) {
  const std::size_t op = benchmark.find('/');
  return op == std::string::npos ? benchmark : benchmark.substr(0, benchmark.find('/', op + 1));
}

std::string failures_note(const json& failures) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> kernels;
  for (const json& failure : failures) {
    std::string kernel = printable(kernel_of(failure.at("benchmark").get<std::string>()));
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
      kernels.push_back(std::move(kernel));
  }
  const std::size_t more = kernels.size() > kMost ? kernels.size() - kMost : 0;
  kernels.resize(kernels.size() - more);
  return fmt::format("{} benchmark{} wrong or gave no time: {}{}", failures.size(),
                     failures.size() == 1 ? " was" : "s were", fmt::join(kernels, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

bool is_gpu_index(std::string_view text) {
  return !text.empty() && text.size() <= 4 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::size_t> measured_gpu(const std::filesystem::path& folder, std::size_t gpus) {
  const json choice = run_record(folder).value("gpu", json());
  if (choice.is_null()) return 0;
  if (!choice.is_string())
    throw BadInput((folder / "run.json").string() + ": field 'gpu' is not a text");
  const auto& gpu = choice.get_ref<const std::string&>();
  if (gpus == 1 || gpu.empty()) return 0;
  if (!is_gpu_index(gpu)) return {};
  return std::stoul(gpu);
}

json run_record(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "run.json";
  std::error_code fault;
  if (!std::filesystem::exists(file, fault)) return json::object();
  json record = parse_json(read_text(file), file.string());
  if (!record.is_object()) throw BadInput(fmt::format("{}: is not a JSON object", file.string()));
  return record;
}

std::vector<std::string> run_notes(const std::filesystem::path& folder) {
  const json state = run_record(folder);
  std::vector<std::string> out;
  try {
    if (const auto status = state.value("status", "complete");
        status != "complete" && status != "failed") {
      const std::string how =
          status == "running" ? "goes on, or was killed" : "was " + printable(status);
      out.push_back(fmt::format("the run {}: {} of {} groups of benchmarks were measured", how,
                                state.value("groups_measured", 0), state.value("groups_total", 0)));
    }
    if (const json failures = state.value("failures", json::array()); !failures.empty())
      out.push_back(failures_note(failures));
  } catch (const json::exception& fault) {
    throw BadInput(fmt::format("{}: {}", (folder / "run.json").string(), fault.what()));
  }
  return out;
}

}  // namespace roofline
