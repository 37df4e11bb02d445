// Idea: 512-bit loads in one stream a thread in place of four, eight to a loop step.
// Bound: the bandwidth of L2.
// Gains over avx512: a core of Emerald Rapids reads half a megabyte from L2 at 149.8 in place of
// 146.6 GB/s. Tried: 16 and 32 to a step 148 and 145; lines asked for into L1 256 bytes to 4 KB
// before, in one to four streams: 116 to 140.
#include "kernels/simd/avx512.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx512_one = one_stream_of<Avx512::F32>(Avx512::kUnit);

}  // namespace kernels::stream
