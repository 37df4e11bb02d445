#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "roofline/base/error.hpp"
#include "roofline/base/schema.hpp"
#include "roofline/predict/sweep.hpp"

namespace roofline::predict {
namespace {

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// "M:8/N:4096/K:4096/pack:pre". All zero for other shapes, such as batched ones.
Shape shape_of(std::string_view text) {
  Shape out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.starts_with("batch:")) return {};
    std::int64_t* size = part.starts_with("M:")   ? &out.m
                         : part.starts_with("N:") ? &out.n
                         : part.starts_with("K:") ? &out.k
                                                  : nullptr;
    if (!size) continue;
    const auto [end, fault] = std::from_chars(part.data() + 2, part.data() + part.size(), *size);
    if (fault != std::errc() || end != part.data() + part.size()) return {};
  }
  return out;
}

}  // namespace

std::vector<MeasuredMatmul> measured_matmuls(const std::filesystem::path& folder,
                                             const Hardware& hardware, const std::string& dtype) {
  const std::filesystem::path path = folder / "roofline.csv";
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) return {};
  const CsvTable csv = CsvTable::read(path);
  using Sizes = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::map<std::pair<Sizes, std::string>, double> rates;  // by variant and pack
  std::set<std::pair<Sizes, std::string>> refused;
  for (std::size_t i = 0; i < csv.rows(); ++i) {
    if (csv.text(i, "kernel") != "matmul" || csv.text(i, "device") != hardware.device ||
        csv.text(i, "dtype") != dtype || csv.text(i, "temperature") != "cold" ||
        csv.text(i, "bytes_source") == "counter" ||  // counts what pads a tile, too
        (hardware.device == "cpu" && csv.number(i, "threads") != hardware.threads)) {
      continue;
    }
    const Shape shape = shape_of(csv.text(i, "shape"));
    if (shape.m < 1 || shape.n < 1 || shape.k < 1) continue;
    const auto key = std::pair(Sizes{shape.m, shape.k, shape.n}, csv.text(i, "variant"));
    if (is_refused(csv.text(i, "verdict"))) refused.insert(key);
    const double rate = csv.number(i, "achieved_flops_per_s");
    if (rate > 0) rates[key] = std::max(rates[key], rate);
  }
  std::map<Sizes, MeasuredMatmul> best;
  for (const auto& [key, rate] : rates) {
    const auto& [sizes, variant] = key;
    const auto& [b, d, f] = sizes;
    MeasuredMatmul& known = best[sizes];
    if (!refused.contains(key) && rate > known.flops_per_s) known = {b, d, f, rate, variant};
  }
  std::vector<MeasuredMatmul> out;
  for (const auto& [sizes, matmul] : best) {
    if (matmul.flops_per_s > 0) out.push_back(matmul);
  }
  return out;
}

}  // namespace roofline::predict
