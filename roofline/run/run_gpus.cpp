#include "roofline/run/run_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "roofline/base/at_once.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/say.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/run/gpu_choice.hpp"

namespace roofline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What --gpu takes for each of the machine's GPUs.
std::vector<std::string> all_gpus() {
  const json known = machine::read_gpus();
  if (known.value("status", "none") != "ok") {
    const json reason = known.value("reason", json());
    throw BadInput("--gpu all: " +
                   (reason.is_string() ? reason.get<std::string>() : std::string("no GPU")));
  }
  const json& devices = known.at("devices");
  std::vector<std::string> out;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (std::size_t i = 0; i < devices.size(); ++i) out.push_back(std::to_string(i));
    return out;
  }
  const std::vector<std::string> uuids = machine::gpu_uuids();
  std::istringstream list(visible);
  for (std::string one; std::getline(list, one, ',');) {
    const GpuChoice choice = choose_gpu(devices, uuids, "", one.c_str());
    if (!choice.fault.empty()) throw BadInput(choice.fault);
    out.push_back(choice.gpu);
  }
  if (out.empty()) throw BadInput("--gpu all: CUDA_VISIBLE_DEVICES names none");
  return out;
}

std::vector<std::string> command_for(const std::string& gpu, const fs::path& program,
                                     const RunOptions& options) {
  std::vector<std::string> out = {program.string(),
                                  "run",
                                  options.settings.full ? "--full" : "--quick",
                                  "--device=gpu",
                                  "--gpu=" + gpu,
                                  "--out=" + options.out.string(),
                                  "--bin=" + options.bin.string()};
  if (!options.settings.filter.empty()) out.push_back("--filter=" + options.settings.filter);
  if (options.timeout_s > 0) out.push_back(fmt::format("--timeout={}", options.timeout_s));
  for (const fs::path& own : options.own) out.push_back("--bench=" + own.string());
  return out;
}

/// What the runs say on stderr, as one terminal shows it.
class Words {
 public:
  explicit Words(const std::vector<std::string>& gpus) : gpus_(gpus) {}

  void hear(std::size_t i, std::string_view line) {
    if (line.starts_with(kResults)) folders_[i] = line.substr(kResults.size());
    if (line.starts_with('[')) {  // how far one of them is stands for all
      const auto now = std::chrono::steady_clock::now();
      if (now - progress_ < std::chrono::seconds(10)) return;
      progress_ = now;
    } else if (!said_.emplace(line).second) {
      return;
    }
    say("GPU {}: {}\n", gpus_[i], line);
  }

  const std::map<std::size_t, fs::path>& folders() const { return folders_; }

 private:
  static constexpr std::string_view kResults = "results: ";
  const std::vector<std::string>& gpus_;
  std::map<std::size_t, fs::path> folders_;
  std::set<std::string, std::less<>> said_;
  std::chrono::steady_clock::time_point progress_;
};

}  // namespace

GpuRuns run_gpus(const fs::path& program, const RunOptions& options) {
  const std::vector<std::string> gpus = all_gpus();
  std::vector<std::vector<std::string>> commands;
  for (const std::string& gpu : gpus) commands.push_back(command_for(gpu, program, options));
  Words words(gpus);
  const std::vector<int> codes =
      run_at_once(commands, [&](std::size_t i, std::string_view line) { words.hear(i, line); });
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] > 2) say("GPU {}: exit code {}\n", gpus[i], codes[i]);
  }
  GpuRuns out;
  for (const auto& [position, folder] : words.folders()) out.folders.push_back(folder);
  const bool good = std::all_of(codes.begin(), codes.end(), [](int code) { return code == 0; });
  out.exit_code = good ? 0 : out.folders.empty() ? 2 : 1;
  return out;
}

}  // namespace roofline
