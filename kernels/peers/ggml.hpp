// ggml's attention operation, the one that llama.cpp runs on CPUs, through its C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "kernels/buffer.hpp"

namespace kernels::peers {

/// Values of ggml_type.
enum class GgmlType : int { f32 = 0, f16 = 1, bf16 = 30 };

struct Ggml {
  std::string missing;  ///< why there is none, in words; empty if it is there
  std::string label;    ///< `library=<name version>;library_config=<what it was built for>;`
  /// That of ik_llama.cpp, which ends the program at a cache in fp32, and of a context that is no
  /// multiple of 32 gives wrong results or none.
  bool of_ik_llama = false;
};

/// Loaded on first use: ggml itself, or that of ik_llama.cpp, which has the same interface.
const Ggml& ggml();

/// One query token a sequence over a contiguous cache: q and out fp32 [batch][heads][head_dim], k
/// and v of `type` [batch][kv_heads][context][head_dim], heads a multiple of kv_heads.
struct GgmlCall {
  std::int64_t batch, context, heads, kv_heads, head_dim;
  GgmlType type;
  const void *q, *k, *v;
  void* out;
};

/// Calls of one case: one shape, and out and q where they were in the first call.
class GgmlAttention {
 public:
  /// Throws BadInput if ggml cannot set itself up.
  explicit GgmlAttention(int threads);
  ~GgmlAttention();
  GgmlAttention(const GgmlAttention&) = delete;
  GgmlAttention& operator=(const GgmlAttention&) = delete;

  /// The first call over a cache makes its graph, later ones take it. Throws BadInput with ggml's
  /// status if it fails.
  void run(const GgmlCall& call);

 private:
  struct Graph;
  void* backend_ = nullptr;
  /// fp16 zeros, added to the scores, as llama.cpp has them; ik_llama.cpp is slow without.
  Buffer<std::uint16_t> mask_;
  std::unordered_map<const void*, std::unique_ptr<Graph>> graphs_;  ///< by their keys
};

}  // namespace kernels::peers
