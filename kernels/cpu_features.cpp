#include "kernels/cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kernels {
namespace {

#if defined(__x86_64__)
unsigned long long xgetbv0() {
  unsigned eax, edx;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (static_cast<unsigned long long>(edx) << 32) | eax;
}

/// Linux 5.16 and later save tiles only for a process that has asked (kernel.org, "Using XSTATE
/// features in user space applications").
bool os_allows_tiles(unsigned long long saved) {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned long long kTiles = 3ull << 17;
  return (saved & kTiles) == kTiles && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures probe() {
  CpuFeatures f;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool osxsave = c & bit_OSXSAVE, avx = c & bit_AVX, fma = c & bit_FMA, f16c = c & bit_F16C;
  if (!osxsave || !avx) return f;
  const auto saved = xgetbv0();
  const bool os_ymm = (saved & 0x6) == 0x6, os_zmm = (saved & 0xe6) == 0xe6;
  unsigned b7, c7, d7, a71 = 0;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return f;
  const unsigned leaves = a;
  if (leaves >= 1) __get_cpuid_count(7, 1, &a71, &b, &c, &d);
  f.avx2 = os_ymm && fma && f16c && (b7 & bit_AVX2);
  f.avx512 = f.avx2 && os_zmm && (b7 & bit_AVX512F) && (b7 & bit_AVX512BW) && (b7 & bit_AVX512DQ) &&
             (b7 & bit_AVX512VL);
  f.avx512_vnni = f.avx512 && (c7 & bit_AVX512VNNI);
  f.avx512_bf16 = f.avx512 && (a71 & (1u << 5));
  f.avx_vnni = f.avx2 && (a71 & (1u << 4));
  constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // AMX-BF16, -TILE, -INT8
  f.amx = f.avx512_bf16 && f.avx512_vnni && (d7 & kAmx) == kAmx && os_allows_tiles(saved);
  return f;
}
#elif defined(__aarch64__)
CpuFeatures probe() {
  CpuFeatures f;
  f.neon = true;
  f.neon_dotprod = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
  f.neon_bf16 = getauxval(AT_HWCAP2) & HWCAP2_BF16;
  return f;
}
#else
CpuFeatures probe() { return {}; }
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = probe();
  return features;
}

std::vector<std::string> cpu_feature_names() {
  const auto& f = cpu_features();
  std::vector<std::string> names;
  const auto add = [&](bool there, const char* name) {
    if (there) names.emplace_back(name);
  };
  add(f.avx2, "avx2");
  add(f.avx512, "avx512");
  add(f.avx512_bf16, "avx512_bf16");
  add(f.avx512_vnni, "avx512_vnni");
  add(f.avx_vnni, "avx_vnni");
  add(f.amx, "amx");
  add(f.neon, "neon");
  add(f.neon_dotprod, "neon_dotprod");
  add(f.neon_bf16, "neon_bf16");
  return names;
}

}  // namespace kernels
