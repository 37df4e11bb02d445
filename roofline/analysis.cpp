#include "roofline/analysis.hpp"

#include "roofline/run_folder.hpp"

namespace roofline {

Analysis analyze_folder(const std::filesystem::path& folder, const CeilingContext& context) {
  Analysis out;
  out.data = read_bench_json(bench_files(folder));
  out.ceilings = ceilings_from(out.data.benchmarks, context);
  out.points = overlay(out.data.benchmarks, out.ceilings.rows);
  ceilings_table(out.ceilings.rows).write(folder / "ceilings.csv");
  sweep_table(out.ceilings.sweep, context.machine).write(folder / "sweep.csv");
  roofline_table(out.points, context.machine).write(folder / "roofline.csv");
  return out;
}

}  // namespace roofline
