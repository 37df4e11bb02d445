// attention_mma_bytes.cuh where the operation's cases do not reach: scales of any size, scores that
// rise without end, sums that leave 32 bits, weights far below a unit.
#include "emulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/attention/attention_mma_bytes.cuh"
#include "kernels/values.hpp"

namespace kernels::attention {
namespace {

constexpr int kDim = 128, kHeads = 8, kTokens = kByteTokens;

/// What a warp is given: rows of which only the first dimension's key counts.
template <class T>
struct Step {
  int left = kTokens;
  std::function<float(int)> score;  ///< of a token, in units of log2, as far as T can say it
  std::function<float(int)> value;  ///< of all its dimensions, without its scale
  std::function<float(int)> scale = [](int) { return 1.0f; };
};

struct Result {
  float sums[kHeads][kDim], reference[kHeads], total[kHeads];
  float out(int head, int d) const { return sums[head][d] / total[head]; }
};

/// One warp over `count` steps.
template <class T>
Result run_steps(int count, const std::function<Step<T>(int)>& step_of) {
  Result result{};
  std::vector<float> q(kHeads * kDim);
  const float one_of_score = std::sqrt(static_cast<float>(kDim)) / kLog2E;
  for (int h = 0; h < kHeads; ++h) q[h * kDim] = one_of_score;
  const GpuArguments a = {.batch = 1,
                          .context = 1 << 24,
                          .heads = kHeads,
                          .kv_heads = 1,
                          .q = q.data(),
                          .chunk = 1 << 24,
                          .chunks = 1};
  struct Tiles {
    alignas(1024) T k[kTokens][kDim], v[kTokens][kDim];
  };
  const auto place = [](int row, int c) { return row * 8 + (c ^ (row & 7)); };
  const auto at = [&](T* tile, int token, int d) -> T& {
    return tile[16 * place(token, d / 16) + d % 16];
  };
  emulation::run(dim3(1), dim3(32), sizeof(Tiles), 1, [&] {
    auto& tiles = cuda::ptx::dynamic_shared<Tiles>();
    const int lane = threadIdx.x;
    ByteHeads<T, kDim> heads;
    heads.load_queries(a, MmaItem(a, 0, 0, kHeads));
    for (int i = 0; i < count; ++i) {
      const Step<T> step = step_of(i);
      // int8: the scale makes the score of a key of 64.
      const bool whole = std::is_same_v<T, std::int8_t>;
      for (int d = 0; d < kDim; ++d) {
        at(tiles.k[0], lane, d) = T(d > 0 ? 0.0f : whole ? 64.0f : step.score(lane));
        at(tiles.v[0], lane, d) = T(step.value(lane));
      }
      __syncwarp();
      heads.step(reinterpret_cast<const uint4*>(tiles.k), reinterpret_cast<const uint4*>(tiles.v),
                 place, step.left, step.score(lane) / 64, step.scale(lane));
      __syncwarp();
    }
    heads.finish();
    heads.leave([&](int head, int d, float sum) { result.sums[head][d] = sum; },
                [&](int head, float reference, float total) {
                  result.reference[head] = reference;
                  result.total[head] = total;
                });
  });
  return result;
}

template <class T>
void expect_near_everywhere(const Result& r, double expected, double allowed) {
  for (int h = 0; h < kHeads; ++h)
    for (int d = 0; d < kDim; ++d) ASSERT_NEAR(r.out(h, d), expected, allowed) << h << ' ' << d;
}

TEST(ByteHeads, FollowScoresThatRise) {
  // Each step's weights are 2^20 times the one's before: what counts is the last.
  const auto steps = [](int i) {
    return Step<std::int8_t>{.score = [i](int) { return 20.0f * i - 300; },
                             .value = [i](int) { return static_cast<float>(3 * i - 20); }};
  };
  expect_near_everywhere<std::int8_t>(run_steps<std::int8_t>(12, steps), 13, 1e-3);
  const auto wide = [](int i) {
    return Step<__nv_fp8_e4m3>{.score = [i](int) { return 16.0f * i - 80; },
                               .value = [i](int) { return static_cast<float>(i); }};
  };
  expect_near_everywhere<__nv_fp8_e4m3>(run_steps<__nv_fp8_e4m3>(11, wide), 10, 1e-3);
}

TEST(ByteHeads, TakeScalesOfAnySize) {
  // Token t of step i weighs as much as any other; values are 100 times the scale.
  const auto scale = [](int i, int t) {
    return t % 4 == 0 ? 0.0f : std::ldexp(1.0f, i == 0 ? -140 : i == 1 ? -20 : i == 2 ? 30 : 0);
  };
  const auto steps = [&](int i) {
    return Step<std::int8_t>{.score = [](int) { return 1.0f; },
                             .value = [](int) { return 100.0f; },
                             .scale = [=](int t) { return scale(i, t); }};
  };
  double sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < kTokens; ++t) sum += 100.0 * scale(i, t) / (4 * kTokens);
  expect_near_everywhere<std::int8_t>(run_steps<std::int8_t>(4, steps), sum, 2e-4 * sum);

  const auto none = [](int) {
    return Step<std::int8_t>{.score = [](int) { return 1.0f; },
                             .value = [](int) { return -128.0f; },
                             .scale = [](int) { return 0.0f; }};
  };
  expect_near_everywhere<std::int8_t>(run_steps<std::int8_t>(2, none), 0, 0);
}

TEST(ByteHeads, KeepSumsWithin32Bits) {
  // The first step sets reference and unit as low as they may be for those that follow.
  const auto steps = [](int i) {
    return Step<std::int8_t>{.score = [i](int) { return i == 0 ? 0.0f : 2.99f; },
                             .value = [](int) { return -128.0f; },
                             .scale = [i](int) { return i == 0 ? 1.0f : 1.2499f; }};
  };
  const int kSteps = 5 * ByteHeads<std::int8_t, kDim>::kMostSteps;
  const double others = (kSteps - 1) * std::exp2(2.99);
  expect_near_everywhere<std::int8_t>(run_steps<std::int8_t>(kSteps, steps),
                                      -128 * (1 + others * 1.2499) / (1 + others), 128e-4);
}

TEST(ByteHeads, CountWeightsFarBelowAUnit) {
  // One large weight, whose value is 0, and many of 2^-17 of it: a twentieth of a unit each, and
  // half of the sum.
  constexpr int kSteps = 4097;
  const auto steps = [](int i) {
    return Step<std::int8_t>{
        .score = [i](int t) { return i == 0 && t == 0 ? 0.0f
                                     : i == 0         ? -60.0f
                                                      : -17.0f; },
        .value = [i](int) { return i == 0 ? 0.0f : 100.0f; }};
  };
  const double many = (kSteps - 1) * kTokens * std::exp2(-17);
  expect_near_everywhere<std::int8_t>(run_steps<std::int8_t>(kSteps, steps),
                                      100 * many / (1 + many), 0.5);
}

}  // namespace
}  // namespace kernels::attention
