// Stands before the compiler's own header: AVX-512 by SIMDe's portable code, AMX by plain loops,
// everything up to AVX2 and FMA as the compiler has it.
#pragma once

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include "missing_in_simde.hpp"
#include "tiles.hpp"
