// The constants and structs of <oneapi/dnnl/dnnl.h> that are used, by hand: one binary serves
// versions 2 and 3, whose headers exclude each other. peers_test.cpp holds them against the header
// where one is installed.
#pragma once

#include <cstddef>

namespace kernels::peers::dnnl {

inline constexpr int kMaxDims = 12;
inline constexpr int kSuccess = 0, kUnimplemented = 3;
inline constexpr int kCpu = 1, kTagAny = 1, kQueryWeights = 131;
inline constexpr unsigned kDefaultStream = 1, kOpenMp = 2;
inline constexpr int kArgSrc = 1, kArgDst = 17, kArgWeights = 33, kArgFrom = 1, kArgTo = 17;

/// A memory description is a struct of this size in version 2 and a pointer in version 3; functions
/// that read one take an address in both.
inline constexpr std::size_t kDescBytesV2 = 696, kMatmulDescBytesV2 = 2800;

struct Argument {
  int which;
  void* memory;
};

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

}  // namespace kernels::peers::dnnl
