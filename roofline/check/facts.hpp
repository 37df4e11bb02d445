// A machine.json, asked field by field: what an older folder lacks is unknown, never a guess.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "roofline/machine/machine.hpp"

namespace roofline::check {

class Facts {
 public:
  Facts() = default;
  /// `source` names the file in messages. Throws BadInput if `object` is no JSON object.
  Facts(nlohmann::json object, std::string source);

  /// By JSON pointer ("/state/governor"); null if it is absent.
  nlohmann::json at(const std::string& pointer) const;
  /// NaN, nothing and an empty text stand for absent and null. Throw BadInput naming file and field
  /// for another type.
  double number(const std::string& pointer) const;
  std::optional<std::int64_t> count(const std::string& pointer) const;  ///< up to 1e15
  std::optional<bool> flag(const std::string& pointer) const;
  std::string text(const std::string& pointer) const;
  /// Whether a hypervisor is below, as far as is known.
  bool is_virtual() const;
  /// Entries of an array; nothing if it is unknown.
  std::optional<std::size_t> size(const std::string& pointer) const;

 private:
  [[noreturn]] void fail(const std::string& pointer, const char* wanted) const;

  nlohmann::json object_ = nlohmann::json::object();
  std::string source_;
};

/// The machine that machine.json tells of, as far as ceilings need it.
machine::Machine machine_of(const Facts& known);

}  // namespace roofline::check
