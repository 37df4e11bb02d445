// stream on a GPU: the contract of its variants. The size of a case is the working set of the whole
// chip, all arrays together.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace kernels::stream {

/// Device memory, 256-byte aligned; n floats each, a multiple of kGpuGrain. The whole is done
/// `repeats` times inside one launch.
struct GpuArguments {
  float *a, *b, *c;
  float s;
  std::int64_t n;
  std::int64_t repeats;
  std::uint32_t* sum;  ///< read: every warp adds the 32-bit words it saw, modulo 2^32
  int sms;
  /// Elements that a `per_sm` variant moves on by after each pass: 0, which the compiler must not
  /// know, or it reads once what all passes read.
  std::int64_t hop = 0;
  int step =
      1;  ///< slices that a block moves on by after each pass; of variants that are not per_sm
};

/// Whether two blocks that read the same slice so many passes apart, up to a fifth of the SMs, are
/// three SMs apart or more: blocks do not wait for each other, and over the thousands of passes of
/// a launch some lead by several.
constexpr bool stays_apart(int sms, int step) {
  for (int passes = 1; passes <= sms / 5; ++passes) {
    const int moved = passes * step % sms;
    if (std::min(moved, sms - moved) < 3) return false;
  }
  return true;
}

/// Coprime to the number of blocks, so that each comes to every slice, and as near to the golden
/// section of the SMs as stays_apart(): what an SM has read is asked for next by one far from it,
/// which is as far from the next one again.
constexpr int slice_step(int sms, int blocks_per_sm) {
  const int golden = sms * 382 / 1000;
  for (int off = 0; off < sms; ++off)
    for (const int step : {golden - off, golden + off})
      if (step > 0 && std::gcd(step, sms * blocks_per_sm) == 1 && stays_apart(sms, step))
        return step;
  return 1;
}

using GpuLaunch = void (*)(const GpuArguments&, cudaStream_t);

/// Bytes as on the CPU (stream.hpp): copy 4n + 4n, triad 8n + 4n, nothing for write-allocate.
struct GpuKernel {
  GpuLaunch read = nullptr, write = nullptr, copy = nullptr, triad = nullptr;
  /// Reads L1 or shared memory instead: each SM its own slice of `a`, brought in once a launch.
  bool per_sm = false;
};

inline constexpr std::int64_t kGpuGrain = 4;

/// What the variants `per_sm` read of an SM's memory; bytes.
inline constexpr std::int64_t kSmSlice = 32 << 10;

}  // namespace kernels::stream
