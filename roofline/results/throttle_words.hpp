// Throttle reasons of a benchmark's samples, as its label tells them:
// throttle=power-cap+sync-boost;
#pragma once

#include <string>

namespace roofline {

/// Both sets of reasons, joined by '+': "none" has none, an empty text is not known.
std::string united_reasons(const std::string& a, const std::string& b);

/// `label` with the reasons in `other`'s added to its own; as it is where `other` tells none.
std::string label_with_reasons(const std::string& label, const std::string& other);

}  // namespace roofline
