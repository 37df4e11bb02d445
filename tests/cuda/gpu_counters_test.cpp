// Hardware counters: which metrics, and CUPTI's rules kept, on a made-up CUPTI.
#include "bench/gpu_counters.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>

#include "kernels/peers/library.hpp"

namespace bench {
namespace {

constexpr const char* kFake = TEST_BINARY_DIR "/libfake_cupti.so";
int somewhere = 0;
void* const kContext = &somewhere;

class GpuCountersOnAFake : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ROOFLINE_CUPTI", kFake, 1);
    unsetenv("FAKE_CUPTI");
  }
  /// What CUPTI still holds.
  static int alive() {
    void* library = dlopen(kFake, RTLD_NOW);
    return reinterpret_cast<int (*)()>(dlsym(library, "fake_cupti_alive"))();
  }
};

TEST_F(GpuCountersOnAFake, CountsACallInEveryPassAndAddsUp) {
  GpuCounters counters(kContext, 0);
  ASSERT_EQ(counters.missing(), "");
  std::vector<int> passes;
  const CountedWork work =
      counters.count("cuda-core", "f32", [&](int pass) { passes.push_back(pass); });
  EXPECT_EQ(counters.missing(), "");
  EXPECT_EQ(passes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(work.flops, 10 + 20 + 2 * 100);
  EXPECT_EQ(work.hbm_bytes, 1000 + 24);
  EXPECT_EQ(work.l2_bytes, 60 * 32) << "without what the halves of L2 tell each other";
  EXPECT_TRUE(std::isnan(work.l1_bytes)) << "the chip has no such counter";
  EXPECT_EQ(alive(), 0);
}

TEST_F(GpuCountersOnAFake, OpensTheHalfThatKnowsMetricsBesideIt) {
  GpuCounters counters(kContext, 0);
  EXPECT_NE(std::getenv("FAKE_NVPERF"), nullptr);
}

TEST_F(GpuCountersOnAFake, CountsAgain) {
  GpuCounters counters(kContext, 0);
  counters.count("mma", "s8", [](int) {});
  const CountedWork work = counters.count("wgmma", "bf16", [](int) {});
  EXPECT_EQ(work.flops, 4096);
  EXPECT_TRUE(std::isnan(counters.count("mma", "s8", [](int) {}).flops));
}

TEST_F(GpuCountersOnAFake, NoneOnALibrarysTensorCoresIsUnknown) {
  GpuCounters counters(kContext, 0);
  EXPECT_EQ(counters.count("mma", "f64", [](int) {}).flops, 0);
  const CountedWork work = counters.count("", "f64", [](int) {});
  EXPECT_TRUE(std::isnan(work.flops));
  EXPECT_EQ(work.hbm_bytes, 1000 + 24);
}

TEST_F(GpuCountersOnAFake, SaysInALineThatItIsNotAllowed) {
  setenv("FAKE_CUPTI", "denied", 1);
  GpuCounters counters(kContext, 0);
  bool called = false;
  const CountedWork work = counters.count("mma", "bf16", [&](int) { called = true; });
  EXPECT_EQ(
      counters.missing(),
      "CUPTI: cuptiRangeProfilerEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, the driver keeps "
      "counters for administrators (ERR_NVGPUCTRPERM)");
  EXPECT_TRUE(std::isnan(work.hbm_bytes));
  EXPECT_FALSE(called);
  EXPECT_EQ(alive(), 0);
}

TEST_F(GpuCountersOnAFake, AFaultOfTheCallIsTheCallers) {
  GpuCounters counters(kContext, 0);
  EXPECT_THROW(counters.count("mma", "bf16", [](int) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(alive(), 0);
  EXPECT_EQ(counters.count("mma", "bf16", [](int) {}).flops, 4096);
}

TEST(CounterSums, APairOfHalvesIsTwo) {
  const auto known = [](const std::string&) { return true; };
  const auto weights = [&](const char* unit, const char* dtype) {
    std::vector<double> out;
    const auto sums = counter_sums(unit, dtype, known);
    for (const auto& [name, weight] : sums[0].metrics) out.push_back(weight);
    return out;
  };
  EXPECT_EQ(weights("cuda-core", "f32"), (std::vector<double>{1, 1, 2}));
  EXPECT_EQ(weights("cuda-core", "bf16"), (std::vector<double>{2, 2, 4}));
}

TEST(CounterSums, AnotherChipsNames) {
  const auto known = [](const std::string& name) {
    return name == "dram__bytes_op_read.sum" || name == "dram__bytes_op_write.sum" ||
           name == "sm__ops_path_tensor_src_fp8_dst_fp32.sum";
  };
  const auto sums = counter_sums("mma", "e4m3", known);
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].metrics[0].first, "sm__ops_path_tensor_src_fp8_dst_fp32.sum");
  EXPECT_EQ(sums[1].target, &CountedWork::hbm_bytes);
  EXPECT_EQ(sums[1].metrics.size(), 2u);
}

/// CUPTI knows its chips' metrics without one of them at hand.
class MetricsOfAChip : public testing::TestWithParam<const char*> {};

TEST_P(MetricsOfAChip, CountEveryLevelAndUnit) {
  void* library = dlopen("libcupti.so", RTLD_NOW);
  if (library == nullptr) library = dlopen("/usr/local/cuda/lib64/libcupti.so", RTLD_NOW);
  if (library == nullptr)
    library = dlopen("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "no CUPTI here";
  const auto initialize = reinterpret_cast<decltype(&cuptiProfilerHostInitialize)>(
      dlsym(library, "cuptiProfilerHostInitialize"));
  Dl_info place;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(initialize), &place), 0);
  const std::string file = place.dli_fname;
  dlopen((file.substr(0, file.rfind('/')) + "/libnvperf_host.so").c_str(), RTLD_NOW);
  const auto properties = reinterpret_cast<decltype(&cuptiProfilerHostGetMetricProperties)>(
      dlsym(library, "cuptiProfilerHostGetMetricProperties"));
  CUpti_Profiler_Host_Initialize_Params host{};
  host.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = GetParam();
  if (initialize(&host) != CUPTI_SUCCESS) GTEST_SKIP() << "CUPTI needs a driver for its metrics";
  const auto known = [&](const std::string& metric) {
    CUpti_Profiler_Host_GetMetricProperties_Params params{};
    params.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
    params.pHostObject = host.pHostObject;
    params.pMetricName = metric.c_str();
    return properties(&params) == CUPTI_SUCCESS;
  };
  EXPECT_FALSE(known("dram__bytes_guessed.sum"));
  EXPECT_TRUE(known("lts__t_sectors_srcnode_gpc.sum"));
  const bool fp8 = std::string(GetParam()).substr(0, 2) != "GA";
  for (const auto& [unit, dtype] :
       std::vector<std::pair<std::string, std::string>>{{"cuda-core", "f32"},
                                                        {"cuda-core", "f64"},
                                                        {"cuda-core", "bf16"},
                                                        {"mma", "f64"},
                                                        {"mma", "f16"},
                                                        {"wgmma", "bf16"},
                                                        {"wgmma", "tf32"},
                                                        {"wgmma", "s8"},
                                                        {"wgmma", "e4m3"}})
    EXPECT_EQ(counter_sums(unit, dtype, known).size(), dtype != "e4m3" || fp8 ? 4u : 3u)
        << unit << ' ' << dtype;
  EXPECT_EQ(counter_sums("cuda-core", "s8", known).size(), 3u) << "integers are no FLOPs";
}

INSTANTIATE_TEST_SUITE_P(CuptiKnows, MetricsOfAChip,
                         testing::Values("GA100", "GA102", "AD102", "GH100", "GB100", "GB202"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace bench
#endif
