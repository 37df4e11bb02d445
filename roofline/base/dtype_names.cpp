#include "roofline/base/dtype_names.hpp"

#include <cmath>
#include <utility>

namespace roofline {
namespace {

struct Type {
  std::string_view name;
  double bytes;
};
constexpr Type kTypes[] = {{"f64", 8},  {"f32", 4},  {"tf32", 4}, {"bf16", 2}, {"f16", 2},
                           {"e4m3", 1}, {"e5m2", 1}, {"s64", 8},  {"u64", 8},  {"s32", 4},
                           {"u32", 4},  {"s16", 2},  {"u16", 2},  {"s8", 1},   {"u8", 1},
                           {"s4", 0.5}, {"u4", 0.5}};
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"fp64", "f64"},    {"float64", "f64"}, {"double", "f64"},  {"fp32", "f32"},
    {"float32", "f32"}, {"float", "f32"},   {"fp16", "f16"},    {"half", "f16"},
    {"fp8", "e4m3"},    {"int8", "s8"},     {"float16", "f16"}, {"bfloat16", "bf16"},
    {"uint8", "u8"},    {"int4", "s4"},     {"uint4", "u4"},    {"int16", "s16"},
    {"int32", "s32"},   {"uint32", "u32"},  {"int64", "s64"},   {"uint64", "u64"}};

std::optional<std::string> single(std::string_view name) {
  if (!std::isnan(element_bytes(name))) return std::string(name);
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

double element_bytes(std::string_view dtype) {
  for (const Type& type : kTypes) {
    if (type.name == dtype) return type.bytes;
  }
  return NAN;
}

std::string wider_dtype(std::string_view first, std::string_view second) {
  return std::string(element_bytes(second) > element_bytes(first) ? second : first);
}

}  // namespace roofline
