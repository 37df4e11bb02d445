#include "roofline/check/thresholds.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roofline::check {
namespace {

using nlohmann::json;

ShareRule read_rule(const json& entry) {
  ShareRule rule;
  entry.at("against").get_to(rule.against);
  const auto text = [&](const char* field) { return entry.value(field, std::string()); };
  rule.device = text("device");
  rule.resource = text("resource");
  rule.level = text("level");
  rule.exec_unit = text("exec_unit");
  rule.dtype = text("dtype");
  rule.capability = text("capability");
  if (entry.contains("virtual")) rule.is_virtual = entry.at("virtual").get<bool>();
  rule.judged = entry.value("judged", true);
  if (rule.judged) {
    entry.at("warn").get_to(rule.warn);
    entry.at("fail").get_to(rule.fail);
  }
  entry.at("reason").get_to(rule.reason);
  return rule;
}

}  // namespace

Thresholds::Thresholds(std::string_view json_text) {
  const json file = json::parse(json_text);
  for (const json& entry : file.at("shares")) shares_.push_back(read_rule(entry));
  for (const auto& [name, entry] : file.at("limits").items()) {
    limits_[name] = entry.at("value").get<double>();
  }
}

const Thresholds& Thresholds::get() {
  static const Thresholds embedded(kThresholdsJson);
  return embedded;
}

const ShareRule* Thresholds::share(const ShareRule& wanted) const {
  const auto fits = [](const std::string& rule, const std::string& value) {
    return rule.empty() || rule == value;
  };
  const auto found = std::find_if(shares_.begin(), shares_.end(), [&](const ShareRule& rule) {
    return rule.against == wanted.against && fits(rule.device, wanted.device) &&
           fits(rule.resource, wanted.resource) && fits(rule.level, wanted.level) &&
           fits(rule.exec_unit, wanted.exec_unit) && fits(rule.dtype, wanted.dtype) &&
           fits(rule.capability, wanted.capability) &&
           (!rule.is_virtual || rule.is_virtual == wanted.is_virtual);
  });
  return found == shares_.end() ? nullptr : &*found;
}

}  // namespace roofline::check
