// oneDNN's matmul primitive through its C interface, versions 2 and 3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kernels::peers {

/// Values of dnnl_data_type_t, the same in versions 2 and 3.
enum class DnnlType : int { bf16 = 2, f32 = 3, s32 = 4, s8 = 5, u8 = 6 };

struct OneDnn {
  std::string missing;  ///< why there is none, in words; empty if it is there
  std::string label;    ///< `library=<name version>;library_config=<the ISA it chose>;`
};

/// Loaded on first use.
const OneDnn& onednn();

/// Z[m,n] = X[m,k] . Y[k,n], all row major: the primitive is compiled once and then called.
class DnnlMatmul {
 public:
  /// With `packed` the weights are in the order that oneDNN likes best, made by pack(). Throws
  /// BadInput naming oneDNN's status where it does not do that type on this CPU.
  DnnlMatmul(std::int64_t m, std::int64_t n, std::int64_t k, DnnlType x, DnnlType y, DnnlType z,
             bool packed, int threads);
  ~DnnlMatmul();
  DnnlMatmul(const DnnlMatmul&) = delete;
  DnnlMatmul& operator=(const DnnlMatmul&) = delete;

  /// Size of the weights in the primitive's order, bytes.
  std::int64_t weights_bytes() const;
  void pack(const void* y, void* packed);
  /// `y`: row major, or what pack() made.
  void run(const void* x, const void* y, void* z);

 private:
  struct Primitive;
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace kernels::peers
