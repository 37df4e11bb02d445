#include "bench/case_list.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace bench {
namespace {

using kernels::BadInput;
using kernels::Case;

/// `M:64/N:64/temp:cold` as a case of its own.
Case parse_case(const Options& options, int cores) {
  Case c{.dtype = options.dtype.empty() ? "f32" : options.dtype,
         .threads = options.threads > 0 ? options.threads : cores};
  std::istringstream parts(options.shape);
  for (std::string part; std::getline(parts, part, '/');) {
    const auto colon = part.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == part.size())
      throw BadInput("--shape: '" + part + "' is not key:value");
    const std::string key = part.substr(0, colon), value = part.substr(colon + 1);
    if (!c.text(key).empty()) throw BadInput("--shape: '" + key + "' stands there twice");
    if (key == "temp" && value != "warm" && value != "cold")
      throw BadInput("--shape: temp:" + value + " (known: warm, cold)");
    c.keys.emplace_back(key, value);
  }
  return c;
}

}  // namespace

std::vector<Entry> list_entries(const std::vector<std::string>& ops, const Options& options,
                                const kernels::Caches& cpu, const kernels::Caches& gpu) {
  if (options.shape.empty() && !(options.dtype.empty() && options.threads == 0))
    throw BadInput("--dtype and --threads are of a --shape, which is not given");
  std::vector<Entry> entries;
  for (const auto& info : kernels::operations()) {
    if (std::find(ops.begin(), ops.end(), info.name) == ops.end()) continue;
    if (!(info.gpu ? options.gpu : options.cpu)) continue;
    const auto& caches = info.gpu ? gpu : cpu;
    if (info.gpu && gpu.cores == 0 && !options.shape.empty()) continue;  // no GPU to refuse it
    const auto cases = options.shape.empty()
                           ? info.operation->cases(caches)
                           : std::vector{parse_case(options, info.gpu ? 1 : caches.cores)};
    for (const auto& c : cases) {
      if (options.shape.empty() && options.suite == Suite::quick && !c.quick) continue;
      for (const auto& kernel : kernels::all_kernels()) {
        if (kernel.op != info.name || kernel.gpu() != info.gpu) continue;
        if (!info.operation->supports(kernel, c)) continue;
        std::string missing = kernels::missing(kernel.needs);
        if (missing.empty() && options.shape.empty() && info.operation->unfit != nullptr)
          missing = info.operation->unfit(kernel, c, caches);
        entries.push_back(
            {&kernel, c,
             std::string(kernel.op) + "/" + std::string(kernel.variant) + "/" + c.name(),
             std::move(missing)});
      }
    }
  }
  return entries;
}

std::string to_json(const std::vector<Entry>& entries) {
  auto list = nlohmann::json::array();
  for (const auto& e : entries)
    list.push_back({{"name", e.name},
                    {"op", e.kernel->op},
                    {"variant", e.kernel->variant},
                    {"dtype", e.instance.dtype},
                    {"device", e.kernel->gpu() ? "gpu" : "cpu"},
                    {"library", e.kernel->library()},
                    {"threads", e.instance.threads},
                    {"quick", e.instance.quick},
                    {"idea", e.kernel->idea},
                    {"needs_missing", e.missing},
                    {"tuned", e.missing.empty() ? kernels::tuned(e.kernel->needs) : ""}});
  return list.dump(1);
}

}  // namespace bench
