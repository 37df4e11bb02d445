// machine.json and run.json of a results folder.
#include "roofline/predict/hardware.hpp"
#include "roofline/run_folder.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const auto ceilings = folder.write("ceilings.csv", fuzz::kCeilingsCsv);
  folder.write("machine.json", fuzz::text_of(data, size));
  folder.write("run.json", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] { predict::machine_hardware(ceilings, "cpu"); });
  fuzz::only_bad_input([&] { predict::machine_hardware(ceilings, "gpu"); });
  fuzz::only_bad_input([&] { RunFolder::resume(folder.path()).write_state("running", 1); });
  return 0;
}
