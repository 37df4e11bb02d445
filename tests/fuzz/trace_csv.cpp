// trace.csv, as `check` reads it, of a machine with a CPU and a GPU.
#include "roofline/check/check.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const auto ceilings = folder.write("ceilings.csv", fuzz::kCeilingsCsv);
  static const auto machine =
      folder.write("machine.json", R"({"gpu": {"devices": [{"name": "NVIDIA H100 80GB HBM3"}]}})");
  folder.write("trace.csv", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] { check::text_of(check::check_folder(folder.path(), folder.path())); });
  return 0;
}
