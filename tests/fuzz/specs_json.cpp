// The spec data. It is compiled in, so its own exception is as good as ours.
#include "roofline/specs/specs.hpp"

#include "roofline/ceilings/roofs.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  const auto text = fuzz::text_of(data, size);
  try {
    for (const auto& chip : specs::parse_chips(text)) {
      chip.peak("bf16", "wgmma");
      advertised_ceilings(chip);
    }
  } catch (const nlohmann::json::exception&) {
  }
  try {
    for (const auto& core : specs::parse_microarchitectures(text)) {
      core.flops_per_cycle("f32", "simd-avx2");
      core.bytes_per_cycle("L1", "triad", "simd-avx2");
    }
  } catch (const nlohmann::json::exception&) {
  }
  return 0;
}
