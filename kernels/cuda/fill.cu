#include <algorithm>

#include "kernels/cuda/fill.hpp"
#include "kernels/values.hpp"

namespace kernels::cuda {
namespace {

template <class T>
__host__ __device__ T make_value(std::uint64_t seed, std::uint64_t i, Values values) {
  if constexpr (!std::is_integral_v<T>)
    if (values == Values::normal) return random_normal<T>(seed, i);
  return values == Values::integers ? random_integer<T>(seed, i, 4) : random_value<T>(seed, i);
}

template <>
__host__ __device__ __half make_value<__half>(std::uint64_t seed, std::uint64_t i, Values values) {
  return __float2half_rn(make_value<float>(seed, i, values));
}

template <>
__host__ __device__ __nv_fp8_e4m3 make_value<__nv_fp8_e4m3>(std::uint64_t seed, std::uint64_t i,
                                                            Values values) {
  return __nv_fp8_e4m3(make_value<float>(seed, i, values));
}

template <class T>
__global__ void fill_kernel(T* p, Layout layout, std::uint64_t seed, Values values) {
  const std::int64_t total = layout.rows * layout.pitch;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) {
    const std::int64_t row = i / layout.pitch, column = i % layout.pitch;
    if (column < layout.columns) {
      p[i] = make_value<T>(
          seed, layout.transposed ? column * layout.rows + row : row * layout.columns + column,
          values);
    } else {
      memset(p + i, 0xff, sizeof(T));
    }
  }
}

__global__ void fill_scaled_kernel(bf16* p, std::int64_t n, std::uint64_t seed, float amplitude) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    p[i] = bf16(amplitude * random_value<float>(seed, i));
}

constexpr std::int64_t kThreads = 256;

unsigned blocks_for(std::int64_t elements) {
  constexpr std::int64_t kMost = 1024;
  return static_cast<unsigned>(std::min((elements + kThreads - 1) / kThreads, kMost));
}

template <class T>
void launch(void* p, const Layout& layout, std::uint64_t seed, Values values) {
  fill_kernel<<<blocks_for(layout.rows * layout.pitch), kThreads>>>(static_cast<T*>(p), layout,
                                                                    seed, values);
  CUDA_CHECK_LAUNCH("fill");
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace

void fill(Type type, void* p, const Layout& layout, std::uint64_t seed, Values values) {
  switch (type) {
    case Type::f64:
      return launch<double>(p, layout, seed, values);
    case Type::f32:
    case Type::tf32:
      return launch<float>(p, layout, seed, values);
    case Type::bf16:
      return launch<bf16>(p, layout, seed, values);
    case Type::f16:
      return launch<__half>(p, layout, seed, values);
    case Type::e4m3:
      return launch<__nv_fp8_e4m3>(p, layout, seed, values);
    case Type::s8:
      return launch<std::int8_t>(p, layout, seed, values);
    case Type::s32:
    case Type::s64:
      throw BadInput("fill: an accumulator type is no input");
  }
}

void fill_scaled(bf16* p, std::int64_t n, std::uint64_t seed, float amplitude) {
  fill_scaled_kernel<<<blocks_for(n), kThreads>>>(p, n, seed, amplitude);
  CUDA_CHECK_LAUNCH("fill");
  CUDA_CHECK(cudaDeviceSynchronize());
}

double value_at(Type type, std::uint64_t seed, std::uint64_t index, Values values) {
  switch (type) {
    case Type::f64:
      return make_value<double>(seed, index, values);
    case Type::f32:
    case Type::tf32:
      return make_value<float>(seed, index, values);
    case Type::bf16:
      return static_cast<double>(make_value<bf16>(seed, index, values));
    case Type::f16:
      return __half2float(make_value<__half>(seed, index, values));
    case Type::e4m3:
      return static_cast<float>(make_value<__nv_fp8_e4m3>(seed, index, values));
    case Type::s8:
      return make_value<std::int8_t>(seed, index, values);
    case Type::s32:
    case Type::s64:
      break;
  }
  throw BadInput("fill: an accumulator type is no input");
}

void poison(void* p, std::size_t bytes) {
  CUDA_CHECK(cudaMemset(p, 0xff, bytes));
  CUDA_CHECK(cudaDeviceSynchronize());
}

std::vector<std::byte> to_host(const void* p, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  CUDA_CHECK(cudaMemcpy(host.data(), p, bytes, cudaMemcpyDeviceToHost));
  return host;
}

Type parse_type(std::string_view op, std::string_view dtype) {
  constexpr struct {
    std::string_view name;
    Type type;
  } kNames[] = {{"f64", Type::f64},   {"f32", Type::f32}, {"tf32", Type::tf32},
                {"bf16", Type::bf16}, {"f16", Type::f16}, {"e4m3", Type::e4m3},
                {"s8", Type::s8}};
  for (const auto& [name, type] : kNames)
    if (name == dtype) return type;
  throw BadInput(std::string(op) + ": dtype '" + std::string(dtype) +
                 "' (GPU kernels know: f64, f32, tf32, bf16, f16, e4m3, s8)");
}

}  // namespace kernels::cuda
