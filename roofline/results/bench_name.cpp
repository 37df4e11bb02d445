#include "roofline/results/bench_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "roofline/base/dtype_names.hpp"

namespace roofline {
namespace {

bool starts_with_any(std::string_view part, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return part.starts_with(prefix); });
}

bool is_time_type(std::string_view part) {
  return part == "real_time" || part == "manual_time" || part == "process_time";
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "/"));
}

bool keyed(std::string_view part) {
  const std::size_t colon = part.find(':');
  return colon != std::string_view::npos && colon > 0;
}

/// key:value, or a number as Google Benchmark writes an argument.
bool is_argument(std::string_view part) {
  if (keyed(part)) return true;
  if (part.starts_with('-')) part.remove_prefix(1);
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

/// op/variant/dtype/key:value/…, where the variant is a name: neither saxpy/1024/f32 nor
/// convert/f32/bf16 has one.
bool is_ours(const std::vector<std::string>& parts) {
  return parts.size() >= 3 && canonical_dtype(parts[2]) && !is_argument(parts[1]) &&
         !canonical_dtype(parts[1]) && std::all_of(parts.begin() + 3, parts.end(), keyed);
}

}  // namespace

std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    parts.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  while (parts.size() > 1 &&
         (is_time_type(parts.back()) ||
          starts_with_any(parts.back(),
                          {"iterations:", "repeats:", "min_time:", "min_warmup_time:"}))) {
    parts.pop_back();
  }
  return parts;
}

std::optional<int> positive_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::optional<std::string> read_name(Benchmark& out) {
  const auto parts = name_parts(out.name);
  out.name = joined(parts);
  std::vector<std::string> words, shape;
  for (const std::string& part : parts) {
    if (is_time_type(part)) continue;  // of a name that ends with threads:…
    if (!is_argument(part)) {
      words.push_back(part);
      continue;
    }
    if (!keyed(part)) {
      shape.push_back(part);
      continue;
    }
    const std::size_t colon = part.find(':');
    out.keys.emplace_back(part.substr(0, colon), part.substr(colon + 1));
    if (out.keys.back().first != "temp" && out.keys.back().first != "threads") {
      shape.push_back(part);
    }
  }
  if (const std::string threads = out.key("threads"); !threads.empty()) {
    const auto count = positive_int(threads);
    if (!count) return fmt::format("'threads:{}' in the name is not a count", threads);
    out.threads = *count;
  }
  out.temperature = out.key("temp");
  out.shape = joined(shape);
  if (is_ours(parts)) {
    out.kernel = parts[0];
    out.variant = parts[1];
    out.dtype = *canonical_dtype(parts[2]);
    return std::nullopt;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto dtype = canonical_dtype(words[i]);
    if (dtype) out.dtype = *dtype;
    if (i == 0 || !dtype) out.kernel += (i == 0 ? "" : "/") + words[i];
  }
  if (out.kernel.empty()) out.kernel = out.name;
  return std::nullopt;
}

std::string benchmark_name(std::string_view name) { return joined(name_parts(name)); }

}  // namespace roofline
