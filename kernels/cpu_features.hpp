// What kernels and their lists go by: which instruction sets this processor and its operating
// system allow.
#pragma once

#include <string>
#include <vector>

namespace kernels {

/// CPUID and XGETBV on x86, the hwcaps on Arm. A set counts only if the OS saves its registers; for
/// AMX, Linux must be asked, and allows it to the whole process.
struct CpuFeatures {
  bool avx2 = false;          ///< AVX2, FMA and F16C
  bool avx512 = false;        ///< AVX-512 F, BW, DQ and VL
  bool avx512_bf16 = false;   ///< vdpbf16ps
  bool avx512_vnni = false;   ///< vpdpbusd on zmm
  bool avx_vnni = false;      ///< vpdpbusd on ymm, VEX-coded
  bool amx = false;           ///< tiles with bf16 and int8, and AVX-512 with bf16 and VNNI
  bool neon = false;          ///< Advanced SIMD
  bool neon_dotprod = false;  ///< sdot, udot
  bool neon_bf16 = false;     ///< bfdot, bfmmla
};

/// This machine's features, probed once.
const CpuFeatures& cpu_features();

/// Names of the sets that are there, for the machine fingerprint.
std::vector<std::string> cpu_feature_names();

}  // namespace kernels
