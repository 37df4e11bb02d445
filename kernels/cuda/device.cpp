#include "kernels/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include <filesystem>
#include <system_error>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/cudnn.hpp"

namespace kernels::cuda {
namespace {

std::string version(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

std::int64_t attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess) return value;
  cudaGetLastError();  // else the next check would report it
  return 0;
}

std::string probe_fault() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  std::error_code error;
  // A container may get the driver's tools without its CUDA library.
  if (driver == 0 && std::filesystem::exists("/dev/nvidiactl", error))
    return "NVIDIA driver in the kernel, but libcuda.so.1 is not found";
  if (auto conflict = version_conflict(driver, runtime); !conflict.empty()) return conflict;
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
    return std::string("GPU unusable: ") + cudaGetErrorString(status);
  if (count == 0) return "NVIDIA driver present, but no GPU is visible";
  const auto major = static_cast<int>(attribute(cudaDevAttrComputeCapabilityMajor));
  if (auto conflict = ptx_conflict(major, driver, runtime); !conflict.empty()) return conflict;
  std::size_t free_bytes = 0, total_bytes = 0;
  if (const cudaError_t status = cudaMemGetInfo(&free_bytes, &total_bytes); status != cudaSuccess)
    return std::string("GPU unusable: ") + cudaGetErrorString(status);
  return {};
}

Device probe_device() {
  Device d;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  d.name = properties.name;
  char bus[32] = {};
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  d.pci_bus_id = bus;
  d.major = static_cast<int>(attribute(cudaDevAttrComputeCapabilityMajor));
  d.minor = static_cast<int>(attribute(cudaDevAttrComputeCapabilityMinor));
  d.sms = static_cast<int>(attribute(cudaDevAttrMultiProcessorCount));
  d.l2_bytes = attribute(cudaDevAttrL2CacheSize);
  d.shared_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  d.shared_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  d.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
  d.sm_clock_hz = 1e3 * static_cast<double>(attribute(cudaDevAttrClockRate));
  d.memory_clock_hz = 1e3 * static_cast<double>(attribute(cudaDevAttrMemoryClockRate));
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  d.memory_bytes = static_cast<std::int64_t>(total_bytes);
  d.memory_free_bytes = static_cast<std::int64_t>(free_bytes);
  CUDA_CHECK(cudaDriverGetVersion(&d.driver_version));
  CUDA_CHECK(cudaRuntimeGetVersion(&d.runtime_version));
  return d;
}

}  // namespace

void check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // else the next check would report a fault that has been dealt with
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory();
  throw Error(std::string(expression) + ": " + cudaGetErrorName(status) + " (" +
              cudaGetErrorString(status) + ") at " + file + ":" + std::to_string(line));
}

std::string version_conflict(int driver_version, int runtime_version) {
  if (driver_version == 0) return "no NVIDIA driver";
  if (driver_version / 1000 >= runtime_version / 1000) return {};
  return "NVIDIA driver too old: it supports CUDA " + version(driver_version) +
         ", this build needs CUDA " + version(runtime_version / 1000 * 1000) + " (built with " +
         version(runtime_version) + ")";
}

std::string ptx_conflict(int major, int driver_version, int runtime_version) {
  // As in kernels/CMakeLists.txt; below 8 nothing runs, which missing() says.
  const bool has_code = major <= 9 || ((major == 10 || major == 12) && runtime_version >= 12080);
  if (has_code || driver_version >= runtime_version) return {};
  return "NVIDIA driver too old for compute capability " + std::to_string(major) +
         ".x: it supports CUDA " + version(driver_version) + ", this build's PTX needs CUDA " +
         version(runtime_version);
}

bool capability_fits(Need need, int major, int minor) {
  if (need == Need::sm90a) return major == 9 && minor == 0;
  if (need == Need::fp8_mma) return (major == 8 && minor >= 9) || major == 12;
  return major >= 8;
}

const std::string& unusable() {
  static const std::string fault = probe_fault();
  return fault;
}

const Device& device() {
  static const Device d = probe_device();
  return d;
}

std::string missing(Need need) {
  if (!unusable().empty()) return unusable();
  const Device& d = device();
  if (!capability_fits(need, d.major, d.minor))
    return d.name + " has compute capability " + std::to_string(d.major) + "." +
           std::to_string(d.minor) +
           (need == Need::sm90a     ? ", this needs 9.0"
            : need == Need::fp8_mma ? ", this needs mma.sync in fp8: 8.9 or 12.x"
                                    : ", this needs 8.0");
  return need == Need::cublaslt ? missing_cublaslt()
         : need == Need::cublas ? missing_cublas()
         : need == Need::cudnn  ? missing_cudnn()
                                : std::string();
}

}  // namespace kernels::cuda
