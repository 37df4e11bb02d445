// Idea: 256-bit loads of lines that were asked for two kilobytes before, at the pace of the loads.
// Bound: the bandwidth of L3 and of main memory.
// Gains over avx2: a core keeps more lines in flight than its loads and the hardware ask for: a
// Xeon with AMX reads 21 in place of 18.5 GB/s on one core, 68 in place of 65 on four. Half as much
// time between, or twice: 2 to 4 % less on one core; with 512-bit loads: 19 and 65 GB/s.
#include "kernels/simd/avx2.hpp"
#include "kernels/stream/stream_simd.hpp"

namespace kernels::stream {

extern const Kernel avx2_ahead = ahead_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::stream
