// The list of kernels (kernels.def) as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/op.hpp"

namespace kernels {

/// What a kernel needs of the machine that it runs on. The order tells: a CPU's instruction sets,
/// its libraries from `openblas` to `ggml`, a GPU's from `sm80` on, its libraries from `cublaslt`
/// on.
enum class Need {
  none,
  avx2,
  avx512,
  avx512_bf16,
  avx512_vnni,
  avx_vnni,
  amx,
  neon,
  neon_dotprod,
  neon_bf16,
  openblas,
  blis,
  aocl_blas,
  aocl_dlp,
  onednn,
  mkl,
  ggml,
  sm80,
  fp8_mma,
  sm90a,
  cublaslt,
  cublas,
  cub,
  cudnn,
};

enum class Threads { one, any };

struct KernelInfo {
  std::string_view op, variant;
  Need needs;
  Threads threads;
  std::string_view idea;
  const void* table;  ///< the operation's own `Kernel`
  bool gpu() const { return needs >= Need::sm80; }
  bool library() const {
    return (needs >= Need::openblas && needs <= Need::ggml) || needs >= Need::cublaslt;
  }
};

struct OperationInfo {
  std::string_view name, what;
  bool gpu;
  const Operation* operation;
};

std::span<const OperationInfo> operations();
std::span<const KernelInfo> all_kernels();

/// Empty if this machine can run a kernel with that need, else the reason, in words.
std::string missing(Need need);

/// VARIABLE=value by which a library that does not know this CPU would use more of it; empty for
/// all others.
std::string tuned(Need need);

/// The operation that a kernel belongs to, on the kernel's device.
const Operation& operation_of(const KernelInfo& kernel);

}  // namespace kernels
