#include "roofline/base/dtype_names.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace roofline {
namespace {

TEST(DtypeNames, Spellings) {
  EXPECT_EQ(canonical_dtype("f32"), "f32");
  EXPECT_EQ(canonical_dtype("fp32"), "f32");
  EXPECT_EQ(canonical_dtype("int8"), "s8");
  EXPECT_EQ(canonical_dtype("int4"), "s4");
  EXPECT_EQ(canonical_dtype("bfloat16"), "bf16");
  EXPECT_EQ(canonical_dtype("bf16xint8"), "bf16xs8");
  EXPECT_EQ(canonical_dtype("f99"), std::nullopt);
  EXPECT_EQ(canonical_dtype(""), std::nullopt);
  EXPECT_EQ(canonical_dtype("bf16xs8xs8"), std::nullopt);
}

TEST(DtypeNames, Bytes) {
  EXPECT_EQ(element_bytes("f64"), 8);
  EXPECT_EQ(element_bytes("tf32"), 4);  // as it is stored
  EXPECT_EQ(element_bytes("bf16"), 2);
  EXPECT_EQ(element_bytes("e4m3"), 1);
  EXPECT_EQ(element_bytes("s8"), 1);
  EXPECT_EQ(element_bytes("s4"), 0.5);
  EXPECT_TRUE(std::isnan(element_bytes("bf16xs8")));
  EXPECT_TRUE(std::isnan(element_bytes("int8")));  // not the canonical name
}

TEST(DtypeNames, Wider) {
  EXPECT_EQ(wider_dtype("bf16", "s8"), "bf16");
  EXPECT_EQ(wider_dtype("s4", "s8"), "s8");
  EXPECT_EQ(wider_dtype("f16", "bf16"), "f16");  // of a size: the first
}

}  // namespace
}  // namespace roofline
