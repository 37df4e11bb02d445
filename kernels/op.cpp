#include "kernels/op.hpp"

#include <charconv>

namespace kernels {

std::string Case::text(std::string_view key, std::string_view otherwise) const {
  for (const auto& [k, v] : keys)
    if (k == key) return v;
  return std::string(otherwise);
}

std::int64_t Case::size(std::string_view key) const {
  const std::string value = text(key);
  const std::string field(key);
  if (value.empty()) throw BadInput("shape: missing '" + field + ":<number>'");
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error == std::errc::result_out_of_range)
    throw BadInput("shape: " + field + ":" + value + " is too large");
  if (error != std::errc() || end != value.data() + value.size())
    throw BadInput("shape: " + field + ":" + value + " is not a whole number");
  if (n < 1) throw BadInput("shape: " + field + ":" + value + " must be at least 1");
  if (n > std::int64_t{1} << 40) throw BadInput("shape: " + field + ":" + value + " is too large");
  return n;
}

std::string Case::name() const {
  std::string name = dtype;
  for (const auto& [key, value] : keys) name += "/" + key + ":" + value;
  return name + "/threads:" + std::to_string(threads);
}

}  // namespace kernels
