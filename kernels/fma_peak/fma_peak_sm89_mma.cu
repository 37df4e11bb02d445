// Idea: the same chains in fp8, which the tensor cores of 8.9 and 12.x take by mma.sync.
// Bound: the tensor cores.
// Not offered on Hopper and on 10.x: there nvcc makes conversions and a product in fp16 of the
// instruction and, as its operands do not change, takes both out of the loop: 1.50 PFLOP/s on an
// H200, of adds alone.
#include "kernels/fma_peak/fma_peak_mma.cuh"

namespace kernels::fma_peak {

extern const GpuKernel sm89_mma = {.exec_unit = "mma", .e4m3 = chain_of<E4m3, ptx::mma_e4m3>()};

}  // namespace kernels::fma_peak
