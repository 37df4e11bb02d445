#include "bench/case_list.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace bench {
namespace {

using kernels::BadInput;
using kernels::Case;

/// `M:64/N:64/temp:cold` as a case of its own.
Case parse_case(const Options& options, int threads) {
  Case c{.dtype = options.dtype.empty() ? "f32" : options.dtype, .threads = threads};
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

/// Every kernel of the operation that does the case. With `fitting` also why it does not fit, if it
/// does not.
void add_entries(const kernels::OperationInfo& info, const Case& c, const kernels::Caches& caches,
                 bool fitting, std::vector<Entry>& entries) {
  for (const auto& kernel : kernels::all_kernels()) {
    if (kernel.op != info.name || kernel.gpu() != info.gpu) continue;
    if (!info.operation->supports(kernel, c)) continue;
    std::string missing = kernels::missing(kernel.needs);
    if (missing.empty() && fitting && info.operation->unfit != nullptr)
      missing = info.operation->unfit(kernel, c, caches);
    entries.push_back({&kernel, c,
                       std::string(kernel.op) + "/" + std::string(kernel.variant) + "/" + c.name(),
                       std::move(missing)});
  }
}

}  // namespace

std::vector<Entry> list_entries(const std::vector<std::string>& ops, const Options& options,
                                const kernels::Caches& cpu, const kernels::Caches& gpu) {
  if (options.shape.empty() && !(options.dtype.empty() && options.threads == 0))
    throw BadInput("--dtype and --threads are of a --shape, which is not given");
  std::vector<Entry> entries;
  std::string refusal;  // the first
  for (const auto& info : kernels::operations()) {
    if (std::find(ops.begin(), ops.end(), info.name) == ops.end()) continue;
    if (!(info.gpu ? options.gpu : options.cpu)) continue;
    const auto& caches = info.gpu ? gpu : cpu;
    if (options.shape.empty()) {
      kernels::Caches usual = caches;  // of which a screen or the driver takes a part
      if (caches.installed > 0) usual.memory = caches.installed / 10 * 9;
      for (const auto& c : info.operation->cases(usual))
        if (options.suite == Suite::full || c.quick) add_entries(info, c, caches, true, entries);
      continue;
    }
    if (info.gpu && gpu.cores == 0) continue;  // no GPU to refuse it
    const int threads = info.gpu ? 1 : options.threads > 0 ? options.threads : caches.cores;
    const Case own = parse_case(options, threads);
    for (const auto& kernel : kernels::all_kernels())  // a named library that cannot be used
      if (kernel.op == info.name && kernel.gpu() == info.gpu) kernels::missing(kernel.needs);
    try {
      add_entries(info, own, caches, false, entries);
    } catch (const BadInput& fault) {  // another operation of the program may do it
      if (refusal.empty()) refusal = fault.what();
    }
  }
  if (entries.empty() && !refusal.empty()) throw BadInput(refusal);
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
