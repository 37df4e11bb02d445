// A CUPTI of a made-up chip, which refuses what the range profiler's rules forbid: three passes,
// each a range between start and stop, decoded when all are through. FAKE_CUPTI=denied: no
// permission.
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

struct CUpti_Profiler_Host_Object {
  bool scheduled = false;
};
struct CUpti_RangeProfiler_Object {
  enum { enabled, configured, started, inside, left, decoded } state = enabled;
  int passes = 0;
  const std::uint8_t* data = nullptr;
};

namespace {

constexpr int kPasses = 3;
constexpr std::size_t kScheduleBytes = 5, kDataBytes = 7, kAvailabilityBytes = 3;
constexpr std::uint8_t kSchedule = 0x5c, kData = 0xda, kAvailability = 0xa7;

const std::map<std::string, double> kValues = {
    {"dram__bytes_read.sum", 1000},
    {"dram__bytes_write.sum", 24},
    {"lts__t_bytes.sum", 3000},
    {"lts__t_sectors_srcnode_gpc.sum", 60},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 10},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 20},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 100},
    {"sm__ops_path_tensor_src_fp64.sum", 0},
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 4096}};

bool initialized = false;
int hosts = 0, profilers = 0;

bool all_known(const char** names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (kValues.count(names[i]) == 0) return false;
  return count > 0;
}

bool filled(const std::uint8_t* image, std::size_t bytes, std::size_t expected,
            std::uint8_t value) {
  return image != nullptr && bytes == expected && image[0] == value && image[bytes - 1] == value;
}

CUptiResult allowed(bool correct) {
  return correct ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

/// The state that a call needs, and the one that it leaves.
CUptiResult step(CUpti_RangeProfiler_Object* object, int from, int to) {
  if (object == nullptr || object->state != from) return CUPTI_ERROR_INVALID_OPERATION;
  object->state = static_cast<decltype(object->state)>(to);
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

/// Objects that are still alive: host objects and enabled profilers.
int fake_cupti_alive() { return hosts + profilers; }

CUptiResult cuptiGetResultString(CUptiResult result, const char** words) {
  *words = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                         : "CUPTI_ERROR_INVALID_OPERATION";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  initialized = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "FAKE100";
  return allowed(initialized && p->deviceIndex == 0);
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  if (p->pCounterAvailabilityImage == nullptr) {
    p->counterAvailabilityImageSize = kAvailabilityBytes;
  } else {
    std::memset(p->pCounterAvailabilityImage, kAvailability, p->counterAvailabilityImageSize);
  }
  return allowed(initialized && p->ctx != nullptr);
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  p->pHostObject = new CUpti_Profiler_Host_Object;
  ++hosts;
  return allowed(std::strcmp(p->pChipName, "FAKE100") == 0 &&
                 p->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER &&
                 p->pCounterAvailabilityImage[kAvailabilityBytes - 1] == kAvailability);
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete p->pHostObject;
  --hosts;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetMetricProperties(
    CUpti_Profiler_Host_GetMetricProperties_Params* p) {
  return kValues.count(p->pMetricName) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  p->pHostObject->scheduled = true;
  return allowed(all_known(p->ppMetricNames, p->numMetrics));
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = kScheduleBytes;
  return allowed(p->pHostObject->scheduled);
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  std::memset(p->pConfigImage, kSchedule, p->configImageSize);
  return allowed(p->pHostObject->scheduled && p->configImageSize == kScheduleBytes);
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  if (!all_known(p->ppMetricNames, p->numMetrics) || p->rangeIndex != 0 ||
      !filled(p->pCounterDataImage, p->counterDataImageSize, kDataBytes, kData + 1))
    return CUPTI_ERROR_INVALID_OPERATION;
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] = kValues.at(p->ppMetricNames[i]);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  const char* fault = std::getenv("FAKE_CUPTI");
  if (fault != nullptr && std::strcmp(fault, "denied") == 0)
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (!initialized || p->ctx == nullptr || profilers > 0) return CUPTI_ERROR_INVALID_OPERATION;
  p->pRangeProfilerObject = new CUpti_RangeProfiler_Object;
  ++profilers;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  delete p->pRangeProfilerObject;
  --profilers;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  p->counterDataSize = kDataBytes;
  return allowed(all_known(p->pMetricNames, p->numMetrics) && p->maxNumOfRanges == 1 &&
                 p->maxNumRangeTreeNodes >= 1);
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  std::memset(p->pCounterData, kData, p->counterDataSize);
  return allowed(p->counterDataSize == kDataBytes);
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  if (!filled(p->pConfig, p->configSize, kScheduleBytes, kSchedule) ||
      !filled(p->pCounterDataImage, p->counterDataImageSize, kDataBytes, kData) ||
      p->range != CUPTI_UserRange || p->replayMode != CUPTI_UserReplay ||
      p->maxRangesPerPass != 1 || p->numNestingLevels != 1 || p->minNestingLevel != 1 ||
      p->targetNestingLevel != 1)
    return CUPTI_ERROR_INVALID_OPERATION;
  p->pRangeProfilerObject->data = p->pCounterDataImage;
  return step(p->pRangeProfilerObject, CUpti_RangeProfiler_Object::enabled,
              CUpti_RangeProfiler_Object::configured);
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  return step(p->pRangeProfilerObject, CUpti_RangeProfiler_Object::configured,
              CUpti_RangeProfiler_Object::started);
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  return step(p->pRangeProfilerObject, CUpti_RangeProfiler_Object::started,
              CUpti_RangeProfiler_Object::inside);
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  return step(p->pRangeProfilerObject, CUpti_RangeProfiler_Object::inside,
              CUpti_RangeProfiler_Object::left);
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  p->isAllPassSubmitted = ++p->pRangeProfilerObject->passes == kPasses;
  return step(p->pRangeProfilerObject, CUpti_RangeProfiler_Object::left,
              CUpti_RangeProfiler_Object::configured);
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  CUpti_RangeProfiler_Object* object = p->pRangeProfilerObject;
  if (object->passes != kPasses) return CUPTI_ERROR_INVALID_OPERATION;
  std::memset(const_cast<std::uint8_t*>(object->data), kData + 1, kDataBytes);
  return step(object, CUpti_RangeProfiler_Object::configured, CUpti_RangeProfiler_Object::decoded);
}
}
