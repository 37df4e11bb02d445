// Idea: 256-bit loads and stores.
// Bound: two loads and one store a cycle in L1, the level's bandwidth beyond.
// Gains over scalar code: the vector width, in L1 and L2.
#include "kernels/simd/avx2.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx2 = kernel_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::stream
