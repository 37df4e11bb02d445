// Google Benchmark's JSON, through the whole analysis.
#include "roofline/results/bench_json.hpp"

#include "roofline/ceilings/ceilings.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/roofline_csv.hpp"
#include "roofline/report/summary.hpp"
#include "roofline/results/quiet.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  static const CeilingContext machine{.machine = "box",
                                      .caches = {{1, 32768, 1, 131072}, {2, 524288, 1, 2097152}}};
  fuzz::only_bad_input([&] {
    BenchData all = parse_bench_json(fuzz::text_of(data, size), "input", {"cpu", "f32", "", "", 1});
    set_disturbed_apart(all.benchmarks);
    const Ceilings ceilings = ceilings_from(all.benchmarks, machine);
    const auto points = overlay(all.benchmarks, ceilings.rows);
    ceilings_table(ceilings.rows).str();
    sweep_table(ceilings.sweep, {.machine = "box"}).str();
    roofline_table(points, {.machine = "box"}).str();
    ceilings_summary(ceilings.rows);
    kernels_summary(points);
  });
  return 0;
}
