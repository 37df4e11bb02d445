#include "bench/problem_cache.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>
#include <string_view>

namespace bench {
namespace {

/// Of all of them, what several share once; nothing of one whose set is not known.
double kept_bytes(const std::list<Bound>& all) {
  double bytes = 0;
  std::set<std::string_view> seen;
  for (const Bound& bound : all) {
    if (bound.problem == nullptr) continue;
    const double owned = bound.problem->owned_bytes();
    if (std::isnan(owned)) continue;
    bytes += owned;
    if (!seen.insert(bound.inputs).second) bytes -= bound.problem->shared_bytes();
  }
  return bytes;
}

}  // namespace

Bound& ProblemCache::get(const Entry& entry, const kernels::Caches& caches) {
  const auto at = std::find_if(bound_.begin(), bound_.end(),
                               [&](const Bound& b) { return b.name == entry.name; });
  if (at == bound_.end())
    bound_.push_front({.name = entry.name,
                       .inputs = std::string(entry.kernel->op) + "/" + entry.instance.name(),
                       .next_call = next_call_});
  else
    bound_.splice(bound_.begin(), bound_, at);
  Bound& wanted = bound_.front();
  if (wanted.problem != nullptr) return wanted;

  const auto is_room = [&] {
    return kept_bytes(bound_) <= memory_bytes_ / 2 &&
           !(free_bytes_ && free_bytes_() < memory_bytes_ / 4);
  };
  // What shares the inputs of the next one frees none of them, and saves it to fill its own.
  const auto drop = [&](bool sharing) {
    for (auto b = bound_.rbegin(); b != bound_.rend(); ++b) {
      if (b->problem == nullptr || &*b == &wanted) continue;
      if ((b->inputs == wanted.inputs && b->problem->shared_bytes() > 0) != sharing) continue;
      if (is_room()) break;
      b->problem.reset();
    }
  };
  drop(false);
  const auto bind = [&] {
    auto problem = kernels::operation_of(*entry.kernel).bind(*entry.kernel, entry.instance, caches);
    // Bound again, our kernels do the same on the same inputs; a library may choose anew.
    if (!wanted.verified || entry.kernel->library()) wanted.wrong = problem->verify();
    wanted.verified = true;
    wanted.problem = std::move(problem);
    wanted.call_s = 0;
  };
  try {
    bind();
  } catch (const std::bad_alloc&) {
    for (Bound& b : bound_) b.problem.reset();  // what is kept may be what is missing
    bind();
  }
  drop(true);
  any_wrong_ = any_wrong_ || !wanted.wrong.empty();
  return wanted;
}

}  // namespace bench
