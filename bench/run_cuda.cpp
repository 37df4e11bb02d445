#include "bench/run_cuda.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include "bench/affinity.hpp"
#include "bench/counters.hpp"
#include "bench/gpu_counters.hpp"
#include "bench/nvml.hpp"
#include "bench/part_events.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/harness.hpp"
#include "kernels/cuda/problem.hpp"
#include "roofline/base/bench_words.hpp"
#include "roofline/machine/files.hpp"
#include "roofline/machine/limits.hpp"

namespace bench {
namespace {

using kernels::cuda::GpuProblem;

/// A batch is long enough for the events' resolution (0.5 us) and the launch of a probe that
/// repeats inside one kernel, and short enough for the launch queue (1024 entries).
constexpr double kBatchSeconds = 4e-3;
constexpr std::int64_t kMaxLaunches = 256;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 24;

/// Clocks have settled when neighbouring batches agree this well.
constexpr double kSettled = 0.005;

/// Calls of a program whose parts are timed, for each sample of the whole.
constexpr int kPartCalls = 5;

/// What goes before a sample, and how long it is at least; seconds. A case says which by its key
/// `hold`.
struct Hold {
  double pause = 0;                                         ///< idle
  double warm_first = 0.15, warm_again = 0.02, most = 0.5;  ///< load: first sample, the others
  double sample = 0;                                        ///< 0: what the command line says
};
/// A chip that has rested: neither heat nor the average that its power limit looks at counts yet.
constexpr Hold kBurst = {.pause = 0.25, .sample = 0.1};
/// Ten seconds of load before the first sample; the others come so soon after it, mostly with
/// another probe's load in between, that half a second brings back that state.
constexpr Hold kSustained = {.warm_first = 10, .warm_again = 0.5, .most = 10.5, .sample = 0.5};

Hold hold_of(const kernels::Case& c) {
  const std::string hold = c.text("hold");
  return hold == "burst" ? kBurst : hold == "sustained" ? kSustained : Hold{};
}

struct Sample {
  double seconds, clock_hz;
  std::int64_t launches;
  bool gaps;  ///< the gate opened by its timeout
};

/// The driver's CUcontext of this thread.
void* current_context() {
  const auto get = kernels::cuda::driver_function<int (*)(void**)>("cuCtxGetCurrent", 4000);
  void* context = nullptr;
  if (get(&context) != 0) throw kernels::cuda::Error("cuCtxGetCurrent failed");
  return context;
}

/// The stream, the events and the tools that every benchmark of this process uses.
class Session {
 public:
  static Session& get() {
    static Session session;
    return session;
  }

  /// `look`: ask NVML while the work is on the device.
  Sample measure(GpuProblem& problem, std::int64_t first, std::int64_t count, bool look = false) {
    gate_.close(stream_);
    std::int64_t launches = 0;
    {
      const kernels::cuda::OpenAtEnd opener{gate_};
      clock_.stamp_start(stream_);
      CUDA_CHECK(cudaEventRecord(start_, stream_));
      launches = problem.enqueue(first, count, stream_);
      CUDA_CHECK(cudaEventRecord(stop_, stream_));
      clock_.stamp_stop(stream_);
    }
    if (look) nvml_.look_now();
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return {1e-3 * milliseconds, clock_.hz(), launches, gate_.timed_out()};
  }

  /// Mean seconds of each part of a program; `gaps` is set if the gate opened by its timeout.
  std::vector<double> measure_parts(GpuProblem& problem, std::int64_t first, bool& gaps) {
    std::vector<double> seconds(problem.parts().size());
    if (seconds.empty()) return seconds;
    PartEvents events(problem, stream_);
    events.enqueue(first);
    for (int i = 0; i < kPartCalls; ++i) {
      gate_.close(stream_);
      {
        const kernels::cuda::OpenAtEnd opener{gate_};
        events.enqueue(first + i);
      }
      CUDA_CHECK(cudaStreamSynchronize(stream_));
      gaps |= gate_.timed_out();
      events.add_to(seconds);
    }
    for (double& s : seconds) s /= kPartCalls;
    return seconds;
  }

  /// Of one call, input copies in turn; a warm one has run before.
  CountedWork count(GpuProblem& problem, std::int64_t first) {
    const auto [unit, dtype] = problem.exec_unit();
    return counters().count(unit, dtype, [&](int pass) {
      problem.enqueue(first + pass, 1, stream_);
      CUDA_CHECK(cudaStreamSynchronize(stream_));
    });
  }
  /// Opens CUPTI at first use: what times must not have it in its process.
  GpuCounters& counters() {
    if (!counters_) counters_.emplace(current_context(), 0);
    return *counters_;
  }

  NvmlSampler& nvml() { return nvml_; }

 private:
  Session() : clock_(kernels::cuda::device().sms), nvml_(kernels::cuda::device().pci_bus_id) {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&start_));
    CUDA_CHECK(cudaEventCreate(&stop_));
    // Kernels are loaded on first use, which may have to wait for the chip: never behind the gate.
    clock_.stamp_start(stream_);
    gate_.close(stream_);
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  kernels::cuda::Gate gate_;
  kernels::cuda::ClockMeter clock_;
  NvmlSampler nvml_;
  std::optional<GpuCounters> counters_;
};

std::int64_t calibrate(Session& session, GpuProblem& problem) {
  session.measure(problem, 0, 1);  // loads the kernel
  std::int64_t batch = 1;
  while (batch < kMaxBatch) {
    const Sample s = session.measure(problem, 0, batch);
    if (s.gaps) return std::max<std::int64_t>(1, batch / 2);
    if (s.seconds >= kBatchSeconds || 2 * s.launches > kMaxLaunches) break;
    batch *= 2;
  }
  return batch;
}

/// Runs batches until the SM clock has settled, between `least` and `most` seconds.
void warm_up(Session& session, GpuProblem& problem, Bound& bound, double least, double most) {
  const double start = NvmlSampler::now_s();
  double previous = kernels::kUnknown;
  for (;;) {
    const Sample s = session.measure(problem, bound.next_call, bound.batch);
    bound.next_call += bound.batch;
    const double elapsed = NvmlSampler::now_s() - start;
    const bool settled =
        std::isnan(s.clock_hz) || std::abs(s.clock_hz - previous) <= kSettled * s.clock_hz;
    if (elapsed >= most || (elapsed >= least && settled)) return;
    previous = s.clock_hz;
  }
}

/// Counters and label beside the model's.
std::string set_counted(benchmark::State& state, Session& session, GpuProblem& problem,
                        std::int64_t first) {
  const CountedWork work = session.count(problem, first);
  set_counter(state, "counted_flops", work.flops);
  set_counter(state, "counted_bytes_L1", work.l1_bytes);
  set_counter(state, "counted_bytes_L2", work.l2_bytes);
  set_counter(state, "counted_bytes_HBM", work.hbm_bytes);
  const std::string& missing = session.counters().missing();
  return missing.empty() ? "" : "counters=" + missing + ";";
}

void measure_all(benchmark::State& state, Bound& bound, const Hold& hold, bool count) {
  auto& problem = static_cast<GpuProblem&>(*bound.problem);
  Session& session = Session::get();
  const bool first = bound.batch == 0;
  if (first) bound.batch = calibrate(session, problem);
  std::this_thread::sleep_for(std::chrono::duration<double>(hold.pause));
  problem.read_in_order();
  warm_up(session, problem, bound, first ? hold.warm_first : hold.warm_again, hold.most);

  const double from = NvmlSampler::now_s();
  double seconds = 0, cycles = 0, clocked_seconds = 0, calls = 0, launches = 0;
  bool gaps = false;
  while (state.KeepRunningBatch(bound.batch)) {
    const Sample s = session.measure(problem, bound.next_call, bound.batch, calls == 0);
    state.SetIterationTime(s.seconds);
    bound.next_call += bound.batch;
    seconds += s.seconds;
    calls += static_cast<double>(bound.batch);
    launches += static_cast<double>(s.launches);
    gaps |= s.gaps;
    if (!std::isnan(s.clock_hz)) {
      cycles += s.clock_hz * s.seconds;
      clocked_seconds += s.seconds;
    }
  }
  const GpuState gpu = session.nvml().over(from, NvmlSampler::now_s());
  const auto parts = problem.parts();
  const auto part_seconds = session.measure_parts(problem, bound.next_call, gaps);
  const double clock = clocked_seconds > 0 ? cycles / clocked_seconds : gpu.sm_clock_hz;
  set_counters(state, problem, clock, true);
  for (std::size_t i = 0; i < parts.size(); ++i)
    set_part_counters(state, parts[i], part_seconds[i], true);
  state.counters["launches"] = launches / calls;
  if (!std::isnan(gpu.power_w)) state.counters["power_w"] = gpu.power_w;
  if (!std::isnan(gpu.memory_clock_hz)) state.counters["memory_clock_hz"] = gpu.memory_clock_hz;
  std::string label = base_label(problem, true);
  if (gpu.throttle_known) label += "throttle=" + throttle_words(gpu.throttle) + ";";
  if (gaps) label += "launch_gaps=yes;";
  if (count) label += set_counted(state, session, problem, bound.next_call);
  state.SetLabel(label);
}

/// CPUs of the GPU's side of the machine; empty where that is not known.
std::vector<int> cpus_near_gpu() {
  namespace machine = roofline::machine;
  std::string id = kernels::cuda::device().pci_bus_id;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto list = machine::read_text("/sys/bus/pci/devices/" + id + "/local_cpulist");
  return list ? machine::parse_cpu_list(*list) : std::vector<int>();
}

void run_gpu(benchmark::State& state, const Entry& entry, ProblemCache& cache,
             const kernels::Caches& gpu, bool count) {
  // Of a machine with two sockets the far one is slower to copy from and to launch from.
  std::optional<ConfinedTeam> near;
  if (const std::string_view op = entry.kernel->op; op == "link" || op == "launch") {
    const auto cpus = cpus_near_gpu();
    near.emplace(static_cast<int>(cpus.size()), cpus);
  }
  const std::string why = reason_without_time(entry.name, [&] {
    Bound& bound = cache.get(entry, gpu);
    if (bound.wrong.empty())
      measure_all(state, bound, hold_of(entry.instance), count);
    else
      state.SkipWithError(fmt::format("{}: {}", roofline::kWrongResult, bound.wrong).c_str());
  });
  if (!why.empty()) state.SkipWithError(why.c_str());
}

}  // namespace

std::string reason_without_time(const std::string& name, const std::function<void()>& measure) {
  try {
    measure();
  } catch (const kernels::BadInput& e) {
    return e.what();
  } catch (const kernels::cuda::Unsupported& e) {
    return e.what();
  } catch (const std::bad_alloc&) {
    return std::string(roofline::kOutOfMemory) + " (device or page-locked)";
  } catch (const kernels::cuda::Error& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    // No destructors: they would call into the broken context, and libraries may crash there.
    std::_Exit(roofline::kExitFault);
  }
  return {};
}

std::string gpu_fault() { return kernels::cuda::unusable(); }

kernels::Caches gpu_caches() {
  if (!gpu_fault().empty()) return {.cores = 0};
  const auto& d = kernels::cuda::device();
  return {.l1d = d.shared_per_sm,
          .l2 = d.l2_bytes,
          .memory = d.memory_free_bytes,
          .installed = d.memory_bytes,
          .cores = d.sms};
}

double gpu_free_bytes() {
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<double>(free);
}

void add_gpu_context() {
  const auto& d = kernels::cuda::device();
  const auto add = [](const char* key, const std::string& value) {
    if (value != "0") benchmark::AddCustomContext(key, value);  // 0 is unknown
  };
  add("gpu", d.name);
  add("gpu_compute_capability", fmt::format("{}.{}", d.major, d.minor));
  add("gpu_sms", std::to_string(d.sms));
  add("gpu_l2_bytes", std::to_string(d.l2_bytes));
  add("gpu_shared_bytes_per_sm", std::to_string(d.shared_per_sm));
  add("gpu_memory_bytes", std::to_string(d.memory_bytes));
  add("gpu_memory_bus_bits", std::to_string(d.memory_bus_bits));
  add("gpu_sm_clock_max_hz", fmt::format("{:.0f}", d.sm_clock_hz));
  add("gpu_memory_clock_max_hz", fmt::format("{:.0f}", d.memory_clock_hz));
  add("cuda_driver", std::to_string(d.driver_version));
  add("cuda_runtime", std::to_string(d.runtime_version));
}

void register_gpu(const Entry& entry, ProblemCache& cache, const kernels::Caches& gpu, bool count,
                  benchmark::IterationCount iterations, bool& timed) {
  auto* registered =
      benchmark::RegisterBenchmark(entry.name.c_str(), [&, entry, count](benchmark::State& state) {
        run_gpu(state, entry, cache, gpu, count);
        timed = timed || !state.error_occurred();
      })->UseManualTime();
  const double sample = hold_of(entry.instance).sample;
  if (iterations > 0) {
    registered->Iterations(iterations);
  } else if (sample > 0) {
    registered->MinTime(sample);
  }
}

}  // namespace bench
