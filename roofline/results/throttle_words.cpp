#include "roofline/results/throttle_words.hpp"

#include <sstream>

namespace roofline {
namespace {

constexpr const char* kKey = "throttle=";
constexpr const char* kNone = "none";

/// Where the label's reasons begin; npos where it has none.
std::size_t reasons_at(const std::string& label) {
  const std::size_t at = (";" + label).find(std::string(";") + kKey);
  return at == std::string::npos ? at : at + std::string(kKey).size();
}

std::string reasons_of(const std::string& label) {
  const std::size_t begin = reasons_at(label);
  if (begin == std::string::npos) return {};
  return label.substr(begin, label.find(';', begin) - begin);
}

}  // namespace

std::string united_reasons(const std::string& a, const std::string& b) {
  if (a.empty() || a == kNone) return b.empty() ? a : b;
  std::string out = a;
  std::istringstream words(b == kNone ? "" : b);
  for (std::string word; std::getline(words, word, '+');) {
    if (("+" + out + "+").find("+" + word + "+") == std::string::npos) out += "+" + word;
  }
  return out;
}

std::string label_with_reasons(const std::string& label, const std::string& other) {
  const std::string added = reasons_of(other);
  if (added.empty()) return label;
  const std::size_t begin = reasons_at(label);
  if (begin == std::string::npos) {
    const bool open = !label.empty() && label.back() != ';';
    return label + (open ? ";" : "") + kKey + added + ";";
  }
  const std::string own = reasons_of(label);
  return label.substr(0, begin) + united_reasons(own, added) + label.substr(begin + own.size());
}

}  // namespace roofline
