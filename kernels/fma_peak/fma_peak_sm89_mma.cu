// Idea: the same chains in fp8, which mma.sync has from sm_89 on.
// Bound: Ada's tensor cores; on Hopper the instruction becomes two of fp16 and conversions, so that
// this shows what fp8 without wgmma is worth there.
// Gains over sm80_mma: 2 times bf16 on Ada by the sheet.
#include "kernels/fma_peak/fma_peak_mma.cuh"

namespace kernels::fma_peak {

extern const GpuKernel sm89_mma = {.exec_unit = "mma", .e4m3 = chain_of<E4m3, ptx::mma_e4m3>()};

}  // namespace kernels::fma_peak
