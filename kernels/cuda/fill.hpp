// Device data: reproducible inputs, poison, copies back.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/types.hpp"

namespace kernels::cuda {

/// How values come from kernels/values.hpp: random_value (full range), random_normal (int8:
/// random_value too), or random_integer within 4, whose sums of products are exact in fp32.
enum class Values { random, normal, integers };

/// A matrix as it lies in memory: `rows` rows of `columns` elements, `pitch` elements apart.
/// Element (r, c) holds logical element r * columns + c, or c * rows + r where it is stored
/// transposed.
struct Layout {
  std::int64_t rows, columns, pitch;
  bool transposed = false;
};

/// Fills with the value of (seed, logical index), the same that the host computes. What lies
/// between `columns` and `pitch` becomes poison.
void fill(Type type, void* p, const Layout& layout, std::uint64_t seed, Values values);

/// Fills with bf16(amplitude * fp32 value of (seed, index)), rounded once, as the host would.
void fill_scaled(bf16* p, std::int64_t n, std::uint64_t seed, float amplitude);

/// Sets every byte to 0xff: NaN in every floating format, -1 in integers.
void poison(void* p, std::size_t bytes);

/// `bytes` of device memory, copied to the host.
std::vector<std::byte> to_host(const void* p, std::size_t bytes);

/// The value that fill() writes for a logical index, widened.
double value_at(Type type, std::uint64_t seed, std::uint64_t index, Values values);

}  // namespace kernels::cuda
