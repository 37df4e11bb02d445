#include "bench/gpu_counters.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#if __has_include(<cupti_range_profiler.h>)
#define BENCH_HAS_CUPTI
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "kernels/cuda/library.hpp"
#endif

namespace bench {
namespace {

using Metrics = std::vector<std::pair<std::string, double>>;

/// An addition and a multiplication count one, a fused pair two, each on so many `elements`.
Metrics cuda_core_flops(const std::string& letter, double elements = 1) {
  const auto metric = [&](const std::string& op) {
    return "smsp__sass_thread_inst_executed_op_" + letter + op + "_pred_on.sum";
  };
  return {{metric("add"), elements}, {metric("mul"), elements}, {metric("fma"), 2 * elements}};
}

/// What may stand for the FLOPs, the best first; empty where nothing counts them (integers on CUDA
/// cores).
std::vector<Metrics> flop_metrics(const std::string& unit, const std::string& dtype) {
  if (unit == "cuda-core") {
    if (dtype == "f32") return {cuda_core_flops("f")};
    if (dtype == "f64") return {cuda_core_flops("d")};
    if (dtype == "f16" || dtype == "bf16") return {cuda_core_flops("h", 2)};
    return {};
  }
  const auto tensor = [](const std::string& source) {
    return Metrics{{"sm__ops_path_tensor_src_" + source + ".sum", 1}};
  };
  if (dtype == "bf16") return {tensor("bf16_dst_fp32")};
  if (dtype == "f16") return {tensor("fp16"), tensor("fp16_dst_fp32")};
  if (dtype == "tf32") return {tensor("tf32_dst_fp32")};
  if (dtype == "e4m3")  // Hopper's; those of Blackwell
    return {tensor("fp8"), tensor("fp8_dst_fp32"), tensor("fp4_fp6_fp8_dst_fp32")};
  if (dtype == "s8") return {tensor("int8")};
  if (dtype == "f64") return {tensor("fp64")};
  return {};
}

}  // namespace

std::vector<CounterSum> counter_sums(const std::string& unit, const std::string& dtype,
                                     const std::function<bool(const std::string&)>& known) {
  std::vector<CounterSum> out;
  const auto add = [&](double CountedWork::*target, const std::vector<Metrics>& choices) {
    const auto usable = [&](const Metrics& metrics) {
      return std::all_of(metrics.begin(), metrics.end(),
                         [&](const auto& metric) { return known(metric.first); });
    };
    const auto found = std::find_if(choices.begin(), choices.end(), usable);
    if (found != choices.end()) out.push_back({target, *found});
  };
  add(&CountedWork::flops, flop_metrics(unit, dtype));
  add(&CountedWork::hbm_bytes, {{{"dram__bytes_read.sum", 1}, {"dram__bytes_write.sum", 1}},
                                {{"dram__bytes_op_read.sum", 1}, {"dram__bytes_op_write.sum", 1}}});
  // What the SMs ask for, in sectors of 32 bytes. All bytes count what comes from the other half of
  // an A100's or H100's L2 in both: forums.developer.nvidia.com, "NCU L2 metric understanding".
  add(&CountedWork::l2_bytes,
      {{{"lts__t_sectors_srcnode_gpc.sum", 32}}, {{"lts__t_bytes.sum", 1}}});
  add(&CountedWork::l1_bytes, {{{"l1tex__t_bytes.sum", 1}}});
  return out;
}

#ifdef BENCH_HAS_CUPTI

namespace {

/// A call that CUPTI refused; the text is one line.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const kernels::cuda::Found& library() {
#if CUDART_VERSION < 13000
  constexpr const char* kFile = "libcupti.so.12";
#else
  constexpr const char* kFile = "libcupti.so.13";
#endif
  static const kernels::cuda::Found found =
      kernels::cuda::find_library({.name = "CUPTI",
                                   .variable = "ROOFLINE_CUPTI",
                                   .package = "part of the CUDA toolkit",
                                   .names = {kFile},
                                   .paths = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1[23]",
                                             "/usr/local/cuda/lib*/libcupti.so.1[23]"},
                                   .wheels = {"nvidia/cu1[23]/lib/libcupti.so.1[23]",
                                              "nvidia/cuda_cupti/lib/libcupti.so.1[23]"}},
                                  {"cuptiGetResultString",
                                   "cuptiDeviceGetChipName",
                                   "cuptiProfilerInitialize",
                                   "cuptiProfilerGetCounterAvailability",
                                   "cuptiProfilerHostInitialize",
                                   "cuptiProfilerHostDeinitialize",
                                   "cuptiProfilerHostGetMetricProperties",
                                   "cuptiProfilerHostConfigAddMetrics",
                                   "cuptiProfilerHostGetConfigImageSize",
                                   "cuptiProfilerHostGetConfigImage",
                                   "cuptiProfilerHostEvaluateToGpuValues",
                                   "cuptiRangeProfilerEnable",
                                   "cuptiRangeProfilerDisable",
                                   "cuptiRangeProfilerSetConfig",
                                   "cuptiRangeProfilerGetCounterDataSize",
                                   "cuptiRangeProfilerCounterDataImageInitialize",
                                   "cuptiRangeProfilerStart",
                                   "cuptiRangeProfilerStop",
                                   "cuptiRangeProfilerPushRange",
                                   "cuptiRangeProfilerPopRange",
                                   "cuptiRangeProfilerDecodeData"});
  return found;
}

/// The structure that a CUPTI function takes, with its size, by which CUPTI tells versions apart:
/// an older one refuses a larger structure than it knows.
#define CUPTI_PARAMS(type) \
  type { .structSize = type##_STRUCT_SIZE }
/// The same of a structure that has grown since CUDA 12.6: up to the last field that it had there.
#define CUPTI_PARAMS_OF_12_6(type, last) \
  type { .structSize = CUPTI_PROFILER_STRUCT_SIZE(type, last) }

/// Calls a function of CUPTI that takes one structure.
#define CUPTI_CALL(function, params) checked(get<decltype(function)>(#function)(&params), #function)

template <class Function>
Function* get(const char* name) {
  return kernels::cuda::library_function<Function>(library(), name);
}

void checked(CUptiResult result, const std::string& function) {
  if (result == CUPTI_SUCCESS) return;
  const char* words = nullptr;
  get<decltype(cuptiGetResultString)>("cuptiGetResultString")(result, &words);
  std::string text = "CUPTI: " + function + ": " + (words != nullptr ? words : "unknown fault");
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    text += ", the driver keeps counters for administrators (ERR_NVGPUCTRPERM)";
  throw Refused(text);
}

/// CUPTI opens the half that knows metrics by its bare name, which finds it in the loader's folders
/// only; one that is open already is taken.
void open_host_half() {
  const auto beside = get<decltype(cuptiGetResultString)>("cuptiGetResultString");
  Dl_info place;
  if (dladdr(reinterpret_cast<void*>(beside), &place) == 0) return;
  const auto folder = std::filesystem::path(place.dli_fname).parent_path();
  dlopen((folder / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

struct GpuCounters::Profiler {
  CUcontext context;
  std::string chip;
  std::vector<std::uint8_t> availability;

  Profiler(void* driver_context, int device) : context(static_cast<CUcontext>(driver_context)) {
    if (!library().library) throw Refused(library().missing);
    open_host_half();
    auto start = CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
    CUPTI_CALL(cuptiProfilerInitialize, start);
    auto name = CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
    name.deviceIndex = static_cast<std::size_t>(device);
    CUPTI_CALL(cuptiDeviceGetChipName, name);
    chip = name.pChipName;
    auto counters = CUPTI_PARAMS_OF_12_6(CUpti_Profiler_GetCounterAvailability_Params,
                                         pCounterAvailabilityImage);
    counters.ctx = context;
    CUPTI_CALL(cuptiProfilerGetCounterAvailability, counters);
    availability.resize(counters.counterAvailabilityImageSize);
    counters.pCounterAvailabilityImage = availability.data();
    CUPTI_CALL(cuptiProfilerGetCounterAvailability, counters);
  }
};

namespace {

/// CUPTI's knowledge of one chip's metrics.
class Host {
 public:
  Host(const std::string& chip, const std::vector<std::uint8_t>& availability) {
    auto params = CUPTI_PARAMS_OF_12_6(CUpti_Profiler_Host_Initialize_Params, pHostObject);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    params.pCounterAvailabilityImage = availability.data();
    CUPTI_CALL(cuptiProfilerHostInitialize, params);
    object_ = params.pHostObject;
  }
  ~Host() {
    auto params = CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = object_;
    get<decltype(cuptiProfilerHostDeinitialize)>("cuptiProfilerHostDeinitialize")(&params);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool knows(const std::string& metric) const {
    auto params = CUPTI_PARAMS_OF_12_6(CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
    params.pHostObject = object_;
    params.pMetricName = metric.c_str();
    return get<decltype(cuptiProfilerHostGetMetricProperties)>(
               "cuptiProfilerHostGetMetricProperties")(&params) == CUPTI_SUCCESS;
  }

  /// Which counters are read in which pass.
  std::vector<std::uint8_t> schedule(std::vector<const char*>& metrics) const {
    auto add = CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = object_;
    add.ppMetricNames = metrics.data();
    add.numMetrics = metrics.size();
    CUPTI_CALL(cuptiProfilerHostConfigAddMetrics, add);
    auto size = CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = object_;
    CUPTI_CALL(cuptiProfilerHostGetConfigImageSize, size);
    std::vector<std::uint8_t> image(size.configImageSize);
    auto fill = CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    fill.pHostObject = object_;
    fill.configImageSize = image.size();
    fill.pConfigImage = image.data();
    CUPTI_CALL(cuptiProfilerHostGetConfigImage, fill);
    return image;
  }

  std::vector<double> values(std::vector<const char*>& metrics,
                             const std::vector<std::uint8_t>& counted) const {
    std::vector<double> out(metrics.size());
    auto params = CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    params.pHostObject = object_;
    params.pCounterDataImage = counted.data();
    params.counterDataImageSize = counted.size();
    params.rangeIndex = 0;
    params.ppMetricNames = metrics.data();
    params.numMetrics = metrics.size();
    params.pMetricValues = out.data();
    CUPTI_CALL(cuptiProfilerHostEvaluateToGpuValues, params);
    return out;
  }

 private:
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

/// The profiler on a context, while it is enabled there.
class Ranges {
 public:
  explicit Ranges(CUcontext context) {
    auto params = CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    CUPTI_CALL(cuptiRangeProfilerEnable, params);
    object_ = params.pRangeProfilerObject;
  }
  ~Ranges() {
    auto params = CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = object_;
    get<decltype(cuptiRangeProfilerDisable)>("cuptiRangeProfilerDisable")(&params);
  }
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  /// One range around each pass of `call`; returns what was counted.
  std::vector<std::uint8_t> replay(std::vector<const char*>& metrics,
                                   const std::vector<std::uint8_t>& schedule,
                                   const std::function<void(int)>& call) const {
    std::vector<std::uint8_t> counted = counter_data(metrics);
    auto config = CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    config.pRangeProfilerObject = object_;
    config.configSize = schedule.size();
    config.pConfig = schedule.data();
    config.counterDataImageSize = counted.size();
    config.pCounterDataImage = counted.data();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.targetNestingLevel = 1;
    CUPTI_CALL(cuptiRangeProfilerSetConfig, config);
    auto stop = CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = object_;
    for (int pass = 0; !stop.isAllPassSubmitted; ++pass) {
      auto start = CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
      start.pRangeProfilerObject = object_;
      CUPTI_CALL(cuptiRangeProfilerStart, start);
      auto push = CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
      push.pRangeProfilerObject = object_;
      push.pRangeName = "call";
      CUPTI_CALL(cuptiRangeProfilerPushRange, push);
      call(pass);
      auto pop = CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);
      pop.pRangeProfilerObject = object_;
      CUPTI_CALL(cuptiRangeProfilerPopRange, pop);
      CUPTI_CALL(cuptiRangeProfilerStop, stop);
    }
    auto decode = CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = object_;
    CUPTI_CALL(cuptiRangeProfilerDecodeData, decode);
    if (decode.numOfRangeDropped > 0) throw Refused("CUPTI: dropped what it had counted");
    return counted;
  }

 private:
  std::vector<std::uint8_t> counter_data(std::vector<const char*>& metrics) const {
    auto size = CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = metrics.data();
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    CUPTI_CALL(cuptiRangeProfilerGetCounterDataSize, size);
    std::vector<std::uint8_t> image(size.counterDataSize);
    auto empty = CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    empty.pRangeProfilerObject = object_;
    empty.counterDataSize = image.size();
    empty.pCounterData = image.data();
    CUPTI_CALL(cuptiRangeProfilerCounterDataImageInitialize, empty);
    return image;
  }

  CUpti_RangeProfiler_Object* object_ = nullptr;
};

}  // namespace

GpuCounters::GpuCounters(void* context, int device) {
  try {
    profiler_ = std::make_unique<Profiler>(context, device);
  } catch (const std::runtime_error& e) {
    missing_ = e.what();
  }
}

CountedWork GpuCounters::count(const std::string& unit, const std::string& dtype,
                               const std::function<void(int)>& call) {
  CountedWork out;
  if (!missing_.empty()) return out;
  try {
    const Host host(profiler_->chip, profiler_->availability);
    const auto sums = counter_sums(unit, dtype, [&](const auto& name) { return host.knows(name); });
    std::vector<const char*> metrics;
    for (const CounterSum& sum : sums)
      for (const auto& [name, weight] : sum.metrics) metrics.push_back(name.c_str());
    const auto schedule = host.schedule(metrics);
    const auto counted = Ranges(profiler_->context).replay(metrics, schedule, call);
    const std::vector<double> values = host.values(metrics, counted);
    auto value = values.begin();
    for (const CounterSum& sum : sums) {
      out.*sum.target = 0;
      for (const auto& [name, weight] : sum.metrics) out.*sum.target += weight * *value++;
    }
    // A library chose the unit: none on tensor cores says that it was another.
    if (unit.empty() && out.flops == 0) out.flops = kernels::kUnknown;
  } catch (const Refused& e) {
    missing_ = e.what();
  }
  return out;
}

#else

struct GpuCounters::Profiler {};

GpuCounters::GpuCounters(void*, int)
    : missing_("CUPTI: built with a CUDA toolkit without its range profiler (12.6 has it)") {}

CountedWork GpuCounters::count(const std::string&, const std::string&,
                               const std::function<void(int)>&) {
  return {};
}

#endif

GpuCounters::~GpuCounters() = default;

}  // namespace bench
