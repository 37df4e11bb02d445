// roofline.csv, as `report --text` and `predict sweep` read it.
#include "roofline/predict/sweep.hpp"
#include "roofline/report/text_report.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const auto hardware =
      predict::machine_hardware(folder.write("ceilings.csv", fuzz::kCeilingsCsv), "cpu");
  folder.write("roofline.csv", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] { text_report(folder.path()); });
  fuzz::only_bad_input([&] { predict::measured_matmuls(folder.path(), hardware, "f32"); });
  return 0;
}
