// What a bench program's --list prints, to the plan of a run.
#include "roofline/run/run_plan.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace roofline;
  fuzz::only_bad_input([&] {
    const auto listed = parse_list(fuzz::text_of(data, size), "bench_input");
    for (const Group& group : make_plan(listed, "", false).groups) {
      for (const Unit& unit : group.units) exact_filter(unit.names);
    }
  });
  return 0;
}
