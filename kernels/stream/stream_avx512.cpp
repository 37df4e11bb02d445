// Idea: 512-bit loads and stores.
// Bound: two loads and one store a cycle in L1 (two stores on Zen 5), the level's bandwidth beyond.
// Gains over avx2: the vector width, in L1.
#include "kernels/simd/avx512.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx512 = kernel_of<Avx512::F32>(Avx512::kUnit);

}  // namespace kernels::stream
