#include "roofline/run/gpu_choice.hpp"

#include <gtest/gtest.h>

namespace roofline {
namespace {

using nlohmann::json;

const json kTwo = {{{"name", "NVIDIA A"}, {"mig", false}},
                   {{"name", "NVIDIA B"}, {"mig", nullptr}}};
const std::vector<std::string> kUuids = {"GPU-11112222-aaaa", "GPU-33334444-bbbb"};

GpuChoice choose(const std::string& asked, const char* visible = nullptr) {
  return choose_gpu(kTwo, kUuids, asked, visible);
}

TEST(ChooseGpu, TakesIndexUuidAndItsBeginning) {
  EXPECT_EQ(choose("0").gpu, "0");
  EXPECT_EQ(choose("1").gpu, "1");
  EXPECT_EQ(choose("GPU-33334444-bbbb").gpu, "1");
  EXPECT_EQ(choose("GPU-3333").gpu, "1");
  EXPECT_TRUE(choose("1").notes.empty());
}

TEST(ChooseGpu, TakesTheFirstAndSaysThatThereAreOthers) {
  EXPECT_EQ(choose("").gpu, "0");
  EXPECT_EQ(choose("").notes,
            std::vector<std::string>{"2 GPUs: measuring 0 (NVIDIA A); --gpu picks another"});
  EXPECT_TRUE(choose_gpu(json::array({kTwo[0]}), {"GPU-1"}, "", nullptr).notes.empty());
}

TEST(ChooseGpu, KeepsToWhatTheEnvironmentShowsUnlessAsked) {
  EXPECT_EQ(choose("", "1,0").gpu, "1");
  EXPECT_EQ(choose("", "GPU-3333").gpu, "1");
  EXPECT_EQ(choose("0", "1").gpu, "0");
}

TEST(ChooseGpu, NamesTheGpusWhereThereIsNoSuchOne) {
  EXPECT_EQ(choose("2").fault, "--gpu 2: no such GPU; here: 0 (NVIDIA A), 1 (NVIDIA B)");
  EXPECT_EQ(choose("GPU-5").fault, "--gpu GPU-5: no such GPU; here: 0 (NVIDIA A), 1 (NVIDIA B)");
  EXPECT_EQ(choose("", "-1").fault,
            "CUDA_VISIBLE_DEVICES=-1: no such GPU; here: 0 (NVIDIA A), 1 (NVIDIA B)");
  EXPECT_EQ(choose("", "").fault,
            "CUDA_VISIBLE_DEVICES=: no such GPU; here: 0 (NVIDIA A), 1 (NVIDIA B)");
  EXPECT_NE(choose("99999999999999999999").fault, "");
}

TEST(ChooseGpu, SaysThatASliceIsMeasured) {
  const json cut = {{{"name", "NVIDIA A"}, {"mig", true}}};
  const auto choice = choose_gpu(cut, {"GPU-1"}, "", nullptr);
  EXPECT_EQ(choice.gpu, "0");
  ASSERT_EQ(choice.notes.size(), 1u);
  EXPECT_EQ(choice.notes[0].find("GPU 0 is cut into slices (MIG)"), 0u);
  EXPECT_EQ(choose("MIG-1234").gpu, "MIG-1234");
  EXPECT_EQ(choose("MIG-1234").notes.size(), 1u);
}

}  // namespace
}  // namespace roofline
