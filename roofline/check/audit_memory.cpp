#include <fmt/format.h>

#include <cmath>

#include "roofline/base/text_table.hpp"
#include "roofline/check/audits.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

/// HBM has room for ECC of its own; GDDR boards keep it in the memory itself, and pay with
/// bandwidth: those for servers are shipped that way, so it is no fault. Stacks begin at 1024 bits,
/// which no GDDR board reaches.
Finding ecc(const Box& box) {
  Finding out{Grade::kUnknown, "ecc", "ECC", {"gpu/bandwidth/HBM"}};
  const auto on = box.gpu.flag("/ecc");
  const int bus = box.chip ? box.chip->memory_bus_bits : 0;
  if (!on || bus == 0) return out;
  const bool hbm = bus >= 1024;
  out.grade = *on == hbm ? Grade::kPass : hbm ? Grade::kWarn : Grade::kNote;
  if (out.grade == Grade::kPass) return out;
  out.text = hbm ? "ECC is off: memory errors go unseen"
                 : "ECC is on and kept in the memory itself, which costs bandwidth";
  if (hbm) out.explains.clear();
  return out;
}

Finding memory_clock(const Box& box) {
  Finding out{Grade::kUnknown, "memory-clock", "memory clock", {"gpu/bandwidth/HBM"}};
  const double seen = box.gpu_memory_clock_hz();
  const double sheet = box.chip ? box.chip->memory_clock_hz : kUnknownNumber;
  const double most = std::isnan(sheet) ? box.gpu.number("/memory_clock_max_hz") : sheet;
  if (std::isnan(seen) || std::isnan(most)) return out;
  const bool low = seen < Thresholds::get().limit("memory_clock_share") * most;
  // What the driver calls the most, some boards leave for graphics.
  out.grade = !low ? Grade::kPass : std::isnan(sheet) ? Grade::kWarn : Grade::kFail;
  out.text = fmt::format("memory clock {}, {} {}", with_prefix(seen, "Hz"),
                         std::isnan(sheet) ? "the board has up to" : "advertised",
                         with_prefix(most, "Hz"));
  return out;
}

Finding remapped_rows(const Box& box) {
  Finding out{Grade::kUnknown, "faulty-memory", "remapped rows", {}};
  const double rows = box.gpu.number("/remapped_rows_uncorrectable");
  const auto failed = box.gpu.flag("/remapping_failed");
  if (std::isnan(rows) || !failed) return out;
  out.grade = *failed ? Grade::kFail : rows > 0 ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("{} memory rows replaced after uncorrectable errors{}", rows,
                         *failed ? ", and no spare ones are left" : "");
  return out;
}

Finding huge_pages(const Box& box) {
  const std::string mode = box.machine.text("/state/transparent_huge_pages");
  return {mode.empty()      ? Grade::kUnknown
          : mode == "never" ? Grade::kWarn
                            : Grade::kPass,
          "small-pages",
          mode == "never" ? "transparent huge pages are off: more misses of the TLB"
                          : "transparent huge pages",
          {"cpu/bandwidth/L3", "cpu/bandwidth/DRAM", "cpu/latency/L3", "cpu/latency/DRAM"}};
}

}  // namespace

std::vector<Finding> audit_memory(const Box& box, const std::string& device) {
  if (device == "cpu") return {huge_pages(box)};
  return {ecc(box), memory_clock(box), remapped_rows(box)};
}

}  // namespace roofline::check
