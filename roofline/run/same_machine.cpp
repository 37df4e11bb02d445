#include "roofline/run/same_machine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace roofline {
namespace {

using nlohmann::json;

/// What a kernel keeps for itself changes from version to version; modules are larger.
constexpr double kMemoryTolerance = 0.03;

json at(const json& facts, const char* field) {
  const json::json_pointer pointer(field);
  return facts.contains(pointer) ? facts.at(pointer) : json();
}

std::string said(const char* field, std::string_view then, std::string_view now) {
  return fmt::format("field {} says {}, this machine has {}", field + 1, then, now);
}

std::string caches_text(const json& caches) {
  std::string out;
  for (const json& cache : caches) {
    out += fmt::format("{}L{} {} bytes ({} in all)", out.empty() ? "" : ", ",
                       at(cache, "/level").dump(), at(cache, "/bytes").dump(),
                       at(cache, "/total_bytes").dump());
  }
  return out;
}

std::string names_text(const json& devices) {
  std::string out;
  for (const json& device : devices) {
    out += (out.empty() ? "" : ", ") + at(device, "/name").dump();
  }
  return out.empty() ? "none" : out;
}

}  // namespace

std::string machine_difference(const json& then, const json& now, bool with_gpus) {
  for (const char* field : {"/name", "/cpu/model", "/cpu/microarchitecture"}) {
    const json before = at(then, field), here = at(now, field);
    if (before.is_string() && here.is_string() && before != here) {
      return said(field, before.get<std::string>(), here.get<std::string>());
    }
  }
  const json bytes = at(then, "/memory/bytes"), bytes_here = at(now, "/memory/bytes");
  if (bytes.is_number() && bytes_here.is_number() &&
      std::abs(bytes.get<double>() / bytes_here.get<double>() - 1) > kMemoryTolerance) {
    return said("/memory/bytes", bytes.dump(), bytes_here.dump());
  }
  const auto lists = [&](const char* field, auto text) -> std::string {
    const json before = at(then, field), here = at(now, field);
    if (!before.is_array() || !here.is_array() || text(before) == text(here)) return {};
    return said(field, text(before), text(here));
  };
  const std::string caches = lists("/caches", caches_text);
  if (!caches.empty() || !with_gpus) return caches;
  return lists("/gpu/devices", names_text);
}

}  // namespace roofline
