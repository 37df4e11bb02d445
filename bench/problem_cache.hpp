// Bound and verified problems, kept between the repetitions of a benchmark.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "bench/case_list.hpp"
#include "bench/own_memory.hpp"

namespace bench {

struct Bound {
  std::string name;
  std::string inputs;  ///< operation and case: variants of one have the same, and share them
  std::unique_ptr<kernels::Problem> problem;
  bool verified = false;
  std::string wrong;  ///< what verification found; empty when right
  /// Calls between two looks at the clock, 0 until that is known. Stays as it is when the problem
  /// is bound again: Google Benchmark ends a program whose repetitions differ in length.
  std::int64_t batch = 0;
  /// One for all problems, so that a cold run goes on rotating where the last one stopped, whose it
  /// was: they share data, of which a cache of hundreds of MB still holds what has just been read.
  std::int64_t& next_call;
  double call_s = 0;  ///< of a call, in the last sample since it was bound; 0: none yet
  OwnMemory own_memory = {};
};

/// Google Benchmark calls a benchmark once a repetition; binding and verifying each time would cost
/// more than the measurement. Drops the longest unused problems while the sets exceed half of
/// memory, or less than a quarter is free, since processes that take turns hold theirs too; that
/// leaves room for the next one. Those with the inputs of the next one go only once that has taken
/// these over.
class ProblemCache {
 public:
  /// `free_bytes` tells what is free at the time; without it only this process is counted.
  explicit ProblemCache(double memory_bytes, std::function<double()> free_bytes = {})
      : memory_bytes_(memory_bytes), free_bytes_(std::move(free_bytes)) {}
  ProblemCache(const ProblemCache&) = delete;  // problems refer to its next call
  ProblemCache& operator=(const ProblemCache&) = delete;
  /// Binds, and verifies on first use; libraries whenever they are bound. Throws kernels::BadInput
  /// and std::bad_alloc.
  Bound& get(const Entry& entry, const kernels::Caches& caches);
  /// Whether verification found a fault in any problem so far.
  bool any_wrong() const { return any_wrong_; }

 private:
  double memory_bytes_;
  std::function<double()> free_bytes_;
  bool any_wrong_ = false;
  std::int64_t next_call_ = 0;
  std::list<Bound> bound_;  ///< most recently used first
};

}  // namespace bench
