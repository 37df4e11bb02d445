// machine.json and run.json of a results folder, as all commands read them that take one.
#include "roofline/check/check.hpp"
#include "roofline/compare/compare.hpp"
#include "roofline/predict/hardware.hpp"
#include "roofline/results/run_folder.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const auto ceilings = folder.write("ceilings.csv", fuzz::kCeilingsCsv);
  static const bool benches = std::filesystem::create_directory(folder.path() / "bench");
  static const auto bench = folder.write("bench/any.json", fuzz::kBenchJson);
  if (!benches) return -1;
  folder.write("machine.json", fuzz::text_of(data, size));
  folder.write("run.json", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] { predict::machine_hardware(ceilings, "cpu"); });
  fuzz::only_bad_input([&] { predict::machine_hardware(ceilings, "gpu"); });
  fuzz::only_bad_input([&] {
    const auto report = check::check_folder(folder.path(), folder.path());
    check::text_of(report);
    check::json_of(report).dump();
  });
  fuzz::only_bad_input([&] {
    const auto side = compare::read_side(folder.path());
    compare::text_of(compare::compare("a", side, "b", side));
  });
  fuzz::only_bad_input([&] { RunFolder::resume(folder.path()).write_state("running", 1); });
  return 0;
}
