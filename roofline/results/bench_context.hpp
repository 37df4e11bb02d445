// The machine as the context of Google Benchmark's JSON tells of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace roofline {

struct ContextCache {
  int level = 0;
  double bytes = 0;
  double sharing = 1;  ///< cores that share one instance

  /// Of as many instances as `threads` on a core each have.
  double within_reach(double threads) const;
};

/// Inner levels first; empty where the context does not tell.
std::vector<ContextCache> context_caches(const nlohmann::json& context);

/// A count above 0 that a program has added to its context, as text like all that it adds: of the
/// GPU, or of the slice (MIG) that it saw.
double context_count(const nlohmann::json& context, const char* field);

std::string context_text(const nlohmann::json& context, const char* field);

}  // namespace roofline
