#include "roofline/results/bench_context.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "roofline/results/benchmark.hpp"

namespace roofline {

using nlohmann::json;

double ContextCache::within_reach(double threads) const {
  return bytes * std::ceil(threads / sharing);
}

std::vector<ContextCache> context_caches(const json& context) {
  std::vector<ContextCache> out;
  const auto found = context.find("caches");
  if (found == context.end() || !found->is_array()) return out;
  for (const json& cache : *found) {
    if (!cache.is_object() || cache.value("type", json()) == "Instruction") continue;
    const json level = cache.value("level", json()), size = cache.value("size", json()),
               sharing = cache.value("num_sharing", json());
    if (level.is_number_integer() && size.is_number()) {
      const double cpus = sharing.is_number() ? sharing.get<double>() : 1;
      out.push_back({level.get<int>(), size.get<double>(), std::max(1.0, cpus)});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  // Google Benchmark counts logical CPUs, of which a core's share its L1.
  const double of_a_core = out.empty() || out.front().level > 1 ? 1 : out.front().sharing;
  for (ContextCache& cache : out) cache.sharing = std::max(1.0, cache.sharing / of_a_core);
  return out;
}

double context_count(const json& context, const char* field) {
  const json told = context.value(field, json());
  const std::string text = told.is_string() ? told.get<std::string>() : "";
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool good = error == std::errc() && end == text.data() + text.size() && count > 0;
  return good ? static_cast<double>(count) : kUnknownNumber;
}

std::string context_text(const json& context, const char* field) {
  const json told = context.value(field, json());
  return told.is_string() ? told.get<std::string>() : "";
}

}  // namespace roofline
