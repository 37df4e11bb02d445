#include "kernels/attention/attention_gpu_cases.hpp"

#include <string>
#include <utility>

#include "kernels/attention/attention_cases.hpp"

namespace kernels::attention {
namespace {

constexpr const char* kTypes[] = {"f32", "bf16", "f16", "e4m3", "s8"};

}  // namespace

std::vector<Case> gpu_cases(const Caches&) {
  std::vector<Case> all;
  for (const std::string type : kTypes) {
    const auto add = [&](const Shape& s, bool cold = true, bool quick = false) {
      Case c = make_case(type.c_str(), s, cold ? "cold" : "warm", 1);
      c.quick = quick;
      all.push_back(std::move(c));
    };
    const auto shape = [](std::int64_t batch, std::int64_t context) {
      return Shape{.batch = batch, .context = context, .heads = 32, .kv_heads = 8, .head_dim = 128};
    };
    for (const std::int64_t batch : {1, 8, 32, 128, 256})
      for (const std::int64_t context : {512, 2048, 8192, 32768, 131072}) {
        if (type == "f32" && (batch > 32 || context > 32768)) continue;
        const bool quick = type != "f32" && context == 8192 && (batch == 1 || batch == 32);
        add(shape(batch, context), true, quick);
      }
    for (const std::int64_t batch : {1, 8, 32})
      for (const std::int64_t page : {16, 64}) {
        Shape s = shape(batch, 8192);
        s.page = page;
        add(s, true, type == "bf16" && batch == 32 && page == 16);
        s.ragged = true;
        if (batch > 1) add(s, true, type == "bf16" && batch == 32 && page == 16);
      }
    for (const std::int64_t context : {2048, 32768})
      for (const std::int64_t page : {16, 64}) {
        Shape s = shape(8, context);
        s.page = page;
        add(s);
      }
    // N / K = 1, 8 and 16 beside 4, and heads of 64.
    for (const auto& [heads, kv_heads] : {std::pair{32, 32}, {64, 8}, {128, 8}}) {
      Shape s = shape(8, 2048);
      s.heads = heads, s.kv_heads = kv_heads;
      add(s);
      s.context = 32768;
      add(s);
      s.context = 8192;
      for (const std::int64_t batch : {1, 32}) {
        s.batch = batch, s.page = 0;
        add(s, true, type == "bf16" && batch == 32);
        s.page = 64;
        add(s);
      }
    }
    for (const std::int64_t batch : {1, 8, 32}) {
      Shape s = shape(batch, 8192);
      s.head_dim = 64;
      add(s);
    }
    add(shape(1, 2048), false, type == "bf16");  // stays in L2
  }
  return all;
}

std::vector<Case> gpu_test_cases() {
  std::vector<Case> all;
  for (const char* dtype : kTypes)
    for (const std::int64_t page : {std::int64_t{0}, kPage}) {
      const auto add = [&](std::int64_t batch, std::int64_t context, std::int64_t heads,
                           std::int64_t kv_heads, std::int64_t head_dim, bool ragged = false) {
        all.push_back(make_case(dtype,
                                {.batch = batch,
                                 .context = context,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .head_dim = head_dim,
                                 .page = page,
                                 .ragged = ragged},
                                "warm", 1));
      };
      for (const std::int64_t context : {1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 127, 511, 1025, 4099})
        add(1, context, 4, 1, context % 2 == 0 ? 64 : 128);
      add(3, 300, 3, 3, 64);
      add(2, 300, 6, 2, 128);
      add(2, 300, 16, 2, 64);
      add(1, 300, 16, 1, 128);
      add(1, 100, 17, 1, 64);
      add(5, 300, 8, 2, 128, true);
    }
  for (const std::int64_t page : {1, 5, 64})
    all.push_back(make_case(
        "bf16",
        {.batch = 2, .context = 333, .heads = 8, .kv_heads = 2, .head_dim = 128, .page = page},
        "warm", 1));
  return all;
}

}  // namespace kernels::attention
