// The JSON files of this folder, embedded when the program is built so that it stands alone.
#pragma once

#include <string_view>

namespace roofline::specs {

extern const std::string_view kChipsJson;
extern const std::string_view kCpuJson;
extern const std::string_view kModelsJson;

}  // namespace roofline::specs
