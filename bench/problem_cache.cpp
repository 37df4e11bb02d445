#include "bench/problem_cache.hpp"

#include <algorithm>
#include <new>

namespace bench {

Bound& ProblemCache::get(const Entry& entry, const kernels::Caches& caches) {
  const auto at = std::find_if(bound_.begin(), bound_.end(),
                               [&](const Bound& b) { return b.name == entry.name; });
  if (at != bound_.end()) {
    bound_.splice(bound_.begin(), bound_, at);
    return bound_.front();
  }
  double held = 0;
  for (const auto& b : bound_) held += b.problem->working_set_bytes();
  while (!bound_.empty() && held > budget_ / 2) {
    held -= bound_.back().problem->working_set_bytes();
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
  return bound_.front();
}

}  // namespace bench
