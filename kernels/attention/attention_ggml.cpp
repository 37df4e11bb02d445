// Idea: ggml's attention operation, as llama.cpp calls it for a token over an fp32 or bf16 cache.
// Bound: takes every query head by itself, its group's cache from the caches. A peer, not a rung.
#include "kernels/attention/attention.hpp"
#include "kernels/peers/ggml.hpp"

namespace kernels::attention {
namespace {

using peers::GgmlAttention;
using peers::GgmlType;

bool offers(std::string_view dtype, const Shape& s) {
  const bool all = !peers::ggml().of_ik_llama;
  return s.page == 0 && (all || (dtype != "f32" && s.context % 32 == 0));
}

std::shared_ptr<void> open(int threads) { return std::make_shared<GgmlAttention>(threads); }

template <class T, GgmlType kType>
void attend(const Args<T>& a) {
  static_cast<GgmlAttention*>(a.state)->run({.batch = a.batch,
                                             .context = a.context,
                                             .heads = a.heads,
                                             .kv_heads = a.kv_heads,
                                             .head_dim = a.head_dim,
                                             .type = kType,
                                             .q = a.q,
                                             .k = a.k,
                                             .v = a.v,
                                             .out = a.out});
}

}  // namespace

extern const Kernel ggml = {.exec_unit = "",
                            .f32 = attend<float, GgmlType::f32>,
                            .bf16 = attend<bf16, GgmlType::bf16>,
                            .known_traffic = false,
                            .bf16_rounding = 0x1p-9,
                            .offers = offers,
                            .open = open,
                            .label = [] { return peers::ggml().label; }};

}  // namespace kernels::attention
