// Idea: few rows: the weights stream once through a ring in shared memory; K is split over as many
// blocks as fill the chip, and the last of those that share columns adds their parts up.
// Bound: the HBM roof, by the weights' bytes; launch time where they are few.
// Gains over v5 (expected, not measured yet): every SM has at least 32 KB of weights on their way,
// also where N has fewer tiles than the chip SMs; no work on rows that are not there.
#include <cuda_fp8.h>

#include <algorithm>
#include <memory>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/mma_tile.hpp"
#include "kernels/matmul/widen.cuh"

namespace kernels::matmul {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kColumns = 128;   ///< of Z, a block's
constexpr int kStepBytes = 64;  ///< of K, of a row of Y
constexpr int kThreads = 128;   ///< each warp has 32 columns and all rows
constexpr int kWarpN = 32;
constexpr int kBlocksPerSm = 2;
constexpr int kMaxRows = 64;
constexpr int kLeastSteps = 4;  ///< of a part of K: below, starting the ring takes longer

struct Bf16 {
  using Accumulator = float;
  static constexpr int kXBytes = 2, kYBytes = 2;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_bf16(d, a, b);
  }
};
struct F16 {
  using Accumulator = float;
  static constexpr int kXBytes = 2, kYBytes = 2;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_f16(d, a, b);
  }
};
struct S8 {
  using Accumulator = int;
  static constexpr int kXBytes = 1, kYBytes = 1;
  static __device__ __forceinline__ void mma(int (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_s8(d, a, b);
  }
};
struct Tf32 {
  using Accumulator = float;
  static constexpr int kXBytes = 4, kYBytes = 4;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_tf32(d, a, b);
  }
};
/// Both operands become fp16 in registers, exactly, and their sums are whole fp32; Hopper has no
/// faster mma.sync in fp8 either. Bytes 0, 1 and 2, 3 of a word take the places of 2q, 2q + 1 and
/// 2q + 8, 2q + 9 in both operands.
struct E4m3 {
  using Accumulator = float;
  static constexpr int kXBytes = 1, kYBytes = 1;
  static __device__ __forceinline__ std::uint32_t widened(std::uint32_t pair) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    const __half2_raw both =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), __NV_E4M3);
    return both.x | static_cast<std::uint32_t>(both.y) << 16;
#else
    // No such instruction. Exponent and fraction where fp16 has its own are 2^8 too small, as the
    // biases are 7 and 15. NaN becomes 480: CUDA's own way in software takes so many registers that
    // sums are spilled.
    constexpr std::uint32_t k256 = 0x5c005c00;
    const std::uint32_t apart = __byte_perm(pair, 0, 0x4140);
    std::uint32_t both = (apart & 0x00800080u) << 8 | (apart & 0x007f007fu) << 7;
    ptx::fma_f16x2(both, k256, 0);
    return both;
#endif
  }
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {  // 16 of K
      const std::uint32_t x[4] = {widened(a[2 * i]), widened(a[2 * i + 1]), widened(a[2 * i] >> 16),
                                  widened(a[2 * i + 1] >> 16)};
      const std::uint32_t y[2] = {widened(b[i]), widened(b[i] >> 16)};
      ptx::mma_f16(d, x, y);
    }
  }
};
/// Weights become bf16 in registers, exactly.
struct Bf16xS8 : Bf16 {
  static constexpr int kYBytes = 1;
};

/// 64 bytes of K of Y's columns, and the same stretch of X's rows.
template <class Type, int kRows>
struct Stage {
  static constexpr int kParts = Type::kXBytes / Type::kYBytes;  ///< of 64 bytes of a row of X
  /// [N][64 B of K], or 16-bit [32 of K][256 B of N]
  alignas(128) unsigned char y[kColumns * kStepBytes];
  alignas(128) unsigned char x[kParts][kRows * kStepBytes];  ///< [M][64 B of K]
};

template <class Type, int kRows>
struct Shared {
  static constexpr int kStages = kRows == 16 ? 8 : 5;
  Stage<Type, kRows> stages[kStages];
  bool last;  ///< this block is the last of those that share columns
};
static_assert(kBlocksPerSm * sizeof(Shared<Bf16xS8, 64>) <= 163 << 10, "an A100's shared memory");

/// Parts of Z that blocks leave to the last one, and how many have.
struct Parts {
  cuda::Memory sums, finished;
  int splits;
};

/// Bytes of a 16-byte chunk at element `i` of a row of `n` that belong to the row.
template <int bytes>
__device__ __forceinline__ int valid_bytes(std::int64_t i, std::int64_t n) {
  const std::int64_t left = (n - i) * bytes;
  return left <= 0 ? 0 : left >= 16 ? 16 : static_cast<int>(left);
}

/// The A fragment of 16 bf16 of K as lane (g, q) needs it beside widened bytes: those of a row of Y
/// are 4q … 4q + 3, where the instruction has 2q, 2q + 1, 2q + 8, 2q + 9. Any order of K will do if
/// X is in the same one.
__device__ __forceinline__ void load_x_by_fours(std::uint32_t (&r)[4], const unsigned char* part,
                                                int lane, int first_row, int group) {
  const int q = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + lane / 4 + 8 * half;
    const auto* from = part + at_64(row, 2 * group + q / 2) + q % 2 * 8;
    const uint2 v = *reinterpret_cast<const uint2*>(from);
    r[half] = v.x;
    r[half + 2] = v.y;
  }
}

template <class Type, int kRows>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    splitk_kernel(GpuArguments a, typename Type::Accumulator* sums, unsigned* finished) {
  using Accumulator = typename Type::Accumulator;
  constexpr int kX = Type::kXBytes, kY = Type::kYBytes, kStep = kStepBytes / kY;
  constexpr bool kTransposed = kY != 2, kWidens = kX != kY;
  constexpr int kParts = Stage<Type, kRows>::kParts, kStages = Shared<Type, kRows>::kStages;
  auto& shared = ptx::dynamic_shared<Shared<Type, kRows>>();

  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int split = blockIdx.y, splits = gridDim.y, batch = blockIdx.z;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kColumns;
  const auto* x = static_cast<const unsigned char*>(a.x) + batch * a.x_stride * kX;
  const auto* y = static_cast<const unsigned char*>(a.y) + batch * a.y_stride * kY;
  const int steps = static_cast<int>((a.k + kStep - 1) / kStep);
  const int first = static_cast<int>(std::int64_t{steps} * split / splits);
  const int end = static_cast<int>(std::int64_t{steps} * (split + 1) / splits);

  const auto copy = [&](int slot, int step) {
    if (step < end) {
      auto& stage = shared.stages[slot];
      const std::int64_t k = std::int64_t{step} * kStep;
#pragma unroll
      for (int i = t; i < kColumns * 4; i += kThreads) {
        if constexpr (kTransposed) {
          const int r = i / 4, c = i % 4;
          const std::int64_t at = k + c * 16 / kY, row = first_column + r;
          const int valid = row < a.n ? valid_bytes<kY>(at, a.k) : 0;
          ptx::copy_async_16(stage.y + at_64(r, c),
                             y + (valid > 0 ? (row * a.y_pitch + at) * kY : 0), valid);
        } else {
          const int r = i / 16, c = i % 16;
          const std::int64_t at = first_column + c * 16 / kY, row = k + r;
          const int valid = row < a.k ? valid_bytes<kY>(at, a.n) : 0;
          ptx::copy_async_16(stage.y + at_256(r, c),
                             y + (valid > 0 ? (row * a.y_pitch + at) * kY : 0), valid);
        }
      }
#pragma unroll
      for (int i = t; i < kParts * kRows * 4; i += kThreads) {
        const int part = i / (kRows * 4), r = i / 4 % kRows, c = i % 4;
        const std::int64_t at = k + (part * kStepBytes + c * 16) / kX;
        const int valid = r < a.m ? valid_bytes<kX>(at, a.k) : 0;
        ptx::copy_async_16(stage.x[part] + at_64(r, c),
                           x + (valid > 0 ? (r * a.x_pitch + at) * kX : 0), valid);
      }
    }
    ptx::copy_async_commit();  // an empty group too, so that the count of groups stays right
  };

  Accumulator d[kRows / 16][kWarpN / 8][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) copy(s, first + s);
  int slot = 0;
  for (int step = first; step < end; ++step) {
    ptx::copy_async_wait<kStages - 2>();
    __syncthreads();  // this stage is there for all, and the one before it is free
    copy((slot + kStages - 1) % kStages, step + kStages - 1);
    const auto& stage = shared.stages[slot];
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 32 bytes of K of a row of Y
      std::uint32_t yf[kWarpN / 16][4];
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j) {
        const int column = warp * kWarpN + 16 * j;
        if constexpr (kTransposed)
          ptx::load_matrix_x4(yf[j], stage.y + y_fragment_row_nk(lane, column, half));
        else
          ptx::load_matrix_x4_transposed(yf[j], stage.y + y_fragment_row_kn(lane, column, half));
      }
#pragma unroll
      for (int i = 0; i < kRows / 16; ++i) {
        if constexpr (kWidens) {
#pragma unroll
          for (int chunk = 0; chunk < 2; ++chunk) {  // 16 of K
            std::uint32_t xf[4];
            load_x_by_fours(xf, stage.x[half], lane, 16 * i, chunk);
#pragma unroll
            for (int j = 0; j < kWarpN / 8; ++j) {
              const std::uint32_t bytes = yf[j / 2][j % 2 * 2 + chunk];
              const std::uint32_t b[2] = {widen_low(bytes), widen_high(bytes)};
              Type::mma(d[i][j], xf, b);
            }
          }
        } else {
          std::uint32_t xf[4];
          ptx::load_matrix_x4(xf, stage.x[0] + x_fragment_row(lane, 16 * i, half));
#pragma unroll
          for (int j = 0; j < kWarpN / 8; ++j) {
            const std::uint32_t b[2] = {yf[j / 2][j % 2 * 2], yf[j / 2][j % 2 * 2 + 1]};
            Type::mma(d[i][j], xf, b);
          }
        }
      }
    }
    slot = (slot + 1) % kStages;
  }

  if (splits > 1) {
    // A part is [register][thread]: writing and reading are both contiguous over a warp.
    constexpr int kPart = kRows * kColumns;
    const std::int64_t tile = std::int64_t{batch} * gridDim.x + blockIdx.x;
    Accumulator* parts = sums + tile * splits * kPart + t;
#pragma unroll
    for (int r = 0; r < kPart / kThreads; ++r)
      parts[split * kPart + r * kThreads] = d[r / 16][r / 4 % 4][r % 4];
    __threadfence();  // the part is visible before it is counted
    __syncthreads();
    if (t == 0)
      shared.last = atomicInc(finished + tile, splits - 1) == static_cast<unsigned>(splits - 1);
    __syncthreads();
    if (!shared.last) return;
    __threadfence();  // and the others' parts are read after they were counted
#pragma unroll
    for (int r = 0; r < kPart / kThreads; ++r) d[r / 16][r / 4 % 4][r % 4] = 0;
    for (int s = 0; s < splits; ++s)  // in the same order always
#pragma unroll
      for (int r = 0; r < kPart / kThreads; ++r)
        d[r / 16][r / 4 % 4][r % 4] += __ldcg(parts + s * kPart + r * kThreads);
  }

  auto* z = static_cast<Accumulator*>(a.z) + batch * a.z_stride;
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const std::int64_t row = 16 * i + lane / 4 + 8 * (r / 2);
        const std::int64_t column = first_column + warp * kWarpN + 8 * j + 2 * (lane % 4) + r % 2;
        if (row >= a.m || column >= a.n) continue;
        Accumulator value = d[i][j][r];
        if constexpr (kWidens) value *= a.scales[batch * a.n + column];
        z[row * a.z_pitch + column] = value;
      }
}

unsigned tiles(const GpuArguments& a) {
  return static_cast<unsigned>((a.n + kColumns - 1) / kColumns);
}

template <class Type, int kRows>
void launch_rows(const GpuArguments& a, cudaStream_t stream) {
  const auto& parts = *static_cast<const Parts*>(a.state);
  const dim3 blocks(tiles(a), static_cast<unsigned>(parts.splits), static_cast<unsigned>(a.batch));
  splitk_kernel<Type, kRows><<<blocks, kThreads, sizeof(Shared<Type, kRows>), stream>>>(
      a, cuda::as<typename Type::Accumulator>(parts.sums), cuda::as<unsigned>(parts.finished));
  CUDA_CHECK_LAUNCH("split-K matmul");
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  if (a.m <= 16)
    launch_rows<Type, 16>(a, stream);
  else
    launch_rows<Type, kMaxRows>(a, stream);
}

template <class Type>
void allow_shared_for_all() {
  cuda::allow_shared(splitk_kernel<Type, 16>, sizeof(Shared<Type, 16>));
  cuda::allow_shared(splitk_kernel<Type, kMaxRows>, sizeof(Shared<Type, kMaxRows>));
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  allow_shared_for_all<Bf16>();
  allow_shared_for_all<F16>();
  allow_shared_for_all<S8>();
  allow_shared_for_all<Tf32>();
  allow_shared_for_all<E4m3>();
  allow_shared_for_all<Bf16xS8>();
  int device = 0, sms = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  const std::int64_t columns = tiles(a) * a.batch;
  const std::int64_t step = kStepBytes / cuda::size_of(types.y);
  const std::int64_t most = (a.k + step - 1) / step / kLeastSteps;
  auto parts = std::make_shared<Parts>();
  parts->splits = static_cast<int>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(kBlocksPerSm * sms / columns, most)));
  parts->sums = cuda::allocate(columns * parts->splits * kMaxRows * kColumns * 4);
  parts->finished = cuda::allocate(columns * sizeof(unsigned));
  CUDA_CHECK(cudaMemset(parts->finished.get(), 0, columns * sizeof(unsigned)));
  return parts;
}

}  // namespace

/// The rows of a small M are all in one block; a warp makes 32 columns of them.
extern const GpuKernel sm80_splitk = {.exec_unit = "mma",
                                      .bf16 = launch<Bf16>,
                                      .f16 = launch<F16>,
                                      .tf32_pre = launch<Tf32>,
                                      .e4m3 = launch<E4m3>,
                                      .s8 = launch<S8>,
                                      .bf16xs8 = launch<Bf16xS8>,
                                      .tiles = {.block_m = kMaxRows,
                                                .block_n = kColumns,
                                                .block_k = kStepBytes,
                                                .warp_m = kMaxRows,
                                                .warp_n = kWarpN},
                                      .max_m = kMaxRows,
                                      .open = open};

}  // namespace kernels::matmul
