#include "roofline/run/run_cost.hpp"

#include <string_view>

namespace roofline {
namespace {

// What a process costs besides its samples, and a sample besides its time: start-up, binding and
// verifying; Google Benchmark's search for the iteration count in the first repetition.
constexpr double kProcess_s = 0.3;
constexpr double kSampleCost = 1.7;

// Data that come from main memory: made once a process, but by each decode step for itself, which
// packs its weights, too, and reads all of them several times a sample. Seconds a byte, as two
// cores with 480 MB of L3 take, whose host may have to find every page.
constexpr double kMake_s = 1e-9, kPack_s = 2.5e-9, kRead_s = 0.1e-9;

/// Of one process, with so many samples of each benchmark.
double memory_s(const Unit& unit, double samples) {
  double own = 0;
  bool cold = false;
  for (const std::string& name : unit.names) {
    if (name.starts_with("decode/")) own += kPack_s + samples * kRead_s;
    cold = cold || name.starts_with("stream/") || name.find("/temp:cold") != name.npos;
  }
  return own + (cold ? kMake_s : 0);
}

// On a GPU: the context; the first sample of a benchmark in a process (bind, verify, calibrate,
// load until the clock has settled, the search), and each. The loads are bench/run_cuda's.
constexpr double kGpuProcess_s = 1;
struct GpuCost {
  double first_s, sample_s;
};
constexpr GpuCost kPlain = {0.4, 0.035}, kBurst = {1.4, 0.38}, kSustained = {12.5, 1.15};

GpuCost gpu_cost(std::string_view name) {
  if (name.find("/hold:sustained") != name.npos) return kSustained;
  return name.find("/hold:burst") != name.npos ? kBurst : kPlain;
}

}  // namespace

double expected_s(const Unit& unit, const Sampling& sampling) {
  const auto benchmarks = static_cast<double>(unit.names.size());
  if (!unit.gpu) {
    const double samples = sampling.samples / sampling.rounds;
    return sampling.rounds * (kProcess_s + sampling.cold_bytes * memory_s(unit, samples)) +
           benchmarks * sampling.samples * sampling.sample_s * kSampleCost;
  }
  double sum = sampling.rounds * kGpuProcess_s;
  for (const std::string& name : unit.names) {
    const GpuCost cost = gpu_cost(name);
    sum += sampling.rounds * cost.first_s + sampling.samples * cost.sample_s;
  }
  return sum;
}

double counting_s(const Unit& unit) {
  return unit.gpu ? expected_s(unit, {.rounds = 1, .samples = 1}) : 0;
}

double sample_within(double budget_s, std::size_t benchmarks, std::size_t processes,
                     double samples) {
  return (budget_s - static_cast<double>(processes) * kProcess_s) /
         (static_cast<double>(benchmarks) * samples * kSampleCost);
}

}  // namespace roofline
