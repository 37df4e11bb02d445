"use strict";
// FLOP/s over the batch: the predicted curve and what was measured.

const STORAGE = {
  f64: 8,
  f32: 4,
  tf32: 4,
  bf16: 2,
  f16: 2,
  e4m3: 1,
  s8: 1,
  u8: 1,
  s4: 0.5
};

// "M:8/N:4096/K:4096" -> {M: 8, …}
const keysOf = (shape) => Object.fromEntries(
    shape.split("/").map((part) => part.split(":")).map(([k, v]) => [k, Number(v)]));

// Products whose weights come from memory: what one more row of X costs is read off a measured row.
// FLOP/s(B) = 2 B D F / max(2 B D F / C, (weights + B per_row) / W), with C and W of its outermost
// level.
function batchModel(b) {
  const outer = b.rows.find((r) => r.level === "DRAM" || r.level === "HBM");
  const {M, N, K, batch} = keysOf(b.shape);
  const element = STORAGE[b.dtype.split("x").at(-1)];
  if (b.kernel !== "matmul" || batch || !outer?.bytes || !element || !(M * N * K)) return null;
  const {peak, bandwidth} = limits(outer);
  if (!peak) return null;
  const weights = element * K * N;
  const perRow = (outer.bytes - weights) / M;
  return {
    M,
    N,
    K,
    peak,
    bandwidth,
    rate: (B) => 2 * B * N * K / Math.max(2 * B * N * K / peak, (weights + B * perRow) / bandwidth)
  };
}

function batchChoices(run) {
  const able = run.benchmarks.filter((b) => !b.refused && b.rate && batchModel(b));
  const groups = groupBy(able, (b) => {
    const {N, K} = keysOf(b.shape);
    return [b.device, b.dtype, N, K, b.threads].join("\n");
  });
  return titledBy(groups, (b) => {
    const {N, K} = keysOf(b.shape);
    return `${b.dtype}, D=${K} F=${N}${b.threads ? `, ${threadWords(b.threads)}` : ""}`;
  });
}

function drawBatch({rows}) {
  const colours = themeColours();
  const fastest = rows.reduce((a, b) => (b.rate > a.rate ? b : a));
  const model = batchModel(fastest);
  const largestB = Math.max(512, ...rows.map((b) => batchModel(b).M));
  const xs = Array.from({length: 161}, (_, i) => largestB ** (i / 160));
  const ys = xs.map(model.rate);
  const rates = [...ys, ...rows.map((b) => b.rate)];
  const plot = figure({
    height: 320,
    x: {
      range: new Range1d({start: 0.8, end: largestB * 1.4}),
      tick: plainTick,
      label: "batch B: rows of X[B,D]·Y[D,F]"
    },
    y: {
      range: new Range1d({start: Math.min(...rates) / 2, end: Math.max(...rates) * 2}),
      tick: (v) => tick(v, ""),
      label: rateUnit(fastest.dtype)
    }
  });
  steady(plot.line(xs, ys, {
    line_color: colours.roof,
    line_width: 2,
    legend_label:
        `predicted: ${quantity(model.peak, "FLOP/s")}, ${quantity(model.bandwidth, "B/s")}`
  }));
  const source = new ColumnDataSource({
    data: {
      x: rows.map((b) => batchModel(b).M),
      y: rows.map((b) => b.rate),
      fill: rows.map((b) => (b.library ? 0 : 0.85))
    }
  });
  const points = steady(plot.scatter({field: "x"}, {field: "y"}, {
    source,
    marker: "square",
    size: 9,
    line_color: colours.series[0],
    fill_color: colours.series[0],
    fill_alpha: {field: "fill"},
    legend_label: "measured"
  }));
  plot.add_tools(
      hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  legendBelow(plot);
  return plot;
}
