// ceilings.csv, laid under two benchmarks, reported and predicted with.

#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/ceilings/ceiling.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/roofline_csv.hpp"
#include "roofline/predict/hardware.hpp"
#include "roofline/report/text_report.hpp"
#include "roofline/results/bench_json.hpp"
#include "tests/fuzz/fixture.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const fuzz::Folder folder;
  static const BenchData bench = parse_bench_json(fuzz::kBenchJson, "fixture");
  const auto path = folder.write("ceilings.csv", fuzz::text_of(data, size));
  fuzz::only_bad_input([&] {
    const auto ceilings = read_ceilings(path);
    ceilings_table(ceilings).str();
    roofline_table(overlay(bench.benchmarks, ceilings), {.machine = "box"}).str();
  });
  fuzz::only_bad_input([&] { text_report(folder.path()); });
  fuzz::only_bad_input([&] { predict::roofs(predict::machine_hardware(path), {"bf16"}); });
  return 0;
}
