#include "kernels/cuda/reference.hpp"

namespace kernels::cuda {
namespace {

constexpr int kBlocks = 256, kThreads = 256;

/// Each thread's own sum; the host adds them up.
__global__ void dot_kernel(Type type, const void* x, const void* y, std::int64_t n, double* sums) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0;
  for (std::int64_t i = thread; i < n; i += gridDim.x * blockDim.x)
    sum += load_as_double(type, x, i) * load_as_double(type, y, i);
  sums[thread] = sum;
}

__global__ void word_sum_kernel(const std::uint32_t* p, std::int64_t n, std::uint32_t* sum) {
  std::uint32_t mine = 0;
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += p[i];
  atomicAdd(sum, mine);
}

__global__ void wrong_kernel(const float* a, const float* b, const float* c, float s,
                             std::int64_t n, unsigned long long* wrong) {
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float expected = b == nullptr ? s : c == nullptr ? b[i] : b[i] + s * c[i];
    if (a[i] != expected) atomicAdd(wrong, 1ull);
  }
}

/// A thread a row of the logical matrix; a row of one that is stored transposed is a column in
/// memory.
__global__ void rows_kernel(Type type, const void* a, Layout l, const double* v, double* out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= (l.transposed ? l.columns : l.rows)) return;
  const std::int64_t first = l.transposed ? row : row * l.pitch;
  const std::int64_t step = l.transposed ? l.pitch : 1;
  const std::int64_t count = l.transposed ? l.rows : l.columns;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += load_as_double(type, a, first + i * step) * v[i];
  out[row] = sum;
}

__global__ void entries_kernel(Type x_type, const void* x, Layout lx, Type y_type, const void* y,
                               Layout ly, Entry* entries, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Entry& e = entries[i];
  double value = 0, magnitude = 0;
  for (std::int64_t k = 0; k < lx.columns; ++k) {
    const std::int64_t at = ly.transposed ? e.column * ly.pitch + k : k * ly.pitch + e.column;
    const double p =
        load_as_double(x_type, x, e.row * lx.pitch + k) * load_as_double(y_type, y, at);
    value += p;
    magnitude += fabs(p);
  }
  e.value = value;
  e.magnitude = magnitude;
}

template <class T>
Memory to_device(const std::vector<T>& host) {
  Memory memory = allocate(host.size() * sizeof(T));
  CUDA_CHECK(
      cudaMemcpy(memory.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
void from_device(std::vector<T>& host, const Memory& memory) {
  CUDA_CHECK(
      cudaMemcpy(host.data(), memory.get(), host.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

}  // namespace

double dot_reference(Type type, const void* x, const void* y, std::int64_t n) {
  std::vector<double> sums(kBlocks * kThreads);
  const Memory on_device = allocate(sums.size() * sizeof(double));
  dot_kernel<<<kBlocks, kThreads>>>(type, x, y, n, as<double>(on_device));
  CUDA_CHECK_LAUNCH("dot reference");
  from_device(sums, on_device);
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

std::uint32_t word_sum(const void* p, std::int64_t n) {
  std::vector<std::uint32_t> sum(1, 0);
  const Memory on_device = to_device(sum);
  word_sum_kernel<<<kBlocks, kThreads>>>(static_cast<const std::uint32_t*>(p), n,
                                         as<std::uint32_t>(on_device));
  CUDA_CHECK_LAUNCH("word sum reference");
  from_device(sum, on_device);
  return sum[0];
}

std::int64_t count_wrong(const float* a, const float* b, const float* c, float s, std::int64_t n) {
  std::vector<unsigned long long> wrong(1, 0);
  const Memory on_device = to_device(wrong);
  wrong_kernel<<<kBlocks, kThreads>>>(a, b, c, s, n, as<unsigned long long>(on_device));
  CUDA_CHECK_LAUNCH("count of wrong elements");
  from_device(wrong, on_device);
  return static_cast<std::int64_t>(wrong[0]);
}

std::vector<double> times_vector(Type type, const void* a, const Layout& layout,
                                 const std::vector<double>& v) {
  const Memory vector = to_device(v);
  const std::int64_t rows = layout.transposed ? layout.columns : layout.rows;
  const Memory result = allocate(rows * sizeof(double));
  rows_kernel<<<static_cast<unsigned>((rows + 31) / 32), 32>>>(type, a, layout, as<double>(vector),
                                                               as<double>(result));
  CUDA_CHECK_LAUNCH("matrix times vector reference");
  std::vector<double> out(rows);
  from_device(out, result);
  return out;
}

void product_entries(Type x_type, const void* x, const Layout& x_layout, Type y_type, const void* y,
                     const Layout& y_layout, std::vector<Entry>& entries) {
  const Memory on_device = to_device(entries);
  const int count = static_cast<int>(entries.size());
  entries_kernel<<<(count + 31) / 32, 32>>>(x_type, x, x_layout, y_type, y, y_layout,
                                            as<Entry>(on_device), count);
  CUDA_CHECK_LAUNCH("product entries reference");
  from_device(entries, on_device);
}

}  // namespace kernels::cuda
