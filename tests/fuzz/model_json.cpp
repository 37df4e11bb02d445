// A model file, as `predict serve --model FILE.json` reads it.
#include "roofline/predict/serve.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const auto chip = predict::chip_hardware("h100-sxm");
  const auto path = folder.write("model.json", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] {
    const predict::Serving serving{.model = predict::transformer(path.string()),
                                   .batch = 8,
                                   .context = 8192,
                                   .roofs = predict::roofs(chip, {"bf16"}),
                                   .memory_bytes = chip.memory_bytes};
    predict::predict(serving);
    predict::best_of(predict::slices(serving, kUnknownNumber, 0.02, 64));
  });
  return 0;
}
