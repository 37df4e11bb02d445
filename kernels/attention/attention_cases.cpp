#include "kernels/attention/attention_cases.hpp"

#include "kernels/keys.hpp"
#include "kernels/values.hpp"

namespace kernels::attention {

Shape shape_of(const Case& c) {
  require_keys(
      c, "attention",
      {"batch", "context", "lengths", "heads", "kv_heads", "head_dim", "layout", "page", "temp"});
  Shape s{.batch = c.size("batch"),
          .context = c.size("context"),
          .heads = c.size("heads"),
          .kv_heads = c.size("kv_heads"),
          .head_dim = c.size("head_dim")};
  const std::string layout = c.text("layout", "contiguous"), temp = c.text("temp", "warm");
  if (layout != "contiguous" && layout != "paged")
    throw BadInput("shape: layout:" + layout + " (known: contiguous, paged)");
  if (temp != "warm" && temp != "cold")
    throw BadInput("shape: temp:" + temp + " (known: warm, cold)");
  if (layout == "paged") s.page = c.text("page").empty() ? kPage : c.size("page");
  if (layout == "contiguous" && !c.text("page").empty())
    throw BadInput("shape: page:" + c.text("page") + " needs layout:paged");
  if (s.heads % s.kv_heads != 0)
    throw BadInput("shape: heads:" + std::to_string(s.heads) +
                   " is not a multiple of kv_heads:" + std::to_string(s.kv_heads));
  const std::string lengths = c.text("lengths", "equal");
  if (lengths != "equal" && lengths != "ragged")
    throw BadInput("shape: lengths:" + lengths + " (known: equal, ragged)");
  if (lengths == "ragged") {
    constexpr std::int64_t kMostSequences = 1 << 20;  // each has its length
    if (s.batch > kMostSequences)
      throw BadInput("shape: batch:" + std::to_string(s.batch) + " is too many for lengths:ragged");
    s.ragged = true;
    for (std::int64_t b = 0; b < s.batch; ++b) s.tokens += length_of(s, b);
  }
  return s;
}

Case make_case(const char* dtype, const Shape& s, const char* temp, int threads) {
  Case c{.dtype = dtype,
         .keys = {{"batch", std::to_string(s.batch)}, {"context", std::to_string(s.context)}},
         .threads = threads};
  if (s.ragged) c.keys.emplace_back("lengths", "ragged");
  c.keys.emplace_back("heads", std::to_string(s.heads));
  c.keys.emplace_back("kv_heads", std::to_string(s.kv_heads));
  c.keys.emplace_back("head_dim", std::to_string(s.head_dim));
  c.keys.emplace_back("layout", s.page > 0 ? "paged" : "contiguous");
  if (s.page > 0) c.keys.emplace_back("page", std::to_string(s.page));
  c.keys.emplace_back("temp", temp);
  return c;
}

std::int64_t length_of(const Shape& s, std::int64_t sequence) {
  if (!s.ragged || sequence == 0) return s.context;
  constexpr std::uint64_t kSeed = 11;
  return 1 + static_cast<std::int64_t>(hash(kSeed, sequence) % s.context);
}

}  // namespace kernels::attention
