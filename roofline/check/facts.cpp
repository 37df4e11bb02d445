#include "roofline/check/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "roofline/base/error.hpp"

namespace roofline::check {

using nlohmann::json;

Facts::Facts(json object, std::string source)
    : object_(std::move(object)), source_(std::move(source)) {
  if (!object_.is_object()) throw BadInput(source_ + ": is not a JSON object");
}

json Facts::at(const std::string& pointer) const {
  const json::json_pointer path(pointer);
  return object_.contains(path) ? object_.at(path) : json(nullptr);
}

double Facts::number(const std::string& pointer) const {
  const json value = at(pointer);
  if (value.is_null()) return std::nan("");
  if (!value.is_number()) fail(pointer, "a number");
  return value.get<double>();
}

std::optional<bool> Facts::flag(const std::string& pointer) const {
  const json value = at(pointer);
  if (value.is_null()) return std::nullopt;
  if (!value.is_boolean()) fail(pointer, "true or false");
  return value.get<bool>();
}

std::string Facts::text(const std::string& pointer) const {
  const json value = at(pointer);
  if (value.is_null()) return {};
  if (!value.is_string()) fail(pointer, "a text");
  return value.get<std::string>();
}

bool Facts::is_virtual() const {
  const std::string hypervisor = text("/state/hypervisor");
  return !hypervisor.empty() && hypervisor != "none";
}

std::optional<std::size_t> Facts::size(const std::string& pointer) const {
  const json value = at(pointer);
  if (value.is_null()) return std::nullopt;
  if (!value.is_array()) fail(pointer, "a list");
  return value.size();
}

std::optional<std::int64_t> Facts::count(const std::string& pointer) const {
  const double value = number(pointer);
  if (std::isnan(value)) return std::nullopt;
  if (value < 0 || value > 1e15 || value != std::floor(value)) fail(pointer, "a count");
  return static_cast<std::int64_t>(value);
}

void Facts::fail(const std::string& pointer, const char* wanted) const {
  throw BadInput(fmt::format("{}: field '{}' is not {}", source_, pointer.substr(1), wanted));
}

machine::Machine machine_of(const Facts& known) {
  machine::Machine out;
  out.name = known.text("/name");
  out.microarchitecture = known.text("/cpu/microarchitecture");
  const std::size_t caches = known.size("/caches").value_or(0);
  for (std::size_t i = 0; i < caches; ++i) {
    const auto whole = [&](const char* field) {
      return known.count(fmt::format("/caches/{}/{}", i, field)).value_or(0);
    };
    out.caches.push_back({static_cast<int>(whole("level")), whole("bytes"),
                          static_cast<int>(std::max<std::int64_t>(1, whole("cores_sharing"))),
                          whole("total_bytes")});
  }
  out.facts = known.at("");
  return out;
}

}  // namespace roofline::check
