// Keys of a case that somebody wrote by hand.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kernels/op.hpp"

namespace kernels {

/// Throws BadInput for a key of `c` that is none of these; `op` is for the message.
inline void require_keys(const Case& c, std::string_view op,
                         std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : c.keys) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names = known.size() == 0 ? "none" : "";
    for (const std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
    throw BadInput("shape: " + std::string(op) + " has no '" + key + "' (known: " + names + ")");
  }
}

/// A call for each parallel region, or all of them in one.
inline void require_known_region(const Case& c) {
  const std::string region = c.text("region", "call");
  if (region != "call" && region != "shared")
    throw BadInput("shape: region:" + region + " (known: call, shared)");
}

}  // namespace kernels
