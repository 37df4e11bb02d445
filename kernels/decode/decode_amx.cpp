// Idea: matmul on AMX tiles for weights packed before, of int8 weights up to 64 rows as two int8
// products; attention on AMX tiles for an int8 cache, of AVX-512 for bf16, which is as fast for
// groups of four.
// Bound: the DRAM read roof for every batch that a server would run: a tile product takes what 16
// cycles bring from DRAM for hundreds of rows.
// Gains over avx512: 16 times the products a cycle, so that large batches stay bound by DRAM.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel amx = {.exec_unit = "amx",
                           .matmul = {"amx_split", "amx_tiled"},
                           .attention_bf16 = "avx512_split",
                           .attention_s8 = {"amx_tiles"},
                           .glue = glue_on("simd-avx512")};

}  // namespace kernels::decode
