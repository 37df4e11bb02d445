#include "roofline/results/run_notes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

class RunNotes : public testing::Test {
 protected:
  RunNotes() { fs::create_directories(folder_); }
  ~RunNotes() override { fs::remove_all(folder_); }
  std::vector<std::string> of(const char* run_json) const {
    std::ofstream(folder_ / "run.json") << run_json;
    return run_notes(folder_);
  }
  fs::path folder_ = fs::path(testing::TempDir()) / ("run_notes." + std::to_string(::getpid()));
};

TEST_F(RunNotes, OfARunThatEndedThereAreNone) {
  EXPECT_TRUE(run_notes(folder_).empty()) << "no run.json";
  EXPECT_TRUE(of(R"({"status": "complete", "groups_measured": 2, "failures": []})").empty());
}

TEST_F(RunNotes, ARunThatWasCutShort) {
  EXPECT_EQ(of(R"({"status": "interrupted", "groups_measured": 23, "groups_total": 45})"),
            std::vector<std::string>{
                "the run was interrupted: 23 of 45 groups of benchmarks were measured"});
}

TEST_F(RunNotes, ARunWhoseEndNobodyNoted) {
  EXPECT_EQ(of(R"({"status": "running", "groups_measured": 1, "groups_total": 45})"),
            std::vector<std::string>{
                "the run goes on, or was killed: 1 of 45 groups of benchmarks were measured"});
}

TEST_F(RunNotes, KernelsThatWereWrongAreNamedOnce) {
  EXPECT_EQ(of(R"({"status": "failed", "failures": [
                     {"benchmark": "dot/v1/f32/N:8"}, {"benchmark": "dot/v1/f32/N:9"},
                     {"benchmark": "dot/v2/f32/N:8"}]})"),
            std::vector<std::string>{"3 benchmarks were wrong or gave no time: dot/v1, dot/v2"});
  EXPECT_EQ(of(R"({"failures": [{"benchmark": "mine"}]})"),
            std::vector<std::string>{"1 benchmark was wrong or gave no time: mine"});
  EXPECT_EQ(of(R"({"failures": [{"benchmark": "a/1"}, {"benchmark": "a/2"}, {"benchmark": "a/3"},
                     {"benchmark": "a/4"}, {"benchmark": "a/5"}, {"benchmark": "a/6"},
                     {"benchmark": "a/7"}, {"benchmark": "a/8"}]})"),
            std::vector<std::string>{"8 benchmarks were wrong or gave no time: a/1, a/2, a/3, a/4, "
                                     "a/5, a/6 and 2 more"});
}

TEST_F(RunNotes, WhatIsNoRecordIsRefused) {
  for (const char* text : {"{", "[]", R"({"status": 1})", R"({"failures": [{}]})"})
    EXPECT_THROW(of(text), BadInput) << text;
}

}  // namespace
}  // namespace roofline
