#include "roofline/dtype_names.hpp"

#include <algorithm>
#include <utility>

namespace roofline {
namespace {

constexpr std::string_view kNames[] = {"f64",  "f32", "tf32", "bf16", "f16", "e4m3",
                                       "e5m2", "s64", "u64",  "s32",  "u32", "s16",
                                       "u16",  "s8",  "u8",   "s4",   "u4"};
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"fp64", "f64"},   {"float64", "f64"}, {"double", "f64"}, {"fp32", "f32"},  {"float32", "f32"},
    {"float", "f32"},  {"fp16", "f16"},    {"half", "f16"},   {"fp8", "e4m3"},  {"int8", "s8"},
    {"uint8", "u8"},   {"int4", "s4"},     {"uint4", "u4"},   {"int16", "s16"}, {"int32", "s32"},
    {"uint32", "u32"}, {"int64", "s64"},   {"uint64", "u64"}};

std::optional<std::string> single(std::string_view name) {
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) {
    return std::string(name);
  }
  for (const auto& [spelling, ours] : kSpellings) {
    if (spelling == name) return std::string(ours);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> canonical_dtype(std::string_view name) {
  if (auto whole = single(name)) return whole;
  const std::size_t cross = name.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto left = single(name.substr(0, cross)), right = single(name.substr(cross + 1));
  if (!left || !right) return std::nullopt;
  return *left + "x" + *right;
}

}  // namespace roofline
