#include "roofline/check/side_by_side.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace roofline::check {
namespace {

Resource resource(const char* kind, const char* level, const char* operation, double measured) {
  Resource out;
  out.measured.device = "gpu";
  out.measured.resource = kind;
  out.measured.level = level;
  out.measured.operation = operation;
  out.measured.dtype = "f32";
  out.measured.threads = 132;
  out.measured.measured = measured;
  return out;
}

/// Three GPUs of a machine: the second one's memory is slow, the third one has no latency.
std::vector<Report> three() {
  std::vector<Report> out(3);
  const double memory[] = {4e12, 3e12, 4.2e12}, latency[] = {500e-9, 400e-9, 0};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].machine = "box";
    out[i].gpu_index = i;
    out[i].folder = "run-" + std::to_string(i);
    out[i].verdict = i == 1 ? Grade::kWarn : Grade::kPass;
    out[i].resources = {resource("bandwidth", "HBM", "read", memory[i])};
    if (i < 2) out[i].resources.push_back(resource("latency", "HBM", "chase", latency[i]));
  }
  return out;
}

TEST(SideBySide, SharesAreOfTheMedianAndLargerIsBetter) {
  const SideBySide sides = side_by_side(three());
  ASSERT_EQ(sides.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(sides.rows[0].median, 4e12);
  EXPECT_DOUBLE_EQ(sides.rows[0].shares[1], 0.75);
  EXPECT_DOUBLE_EQ(sides.rows[0].shares[2], 1.05);
  EXPECT_DOUBLE_EQ(sides.rows[1].median, 450e-9);
  EXPECT_DOUBLE_EQ(sides.rows[1].shares[0], 0.9);
  EXPECT_DOUBLE_EQ(sides.rows[1].shares[1], 1.125);
  EXPECT_TRUE(std::isnan(sides.rows[1].shares[2]));
}

TEST(SideBySide, TheSlowestComesFirst) {
  const SideBySide sides = side_by_side(three());
  EXPECT_EQ(sides.names, (std::vector<std::string>{"GPU 0", "GPU 1", "GPU 2"}));
  EXPECT_EQ(sides.in_order, (std::vector<std::size_t>{1, 0, 2}));
  EXPECT_EQ(sides.slowest, (std::vector<std::size_t>{1, 0, 0}));
}

TEST(SideBySide, WhatIsNotOneMachinesGpusIsNumbered) {
  auto reports = three();
  reports[1].machine = "another box";
  EXPECT_EQ(side_by_side(reports).names, (std::vector<std::string>{"1", "2", "3"}));
  reports = three();
  reports[2].gpu_index = 1;  // two runs of one GPU
  EXPECT_EQ(side_by_side(reports).names, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(SideBySide, WhatOneAloneHasIsNotCompared) {
  auto reports = three();
  reports[0].resources.pop_back();
  reports[2].resources.clear();
  const SideBySide sides = side_by_side(reports);
  ASSERT_EQ(sides.rows.size(), 1u);
  EXPECT_EQ(sides.rows[0].resource.name(), "gpu HBM read");
  EXPECT_EQ(sides.slowest[2], sides.rows.size());
  EXPECT_EQ(sides.in_order.back(), 2u);
}

TEST(SideBySide, JsonHasEveryBoxAndNullForTheUnknown) {
  const nlohmann::json out = json_of(three());
  EXPECT_EQ(out.at("verdict"), "WARN");
  EXPECT_EQ(out.at("boxes").size(), 3u);
  EXPECT_EQ(out.at("side_by_side").at(0).at("key"), "gpu/bandwidth/HBM/read");
  EXPECT_EQ(out.at("side_by_side").at(0).at("shares").at(1), 0.75);
  EXPECT_TRUE(out.at("side_by_side").at(1).at("shares").at(2).is_null());
}

TEST(SideBySide, TheWorstVerdictIsThatOfAll) {
  auto reports = three();
  EXPECT_EQ(verdict_of(reports), Grade::kWarn);
  reports[2].verdict = Grade::kFail;
  EXPECT_EQ(verdict_of(reports), Grade::kFail);
  reports.resize(1);
  reports[0].verdict = Grade::kUnknown;
  EXPECT_EQ(verdict_of(reports), Grade::kUnknown);
}

}  // namespace
}  // namespace roofline::check
