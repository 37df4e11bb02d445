#include "bench/problem_cache.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace bench {
namespace {

/// 0 for a problem that touches no memory, whose set is unknown, and for none.
double owned_bytes(const Bound& bound) {
  if (bound.problem == nullptr) return 0;
  const double bytes = bound.problem->owned_bytes();
  return std::isnan(bytes) ? 0 : bytes;
}

}  // namespace

Bound& ProblemCache::get(const Entry& entry, const kernels::Caches& caches) {
  const auto at = std::find_if(bound_.begin(), bound_.end(),
                               [&](const Bound& b) { return b.name == entry.name; });
  if (at == bound_.end())
    bound_.push_front({.name = entry.name, .next_call = next_call_});
  else
    bound_.splice(bound_.begin(), bound_, at);
  Bound& wanted = bound_.front();
  if (wanted.problem != nullptr) return wanted;

  double held = 0;
  for (const auto& b : bound_) held += owned_bytes(b);
  const auto scarce = [&] { return free_bytes_ && free_bytes_() < memory_bytes_ / 4; };
  for (auto b = bound_.rbegin(); b != bound_.rend(); ++b) {
    if (b->problem == nullptr) continue;
    if (held <= memory_bytes_ / 2 && !scarce()) break;
    held -= owned_bytes(*b);
    b->problem.reset();
  }
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
  any_wrong_ = any_wrong_ || !wanted.wrong.empty();
  return wanted;
}

}  // namespace bench
