// What the CUDA side decides on the host: none of this needs a GPU.
#include "kernels/cuda/device.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "kernels/cuda/cublas.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/harness.hpp"
#include "kernels/cuda/traffic.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

namespace kernels::cuda {
namespace {

TEST(VersionConflict, NamesBothVersions) {
  EXPECT_EQ(version_conflict(0, 13000), "no NVIDIA driver");
  EXPECT_EQ(version_conflict(12080, 13000),
            "NVIDIA driver too old: it supports CUDA 12.8, this build needs CUDA 13.0 (built with "
            "13.0)");
  EXPECT_EQ(version_conflict(11080, 12040),
            "NVIDIA driver too old: it supports CUDA 11.8, this build needs CUDA 12.0 (built with "
            "12.4)");
}

TEST(VersionConflict, AllowsNewerDriversAndMinorVersions) {
  EXPECT_EQ(version_conflict(13000, 13000), "");
  EXPECT_EQ(version_conflict(13010, 12040), "");
  EXPECT_EQ(version_conflict(12020, 12040), "");
}

TEST(PtxConflict, IsOnlyOfChipsWithoutCodeOfTheirOwn) {
  EXPECT_EQ(
      ptx_conflict(11, 13000, 13010),
      "NVIDIA driver too old for compute capability 11.x: it supports CUDA 13.0, this build's PTX "
      "needs CUDA 13.1");
  EXPECT_EQ(ptx_conflict(11, 13010, 13010), "");
  for (const int major : {8, 9, 10, 12}) EXPECT_EQ(ptx_conflict(major, 12080, 12090), "");
  for (const int major : {10, 12, 13}) EXPECT_NE(ptx_conflict(major, 12040, 12060), "");
  EXPECT_EQ(ptx_conflict(9, 12020, 12060), "");
  EXPECT_EQ(ptx_conflict(7, 12020, 12060), "");
}

TEST(CapabilityFits, PortableCodeGoesOnHopperCodeDoesNot) {
  EXPECT_FALSE(capability_fits(Need::sm80, 7, 5));
  EXPECT_TRUE(capability_fits(Need::sm80, 8, 0));
  EXPECT_TRUE(capability_fits(Need::sm80, 10, 0));
  EXPECT_FALSE(capability_fits(Need::fp8_mma, 8, 6));
  EXPECT_TRUE(capability_fits(Need::fp8_mma, 8, 9));
  EXPECT_FALSE(capability_fits(Need::fp8_mma, 9, 0));
  EXPECT_FALSE(capability_fits(Need::fp8_mma, 10, 0));
  EXPECT_TRUE(capability_fits(Need::fp8_mma, 12, 0));
  EXPECT_FALSE(capability_fits(Need::sm90a, 8, 9));
  EXPECT_TRUE(capability_fits(Need::sm90a, 9, 0));
  EXPECT_FALSE(capability_fits(Need::sm90a, 10, 0));
}

TEST(Missing, SaysTheSameForEveryNeedWithoutAGpu) {
  if (unusable().empty()) GTEST_SKIP() << "there is a GPU";
  for (const Need need : {Need::sm80, Need::fp8_mma, Need::sm90a, Need::cublaslt, Need::cublas,
                          Need::cub, Need::cudnn})
    EXPECT_EQ(cuda::missing(need), unusable());
  EXPECT_EQ(unusable().find('\n'), std::string::npos);
}

TEST(Cublaslt, LoadsOrSaysWhatIsMissing) {
  const std::string why = missing_cublaslt();
  EXPECT_TRUE(why.empty() ? cublaslt().library.has_value() : why.rfind("cuBLASLt", 0) == 0) << why;
}

TEST(Cublas, LoadsOrSaysWhatIsMissing) {
  const std::string why = missing_cublas();
  EXPECT_TRUE(why.empty() ? cublas().library.has_value() : why.rfind("cuBLAS", 0) == 0) << why;
}

TEST(Cudnn, LoadsOrSaysWhatIsMissing) {
  const std::string why = missing_cudnn();
  EXPECT_TRUE(why.empty() || why.rfind("cuDNN", 0) == 0) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

// Needs the driver, which cuDNN's parts are linked against.
TEST(Cudnn, TakesADescriptionOfATensorAndNoneWithoutSizes) {
  if (!unusable().empty()) GTEST_SKIP() << unusable();
  if (const auto why = missing_cudnn(); !why.empty()) GTEST_SKIP() << why;
  const auto described = [](bool sized) {
    const std::int64_t sizes[] = {2, 3, 1, 128}, strides[] = {384, 128, 128, 1};
    const auto type = cudnn::DataType::bf16;
    CudnnObject t(cudnn::Object::tensor);
    t.set(cudnn::Attribute::tensor_unique_id, 1)
        .set(cudnn::Attribute::tensor_data_type, cudnn::Value::data_type, 1, &type)
        .set(cudnn::Attribute::tensor_byte_alignment, 16)
        .set(cudnn::Attribute::tensor_strides, cudnn::Value::int64, 4, strides);
    if (sized) t.set(cudnn::Attribute::tensor_dimensions, cudnn::Value::int64, 4, sizes);
    return t.try_finalize();
  };
  EXPECT_EQ(described(true), "");
  EXPECT_NE(described(false), "");
}

#if __has_include(<cudnn.h>)
TEST(Cudnn, ConstantsAreThoseOfTheHeader) {
  using enum cudnn::Attribute;
  const std::pair<cudnn::Attribute, int> attributes[] = {
      {heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE},
      {heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH},
      {heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS},
      {plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE},
      {plan_engine_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG},
      {plan_workspace_size, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE},
      {graph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE},
      {graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS},
      {tensor_byte_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT},
      {tensor_data_type, CUDNN_ATTR_TENSOR_DATA_TYPE},
      {tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS},
      {tensor_strides, CUDNN_ATTR_TENSOR_STRIDES},
      {tensor_unique_id, CUDNN_ATTR_TENSOR_UNIQUE_ID},
      {tensor_is_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE},
      {pack_unique_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS},
      {pack_data_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS},
      {pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE},
      {sdpa_q, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC},
      {sdpa_k, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC},
      {sdpa_v, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC},
      {sdpa_o, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC},
      {sdpa_scale, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC},
      {sdpa_page_table_k, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC},
      {sdpa_page_table_v, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC},
      {sdpa_lengths_q, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC},
      {sdpa_lengths_kv, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC}};
  for (const auto& [ours, theirs] : attributes) EXPECT_EQ(static_cast<int>(ours), theirs);
  using O = cudnn::Object;
  const std::pair<cudnn::Object, int> objects[] = {
      {O::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
      {O::engine_heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR},
      {O::execution_plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR},
      {O::operation_graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
      {O::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR},
      {O::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR},
      {O::sdpa_forward, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR}};
  for (const auto& [ours, theirs] : objects) EXPECT_EQ(static_cast<int>(ours), theirs);
  using V = cudnn::Value;
  const std::pair<cudnn::Value, int> values[] = {{V::handle, CUDNN_TYPE_HANDLE},
                                                 {V::data_type, CUDNN_TYPE_DATA_TYPE},
                                                 {V::boolean, CUDNN_TYPE_BOOLEAN},
                                                 {V::int64, CUDNN_TYPE_INT64},
                                                 {V::pointer, CUDNN_TYPE_VOID_PTR},
                                                 {V::heuristics_mode, CUDNN_TYPE_HEUR_MODE},
                                                 {V::object, CUDNN_TYPE_BACKEND_DESCRIPTOR}};
  for (const auto& [ours, theirs] : values) EXPECT_EQ(static_cast<int>(ours), theirs);
  using D = cudnn::DataType;
  const std::pair<cudnn::DataType, int> types[] = {{D::f32, CUDNN_DATA_FLOAT},
                                                   {D::f16, CUDNN_DATA_HALF},
                                                   {D::s32, CUDNN_DATA_INT32},
                                                   {D::bf16, CUDNN_DATA_BFLOAT16}};
  for (const auto& [ours, theirs] : types) EXPECT_EQ(static_cast<int>(ours), theirs);
  EXPECT_EQ(cudnn::kSuccess, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnn::kHeuristicsModeA, CUDNN_HEUR_MODE_A);
}
#endif

TEST(Check, ThrowsWithExpressionFileAndLine) {
  EXPECT_NO_THROW(check(cudaSuccess, "f()", "a.cu", 7));
  EXPECT_THROW(check(cudaErrorMemoryAllocation, "f()", "a.cu", 7), OutOfMemory);
  try {
    check(cudaErrorInvalidValue, "f(x)", "a.cu", 7);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "f(x): cudaErrorInvalidValue (invalid argument) at a.cu:7");
  }
}

TEST(ClockBetween, IsTheMedianOverSmsThatBothStampsSaw) {
  // 1 ms apart: 1.5e6, 1.6e6 and 1.7e6 cycles; one SM is missing from the second stamp.
  const std::vector<ClockStamp> start = {{0, 5}, {100, 5}, {200, 5}, {300, 5}};
  const std::vector<ClockStamp> stop = {
      {1500000, 1000005}, {1600100, 1000005}, {1700200, 1000005}, {0, 0}};
  EXPECT_DOUBLE_EQ(clock_between(start, stop), 1.6e9);
}

TEST(ClockBetween, IsUnknownOverShortTimes) {
  EXPECT_TRUE(std::isnan(clock_between({{0, 5}}, {{150, 99000}})));
  EXPECT_TRUE(std::isnan(clock_between({{0, 0}}, {{150, 9900000}})));
  EXPECT_TRUE(std::isnan(clock_between({}, {})));
}

constexpr Caches kH100 = {
    .l1d = 228 << 10, .l2 = 50 << 20, .memory = std::int64_t{80} << 30, .cores = 132};

TEST(StreamingTraffic, OfHbmIsWhatL2CannotHold) {
  const LevelBytes warm = streaming_traffic(1000, 16 << 20, kH100);
  EXPECT_EQ(warm.l1, 1000);
  EXPECT_EQ(warm.l2, 1000);
  EXPECT_TRUE(std::isnan(warm.l3));
  EXPECT_TRUE(std::isnan(warm.dram));
  EXPECT_TRUE(std::isnan(streaming_traffic(1000, 100 << 20, kH100).dram))
      << "an H200 had 110 MB of what it read again in its 60 MB";
  EXPECT_DOUBLE_EQ(streaming_traffic(1000, 200 << 20, kH100).dram, 500) << "at least";
  EXPECT_EQ(streaming_traffic(1000, 250 << 20, kH100).dram, 1000);
  EXPECT_TRUE(std::isnan(streaming_traffic(1000, 1e12, {}).dram)) << "unknown L2";
}

TEST(ColdSlots, RotateOverAHundredTimesL2) {
  const double l2 = 50 << 20;
  Caches chip = kH100;
  chip.memory = std::int64_t{80} << 30;
  EXPECT_EQ(cold_slots(1 << 20, chip), 512) << "no more copies than that";
  EXPECT_EQ(cold_slots(l2, chip), 100);
  EXPECT_EQ(cold_slots(1 << 30, chip), 5);
  EXPECT_EQ(cold_slots(101 * l2, chip), 1);
  chip.memory = std::int64_t{3} << 30;
  EXPECT_EQ(cold_slots(l2, chip), 20) << "a third of the memory";
  EXPECT_EQ(cold_slots(1 << 30, chip), 2) << "two at least";
  chip.memory = std::int64_t{300} << 20;
  EXPECT_EQ(cold_slots(l2, chip), 6) << "five times L2 at least";
}

TEST(SizeBeyondL2, IsWhole64Mb) {
  EXPECT_EQ(size_beyond_l2(1, kH100), std::int64_t{79 * 64} << 20);  // 5000 MB
  EXPECT_EQ(size_beyond_l2(1, {}), std::int64_t{50 * 64} << 20) << "as of 32 MB where unknown";
}

TEST(RequireDeviceMemory, NamesBothSizes) {
  EXPECT_NO_THROW(require_device_memory(1e9, kH100));
  try {
    require_device_memory(100e9, kH100);
    FAIL() << "accepted";
  } catch (const BadInput& e) {
    EXPECT_EQ(std::string(e.what()), "shape: needs 100000 MB, this GPU has 77309 MB free");
  }
}

TEST(Types, HaveTheirSizesAndNames) {
  EXPECT_EQ(size_of(parse_type("x", "tf32")), 4);
  EXPECT_EQ(size_of(parse_type("x", "f16")), 2);
  EXPECT_THROW(parse_type("x", "f8"), BadInput);
  const std::uint16_t one_half = 0x3800;  // 0.5 in binary16
  EXPECT_EQ(load_as_double(Type::f16, &one_half, 0), 0.5);
  const std::uint16_t minus_two = 0xc000;  // -2 in bfloat16
  EXPECT_EQ(load_as_double(Type::bf16, &minus_two, 0), -2.0);
  const std::uint8_t largest_e4m3 = 0x7e;  // 1.75 * 2^8
  EXPECT_EQ(load_as_double(Type::e4m3, &largest_e4m3, 0), 448.0);
  const std::int8_t bytes[] = {1, -128};
  EXPECT_EQ(load_as_double(Type::s8, bytes, 1), -128.0);
}

TEST(ValueAt, IsRepresentableInItsType) {
  for (int i = 0; i < 100; ++i) {
    const double v = value_at(Type::bf16, 3, i, Values::random);
    EXPECT_EQ(v, static_cast<double>(bf16(static_cast<float>(v))));
    EXPECT_LE(std::abs(value_at(Type::f32, 3, i, Values::integers)), 4.0);
    EXPECT_EQ(value_at(Type::s8, 3, i, Values::normal), value_at(Type::s8, 3, i, Values::random));
  }
}

TEST(ValueAt, IsNormalWhereAskedFor) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, beyond_two = 0, below = 0;
  for (int i = 0; i < kCount; ++i) {
    const double v = value_at(Type::f32, 5, i, Values::normal);
    sum += v;
    squares += v * v;
    beyond_two += std::abs(v) > 2;
    below += v < -0.5;
  }
  // Four deviations of each mean; the tail is 0.0455 of a normal distribution.
  EXPECT_NEAR(sum / kCount, 0, 4 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 4 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(beyond_two / kCount, 0.0455, 0.004);
  EXPECT_NEAR(below / kCount, 0.3085, 0.008);
}

}  // namespace
}  // namespace kernels::cuda
