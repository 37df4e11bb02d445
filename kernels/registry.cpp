#include "kernels/registry.hpp"

#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/peers/peers.hpp"

#ifdef ROOFLINE_HAS_CUDA
#include "kernels/cuda/device.hpp"
#define IF_CUDA(...) __VA_ARGS__
#else
#define IF_CUDA(...)
#endif

// What a build for this architecture has, by what a kernel needs.
#define KEEP(...) __VA_ARGS__
#define DROP(...)
#if defined(__x86_64__)
#define IF_X86 KEEP
#else
#define IF_X86 DROP
#endif
#if defined(__aarch64__)
#define IF_ARM KEEP
#else
#define IF_ARM DROP
#endif
#define IF_none KEEP
#define IF_avx2 IF_X86
#define IF_avx512 IF_X86
#define IF_avx512_bf16 IF_X86
#define IF_avx512_vnni IF_X86
#define IF_avx_vnni IF_X86
#define IF_amx IF_X86
#define IF_neon IF_ARM
#define IF_neon_dotprod IF_ARM
#define IF_neon_bf16 IF_ARM
#define IF_openblas KEEP
#define IF_blis KEEP
#define IF_aocl_blas IF_X86
#define IF_aocl_dlp IF_X86
#define IF_onednn KEEP
#define IF_mkl KEEP
#define IF_ggml KEEP

#define OPERATION(op, what)         \
  namespace op {                    \
  extern const Operation operation; \
  }
#define GPU_OPERATION(op, what) IF_CUDA(namespace op { extern const Operation gpu_operation; })
#define KERNEL(op, variant, needs, threads, idea) \
  IF_##needs(namespace op {                       \
    struct Kernel;                                \
    extern const Kernel variant;                  \
  })
#define GPU_KERNEL(op, variant, needs, idea) \
  IF_CUDA(namespace op {                     \
    struct GpuKernel;                        \
    extern const GpuKernel variant;          \
  })
namespace kernels {
#include "kernels/kernels.def"
}  // namespace kernels
#undef OPERATION
#undef GPU_OPERATION
#undef KERNEL
#undef GPU_KERNEL

namespace kernels {
namespace {

const OperationInfo kOperations[] = {
#define OPERATION(op, what) {#op, what, false, &op::operation},
#define GPU_OPERATION(op, what) IF_CUDA({#op, what, true, &op::gpu_operation}, )
#define KERNEL(op, variant, needs, threads, idea)
#define GPU_KERNEL(op, variant, needs, idea)
#include "kernels/kernels.def"
#undef OPERATION
#undef GPU_OPERATION
#undef KERNEL
#undef GPU_KERNEL
};

const KernelInfo kKernels[] = {
#define OPERATION(op, what)
#define GPU_OPERATION(op, what)
#define KERNEL(op, variant, needs, threads, idea) \
  IF_##needs({#op, #variant, Need::needs, Threads::threads, idea, &op::variant}, )
#define GPU_KERNEL(op, variant, needs, idea) \
  IF_CUDA({#op, #variant, Need::needs, Threads::one, idea, &op::variant}, )
#include "kernels/kernels.def"
#undef OPERATION
#undef GPU_OPERATION
#undef KERNEL
#undef GPU_KERNEL
};

std::string unless(bool there, const char* what) {
  return there ? std::string() : std::string("this CPU has no ") + what;
}

}  // namespace

std::span<const OperationInfo> operations() { return kOperations; }
std::span<const KernelInfo> all_kernels() { return kKernels; }

std::string missing(Need need) {
  const auto& f = cpu_features();
  switch (need) {
    case Need::none:
      return {};
    case Need::avx2:
      return unless(f.avx2, "AVX2 with FMA");
    case Need::avx512:
      return unless(f.avx512, "AVX-512");
    case Need::avx512_bf16:
      return unless(f.avx512_bf16, "AVX512-BF16");
    case Need::avx512_vnni:
      return unless(f.avx512_vnni, "AVX512-VNNI");
    case Need::avx_vnni:
      return unless(f.avx_vnni, "AVX-VNNI");
    case Need::amx:
      return unless(f.amx, "AMX with bf16 and int8");
    case Need::neon:
      return unless(f.neon, "Advanced SIMD");
    case Need::neon_dotprod:
      return unless(f.neon_dotprod, "dot-product instructions");
    case Need::neon_bf16:
      return unless(f.neon_bf16, "bf16 instructions");
    case Need::openblas:
      return peers::missing_openblas();
    case Need::blis:
      return peers::missing_blis();
    case Need::aocl_blas:
      return peers::missing_aocl_blas();
    case Need::aocl_dlp:
      return peers::missing_aocl_dlp();
    case Need::onednn:
      return peers::missing_onednn();
    case Need::mkl:
      return peers::missing_mkl();
    case Need::ggml:
      return peers::missing_ggml();
    case Need::sm80:
    case Need::fp8_mma:
    case Need::sm90a:
    case Need::cublaslt:
    case Need::cublas:
    case Need::cub:
    case Need::cudnn:
#ifdef ROOFLINE_HAS_CUDA
      return cuda::missing(need);
#else
      return "built without CUDA";
#endif
  }
  return "unknown need";
}

std::string tuned(Need need) {
  return need == Need::openblas ? peers::tuned_openblas()
         : need == Need::blis   ? peers::tuned_blis()
                                : std::string();
}

const Operation& operation_of(const KernelInfo& kernel) {
  for (const auto& info : kOperations)
    if (info.name == kernel.op && info.gpu == kernel.gpu()) return *info.operation;
  throw std::logic_error("kernels.def: no operation for " + std::string(kernel.op));
}

}  // namespace kernels
