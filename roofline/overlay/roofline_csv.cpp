#include "roofline/overlay/roofline_csv.hpp"

namespace roofline {

CsvTable roofline_table(std::vector<Point> points, const std::vector<Point>& counted,
                        const CeilingContext& context) {
  points.insert(points.end(), counted.begin(), counted.end());
  return roofline_table(points, context);
}

CsvTable roofline_table(const std::vector<Point>& points, const CeilingContext& context) {
  CsvTable table(kRooflineColumns);
  for (const Point& point : points) {
    const Benchmark& row = *point.benchmark;
    table.add_row();
    table.set("machine", context.machine_of(row.device));
    table.set("device", row.device);
    table.set("scope", row.scope);
    table.set("parent", row.parent);
    table.set("kernel", row.kernel);
    table.set("variant", row.variant);
    table.set("dtype", row.dtype);
    table.set("exec_unit", row.exec_unit);
    table.set("shape", row.shape);
    table.set("temperature", row.temperature);
    table.set("threads", row.threads);
    table.set("working_set_bytes", row.working_set_bytes);
    table.set("time_s", point.time_s);
    table.set("time_low_s", point.time_low_s);
    table.set("time_high_s", point.time_high_s);
    table.set("samples", static_cast<double>(row.times_s.size()));
    table.set("samples_rejected", row.samples_rejected());
    table.set("clock_hz", row.clock_hz);
    table.set("power_w", row.power_w);
    table.set("throttle", row.throttle);
    table.set("flops", point.flops);
    table.set("level", point.level);
    table.set("bytes", point.bytes);
    table.set("bytes_source", point.bytes_source);
    table.set("intensity", point.intensity);
    table.set("achieved_flops_per_s", point.achieved_flops_per_s);
    table.set("achieved_bytes_per_s", point.achieved_bytes_per_s);
    table.set("roof", point.roof);
    table.set("roof_flops_per_s", point.roof_flops_per_s);
    table.set("ridge_intensity", point.ridge_intensity);
    table.set("bound_by", point.bound_by);
    table.set("t_lower_s", point.t_lower_s);
    table.set("t_upper_s", point.t_upper_s);
    table.set("fraction_of_roof", point.fraction_of_roof);
    table.set("theory_roof_flops_per_s", point.theory_roof_flops_per_s);
    table.set("advertised_roof_flops_per_s", point.advertised_roof_flops_per_s);
    table.set("fraction_of_advertised",
              point.achieved_flops_per_s / point.advertised_roof_flops_per_s);
    table.set("peer", point.peer);
    table.set("peer_ratio", point.peer_ratio);
    table.set("verdict", point.verdict);
  }
  return table;
}

}  // namespace roofline
