// Stands before the compiler's own header: AVX-512 by SIMDe's portable code, AMX by plain loops,
// everything up to AVX2 and FMA as the compiler has it.
#pragma once

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

// SIMDe knows AVX-VNNI's by its name in AVX-512.
#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32

#include "missing_in_simde.hpp"
#include "tiles.hpp"
