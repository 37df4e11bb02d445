// What passes, warns and fails: thresholds.json, with the reason for each figure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::check {

extern const std::string_view kThresholdsJson;  ///< the file, embedded when the program is built

/// A share of a reference below which a resource warns or fails. An empty field matches any.
struct ShareRule {
  std::string against;  ///< advertised, theory or typical
  std::string device, resource, level, exec_unit, dtype;
  std::string capability;          ///< major compute capability of the GPU: "9" for Hopper
  std::optional<bool> is_virtual;  ///< whether a hypervisor is below
  bool judged = true;              ///< else the reference is not one for this resource
  double warn = 0, fail = 0;
  std::string reason;
};

class Thresholds {
 public:
  /// The embedded file.
  static const Thresholds& get();
  explicit Thresholds(std::string_view json_text);

  /// The first rule that fits; nullptr if none does. `wanted` holds every field, `warn` aside.
  const ShareRule* share(const ShareRule& wanted) const;
  /// A figure of the audits. An unknown name is a std::out_of_range.
  double limit(const std::string& name) const { return limits_.at(name); }

 private:
  std::vector<ShareRule> shares_;
  std::map<std::string, double> limits_;
};

}  // namespace roofline::check
