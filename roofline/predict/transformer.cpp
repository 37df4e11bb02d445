#include "roofline/predict/transformer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/results/benchmark.hpp"
#include "roofline/specs/data.hpp"

namespace roofline::predict {
namespace {

using nlohmann::json;

/// `source` stands for the file in messages.
Transformer read(const json& entry, const std::string& name, const std::string& source) {
  if (!entry.is_object()) throw BadInput(fmt::format("{}: not a JSON object", source));
  const auto size = [&](const char* key) {
    constexpr double kLargest = 1e9;
    if (!entry.contains(key)) throw BadInput(fmt::format("{}: no '{}'", source, key));
    const json& value = entry.at(key);
    if (!value.is_number_integer() || value.get<double>() < 1 || value.get<double>() > kLargest) {
      throw BadInput(fmt::format("{}: '{}' is {}, not a whole number from 1 to 1e9", source, key,
                                 value.dump()));
    }
    return value.get<std::int64_t>();
  };
  Transformer out;
  out.name = name;
  out.layers = size("layers");
  out.d_model = size("d_model");
  out.d_ff = size("d_ff");
  out.heads = size("heads");
  out.kv_heads = size("kv_heads");
  out.head_dim = size("head_dim");
  out.vocabulary = size("vocabulary");
  if (out.heads % out.kv_heads != 0) {
    throw BadInput(
        fmt::format("{}: kv_heads {} does not divide heads {}", source, out.kv_heads, out.heads));
  }
  if (entry.contains("source") && entry.at("source").is_string()) out.source = entry.at("source");
  return out;
}

/// Throws BadInput for a key that stands twice, of which a parser keeps the last.
void refuse_twice(const std::string& text, const std::string& source) {
  std::set<std::string> keys;
  const auto take = [&](int depth, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::key && depth == 1 && !keys.insert(value).second) {
      throw BadInput(fmt::format("{}: '{}' stands twice", source, value.get<std::string>()));
    }
    return true;
  };
  [[maybe_unused]] const json read = json::parse(text, take, false);
}

}  // namespace

double Transformer::parameters() const {
  const double l = static_cast<double>(layers), d = static_cast<double>(d_model),
               f = static_cast<double>(d_ff), n = static_cast<double>(heads),
               k = static_cast<double>(kv_heads), h = static_cast<double>(head_dim),
               v = static_cast<double>(vocabulary);
  return l * (3 * d * f + 2 * d * n * h + 2 * d * k * h) + 2 * d * v;
}

double Transformer::kv_elements_per_token() const {
  return 2.0 * static_cast<double>(kv_heads) * static_cast<double>(head_dim) *
         static_cast<double>(layers);
}

const std::vector<Transformer>& transformers() {
  static const auto all = [] {
    std::vector<Transformer> out;
    const json table = json::parse(specs::kModelsJson);
    for (const auto& [name, entry] : table.at("models").items()) {
      out.push_back(read(entry, name, "models.json: " + name));
    }
    return out;
  }();
  return all;
}

Transformer transformer(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (path.extension() == ".json") {
    const std::string text = read_text(path);
    const json entry = parse_json(text, name_or_file);
    refuse_twice(text, name_or_file);
    return read(entry, path.stem().string(), name_or_file);
  }
  std::vector<std::string> names;
  for (const Transformer& known : transformers()) {
    if (known.name == name_or_file) return known;
    names.push_back(known.name);
  }
  throw BadInput(fmt::format("unknown model '{}'; known: {}, or a FILE.json", name_or_file,
                             fmt::join(names, ", ")));
}

}  // namespace roofline::predict
