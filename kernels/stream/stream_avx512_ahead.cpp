// Idea: 512-bit loads of lines that were asked for into L1 one kilobyte before, in two streams.
// Bound: the bandwidth of L3.
// Gains over avx512: a core of Zen 5 reads 2.5 MB from L3 at 132 in place of 121 GB/s: requests
// fill what L1 has for misses, which loads alone do not. Asking into L2: 103; four streams: 111.
#include "kernels/simd/avx512.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx512_ahead = ahead_into_l1_of<Avx512::F32>(Avx512::kUnit);

}  // namespace kernels::stream
