#include "roofline/run/run_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "roofline/results/throttle_words.hpp"

namespace roofline {

using nlohmann::json;

json* first_sample(json& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const json& row) {
    return !row.value("error_occurred", false) && !row.value("skipped", false);
  });
  return found != rows.end() ? &*found : nullptr;
}

void add_reasons(json& first, const json& row) {
  const std::string label = first.value("label", "");
  const std::string all = label_with_reasons(label, row.value("label", ""));
  if (all != label) first["label"] = all;
}

void shorten(json& row, bool later) {
  for (const char* field :
       {"family_index", "per_family_instance_index", "run_name", "repetition_index"}) {
    row.erase(field);
  }
  if (later) {
    for (const char* field : {"label", "flops", "bytes", "intensity", "working_set_bytes", "FLOP/s",
                              "B/s", "repetitions", "threads"}) {
      row.erase(field);
    }
    std::erase_if(row.get_ref<json::object_t&>(), [](const auto& item) {
      return item.first.starts_with("bytes_") || item.first.starts_with("flops_part_");
    });
  }
  for (auto& [field, value] : row.items()) {
    if (!value.is_number_float()) continue;
    const double number = value.get<double>();  // counts of bytes and FLOP are whole
    if (number != std::floor(number)) {
      // Not std::stod, which throws on what is near 0; a user's counter may be.
      value = std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
    }
  }
}

std::string file_text(const json& context, const json& rows) {
  constexpr auto kReplace = json::error_handler_t::replace;
  std::string out =
      "{\"context\": " + (context.is_null() ? "{}" : context.dump(-1, ' ', false, kReplace)) +
      ",\n\"benchmarks\": [\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += rows[i].dump(-1, ' ', false, kReplace) + (i + 1 < rows.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

}  // namespace roofline
