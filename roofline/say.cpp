#include "roofline/say.hpp"

#include <cstdio>

namespace roofline {

void say_text(std::string_view text) {
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace roofline
