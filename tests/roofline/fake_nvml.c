/* A driver library with made-up GPUs: one, or FAKE_NVML_COUNT. FAKE_NVML_FAULT makes nvmlInit fail
 * with that code, FAKE_NVML_MIG=1 says that they are cut into slices. FAKE_NVML_LOG names a file that
 * gets a line for each nvmlInit and nvmlShutdown. FAKE_NVML_HIDDEN is how many of the first are kept
 * from this process. FAKE_NVML_FREE is their free memory, FAKE_NVML_MODE
 * their compute mode. A slice has 10 GB, of which 9 are free. FAKE_NVML_INSTANT is the power
 * at the moment, in mW; without it this driver does not tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Device;
struct Memory {
  unsigned long long total, free, used;
};

static void note(const char* line) {
  const char* name = getenv("FAKE_NVML_LOG");
  FILE* file = name ? fopen(name, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s\n", line);
  fclose(file);
}
int nvmlInit_v2(void) {
  const char* fault = getenv("FAKE_NVML_FAULT");
  note("init");
  return fault ? atoi(fault) : 0;
}
int nvmlShutdown(void) {
  note("shutdown");
  return 0;
}
const char* nvmlErrorString(int code) {
  return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  strncpy(text, "550.54.15", size);
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12040;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const char* asked = getenv("FAKE_NVML_COUNT");
  *count = asked ? atoi(asked) : 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  static char handles[8];
  const char* hidden = getenv("FAKE_NVML_HIDDEN");
  if (hidden && (int)index < atoi(hidden)) return 4; /* no permission */
  *device = handles + index;
  return index < sizeof handles ? 0 : 2;
}
static char slice[1];
int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  *device = slice;
  return strncmp(uuid, "MIG-", 4) == 0 ? 0 : 6;
}
int nvmlDeviceGetComputeMode(Device device, unsigned* mode) {
  const char* asked = getenv("FAKE_NVML_MODE");
  (void)device;
  *mode = asked ? atoi(asked) : 0;
  return 0;
}
int nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  unsigned index = 0;
  Device other;
  while (nvmlDeviceGetHandleByIndex_v2(index, &other) == 0 && other != device) ++index;
  snprintf(text, size, "GPU-%u000aaaa-1111-2222-3333-444455556666", index);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device* device) {
  return strcmp(id, "0000:01:00.0") == 0 ? nvmlDeviceGetHandleByIndex_v2(0, device) : 6;
}
struct FieldValue {
  unsigned field, scope;
  long long time, latency;
  int type, status;
  union {
    double real;
    unsigned number;
  } value;
};
int nvmlDeviceGetFieldValues(Device device, int count, struct FieldValue* values) {
  const char* asked = getenv("FAKE_NVML_INSTANT");
  (void)device;
  for (int i = 0; i < count; ++i) {
    values[i].status = asked && values[i].field == 186 ? 0 : 3;
    values[i].type = 1;
    values[i].value.number = asked ? atoi(asked) : 0;
  }
  return 0;
}
int nvmlDeviceGetName(Device device, char* text, unsigned size) {
  (void)device;
  strncpy(text, "NVIDIA H100 80GB HBM3", size);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  (void)device;
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device device, struct Memory* memory) {
  const char* asked = getenv("FAKE_NVML_FREE");
  memory->total = device == slice ? 10000000000ull : 85520809984ull;
  memory->free = device == slice ? 9000000000ull : asked ? strtoull(asked, NULL, 10) : 85000000000ull;
  memory->used = memory->total - memory->free;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(Device device, unsigned which, unsigned* mhz) {
  (void)device;
  *mhz = which == 2 ? 2619 : 1980;
  return 0;
}
int nvmlDeviceGetClockInfo(Device device, unsigned which, unsigned* mhz) {
  (void)device;
  *mhz = which == 2 ? 2600 : 1755;
  return 0;
}
int nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  (void)device;
  *milliwatts = 512500;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  (void)device;
  *reasons = 0x44;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  (void)device;
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetEccMode(Device device, unsigned* now, unsigned* pending) {
  (void)device;
  *now = *pending = 1;
  return 0;
}
int nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  if (device == slice) return 3;
  *now = *pending = getenv("FAKE_NVML_MIG") != NULL;
  return 0;
}
int nvmlDeviceGetApplicationsClock(Device device, unsigned which, unsigned* mhz) {
  (void)device, (void)which;
  *mhz = 1410;
  return 0;
}
int nvmlDeviceGetRemappedRows(Device device, unsigned* correctable, unsigned* uncorrectable,
                              unsigned* pending, unsigned* failed) {
  (void)device;
  *correctable = 1;
  *uncorrectable = 2;
  *pending = 0;
  *failed = 1;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  (void)device;
  *width = 16;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, void* infos) {
  (void)device, (void)infos;
  *count = 2;
  return 7; /* NVML_ERROR_INSUFFICIENT_SIZE: what it says to a question for the count only */
}
int nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned* count, void* infos) {
  (void)device, (void)infos;
  *count = 1;
  return 7;
}
