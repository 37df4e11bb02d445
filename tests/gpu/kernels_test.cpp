// Every GPU kernel on every test case of its operation, on the GPU. Skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/reference.hpp"
#include "kernels/dot/dot_gpu.hpp"
#include "kernels/registry.hpp"

namespace kernels {
namespace {

Caches device_caches() {
  const auto& d = cuda::device();
  return {.l1d = d.shared_per_sm, .l2 = d.l2_bytes, .memory = d.memory_free_bytes, .cores = d.sms};
}

class EveryGpuKernel : public testing::TestWithParam<const KernelInfo*> {};

TEST_P(EveryGpuKernel, IsRightOnItsTestCases) {
  const KernelInfo& kernel = *GetParam();
  if (const auto why = missing(kernel.needs); !why.empty()) GTEST_SKIP() << why;
  const Operation& operation = operation_of(kernel);
  std::vector<std::string> refused;
  for (const Case& c : operation.test_cases()) {
    if (!operation.supports(kernel, c)) continue;
    try {
      const auto problem = operation.bind(kernel, c, device_caches());
      EXPECT_EQ(problem->verify(), "") << kernel.variant << " " << c.name();
      // Twice in a row: what a call leaves behind (counters, partial sums) must serve the next one.
      EXPECT_EQ(problem->verify(), "") << kernel.variant << " " << c.name() << ", second call";
    } catch (const cuda::Unsupported& e) {
      refused.push_back(c.name() + ": " + e.what());
    }
  }
  constexpr std::int64_t kTunedFor = 163 << 10;  // of an A100's block
  if (!kernel.library() && cuda::device().shared_per_block >= kTunedFor) {
    EXPECT_EQ(refused, std::vector<std::string>());
  }
  for (const auto& line : refused) std::cout << line << '\n';
}

std::vector<const KernelInfo*> gpu_kernels() {
  std::vector<const KernelInfo*> list;
  for (const auto& kernel : all_kernels())
    if (kernel.gpu()) list.push_back(&kernel);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryGpuKernel, testing::ValuesIn(gpu_kernels()),
                         [](const auto& info) {
                           return std::string(info.param->op) + "_" +
                                  std::string(info.param->variant);
                         });

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::unusable().empty()) GTEST_SKIP() << cuda::unusable();
  }
};

TEST_F(OnGpu, FillAgreesWithTheHostAndPoisonsThePadding) {
  for (const auto type :
       {cuda::Type::f64, cuda::Type::f32, cuda::Type::bf16, cuda::Type::f16, cuda::Type::s8})
    for (const bool transposed : {false, true}) {
      const cuda::Layout layout{37, 53, 64, transposed};
      const std::size_t bytes = 37 * 64 * cuda::size_of(type);
      const auto memory = cuda::allocate(bytes);
      const auto values = transposed ? cuda::Values::normal : cuda::Values::random;
      cuda::fill(type, memory.get(), layout, 9, values);
      const auto host = cuda::to_host(memory.get(), bytes);
      for (std::int64_t r = 0; r < layout.rows; ++r)
        for (std::int64_t c = 0; c < layout.columns; ++c) {
          const std::int64_t logical = transposed ? c * layout.rows + r : r * layout.columns + c;
          ASSERT_EQ(cuda::load_as_double(type, host.data(), r * layout.pitch + c),
                    cuda::value_at(type, 9, logical, values))
              << r << " " << c;
        }
      EXPECT_EQ(host[53 * cuda::size_of(type)], std::byte{0xff});
    }
}

TEST_F(OnGpu, ReferencesAgreeWithTheHost) {
  const cuda::Layout x{5, 40, 48}, y{40, 7, 8};
  const auto xs = cuda::allocate(5 * 48 * 4), ys = cuda::allocate(40 * 8 * 4);
  cuda::fill(cuda::Type::f32, xs.get(), x, 1, cuda::Values::random);
  cuda::fill(cuda::Type::f32, ys.get(), y, 2, cuda::Values::random);
  std::vector<cuda::Entry> entries = {{4, 6, 0, 0}};
  cuda::product_entries(cuda::Type::f32, xs.get(), x, cuda::Type::f32, ys.get(), y, entries);
  double value = 0, magnitude = 0;
  for (int k = 0; k < 40; ++k) {
    const double p = cuda::value_at(cuda::Type::f32, 1, 4 * 40 + k, cuda::Values::random) *
                     cuda::value_at(cuda::Type::f32, 2, k * 7 + 6, cuda::Values::random);
    value += p;
    magnitude += std::abs(p);
  }
  EXPECT_NEAR(entries[0].value, value, 1e-12);
  EXPECT_NEAR(entries[0].magnitude, magnitude, 1e-12);

  const std::vector<double> ones(7, 1.0);
  const auto sums = cuda::times_vector(cuda::Type::f32, ys.get(), y, ones);
  double row = 0;
  for (int c = 0; c < 7; ++c)
    row += cuda::value_at(cuda::Type::f32, 2, 3 * 7 + c, cuda::Values::random);
  EXPECT_NEAR(sums[3], row, 1e-12);
}

/// Reckoned for one SM, a call has more pieces, most of them long, than there are blocks on any
/// chip, so that blocks draw again and again. Ends of contexts are off every box and step.
TEST_F(OnGpu, AttentionTakesPiecesFromAQueue) {
  for (const auto& kernel : all_kernels()) {
    if (kernel.op != "attention" || kernel.variant != "sm90a_v8_queue") continue;
    if (const auto why = missing(kernel.needs); !why.empty()) GTEST_SKIP() << why;
    Caches one_sm = device_caches();
    one_sm.cores = 1;
    for (const auto& [dtype, batch] : {std::pair{"bf16", "5"}, {"e4m3", "9"}, {"s8", "9"}})
      for (const bool ragged : {false, true}) {
        Case c{.dtype = dtype,
               .keys = {{"batch", batch},
                        {"context", "8155"},
                        {"heads", "8"},
                        {"kv_heads", "8"},
                        {"head_dim", "128"}}};
        if (ragged) c.keys.emplace_back("lengths", "ragged");
        const auto problem = operation_of(kernel).bind(kernel, c, one_sm);
        for (int call = 0; call < 3; ++call)
          EXPECT_EQ(problem->verify(), "") << c.name() << ", call " << call;
      }
  }
}

/// A kernel that forgets the last element must not pass.
std::int64_t forgetful(const dot::GpuArguments& a, cudaStream_t stream) {
  for (const auto& kernel : all_kernels())
    if (kernel.op == "dot" && kernel.variant == "sm80_v6_single") {
      dot::GpuArguments less = a;
      --less.n;
      return static_cast<const dot::GpuKernel*>(kernel.table)->s8(less, stream);
    }
  return 0;
}

TEST_F(OnGpu, VerificationCatchesAWrongKernel) {
  const dot::GpuKernel wrong = {.s8 = forgetful};
  for (const auto& kernel : all_kernels()) {
    if (kernel.op != "dot" || !kernel.gpu()) continue;
    KernelInfo info = kernel;
    info.table = &wrong;
    const Case c{.dtype = "s8", .keys = {{"N", "1001"}}};
    const auto problem = operation_of(kernel).bind(info, c, device_caches());
    EXPECT_NE(problem->verify(), "");
    break;
  }
}

}  // namespace
}  // namespace kernels
