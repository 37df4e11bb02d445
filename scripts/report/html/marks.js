"use strict";
// How a benchmark is drawn and described.

const MARKS = {
  matmul: ["square", "■"],
  dot: ["circle", "●"],
  attention: ["triangle", "▲"]
};
const SPARE_MARKS =
    [["diamond", "◆"], ["inverted_triangle", "▼"], ["star", "★"], ["hex", "⬢"], ["plus", "✚"]];
const KERNELS = unique(benchmarks.map((b) => b.kernel)).sort();

function markOf(kernel) {
  if (Object.hasOwn(MARKS, kernel)) return MARKS[kernel];
  const spare = KERNELS.filter((k) => !Object.hasOwn(MARKS, k));
  return SPARE_MARKS[spare.indexOf(kernel) % SPARE_MARKS.length];
}

const COLOURS = {
  kernel: (b) => (DEVICES.length > 1 ? `${b.kernel} ${b.device}` : b.kernel),
  dtype: (b) => b.dtype,
  bound: CHOICES.bound.value,
  variant: CHOICES.variant.value,
};
const DEVICES = unique(benchmarks.map((b) => b.device));
// The main kernels first: of more than eight values some share a colour.
const usualFirst = (a, b) => {
  const place = (value) => {
    const at = Object.keys(MARKS).indexOf(String(value).split(" ")[0]);
    return at < 0 ? Infinity : at;
  };
  const [x, y] = [place(a), place(b)];
  return x === y ? (a < b ? -1 : a > b ? 1 : 0) : x - y;
};
const colourKeys = Object.fromEntries(Object.entries(COLOURS).map(
    ([key, of]) =>
        [key, new Map(unique(benchmarks.map(of)).sort(usualFirst).map((value, i) => [value, i]))]));

// Looked up once: a filter change draws thousands of points.
for (const b of benchmarks) {
  b.marker = markOf(b.kernel)[0];
  b.colour = Object.fromEntries(
      Object.entries(COLOURS).map(([key, of]) => [key, colourKeys[key].get(of(b)) % 8]));
}

// "time 8.12 ms (8.05 … 8.31)" and so on: what hovering and the selection show.
function describe(b, row) {
  const spread = b.time_low_s == null ?
      "" :
      ` (${quantity(b.time_low_s, "s")} … ${quantity(b.time_high_s, "s")})`;
  const {peak, bandwidth} = limits(row);
  const levels =
      b.rows.filter((r) => r.level).sort((x, y) => levelOrder(x.level) - levelOrder(y.level));
  return [
    ["run", runs.length > 1 ? b.run.label : ""],
    ["dtype", [b.dtype, b.exec_unit].filter(Boolean).join(" on ")],
    ["shape", [b.shape, b.temperature].filter(Boolean).join(" ")],
    ["on", [b.device, threadWords(b.threads)].filter(Boolean).join(", ")],
    ["time", `${quantity(b.time_s, "s")}${spread}`],
    ["samples", b.samples == null ? "" : `${b.samples}, ${b.samples_rejected ?? 0} rejected`],
    ["rate", quantity(b.rate, rateUnit(b.dtype))],
    ...levels.map(
        (r) =>
            [r.level,
             r.bytes == null ? "traffic unknown" :
                               `${quantity(r.achieved_bytes_per_s, "B/s")} at ${
                                   plainNumber(r.intensity)} FLOP/byte (${r.bytes_source})`]),
    ["bound by", b.bound_by + (b.roof ? ` (${b.roof})` : "")],
    [
      "roof",
      row?.roof_flops_per_s == null ?
          "" :
          `${quantity(row.roof_flops_per_s, rateUnit(b.dtype))} at ${row.level}` +
              `: peak ${quantity(peak, rateUnit(b.dtype))}, ${quantity(bandwidth, "B/s")}`
    ],
    ["of roof", percent(row?.fraction_of_roof)],
    ["overlap", overlapWords(overlapOf(b))],
    ["of advertised", percent(row?.fraction_of_advertised) || "unknown"],
    ["clock", quantity(b.clock_hz, "Hz")],
    ["throttle", b.throttle],
    [
      "against",
      b.peer &&
          (b.peer_ratio == null ? `${b.peer}: no ratio` : `${plainNumber(b.peer_ratio)}x ${b.peer}`)
    ],
    ["verdict", row?.verdict ?? b.rows[0].verdict],
  ];
}
