// stream: bandwidth of reading, writing, copying and the triad. A probe for the memory roofs.
#pragma once

#include <cstdint>

#include "kernels/op.hpp"

namespace kernels::stream {

/// One variant: serial loops over n floats (n a multiple of the grain, arrays 64-byte aligned), the
/// whole done `repeats` times in a row. nullptr where the variant does not have it.
///
/// Bytes are what the loop asks for: copy counts 4n read and 4n written, triad 8n read and 4n
/// written. The line that an ordinary store first fetches (write-allocate) is NOT counted; the _nt
/// loops store past the caches, so that nothing is fetched.
struct Kernel {
  const char* exec_unit;
  std::int64_t least_size = 0, most_size = 0;  ///< bytes a thread that the loops are for; 0: any
  /// The values' bits under exclusive or, of the last time; before that they are only loaded.
  std::uint32_t (*read)(const float* a, std::int64_t n, std::int64_t repeats) = nullptr;
  void (*write)(float* a, float value, std::int64_t n, std::int64_t repeats) = nullptr;
  void (*copy)(float* a, const float* b, std::int64_t n, std::int64_t repeats) = nullptr;
  /// a = b + s * c
  void (*triad)(float* a, const float* b, const float* c, float s, std::int64_t n,
                std::int64_t repeats) = nullptr;
  void (*write_nt)(float* a, float value, std::int64_t n, std::int64_t repeats) = nullptr;
  void (*copy_nt)(float* a, const float* b, std::int64_t n, std::int64_t repeats) = nullptr;
  void (*triad_nt)(float* a, const float* b, const float* c, float s, std::int64_t n,
                   std::int64_t repeats) = nullptr;
};

/// Floats that n is a multiple of: sixteen AVX-512 vectors, and 32 for a read.
inline constexpr std::int64_t kGrain = 256, kReadGrain = 512;

}  // namespace kernels::stream
