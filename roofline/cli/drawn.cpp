#include "roofline/cli/drawn.hpp"

#include <fmt/format.h>

#include "roofline/base/error.hpp"

namespace roofline::cli {

void print_drawn(const Drawn& drawn, const std::filesystem::path& of) {
  if (drawn.broke) throw BadInput(fmt::format("{}: {}", of.string(), drawn.notes.front()));
  for (const auto& file : drawn.files) fmt::print("{}\n", file.string());
  for (const auto& note : drawn.notes) fmt::print("{}\n", note);
}

}  // namespace roofline::cli
