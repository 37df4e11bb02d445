#include "bench/benchmarks.hpp"

#include <algorithm>

#include "bench/run_cpu.hpp"
#include "roofline/machine/limits.hpp"
#ifdef ROOFLINE_HAS_CUDA
#include "bench/run_cuda.hpp"
#endif

namespace bench {
namespace {

double cpu_free_bytes() {
  namespace machine = roofline::machine;
  return static_cast<double>(machine::usable_memory(machine::read_limits()));
}

#ifndef ROOFLINE_HAS_CUDA
double gpu_free_bytes() { return 0; }
#endif

}  // namespace

kernels::Caches caches_of(const roofline::machine::Machine& machine, int threads) {
  kernels::Caches caches{.memory = machine.memory_limit_bytes, .cores = machine.usable_threads};
  for (const auto& cache : machine.caches) {
    if (cache.level == 1) caches.l1d = cache.bytes;
    const auto& reached = cache.reached_bytes;
    const auto last = static_cast<std::size_t>(threads) - 1;
    const std::int64_t all = last < reached.size() ? reached[last] : cache.total_bytes;
    if (cache.level == 2) {
      caches.l2 = cache.bytes / std::max(1, cache.cores_sharing);
      caches.l2_all = all;
    }
    if (cache.level == 3) caches.l3 = all;
  }
  if (machine.microarchitecture.starts_with("zen")) caches.maker = kernels::Maker::amd;
  return caches;
}

Benchmarks::Benchmarks(const std::vector<Entry>& entries, const roofline::machine::Machine& machine,
                       const kernels::Caches& cpu, const kernels::Caches& gpu, bool counters)
    : entries_(entries),
      machine_(machine),
      gpu_caches_(gpu),
      counters_(counters),
      cpu_(static_cast<double>(cpu.memory), cpu_free_bytes),
      gpu_(static_cast<double>(gpu.memory), gpu_free_bytes) {}

void Benchmarks::register_all(const Iterations& known) {
  for (const Entry& entry : entries_) {
    const auto found = known.find(entry.name);
    if (!entry.missing.empty() || (!known.empty() && found == known.end())) continue;
    const benchmark::IterationCount iterations = known.empty() ? 0 : found->second;
#ifdef ROOFLINE_HAS_CUDA
    if (entry.kernel->gpu()) {
      register_gpu(entry, gpu_, gpu_caches_, counters_, iterations, timed_);
      continue;
    }
#endif
    register_cpu(entry, iterations);
  }
}

void Benchmarks::register_cpu(const Entry& entry, benchmark::IterationCount iterations) {
  auto* registered =
      benchmark::RegisterBenchmark(entry.name.c_str(), [this, entry](benchmark::State& state) {
        run_cpu(state, entry, cpu_, caches_of(machine_, entry.instance.threads), machine_.cpus);
        timed_ = timed_ || !state.error_occurred();
      })->UseRealTime();
  if (iterations > 0) registered->Iterations(iterations);
}

}  // namespace bench
