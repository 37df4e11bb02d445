// What is known of one benchmark after a run: what it is, what it does, how long it took.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace roofline {

inline constexpr double kUnknownNumber = NAN;

/// What was seen beside a sample; NaN where the row does not carry it.
struct Surroundings {
  double clock_hz = kUnknownNumber;
  double issue_per_cycle = kUnknownNumber;     ///< independent multiplies, on the worst core
  double dispatch_per_cycle = kUnknownNumber;  ///< multiplies and adds, mean of the cores
  double cpu_wait = kUnknownNumber;  ///< share of the threads' time that other processes took
  double memory_bytes_per_s = kUnknownNumber;      ///< of all threads, for rows that cross DRAM
  double own_memory_bytes_per_s = kUnknownNumber;  ///< the same of the memory that the row reads
  double handover_s = kUnknownNumber;  ///< of a line to another core and back, mean over pairs
};

/// One benchmark: all `run_type: iteration` rows of the same name, device, attempt and `roof_of`
/// are its samples.
struct Benchmark {
  std::string source;  ///< the file of the first sample
  std::string name;    ///< without /real_time, /manual_time and the like
  std::string kernel;  ///< the operation; of a name that is not ours, all but its arguments
  std::string variant, dtype, shape, temperature;
  std::vector<std::pair<std::string, std::string>> keys;  ///< key:value of the name, in order
  int threads = 1;
  std::string device;      ///< cpu or gpu
  std::string exec_unit;   ///< empty if unknown
  std::string roof_dtype;  ///< dtype of the compute roof it is held against
  std::string library;     ///< name and version of a peer; empty for a kernel
  std::string throttle, scope, parent, bytes_source;
  std::string part;     ///< of its parent: qkv, attention …; empty for a benchmark of its own
  std::string part_op;  ///< the operation that the part is: matmul, attention …
  int attempt = 0;      ///< above 0: a probe measured again, because its ceiling was in doubt
  std::string roof_of;  ///< group of benchmarks beside which a probe was measured, as their roof;
                        ///< else empty
  std::vector<double> times_s;        ///< per call: the samples that count
  std::vector<double> lived_times_s;  ///< all samples, in the order of the rows
  std::vector<Surroundings> beside;   ///< of each of lived_times_s
  std::vector<bool> quiet_at;         ///< which of them are quiet; set by set_disturbed_apart()
  std::vector<bool> own_cores_at;     ///< which are, whatever the memory was then
  std::size_t quiet_samples = 0;      ///< how many of them
  double flops = 0, bytes = 0;        ///< per call; not both zero but for launch, which has no work
  std::vector<std::pair<std::string, double>> level_bytes;    ///< inner levels first; never empty
                                                              ///< unless bytes is zero
  double counted_flops = kUnknownNumber;                      ///< per call, by hardware counters
  std::vector<std::pair<std::string, double>> counted_bytes;  ///< the same, by level; may be empty
  std::string not_counted;  ///< why the program, asked to, could not count
  double working_set_bytes = kUnknownNumber;
  double clock_hz = kUnknownNumber;  ///< median over the samples that count, as far as they know it
  double lived_clock_hz = kUnknownNumber;  ///< the same over all samples
  double power_w = kUnknownNumber;
  double memory_clock_hz = kUnknownNumber;  ///< of a GPU
  double launches = 1;                      ///< of kernels, per call; below 1 where calls share one
  double gpu_sms = kUnknownNumber;          ///< that the program saw, by the file's context

  /// What is the same for all that do the same work on the same threads.
  using Work = std::tuple<std::string, std::string, std::string, std::string, std::string, int>;
  Work work() const { return {device, kernel, dtype, shape, temperature, threads}; }
  /// The value of a key of the name; empty if it has none.
  std::string key(std::string_view name) const;
  /// Whether the quiet gate had anything to go by.
  bool gated() const;
  /// Whether times_s are the quiet samples, not all for want of them.
  bool quiet() const { return quiet_samples == times_s.size(); }
  /// Whether the gate looked, and all samples count for want of quiet ones.
  bool few_quiet() const { return gated() && !quiet(); }
  int samples_rejected() const { return static_cast<int>(lived_times_s.size() - times_s.size()); }
};

/// A measurement that ceilings are taken from: stream/avx2/f32/…; a user's own `stream/1024` is
/// none.
bool is_probe(const Benchmark& row);

struct SkippedRow {
  std::string name, reason;
};

/// What the flags of the command line say about rows that do not say it themselves.
struct RowDefaults {
  std::string device, dtype, exec_unit, level;
  int threads = 1;
  double gpu_l2_bytes = kUnknownNumber;
};

struct BenchData {
  std::string machine;            ///< from the context; empty for a user's own file
  std::string gpu;                ///< the same of its GPU
  std::string microarchitecture;  ///< the same of its cores
  std::vector<Benchmark> benchmarks;
  std::vector<SkippedRow> skipped;  ///< rows with an error in place of a time, or without counters
};

}  // namespace roofline
