#include "kernels/matmul/matmul_gpu_cases.hpp"

#include <array>
#include <string>
#include <utility>

namespace kernels::matmul {
namespace {

/// A dtype, whether Y is stored [N,K], and whether Z has 16 bits.
struct Form {
  const char* dtype;
  bool transposed = false, narrow = false;
};

Case make(const Form& form, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
          bool cold, bool quick = false) {
  Case c{.dtype = form.dtype, .quick = quick};
  if (batch > 1) c.keys.emplace_back("batch", std::to_string(batch));
  c.keys.emplace_back("M", std::to_string(m));
  c.keys.emplace_back("N", std::to_string(n));
  c.keys.emplace_back("K", std::to_string(k));
  if (form.narrow) c.keys.emplace_back("out", form.dtype);
  if (form.transposed) c.keys.emplace_back("pack", "pre");
  c.keys.emplace_back("temp", cold ? "cold" : "warm");
  return c;
}

constexpr Form kF32{"f32"}, kBf16{"bf16"}, kS8{"s8", true}, kBf16xS8{"bf16xs8", true};
constexpr Form kForms[] = {{"f64"},
                           kF32,
                           {"tf32"},
                           {"tf32", true},
                           kBf16,
                           {"f16"},
                           {"e4m3", true},
                           kS8,
                           kBf16xS8,
                           {"bf16", false, true},
                           {"f16", false, true}};

}  // namespace

std::vector<Case> gpu_cases(const Caches&) {
  std::vector<Case> all;
  const auto add = [&](const Case& c) {
    for (Case& known : all)
      if (known.name() == c.name()) {
        known.quick |= c.quick;
        return;
      }
    all.push_back(c);
  };
  for (const Form& type : kForms) {
    const std::string dtype = type.dtype;
    const bool other_form = (dtype == "tf32" && !type.transposed) || type.narrow;
    const bool cuda_cores = dtype == "f32" || dtype == "f64";
    add(make(type, 1, 2048, 2048, 2048, true, dtype == "f32" || dtype == "f64"));
    add(make(type, 1, 4096, 4096, 4096, true, dtype != "f64" && !other_form));
    add(make(type, 1, 1024, 1024, 1024, false));
    for (const std::int64_t n : {512, 1024, 8192}) add(make(type, 1, n, n, n, true));
    // 9 TFLOP a call: too long on CUDA cores.
    if (!cuda_cores && !type.narrow) add(make(type, 1, 16384, 16384, 16384, true));
    // LLaMA-3 8B, and 70B but on CUDA cores: QKV, the MLP's gate with up, and down.
    for (const std::int64_t m : {128, 256, 4096}) {
      for (const auto& [n, k] : {std::pair{6144, 4096}, {28672, 4096}, {4096, 14336}})
        add(make(type, 1, m, n, k, true));
      for (const auto& [n, k] : {std::pair{10240, 8192}, {57344, 8192}, {8192, 28672}})
        if (!cuda_cores) add(make(type, 1, m, n, k, true));
    }
    if (dtype == "f64" || type.narrow) continue;
    for (const std::int64_t m : {1, 8, 32, 128})
      for (const std::int64_t n : {4096, 8192})
        add(make(type, 1, m, n, n, true, m == 8 && n == 8192 && dtype == "bf16"));
    // The batch sweep of the model: D = F = 1024, 4096 and 8192.
    if (dtype == "bf16" || dtype == "s8" || dtype == "bf16xs8")
      for (std::int64_t m = 1; m <= 512; m *= 2)
        for (const std::int64_t n : {1024, 4096, 8192}) add(make(type, 1, m, n, n, true));
  }
  // One matrix per batch element: the intensity stays near 2.
  for (const std::int64_t batch : {16, 128}) {
    add(make(kBf16, batch, 1, 4096, 4096, true));
    add(make(kS8, batch, 1, 4096, 4096, true));
    add(make(kBf16xS8, batch, 1, 4096, 4096, true));
  }
  return all;
}

std::vector<Case> gpu_test_cases() {
  std::vector<Case> all;
  for (const Form& form : kForms) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {1, 17, 5},
                                  {7, 9, 33},
                                  {31, 33, 32},
                                  {33, 31, 65},
                                  {64, 64, 64},
                                  {65, 127, 63},
                                  {128, 128, 128},
                                  {129, 257, 130},
                                  {127, 255, 97},
                                  {256, 128, 16},
                                  {16, 512, 1000},
                                  {385, 513, 300},
                                  {640, 768, 528}})
      all.push_back(make(form, 1, m, n, k, false));
    all.push_back(make(form, 3, 5, 130, 70, false));
    // Few rows and a long K, which is split; the last also over a batch.
    all.push_back(make(form, 1, 9, 130, 700, false));
    all.push_back(make(form, 1, 64, 100, 520, false));
    all.push_back(make(form, 2, 20, 60, 600, false));
    // Tiles that are cut along K, over three blocks on 3 SMs: one, two, four, and seven of which
    // three stay whole; on 132 SMs the last, 289 of which 132 stay whole.
    all.push_back(make(form, 1, 40, 100, 2700, false));
    all.push_back(make(form, 2, 40, 100, 1700, false));
    all.push_back(make(form, 1, 129, 257, 1300, false));
    all.push_back(make(form, 1, 5, 1700, 900, false));
    all.push_back(make(form, 1, 2100, 4300, 3000, false));
    // The same over three clusters; tiles of two blocks' rows and of one's in two turns, and over a
    // batch.
    all.push_back(make(form, 1, 150, 200, 2700, false));
    all.push_back(make(form, 1, 200, 1000, 200, false));
    all.push_back(make(form, 1, 100, 1700, 200, false));
    all.push_back(make(form, 2, 150, 130, 700, false));
    if (form.dtype != std::string_view("e4m3")) continue;
    // More tiles of two blocks' rows than clusters of any chip; several tiles a pair of blocks, of
    // one step and of two, whose columns end off every store.
    all.push_back(make(form, 1, 200, 20000, 200, false));
    for (const std::int64_t k : {100, 200}) all.push_back(make(form, 1, 2100, 4301, k, false));
  }
  return all;
}

}  // namespace kernels::matmul
