#include "kernels/attention/attention_cpu_cases.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/cost.hpp"

namespace kernels::attention {
namespace {

struct Type {
  const char* name;
  int bytes, scale_bytes;
};
constexpr std::array<Type, 3> kTypes = {{{"f32", 4, 0}, {"bf16", 2, 0}, {"s8", 1, 4}}};

double bytes_of(const Case& c) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const Type& known) { return c.dtype == known.name; });
  return cost(shape_of(c), type->bytes, type->scale_bytes).bytes;
}

}  // namespace

std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  const bool fits = caches.memory == 0 || bytes_of(c) <= 0.35 * static_cast<double>(caches.memory);
  return fits ? std::string() : too_large_for(caches);
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  // A cache larger than this says nothing that a smaller one does not, and takes long to fill.
  constexpr double limit = 4.5e9;
  const auto add = [&](const Type& type, const Shape& s, const char* temp, int threads,
                       bool quick = false) {
    if (cost(s, type.bytes, type.scale_bytes).bytes > limit) return;
    Case c = make_case(type.name, s, temp, threads);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Case& other) { return other.name() == c.name(); });
    if (at == all.end()) {
      c.quick = quick;
      all.push_back(c);
    }
  };
  const int cores = caches.cores;
  const Shape gqa{.batch = 1, .context = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto with = [](Shape s, std::int64_t batch, std::int64_t context, std::int64_t heads,
                       std::int64_t kv_heads, std::int64_t page) {
    s.batch = batch, s.context = context, s.heads = heads, s.kv_heads = kv_heads, s.page = page;
    return s;
  };

  for (const auto& type : kTypes) add(type, gqa, "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 8192, 32, 32, 0), "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 8192, 32, 8, kPage), "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 512, 32, 8, 0), "warm", cores, true);
  add(kTypes[1], gqa, "cold", 1, true);

  // Around 32 / 8 heads, contiguous; the other settings one at a time.
  for (const auto& type : kTypes) {
    for (const int context : {1024, 8192, 32768}) {
      for (const int batch : {1, 8})
        for (const std::int64_t page : {std::int64_t{0}, kPage})
          add(type, with(gqa, batch, context, 32, 8, page), "cold", cores);
      for (const auto& [heads, kv_heads] : {std::pair{32, 32}, {64, 8}})
        add(type, with(gqa, 1, context, heads, kv_heads, 0), "cold", cores);
    }
    add(type, with(gqa, 8, 8192, 32, 32, 0), "cold", cores);
    add(type, with(gqa, 1, 8192, 32, 32, kPage), "cold", cores);
    for (const int context : {512, 4096})
      add(type, with(gqa, 32, context, 32, 8, 0), "cold", cores);
    for (const int threads : {1, cores}) {
      for (const auto& [heads, kv_heads] : {std::pair{32, 8}, {32, 32}, {64, 8}})
        add(type, with(gqa, 1, 8192, heads, kv_heads, 0), "cold", threads);
      add(type, with(gqa, 1, 512, 32, 8, 0), "warm", threads);
      Shape narrow = with(gqa, 1, 8192, 32, 8, 0);
      narrow.head_dim = 64;
      add(type, narrow, "cold", threads);
    }
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const auto& type : kTypes) {
    const auto add = [&](const Shape& s, int threads) {
      all.push_back(make_case(type.name, s, "warm", threads));
    };
    // Lengths around tokens of a tile, a page, a block and a chunk.
    Shape s{.batch = 1, .heads = 4, .kv_heads = 1, .head_dim = 64};
    for (const int context : {1, 2, 15, 16, 17, 33, 63, 64, 65, 511, 1025, 4099}) {
      s.context = context;
      s.page = context % 2 == 0 ? 0 : kPage;
      add(s, 1);
    }
    for (const std::int64_t page : {std::int64_t{0}, kPage})
      for (const int context : {1, 511, 4099}) {
        s.context = context, s.page = page;
        add(s, 3);
      }
    // Groups that fill a register tile and groups that do not.
    for (const auto& [heads, kv_heads] :
         {std::pair{1, 1}, {2, 2}, {4, 2}, {3, 1}, {8, 2}, {6, 1}, {7, 1}, {8, 1}, {16, 2}})
      for (const int head_dim : {64, 128})
        add({.batch = 2,
             .context = 77,
             .heads = heads,
             .kv_heads = kv_heads,
             .head_dim = head_dim,
             .page = heads % 2 == 0 ? kPage : 0},
            head_dim == 64 ? 1 : 3);
    for (const int page : {1, 5, 64, 100})
      add({.batch = 2, .context = 333, .heads = 8, .kv_heads = 2, .head_dim = 128, .page = page},
          page == 5 ? 3 : 1);
    // Several chunks, none of whose ends is one of a page.
    add({.batch = 1, .context = 1100, .heads = 6, .kv_heads = 3, .head_dim = 64, .page = 24}, 3);
    add({.batch = 1, .context = 100, .heads = 2, .kv_heads = 1, .head_dim = 20}, 1);
  }
  return all;
}

}  // namespace kernels::attention
