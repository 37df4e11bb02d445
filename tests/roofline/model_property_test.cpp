// Laws of the roofline that hold for any input: seeded random works, machines and shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "roofline/base/statistics.hpp"
#include "roofline/ceilings/ceiling.hpp"
#include "roofline/model.hpp"
#include "roofline/overlay/overlay.hpp"

namespace roofline {
namespace {

constexpr int kTrials = 2000;
constexpr double kRounding = 1e-12;

class Random {
 public:
  /// Of any magnitude between the two.
  double spread(double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(bits_));
  }
  std::int64_t count(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(bits_);
  }
  bool one_in(int n) { return count(1, n) == 1; }

 private:
  std::mt19937_64 bits_{20260101};
};

Work random_work(Random& random) {
  Work work;
  work.flops = random.one_in(8) ? 0 : random.spread(1, 1e18);
  work.peak_flops_per_s = random.spread(1e6, 1e16);
  const std::int64_t levels = random.count(random.one_in(8) ? 0 : 1, 4);
  for (std::int64_t i = 0; i < levels; ++i) {
    work.levels.push_back({"L" + std::to_string(i), random.one_in(8) ? 0 : random.spread(1, 1e15),
                           random.spread(1e6, 1e14)});
  }
  if (random.one_in(3)) work.launch_s = random.spread(1e-7, 1e-3);
  return work;
}

void expect_close(double a, double b) { EXPECT_NEAR(a, b, kRounding * std::abs(a)); }

TEST(RooflineLaws, AttainableIsMonotoneConcaveAndBelowBothRoofs) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const double peak = random.spread(1e6, 1e16), bandwidth = random.spread(1e6, 1e14);
    const double low = random.spread(1e-4, 1e5), high = low * random.spread(1, 1e4);
    const double at_low = attainable_flops_per_s(low, peak, bandwidth);
    const double at_high = attainable_flops_per_s(high, peak, bandwidth);
    EXPECT_LE(at_low, at_high);
    EXPECT_LE(at_high, peak);
    EXPECT_LE(at_high, high * bandwidth * (1 + kRounding));
    EXPECT_LE(at_high / high, at_low / low * (1 + kRounding));    // never faster than in proportion
    EXPECT_TRUE(at_high == peak || at_high == high * bandwidth);  // and on one of the two
  }
}

TEST(RooflineLaws, TheRidgeIsWhereBothRoofsMeet) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const double peak = random.spread(1e6, 1e16), bandwidth = random.spread(1e6, 1e14);
    const double ridge = ridge_intensity(peak, bandwidth);
    expect_close(ridge * bandwidth, peak);
    EXPECT_LT(attainable_flops_per_s(ridge * 0.99, peak, bandwidth), peak);
    EXPECT_EQ(attainable_flops_per_s(ridge * 1.01, peak, bandwidth), peak);
    const double bytes = random.spread(1, 1e12);
    const auto bound_at = [&](double intensity) {
      return bounds({bytes * intensity, peak, {{"DRAM", bytes, bandwidth}}}).bound;
    };
    EXPECT_EQ(bound_at(ridge * 0.99), "DRAM");
    EXPECT_EQ(bound_at(ridge * 1.01), "compute");
  }
}

TEST(RooflineLaws, LowerAndUpperBoundsEncloseEachOther) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const Work work = random_work(random);
    const Bounds b = bounds(work);
    const double parts = 1 + static_cast<double>(work.levels.size()) + (work.launch_s > 0 ? 1 : 0);
    EXPECT_LE(b.t_lower, b.t_upper * (1 + kRounding));
    EXPECT_LE(b.t_upper, parts * b.t_lower * (1 + kRounding));
    EXPECT_GE(b.t_lower, b.t_math);
    for (std::size_t level = 0; level < work.levels.size(); ++level) {
      EXPECT_GE(b.t_lower, b.t_levels[level]);
    }
    // What it is bound by is what takes T_lower.
    const auto level = std::find_if(work.levels.begin(), work.levels.end(),
                                    [&](const LevelLoad& load) { return load.level == b.bound; });
    const double longest = b.bound == "compute"  ? b.t_math
                           : b.bound == "launch" ? b.t_launch
                                                 : b.t_levels.at(level - work.levels.begin());
    EXPECT_EQ(longest, b.t_lower);
  }
}

TEST(RooflineLaws, TheTimeAtOneLevelIsTheWorkOverTheAttainableRate) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const double flops = random.spread(1, 1e18), bytes = random.spread(1, 1e15);
    const double peak = random.spread(1e6, 1e16), bandwidth = random.spread(1e6, 1e14);
    expect_close(bounds({flops, peak, {{"DRAM", bytes, bandwidth}}}).t_lower,
                 flops / attainable_flops_per_s(flops / bytes, peak, bandwidth));
  }
}

TEST(RooflineLaws, UnitsScaleThrough) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const Work work = random_work(random);
    const Bounds b = bounds(work);
    const double factor = random.spread(1e-3, 1e3);
    Work more = work, faster = work;  // factor times the work; a machine factor times as fast
    more.flops *= factor;
    more.launch_s *= factor;
    faster.peak_flops_per_s *= factor;
    faster.launch_s /= factor;
    for (LevelLoad& load : more.levels) load.bytes *= factor;
    for (LevelLoad& load : faster.levels) load.bandwidth *= factor;
    expect_close(bounds(more).t_lower, factor * b.t_lower);
    expect_close(bounds(more).t_upper, factor * b.t_upper);
    expect_close(bounds(faster).t_lower, b.t_lower / factor);
    expect_close(bounds(faster).t_upper, b.t_upper / factor);
  }
}

TEST(RooflineLaws, MoreWorkOrASlowerMachineIsNeverFaster) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    const Work work = random_work(random);
    const Bounds b = bounds(work);
    Work worse = work;
    switch (random.count(0, 3)) {
      case 0:
        worse.flops *= random.spread(1, 100);
        break;
      case 1:
        worse.peak_flops_per_s /= random.spread(1, 100);
        break;
      case 2:
        worse.launch_s += random.spread(1e-7, 1);
        break;
      default:
        worse.levels.push_back({"more", random.spread(1, 1e15), random.spread(1e6, 1e14)});
    }
    EXPECT_GE(bounds(worse).t_lower, b.t_lower);
    EXPECT_GE(bounds(worse).t_upper, b.t_upper);
  }
}

TEST(RooflineLaws, ATimeIsInExactlyOnePlace) {
  Random random;
  int seen[3] = {};
  for (int i = 0; i < kTrials; ++i) {
    const double lower = random.spread(1e-9, 1), upper = lower * random.spread(1.01, 10);
    const double time = lower * random.spread(0.1, 100);
    const Placement at = place(time, lower, upper);
    ++seen[static_cast<int>(at.place)];
    EXPECT_EQ(at.place == Place::kImpossible, time < lower);
    EXPECT_EQ(at.place == Place::kLost, time > upper);
    EXPECT_EQ(at.lost_s > 0, time > upper);
    EXPECT_EQ(at.overlap.has_value(), time >= lower && time <= upper);
    if (at.overlap) expect_close(upper - *at.overlap * (upper - lower), time);
  }
  for (const int count : seen) EXPECT_GT(count, kTrials / 20);
}

TEST(RooflineLaws, ACriticalBatchIsWhereTheMatmulCrossesTheRidge) {
  Random random;
  int found = 0;
  for (int i = 0; i < kTrials; ++i) {
    const std::int64_t d = random.count(64, 65536), f = random.count(64, 65536);
    const ElementSizes e{random.one_in(2) ? 2.0 : 1.0, random.one_in(2) ? 2.0 : 0.5, 2};
    const double peak = random.spread(1e12, 1e15), bandwidth = random.spread(1e11, 1e13);
    const auto critical = critical_batch(d, f, e, peak, bandwidth);
    const auto bound_at = [&](double batch) {
      const Cost cost = matmul_cost(static_cast<std::int64_t>(batch), d, f, e);
      return bounds({cost.flops, peak, {{"HBM", cost.bytes, bandwidth}}}).bound;
    };
    if (!critical) {
      EXPECT_EQ(bound_at(1e12), "HBM");
      continue;
    }
    ++found;
    if (*critical > 2) {
      EXPECT_EQ(bound_at(std::floor(*critical * 0.999)), "HBM");
    }
    EXPECT_EQ(bound_at(std::ceil(*critical * 1.001)), "compute");
  }
  EXPECT_GT(found, kTrials / 2);
}

TEST(RooflineLaws, ATiledMatmulMovesAtLeastTheCompulsoryBytesAndMoreWithSmallerTiles) {
  Random random;
  const ElementSizes e{2, 1, 4};
  for (int i = 0; i < kTrials; ++i) {
    const std::int64_t m = random.count(1, 3000), n = random.count(1, 3000),
                       k = random.count(1, 3000);
    const Tile tile{random.count(1, m), random.count(1, n), random.count(1, k)};
    const double bytes = tiled_matmul_bytes(m, n, k, tile, e);
    EXPECT_GE(bytes * (1 + kRounding), matmul_cost(m, k, n, e).bytes);
    expect_close(tiled_matmul_bytes(m, n, k, {m, n, k}, e), matmul_cost(m, k, n, e).bytes);
    const Tile half{(tile.m + 1) / 2, tile.n, tile.k};
    EXPECT_GE(tiled_matmul_bytes(m, n, k, half, e) * (1 + kRounding), bytes);
  }
}

TEST(RooflineLaws, AMedianLiesWithinItsIntervalWhateverTheOrder) {
  Random random;
  std::mt19937_64 order(7);
  for (int i = 0; i < kTrials / 4; ++i) {
    std::vector<double> samples(static_cast<std::size_t>(random.count(1, 60)));
    for (double& sample : samples) sample = random.spread(1e-9, 1);
    const double middle = median(samples);
    const auto interval = median_interval(samples);
    EXPECT_EQ(interval.has_value(), samples.size() >= 6);  // 1 - 2 / 2^n >= 0.95
    if (interval) {
      EXPECT_LE(interval->first, middle);
      EXPECT_GE(interval->second, middle);
    }
    std::shuffle(samples.begin(), samples.end(), order);
    EXPECT_EQ(median(samples), middle);
    EXPECT_EQ(median_interval(samples), interval);
  }
}

TEST(RooflineLaws, APointOfTheChartObeysThem) {
  Random random;
  for (int i = 0; i < kTrials; ++i) {
    Benchmark row;
    row.name = row.kernel = "mine";
    row.dtype = row.roof_dtype = "f32";
    row.device = "cpu";
    row.exec_unit = "simd-avx2";
    row.flops = random.spread(1, 1e15);
    row.bytes = random.spread(1, 1e12);
    row.level_bytes = {{"L1", row.bytes * random.spread(1, 100)}, {"DRAM", row.bytes}};
    row.times_s = row.lived_times_s = {random.spread(1e-9, 1e9)};
    std::vector<Ceiling> ceilings(3);
    for (Ceiling& ceiling : ceilings) ceiling.device = "cpu";
    ceilings[0].resource = "compute";
    ceilings[0].dtype = "f32";
    ceilings[0].exec_unit = "simd-avx2";
    ceilings[0].measured = random.spread(1e9, 1e14);
    for (int level : {1, 2}) {
      ceilings[level].resource = "bandwidth";
      ceilings[level].operation = "read";
      ceilings[level].level = level == 1 ? "L1" : "DRAM";
      ceilings[level].measured = random.spread(1e9, 1e13);
    }
    const auto points = overlay({row}, ceilings);
    ASSERT_EQ(points.size(), 2u);
    double longest = 0;
    for (const Point& point : points) {
      const double bandwidth = ceilings[point.level == "L1" ? 1 : 2].measured;
      expect_close(point.roof_flops_per_s,
                   attainable_flops_per_s(point.intensity, ceilings[0].measured, bandwidth));
      expect_close(point.fraction_of_roof, point.achieved_flops_per_s / point.roof_flops_per_s);
      expect_close(point.ridge_intensity, ridge_intensity(ceilings[0].measured, bandwidth));
      expect_close(point.intensity * point.achieved_bytes_per_s, point.achieved_flops_per_s);
      const double alone = row.flops / point.roof_flops_per_s;  // the least time at this level
      EXPECT_LE(point.t_upper_s, 2 * alone * (1 + kRounding));
      EXPECT_GE(point.t_lower_s * (1 + kRounding), alone);
      longest = std::max(longest, alone);
      const bool refused = point.verdict == "above-roof" || point.verdict == "impossible";
      if (point.time_s >= point.t_lower_s) {
        EXPECT_EQ(point.verdict, "ok");
      }
      if (point.time_s * (1 + kClockUncertainty) < point.t_lower_s) {
        EXPECT_TRUE(refused);
      }
    }
    expect_close(points[0].t_lower_s, longest);
  }
}

}  // namespace
}  // namespace roofline
