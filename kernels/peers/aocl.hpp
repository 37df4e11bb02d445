// AMD's libraries: where they are looked for, and AOCL-DLP's products (bf16, int8, fp32 with
// weights packed before). AOCL-BLAS is in blas.hpp, with the other BLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/dtype.hpp"
#include "kernels/peers/library.hpp"

namespace kernels::peers {

/// Z = alpha X . Y + beta Z; order 'r': row major, transposed 'n': no, format of a matrix 'n': as
/// it lies, 'r': as `pack` leaves it (Y alone; its kind is 'B'). AOCL-DLP's functions take
/// `metadata`, null here; those of AOCL-BLAS, before it was a library of its own, do not all, and
/// do not look at the place of an argument that they do not have.
template <class X, class Y, class Z>
struct AoclGemm {
  void (*run)(char order, char transposed_x, char transposed_y, std::int64_t m, std::int64_t n,
              std::int64_t k, Z alpha, const X* x, std::int64_t ldx, char format_x, const Y* y,
              std::int64_t ldy, char format_y, Z beta, Z* z, std::int64_t ldz,
              void* metadata) = nullptr;
  std::size_t (*packed_bytes)(char order, char transposed, char kind, std::int64_t k,
                              std::int64_t n, void* metadata) = nullptr;
  void (*pack)(char order, char transposed, char kind, const Y* y, Y* packed, std::int64_t k,
               std::int64_t n, std::int64_t ldy, void* metadata) = nullptr;
};

struct AoclDlp {
  std::string missing;  ///< why there is none, in words; empty if it is there
  std::string label;    ///< `library=<name version>;library_config=<what it is part of>;`
  void (*set_threads)(std::int64_t) = nullptr;  ///< how many the next call of this thread runs on
  AoclGemm<float, float, float> f32;
  AoclGemm<bf16, bf16, float> bf16_f32;
  AoclGemm<std::int8_t, std::int8_t, std::int32_t> s8_s32;
  AoclGemm<std::uint8_t, std::int8_t, std::int32_t> u8_s8;
};

/// Loaded on first use: the library of that name, else AOCL-BLAS if it was built with `aocl_gemm`.
const AoclDlp& aocl_dlp();

Search aocl_blas_search();
/// Lets AOCL-BLAS look at the CPU with BLIS_ARCH_TYPE hidden, which is meant for BLIS: told of an
/// architecture that it lacks, it would end the program. AOCL_ENABLE_INSTRUCTIONS is its own.
void init_aocl_blas(const Library& library);
/// "5.2.2" of "AOCL-BLAS 5.2.2 Build 20260320".
std::string aocl_version(const std::string& text);

}  // namespace kernels::peers
