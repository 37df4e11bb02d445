// The benchmarks that a program offers here, registered with Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

#include "bench/case_list.hpp"
#include "bench/passes.hpp"
#include "bench/problem_cache.hpp"
#include "kernels/op.hpp"
#include "roofline/machine/machine.hpp"

namespace bench {

/// Of the first `threads` of the machine's CPUs, those that a team of so many is pinned to.
kernels::Caches caches_of(const roofline::machine::Machine& machine, int threads);

class Benchmarks {
 public:
  /// What is given has to outlive the benchmarks. `counters`: see register_gpu().
  Benchmarks(const std::vector<Entry>& entries, const roofline::machine::Machine& machine,
             const kernels::Caches& cpu, const kernels::Caches& gpu, bool counters);

  /// Those of `known` with so many iterations a sample; all of them where none is known.
  void register_all(const Iterations& known);

  /// Whether any of them has a time.
  bool timed() const { return timed_; }
  bool any_wrong() const { return cpu_.any_wrong() || gpu_.any_wrong(); }

 private:
  void register_cpu(const Entry& entry, benchmark::IterationCount iterations);

  const std::vector<Entry>& entries_;
  const roofline::machine::Machine& machine_;
  [[maybe_unused]] const kernels::Caches& gpu_caches_;
  [[maybe_unused]] bool counters_;
  ProblemCache cpu_, gpu_;
  bool timed_ = false;
};

}  // namespace bench
