// Serving, with the numbers of 'How To Scale Your Model', part 8: LLaMA 3 70B on TPU v5e.
#include "roofline/predict/serve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"

namespace roofline::predict {
namespace {

/// 70e9 parameters, everything in int8, batch 32 of 8192 tokens on a 4x2 slice.
Serving book() {
  return {.model = transformer("llama3-70b"),
          .chips = 8,
          .batch = 32,
          .context = 8192,
          .weight_bytes = 1,
          .kv_bytes = 1,
          .roofs = {.peak = 1.97e14, .bandwidth = 8.1e11},
          .memory_bytes = 16e9,
          .params = 70e9};
}

TEST(Transformers, ExactParameters) {
  EXPECT_EQ(transformer("llama3-8b").parameters(), 8029995008);
  EXPECT_EQ(transformer("llama3-70b").parameters(), 70552387584);
  EXPECT_NEAR(transformer("llama3-70b").parameters(), 70.55e9, 0.005e9);
  EXPECT_NEAR(transformer("llama3-405b").parameters(), 405.8e9, 0.05e9);
  for (const Transformer& known : transformers()) EXPECT_FALSE(known.source.empty());
}

TEST(Transformers, CacheCountsKvHeads) {
  // 2 x 8 heads x 128 x 80 layers; with its 64 query heads it would be eight times that.
  EXPECT_EQ(transformer("llama3-70b").kv_elements_per_token(), 163840);
}

TEST(Transformers, Files) {
  const auto path = std::filesystem::temp_directory_path() / "roofline_predict_model.json";
  const std::string good =
      R"({"layers": 2, "d_model": 8, "d_ff": 16, "heads": 4, "kv_heads": 2, "head_dim": 3,)"
      R"( "vocabulary": 10})";
  write_atomically(path, good);
  // 2 (3 8 16 + 2 8 4 3 + 2 8 2 3) + 2 8 10 = 2 (384 + 192 + 96) + 160.
  EXPECT_EQ(transformer(path.string()).parameters(), 1504);
  EXPECT_EQ(transformer(path.string()).name, "roofline_predict_model");
  const auto refuses = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_atomically(path, text);
    EXPECT_THROW(transformer(path.string()), BadInput) << text;
  };
  refuses("\"layers\": 2, ", "");
  refuses("16", "-16");
  refuses("16", "0");
  refuses("16", "1.5");
  refuses("16", "NaN");
  refuses("16", "\"16\"");
  refuses("16", "99999999999999999999999");
  refuses("\"heads\": 4", "\"heads\": 5");  // not a multiple of kv_heads
  refuses("10}", "10");
  refuses(good, "[]");
  std::filesystem::remove(path);
  EXPECT_THROW(transformer(path.string()), BadInput);
  EXPECT_THROW(transformer("llama3-9b"), BadInput);
}

TEST(Serve, BooksMemory) {
  Serving s = book();
  ServePrediction p = predict(s);
  EXPECT_EQ(p.kv_bytes_per_token, 163840);
  EXPECT_NEAR(p.kv_bytes, 42.95e9, 0.005e9);
  EXPECT_EQ(p.parameter_bytes, 70e9);
  EXPECT_NEAR(p.total_bytes, 112.95e9, 0.005e9);  // book: 112
  EXPECT_NEAR(p.total_bytes / 16e9, 7.06, 0.005);
  EXPECT_TRUE(p.fits.value());
  EXPECT_EQ(p.min_chips, 8);  // book: 7
  EXPECT_EQ(p.slice_chips, 8);
  s.batch = 1;
  s.context = 32768;
  EXPECT_NEAR(predict(s).kv_bytes, 5.369e9, 0.0005e9);  // a sequence of 32k
}

TEST(Serve, BooksStep) {
  Serving s = book();
  const ServePrediction p = predict(s);
  EXPECT_NEAR(p.t_step_s, 17.43e-3, 0.005e-3);        // book: 17
  EXPECT_NEAR(p.tokens_per_s, 1836, 0.5);             // book: 1882
  EXPECT_NEAR(p.tokens_per_s_per_chip, 229.5, 0.05);  // book: 235
  EXPECT_DOUBLE_EQ(p.t_step_s, p.t_attention_s + p.t_mlp_s);
  EXPECT_DOUBLE_EQ(p.t_mlp_s, p.t_parameters_s);
  EXPECT_EQ(p.bound, "HBM");
  s.chips = 16;  // 4x4
  EXPECT_NEAR(predict(s).t_step_s, 8.715e-3, 0.0005e-3);
}

TEST(Serve, BooksSlices) {
  struct Row {
    double bytes, parameters;
    std::int64_t chips;
    double queries;
  };
  // bf16, int8, int4: 140, 70, 35 GB on 4x4, 4x2, 2x2, 43 sequences of 8k in each.
  for (const Row& row :
       {Row{2, 140e9, 16, 0.2763}, Row{1, 70e9, 8, 0.5525}, Row{0.5, 35e9, 4, 1.105}}) {
    Serving s = book();
    s.weight_bytes = s.kv_bytes = row.bytes;
    s.chips = row.chips;
    s.batch = 43;
    s.step_s = 19e-3;
    s.decode_tokens = 512;
    const ServePrediction p = predict(s);
    EXPECT_EQ(p.parameter_bytes, row.parameters);
    EXPECT_EQ(p.max_batch, 43);
    EXPECT_NEAR(p.queries_per_s_per_chip, row.queries, 0.0005);  // book: 0.27, 0.55, 1.11
    s.batch = 1;
    EXPECT_EQ(predict(s).slice_chips, row.chips);  // the smallest slice that holds it
  }
}

TEST(Serve, BooksPrefillAndServers) {
  Serving s = book();
  s.chips = 16;
  s.mfu = 0.4;
  s.prefill_tokens = 8192;
  EXPECT_NEAR(predict(s).prefill_s, 0.909645, 5e-7);  // 2 70e9 8192 / (16 1.97e14 0.4)
  s.decode_tokens = 512;
  s.step_s = 19e-3;
  s.batch = 43;
  const ServePrediction p = predict(s);
  EXPECT_DOUBLE_EQ(p.kv_tokens_freed_per_step, 43.0 * (8192 + 512) / 512);  // 731
  // P / 0.9096 s = 43 G / (19 ms x 512).
  EXPECT_NEAR(p.prefill_per_generate_server, 4.021, 0.0005);
}

TEST(Serve, BooksModelParallelLimit) {
  Serving s = book();
  s.link_axis = 9e10;
  s.axes = 2;
  EXPECT_NEAR(1.97e14 / s.link_axis, 2200, 15);
  EXPECT_NEAR(predict(s).model_parallel_limit, 26.2, 0.05);  // book: 26
  s.axes = 1;
  // F / (B W_hbm / W_link) = 28672 / (32 x 9) of bf16 weights; of int8 half, as they take half as
  // long to load and the activations no less.
  s.weight_bytes = 2;
  EXPECT_NEAR(predict(s).model_parallel_limit_memory_bound, 28672 / (32 * 9.0), 1e-9);
  s.weight_bytes = 1;
  EXPECT_NEAR(predict(s).model_parallel_limit_memory_bound, 28672 / (32 * 9.0) / 2, 1e-9);
  // fp32 weights have fp32 activations: both twice as long as bf16's, arithmetic is not.
  s.weight_bytes = 4;
  EXPECT_NEAR(predict(s).model_parallel_limit_memory_bound, 28672 / (32 * 9.0), 1e-9);
  EXPECT_NEAR(predict(s).model_parallel_limit, 13.1 / 2, 0.05);
}

TEST(Serve, LinkBoundBeyondBothLimits) {
  Serving s = book();
  EXPECT_FALSE(predict(s).link_bound.has_value());
  s.link_axis = 9e10;  // 13.1 chips once compute-bound, 49.8 at batch 32
  s.chips = 32;
  EXPECT_FALSE(predict(s).link_bound.value());
  s.chips = 64;
  EXPECT_TRUE(predict(s).link_bound.value());
  s.chips = 32;
  s.batch = 64;  // 24.9
  EXPECT_TRUE(predict(s).link_bound.value());
}

TEST(Serve, BooksFlopsPerDollar) {
  const auto at = [](double peak, double price) {
    Serving s = book();
    s.roofs.peak = peak;
    s.price_per_hour = price;
    return predict(s).flops_per_dollar;
  };
  EXPECT_NEAR(at(9.89e14, 10.8), 3.3e17, 0.005e17);  // H100
  EXPECT_NEAR(at(4.59e14, 4.2), 3.9e17, 0.05e17);    // v5p
  EXPECT_NEAR(at(1.97e14, 1.2), 5.91e17, 0.005e17);  // v5e; book: 5.8
}

TEST(Serve, DollarsPerMillionTokens) {
  Serving s = book();
  s.step_s = 0.032;  // 1000 tokens/s: 1000 s on 8 chips of $1.80 an hour
  s.price_per_hour = 1.8;
  EXPECT_NEAR(predict(s).dollars_per_million_tokens, 4, 1e-12);
}

TEST(Serve, CriticalBatchAndComputeBound) {
  Serving s = book();
  EXPECT_NEAR(predict(s).critical_batch, 121.6, 0.05);  // 1.97e14 / 8.1e11 / 2
  s.context = 1;
  s.batch = 121;
  EXPECT_EQ(predict(s).bound, "HBM");
  s.batch = 122;
  EXPECT_EQ(predict(s).bound, "compute");
  EXPECT_DOUBLE_EQ(predict(s).t_mlp_s, 2 * 122 * 70e9 / (8 * 1.97e14));
  s.context = 100000;  // the MLP still is, but the cache takes longer
  EXPECT_EQ(predict(s).bound, "HBM");
}

TEST(Serve, WhatDoesNotFit) {
  Serving s = book();
  s.chips = 4;
  const ServePrediction p = predict(s);
  EXPECT_FALSE(p.fits.value());
  EXPECT_EQ(p.min_chips, 8);
  EXPECT_EQ(p.max_batch, 0);  // 64 GB do not even hold the parameters
  s.memory_bytes = kUnknownNumber;
  EXPECT_FALSE(predict(s).fits.has_value());
  EXPECT_TRUE(std::isnan(predict(s).max_batch));
}

TEST(Serve, WhatIsNotGivenIsUnknown) {
  const ServePrediction p = predict(book());
  for (const double value :
       {p.queries_per_s_per_chip, p.prefill_s, p.kv_tokens_freed_per_step,
        p.prefill_per_generate_server, p.model_parallel_limit, p.flops_per_dollar}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Serve, RefusesNonsense) {
  const auto refuses = [](auto change) {
    Serving s = book();
    change(s);
    EXPECT_THROW(predict(s), BadInput);
  };
  refuses([](Serving& s) { s.chips = 0; });
  refuses([](Serving& s) { s.batch = -1; });
  refuses([](Serving& s) { s.context = 0; });
  refuses([](Serving& s) { s.mfu = 0; });
  refuses([](Serving& s) { s.mfu = 1.01; });
  refuses([](Serving& s) { s.params = -1; });
  refuses([](Serving& s) { s.step_s = INFINITY; });
  refuses([](Serving& s) {
    s.params = 1e308;
    s.weight_bytes = 8;
  });
}

/// By trying every slice and batch.
double best_rate(const Serving& base, double limit, std::int64_t most_chips) {
  double best = 0;
  Serving s = base;
  for (s.chips = 1; s.chips <= most_chips; s.chips *= 2) {
    s.batch = 1;
    const auto most = static_cast<std::int64_t>(predict(s).max_batch);
    for (; s.batch <= most; ++s.batch) {
      const ServePrediction p = predict(s);
      if (p.t_step_s <= limit && !p.link_bound.value_or(false))
        best = std::max(best, p.tokens_per_s_per_chip);
    }
  }
  return best;
}

/// The two questions of `predict serve`.
std::optional<Serving> best_within(const Serving& base, double latency_limit_s,
                                   std::int64_t most_chips) {
  return best_of(slices(base, kUnknownNumber, latency_limit_s, most_chips));
}

std::optional<Serving> fewest_chips(const Serving& base, double tokens_per_s,
                                    double latency_limit_s, std::int64_t most_chips) {
  const std::vector<Serving> all = slices(base, tokens_per_s, latency_limit_s, most_chips);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

TEST(Inverse, BestWithinALatencyIsTheBestOfAll) {
  for (const double link : {kUnknownNumber, 9e10, 2e10}) {
    for (const std::int64_t context : {512, 8192}) {
      for (const double limit : {6e-3, 9e-3, 15e-3, 40e-3}) {
        Serving base = book();
        base.context = context;
        base.link_axis = link;
        const auto found = best_within(base, limit, 32);
        const double expected = best_rate(base, limit, 32);
        ASSERT_EQ(found.has_value(), expected > 0);
        if (!found) continue;
        const ServePrediction p = predict(*found);
        EXPECT_LE(p.t_step_s, limit);
        EXPECT_TRUE(p.fits.value());
        EXPECT_FALSE(p.link_bound.value_or(false));
        EXPECT_NEAR(p.tokens_per_s_per_chip / expected, 1, 1e-9)
            << context << ' ' << limit << ' ' << link;
      }
    }
  }
}

TEST(Inverse, FewestChipsThatLinksDoNotBound) {
  Serving base = book();
  base.link_axis = 9e10;
  // 5042 tokens/s of 57 sequences on 16 chips: 28672 / (57 x 9) / 2 = 27.9 would do.
  EXPECT_EQ(fewest_chips(base, 5000, kUnknownNumber, 256)->chips, 16);
  base.link_axis = 4.5e10;  // 14 for those; 32 chips need a smaller batch
  EXPECT_EQ(fewest_chips(base, 5000, kUnknownNumber, 256)->chips, 32);
  base.link_axis = 4.5e9;
  EXPECT_FALSE(fewest_chips(base, 5000, kUnknownNumber, 256).has_value());
}

TEST(Inverse, OneChipUsesNoLink) {
  Serving base = book();
  base.memory_bytes = 160e9;
  base.link_axis = 1e6;  // bounds any two chips
  base.chips = 1;
  EXPECT_FALSE(predict(base).link_bound.value());
  base.chips = 2;
  EXPECT_TRUE(predict(base).link_bound.value());
  // 70 GB and 1.34 GB a sequence at 8.1e11: 16 sequences take 113 ms, 141.6 tokens/s.
  EXPECT_EQ(fewest_chips(base, 140, kUnknownNumber, 256)->chips, 1);
  EXPECT_EQ(best_within(base, 113e-3, 256)->chips, 1);
}

TEST(Inverse, NoneWhereTheParametersAloneTakeLonger) {
  // 70 GB over 32 chips of 8.1e11: 2.7 ms.
  EXPECT_FALSE(best_within(book(), 2.6e-3, 32).has_value());
  EXPECT_TRUE(best_within(book(), 2.8e-3, 32).has_value());
  EXPECT_FALSE(best_within(book(), 1, 4).has_value());  // nothing fits on 4
}

TEST(Inverse, AmongEqualsFewestChipsAndSmallestBatch) {
  // Short context: on 16 chips the batch from which arithmetic bounds fits; more gain nothing.
  Serving base = book();
  base.context = 1024;
  const auto found = best_within(base, 10, 256);
  EXPECT_EQ(found->chips, 8);
  EXPECT_EQ(found->batch, 122);
}

TEST(Inverse, FewestChips) {
  // 4x2 holds 43 sequences of 8k: 43 / (8.906 + 10.802 ms) = 2182 tokens/s at the most.
  const auto eight = fewest_chips(book(), 2180, kUnknownNumber, 256);
  EXPECT_EQ(eight->chips, 8);
  EXPECT_EQ(eight->batch, 43);
  const auto sixteen = fewest_chips(book(), 2190, kUnknownNumber, 256);
  EXPECT_EQ(sixteen->chips, 16);
  EXPECT_GE(predict(*sixteen).tokens_per_s, 2190);
  Serving less = *sixteen;
  --less.batch;
  EXPECT_LT(predict(less).tokens_per_s, 2190);
  EXPECT_FALSE(fewest_chips(book(), 1e9, kUnknownNumber, 256).has_value());
  // The same within 19 ms: 43 sequences take 19.7 ms on 8.
  EXPECT_EQ(fewest_chips(book(), 2180, 19e-3, 256)->chips, 16);
}

TEST(Inverse, NeedsTheMemory) {
  Serving base = book();
  base.memory_bytes = kUnknownNumber;
  EXPECT_THROW(best_within(base, 1, 8), BadInput);
  EXPECT_THROW(fewest_chips(base, 1, kUnknownNumber, 8), BadInput);
}

}  // namespace
}  // namespace roofline::predict
