#include "roofline/run/run_cost.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/base/dtype_names.hpp"
#include "roofline/results/bench_name.hpp"

namespace roofline {
namespace {

// What a process costs besides its samples, and a sample besides its time: start-up, binding and
// verifying; Google Benchmark's search for the iteration count in the first repetition.
constexpr double kProcess_s = 0.3;
constexpr double kSampleCost = 1.7;

// Data that come from main memory are made once a process, by a virtual machine whose host may have
// to find every page; a decode step makes, packs and checks its parameters for itself. Then calls
// that no sample has: to verify, to warm up, to find how many a sample takes. With what cores and
// memory are taken to do, before anything is known of them, the kernels of committed runs on five
// kinds of machine took 0.5 to 2.1 times what is expected so.
constexpr double kMake_s = 1.5e-9;    // a byte
constexpr double kStep_s = 4e-9;      // a parameter
constexpr double kCallsBefore = 4;    // of a benchmark, in a process
constexpr double kMemory = 25e9;      // bytes/s
constexpr double kLayer = 218e6;      // parameters of LLaMA-3-8B's
constexpr double kVocabulary = 4096;  // parameters a word of its output head

/// FLOP/s of a core, by the type that is multiplied.
double core_rate(std::string_view dtype) {
  const double bytes = element_bytes(dtype);
  return bytes > 4 ? 50e9 : bytes > 2 ? 100e9 : bytes > 1 ? 150e9 : 300e9;
}

/// What a benchmark on a CPU takes, by its name.
struct Work {
  double cold_bytes = 0;  ///< that its process makes, so that calls find them in main memory
  std::string made_for;   ///< those that share them
  double parameters = 0;  ///< that it makes for itself
  double call_s = 0;
};

Work work_of(std::string_view name, double cold_bytes) {
  Benchmark row;
  row.name = name;
  if (read_name(row)) return {};
  const auto key = [&](std::string_view wanted, double otherwise) {
    const std::string value = row.key(wanted);
    return value.empty() ? otherwise : std::atof(value.c_str());
  };
  const std::string_view op = row.kernel, dtype = row.dtype;
  const bool of_memory = op == "stream" || op == "pages";
  const std::size_t mixed = dtype.find('x');
  const double element = element_bytes(mixed == dtype.npos ? dtype : dtype.substr(mixed + 1));
  Work out;
  double flops = 0, bytes = 0;  // of one call: weights, a cache or vectors
  if (op == "matmul") {
    bytes = key("batch", 1) * key("N", 0) * key("K", 0) * element;
    flops = 2 * key("batch", 1) * key("M", 0) * key("N", 0) * key("K", 0);
    out.cold_bytes = std::max(kColdWeights, cold_bytes) + bytes;
  } else if (op == "attention") {
    const double rows = key("batch", 0) * key("context", 0) * key("head_dim", 0);
    bytes = 2 * rows * key("kv_heads", 0) * element;
    flops = 4 * rows * key("heads", 0);
    out.cold_bytes = cold_bytes + bytes;
  } else if (op == "dot") {
    bytes = 2 * key("N", 0) * element;
    out.cold_bytes = cold_bytes + bytes;
  } else if (op == "decode") {
    out.parameters = key("layers", 0) * kLayer + key("V", 0) * kVocabulary;
    bytes = out.parameters * element;
    flops = 2 * key("B", 0) * out.parameters;
  } else if (of_memory) {
    out.cold_bytes = cold_bytes;
    out.made_for = row.key("page_bytes");
  }
  if (!of_memory && name.find("/temp:cold") == name.npos) out.cold_bytes = 0;
  const double rate = core_rate(dtype.substr(0, mixed)) * key("threads", 1);
  out.call_s = std::max(flops / rate, bytes / kMemory);
  return out;
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
    double made_s = 0, calls_s = 0, parameters = 0;
    std::map<std::string, double> made_bytes;
    for (const std::string& name : unit.names) {
      const Work work = work_of(name, sampling.cold_bytes);
      double& bytes = made_bytes[work.made_for];
      bytes = std::max(bytes, work.cold_bytes);
      parameters += work.parameters;
      calls_s += (sampling.samples + sampling.rounds * kCallsBefore) * work.call_s;
    }
    for (const auto& [who, bytes] : made_bytes) made_s += bytes * kMake_s;
    return sampling.rounds * (kProcess_s + made_s + parameters * kStep_s) + calls_s +
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
