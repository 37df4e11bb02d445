#include "bench/problem_cache.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace bench {
namespace {

/// 0 for a problem that touches no memory, whose set is unknown.
double owned_bytes(const Bound& bound) {
  const double bytes = bound.problem->owned_bytes();
  return std::isnan(bytes) ? 0 : bytes;
}

}  // namespace

Bound& ProblemCache::get(const Entry& entry, const kernels::Caches& caches) {
  const auto at = std::find_if(bound_.begin(), bound_.end(),
                               [&](const Bound& b) { return b.name == entry.name; });
  if (at != bound_.end()) {
    bound_.splice(bound_.begin(), bound_, at);
    return bound_.front();
  }
  double held = 0;
  for (const auto& b : bound_) held += owned_bytes(b);
  const auto scarce = [&] { return free_bytes_ && free_bytes_() < budget_; };
  while (!bound_.empty() && (held > budget_ || scarce())) {
    held -= owned_bytes(bound_.back());
    bound_.pop_back();
  }
  const auto bind = [&] {
    Bound fresh{
        .name = entry.name,
        .problem =
            kernels::operation_of(*entry.kernel).bind(*entry.kernel, entry.instance, caches)};
    fresh.wrong = fresh.problem->verify();
    return fresh;
  };
  try {
    bound_.push_front(bind());
  } catch (const std::bad_alloc&) {
    if (bound_.empty()) throw;
    bound_.clear();  // what is kept may be what is missing
    bound_.push_front(bind());
  }
  any_wrong_ = any_wrong_ || !bound_.front().wrong.empty();
  return bound_.front();
}

}  // namespace bench
