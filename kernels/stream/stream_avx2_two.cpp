// Idea: 256-bit loads in two streams a thread in place of four.
// Bound: the bandwidth of L3 and of main memory.
// Gains over avx2: a Zen 4 whose memory other guests use too reads it 7 % faster on one core and 6
// on four; one stream 1 to 3 % slower than two, eight 10 to 20.
#include "kernels/simd/avx2.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx2_two = two_streams_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::stream
