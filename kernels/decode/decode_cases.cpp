#include "kernels/decode/decode_cases.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "kernels/cost.hpp"

namespace kernels::decode {
namespace {

struct Types {
  const char *weights, *kv;
  ElementBytes element;
};
constexpr Types kBf16 = {"bf16", "bf16", {2, 0, 2, 0}};
constexpr Types kInt8 = {"bf16xs8", "s8", {1, 4, 1, 4}};

/// Layers of the 8B model, enough that nothing of a step is still in cache at the next one.
std::int64_t fewest_layers(const Types& types, const Caches& caches) {
  const double layer = cost({.batch = 1, .context = 1, .layers = 1}, types.element).bytes;
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(4.0 * static_cast<double>(largest_level(caches)) / layer) + 1, 1,
      kLayers8b);
}

}  // namespace

Shape shape_of(const Case& c) {
  for (const auto& [key, value] : c.keys)
    if (constexpr std::array kKeys = {"B", "T", "layers", "kv", "D", "F", "N", "K", "H", "V"};
        std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      throw BadInput("shape: decode has no '" + key +
                     "' (B, T, layers, kv:bf16, kv:s8; D, F, N, K, H of another model than 8B; V "
                     "columns of the output head)");
  Shape s{.batch = c.size("B"), .context = c.size("T"), .layers = c.size("layers")};
  const auto given = [&](const char* key, std::int64_t& size) {
    if (!c.text(key).empty()) size = c.size(key);
  };
  given("D", s.d_model);
  given("F", s.d_ff);
  given("N", s.heads);
  given("K", s.kv_heads);
  given("H", s.head_dim);
  given("V", s.vocabulary);
  if (s.heads % s.kv_heads != 0)
    throw BadInput("shape: N:" + std::to_string(s.heads) +
                   " is not a multiple of K:" + std::to_string(s.kv_heads));
  return s;
}

std::string kv_of(const Case& c) {
  const std::string kv = c.text("kv", "bf16");
  if (kv != "bf16" && kv != "s8") throw BadInput("shape: kv:" + kv + " (known: bf16, s8)");
  return kv;
}

Case make_case(const char* weights, const char* kv, const Shape& s, int threads) {
  Case c{.dtype = weights,
         .keys = {{"B", std::to_string(s.batch)},
                  {"T", std::to_string(s.context)},
                  {"layers", std::to_string(s.layers)},
                  {"kv", kv}},
         .threads = threads};
  const auto differs = [&](const char* key, std::int64_t size, std::int64_t usual) {
    if (size != usual) c.keys.emplace_back(key, std::to_string(size));
  };
  constexpr Shape kUsual{.batch = 1, .context = 1, .layers = 1};
  differs("D", s.d_model, kUsual.d_model);
  differs("F", s.d_ff, kUsual.d_ff);
  differs("N", s.heads, kUsual.heads);
  differs("K", s.kv_heads, kUsual.kv_heads);
  differs("H", s.head_dim, kUsual.head_dim);
  differs("V", s.vocabulary, kUsual.vocabulary);
  return c;
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  const double limit = caches.memory > 0 ? 0.5 * static_cast<double>(caches.memory) : 4e9;
  const auto add = [&](const Types& types, const Shape& s, int threads, bool quick = false) {
    if (cost(s, types.element).bytes > limit) return;
    Case c = make_case(types.weights, types.kv, s, threads);
    for (const Case& known : all)
      if (known.name() == c.name()) return;
    c.quick = quick;
    all.push_back(std::move(c));
  };
  const int cores = caches.cores;
  for (const Types& types : {kBf16, kInt8}) {
    const std::int64_t layers = fewest_layers(types, caches);
    const bool narrow = types.kv == kInt8.kv;
    for (const int batch : {1, 2, 4, 8, 16, 32, 64})
      add(types, {batch, 1024, layers}, cores, batch == 1 || (narrow && batch == 8));
    for (const int context : {8192, 32768})
      for (const int batch : {1, 8}) add(types, {batch, context, layers}, cores);
    add(types, {1, 1024, layers}, 1);

    // All layers and the output head of the 8B model, or as many layers as there is memory for.
    Shape whole{.batch = 1, .context = 1024, .layers = kLayers8b, .vocabulary = kVocabulary8b};
    while (whole.layers > layers && cost(whole, types.element).bytes > limit) --whole.layers;
    add(types, whole, cores);
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const char* weights : {"bf16", "bf16xs8"})
    for (const char* kv : {"bf16", "s8"}) {
      // Sizes off every tile, rows below one and above two; heads that share a cache and heads that
      // do not.
      const Shape small{.batch = 1,
                        .context = 5,
                        .layers = 2,
                        .d_model = 36,
                        .d_ff = 51,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = 64,
                        .vocabulary = 37};
      const auto with = [&](auto change, int threads) {
        Shape s = small;
        change(s);
        all.push_back(make_case(weights, kv, s, threads));
      };
      with([](Shape&) {}, 1);
      with([](Shape& s) { s.context = 1, s.vocabulary = 0; }, 3);
      with([](Shape& s) { s.batch = 3, s.context = 67, s.layers = 1, s.kv_heads = 1; }, 3);
      with([](Shape& s) { s.batch = 17, s.layers = 3, s.kv_heads = 4, s.vocabulary = 1; }, 2);
      with([](Shape& s) { s.batch = 2, s.head_dim = 128, s.d_model = 1; }, 3);
      // Whole turns of gates and up, of odd and even number; rows for several tiles.
      with([](Shape& s) { s.d_ff = 32, s.vocabulary = 0; }, 1);
      with([](Shape& s) { s.batch = 3, s.d_ff = 160, s.layers = 1; }, 2);
      with([](Shape& s) { s.batch = 50, s.d_ff = 96, s.layers = 1; }, 3);
    }
  return all;
}

}  // namespace kernels::decode
