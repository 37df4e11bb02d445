#include "kernels/matmul/matmul_cases.hpp"

#include <span>
#include <string>
#include <string_view>

#include "kernels/cost.hpp"
#include "kernels/matmul/matmul.hpp"

namespace kernels::matmul {
namespace {

Case make(const char* dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool packed, bool cold,
          int threads) {
  Case c{.dtype = dtype,
         .keys = {{"M", std::to_string(m)}, {"N", std::to_string(n)}, {"K", std::to_string(k)}},
         .threads = threads};
  if (packed) c.keys.emplace_back("pack", "pre");
  c.keys.emplace_back("temp", cold ? "cold" : "warm");
  return c;
}

Case make_batched(const char* dtype, std::int64_t batch, std::int64_t n, std::int64_t k, bool cold,
                  int threads) {
  Case c = make(dtype, 1, n, k, false, cold, threads);
  c.keys.insert(c.keys.begin(), {"batch", std::to_string(batch)});
  return c;
}

constexpr const char* kTypes[] = {"f64", "f32", "bf16", "s8", "u8xs8", "bf16xs8"};

/// One layer's weights, K x N: attention's QKV and output, the MLP's gate with up, and down.
struct Layer {
  std::int64_t n, k;
};
constexpr Layer kLlama8b[] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};
constexpr Layer kLlama70b[] = {{10240, 8192}, {8192, 8192}, {57344, 8192}, {8192, 28672}};

std::int64_t weight_bytes(const std::string& dtype) {
  return dtype == "f64" ? 8 : dtype == "f32" ? 4 : dtype == "bf16" ? 2 : 1;
}

bool fits(const Case& c, const Caches& caches) {
  const double batch = c.text("batch").empty() ? 1 : static_cast<double>(c.size("batch"));
  const auto m = static_cast<double>(c.size("M")), n = static_cast<double>(c.size("N")),
             k = static_cast<double>(c.size("K"));
  const auto e = static_cast<double>(weight_bytes(c.dtype));
  const double weights = batch * e * n * k;
  const double slots = c.cold() ? 1 + static_cast<double>(cold_footprint(caches)) / weights : 1;
  // Weights as given and packed, X and Z in up to 8 bytes.
  return caches.memory == 0 ||
         weights * (slots + 2) + 8 * batch * m * (n + k) < 0.7 * static_cast<double>(caches.memory);
}

}  // namespace

std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  return fits(c, caches) ? std::string() : too_large_for(caches);
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  const int cores = caches.cores;
  const auto add = [&](Case c, bool quick) {
    for (const Case& known : all)
      if (known.name() == c.name()) return;
    c.quick = quick;
    all.push_back(std::move(c));
  };

  for (const char* type : kTypes) {
    const bool quick = std::string(type) != "u8xs8";
    add(make(type, 1024, 1024, 1024, false, false, cores), quick);
    if (std::string(type) != "f64") add(make(type, 1, 4096, 4096, false, true, cores), quick);
  }
  add(make("f32", 512, 512, 512, false, false, cores),
      true);  // the largest that the naive rung does
  add(make("f32", 1024, 1024, 1024, false, false, 1), true);
  add(make_batched("s8", 16, 4096, 4096, true, cores), true);

  for (const char* type : kTypes) {
    for (const std::int64_t n : {256, 512, 1024, 2048, 4096})
      for (const bool packed : {false, true})
        for (const int threads : {1, cores})
          if (threads == cores || n == 1024 || (!packed && n <= 2048))
            add(make(type, n, n, n, packed, false, threads), false);
    for (const std::int64_t m : {1, 8, 32, 128})
      for (const bool packed : {false, true}) {
        for (const int threads : {1, cores})
          add(make(type, m, 4096, 4096, packed, true, threads), false);
        if (!packed) add(make(type, m, 4096, 4096, false, false, cores), false);
      }
  }
  // A call of some seconds tells nothing that M = 256 does not.
  const double most_flops = 2.5e11 * cores;
  for (const char* type : {"f32", "bf16", "s8", "bf16xs8"})
    for (const auto& model : {std::span(kLlama8b), std::span(kLlama70b)})
      for (const Layer& layer : model)
        for (const std::int64_t m : {1, 16, 256, 2048}) {
          // 282 GB of f32 weights are nobody's 70B.
          if (model.data() == kLlama70b && std::string(type) == "f32") continue;
          const double flops = 2.0 * static_cast<double>(m * layer.n) * layer.k;
          if (flops < most_flops) add(make(type, m, layer.n, layer.k, false, true, cores), false);
        }
  for (const char* type : {"bf16xs8", "bf16"})
    for (const std::int64_t n : {4096, 1024})
      for (std::int64_t b = 1; b <= 512; b *= 2)
        add(make(type, b, n, n, false, true, cores), false);
  for (const std::int64_t batch : {1, 4, 16, 64}) {
    add(make_batched("s8", batch, 4096, 4096, true, cores), false);
    add(make_batched("s8", batch, 1024, 1024, true, cores), false);
  }
  return all;
}

std::vector<Case> test_cases() {
  constexpr Shape kShapes[] = {
      {1, 1, 1},      {2, 3, 5},      {5, 15, 7},      {6, 16, 8},       {7, 17, 9},
      {12, 32, 64},   {13, 33, 65},   {1, 64, 64},     {1, 257, 129},    {3, 100, 1},
      {4, 7, 300},    {8, 96, 33},    {16, 48, 257},   {17, 129, 255},   {31, 63, 511},
      {64, 64, 64},   {33, 1, 70},    {100, 200, 50},  {145, 97, 513},   {200, 130, 1030},
      {47, 65, 300},  {65, 70, 700},  {97, 129, 129},  {128, 40, 513},   {40, 33, 4500},
      {3, 1900, 250}, {600, 680, 60}, {300, 330, 600}, {15, 1030, 1601}, {1, 12500, 43},
      {1, 4096, 43},  {1, 8192, 75},  {40, 260, 2048}, {1, 300, 4500}};
  std::vector<Case> all;
  for (const char* type : kTypes)
    for (const Shape& s : kShapes)
      for (const bool packed : {false, true})
        for (const int threads : {1, 3}) {
          Case c = make(type, s.m, s.n, s.k, packed, false, threads);
          if (threads == 3) all.push_back(c);
          // Bytes are whole numbers as they are.
          const bool bytes = std::string_view(type) == "s8" || std::string_view(type) == "u8xs8";
          if (threads == 3 && bytes) continue;
          c.keys.insert(c.keys.end() - 1, {"data", "integers"});
          all.push_back(c);
        }
  for (const bool packed : {false, true}) {
    // Rows whose X stays in L2 for deeper blocks of K than with Y beside it (Packed::part).
    all.push_back(make("f32", 215, 700, 300, packed, false, 1));
    // Rows by more columns than half of L3 holds a block of K of: several parts a thread, or panels
    // that three threads share.
    for (const int threads : {1, 3})
      all.push_back(make("f32", 700, 3800, 144, packed, false, threads));
    all.push_back(make("f64", 320, 2100, 160, packed, false, 3));
    // A Y that does not stay where it lies (InPlace): blocks of K and parts of the rows.
    all.push_back(make("f64", 515, 1250, 515, packed, false, 3));
  }
  // Weights packed before that a small L3 does not hold, for more than 128 rows.
  all.push_back(make("bf16", 130, 700, 1500, true, false, 3));
  for (const int threads : {1, 3}) {
    all.push_back(make_batched("s8", 3, 33, 65, false, threads));
    all.push_back(make_batched("bf16xs8", 2, 17, 40, false, threads));
  }
  return all;
}

}  // namespace kernels::matmul
