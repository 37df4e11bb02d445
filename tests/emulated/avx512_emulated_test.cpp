// Every AVX-512, AVX-VNNI and AMX kernel in the registry, computed by SIMDe's code and plain loops,
// against its operation's oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/fma_peak/fma_peak.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/registry.hpp"

namespace kernels {
namespace {

std::vector<KernelInfo> avx512_kernels() {
  std::vector<KernelInfo> found;
  for (const auto& kernel : all_kernels())
    if (kernel.needs == Need::avx512 || kernel.needs == Need::avx512_bf16 ||
        kernel.needs == Need::avx512_vnni || kernel.needs == Need::avx_vnni ||
        kernel.needs == Need::amx)
      found.push_back(kernel);
  return found;
}

/// Cache sizes that small test cases overflow at every level, so that blocking has edges; an L1 as
/// CPUs with AMX have it.
constexpr Caches kCaches = {
    .l1d = 48 << 10, .l2 = 256 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 4};

/// Where a CPU has the instructions, kernel_tests run all cases on them, and every seventh here
/// shows that the emulation holds: all take minutes. Operations have four, six, eight or ten cases
/// of a shape, which so come in turns.
constexpr int kEvery = 7;

/// The peaks in fewer steps than their problems take, 200 000 products of tiles.
void expect_chains_to_add_up(const fma_peak::Kernel& kernel) {
  constexpr std::int64_t kIterations = 64;
  int chains = 0;
  for (const auto* chain : {&kernel.f64, &kernel.f32, &kernel.bf16, &kernel.s8, &kernel.bf16_s8}) {
    if (chain->run == nullptr) continue;
    ++chains;
    EXPECT_EQ(chain->run(kIterations, 1), chain->flops_per_iteration / 2 * kIterations);
  }
  EXPECT_GT(chains, 0);
}

class Avx512Emulated : public testing::TestWithParam<KernelInfo> {};

TEST_P(Avx512Emulated, EqualsOracle) {
  if (const auto why = missing(Need::avx2); !why.empty()) GTEST_SKIP() << why;
  const KernelInfo& kernel = GetParam();
  if (kernel.op == "fma_peak")
    return expect_chains_to_add_up(*static_cast<const fma_peak::Kernel*>(kernel.table));
  const Operation& operation = operation_of(kernel);
  const int every = missing(kernel.needs).empty() ? kEvery : 1;
  int supported = 0;
  for (const Case& c : operation.test_cases()) {
    if (!operation.supports(kernel, c) || supported++ % every != 0) continue;
    Caches caches = kCaches;  // or, for any half of them, with an L1 as Zen 4 has it
    if (hash(5, supported) % 2 != 0) caches.l1d = 32 << 10;
    EXPECT_EQ(operation.bind(kernel, c, caches)->verify(), "") << c.name() << " " << caches.l1d;
  }
  EXPECT_GT(supported, 0) << "no test case reaches this kernel";
}

INSTANTIATE_TEST_SUITE_P(Kernels, Avx512Emulated, testing::ValuesIn(avx512_kernels()),
                         [](const auto& info) {
                           return std::string(info.param.op) + "_" +
                                  std::string(info.param.variant);
                         });

/// Rows of bf16 over 30 binary orders, one of zeros, a very small and a very large one.
float wide_value(std::int64_t row, std::uint64_t i) {
  const std::uint64_t h = hash(11, i);
  const float sign = h & 1 ? -1.0f : 1.0f,
              order = std::ldexp(1.0f, -static_cast<int>((h >> 8) % 30));
  const float of_row[] = {1, 0, 1e-28f, 1e30f, 3e-5f};
  return sign * order * (1 + static_cast<float>(h >> 57) / 128) * of_row[row % 5];
}

TEST(Avx512Emulated, ActivationsOfAWideRangeAreRoundedAsFarAsStated) {
  if (const auto why = missing(Need::avx2); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t m = 10, n = 70, k = 333;
  std::vector<bf16> x(m * k);
  std::vector<std::int8_t> y(k * n);
  for (std::int64_t i = 0; i < m * k; ++i) x[i] = bf16(wide_value(i / k, i));
  for (std::int64_t i = 0; i < k * n; ++i) y[i] = static_cast<std::int8_t>(hash(12, i));
  const std::vector<float> scales(n, 1.0f);
  const auto zeros = [](std::int64_t bytes) {
    return Buffer<std::byte>(bytes, 1, [](std::int64_t) { return std::byte{0}; });
  };
  int ways = 0;
  for (const KernelInfo& info : avx512_kernels()) {
    if (info.op != "matmul") continue;
    const auto& kernel = *static_cast<const matmul::Kernel*>(info.table);
    if (kernel.bf16_s8_rounding == 0) continue;
    const auto& routine = kernel.bf16_s8;
    matmul::Plan plan{.shape = {.m = m, .n = n, .k = k}, .threads = 2, .caches = kCaches};
    auto workspace = zeros(routine.workspace_bytes(plan));
    plan.workspace = workspace.data();
    std::vector<float> z(m * n);
    const auto check = [&] {
      ++ways;
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
          double sum = 0, weights = 0, largest = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const double value = static_cast<float>(x[r * k + i]);
            sum += value * y[i * n + c];
            weights += std::abs(y[i * n + c]);
            largest = std::fmax(largest, std::abs(value));
          }
          EXPECT_NEAR(z[r * n + c], sum, weights * largest * (kernel.bf16_s8_rounding + 0x1p-22))
              << info.variant << ", row " << r << ", column " << c;
        }
    };
    if (routine.run != nullptr) {
      routine.run(plan, x.data(), y.data(), scales.data(), z.data());
      check();
    }
    if (routine.run_packed != nullptr) {
      auto packed = zeros(routine.packed_bytes(plan));
      routine.pack(plan, y.data(), scales.data(), packed.data());
      routine.run_packed(plan, x.data(), packed.data(), scales.data(), z.data());
      check();
    }
  }
  EXPECT_EQ(ways, 4);
}

}  // namespace
}  // namespace kernels
