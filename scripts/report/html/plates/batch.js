"use strict";
// FLOP/s over the batch: the predicted curve, as `roofline predict` has it, and what was measured.

// "M:8/N:4096/K:4096" -> {M: 8, …}
const keysOf = (shape) => Object.fromEntries(
    shape.split("/").map((part) => part.split(":")).map(([k, v]) => [k, Number(v)]));

// Products of the curve's shape on all cores, whose weights came from memory.
function measuredOn(run, curve) {
  return run.ran.filter((b) => {
    if (b.kernel !== "matmul" || b.temperature !== "cold" || b.refused || !b.rate) return false;
    const {batch, N, K} = keysOf(b.shape);
    return !batch && K === curve.D && N === curve.F && b.dtype === curve.dtype &&
        b.device === curve.device && (b.threads == null || b.threads === run.cores.get(b.device));
  });
}

function batchChoices(run) {
  const words = (curve) => `${run.devices.length > 1 ? `${curve.device} ` : ""}${curve.dtype}, D=${
      curve.D} F=${curve.F}`;
  return run.batchCurves
      .map((curve) => ({words: words(curve), curve, rows: measuredOn(run, curve)}))
      .filter(({rows}) => rows.length);
}

function drawBatch({curve, rows}) {
  const colours = themeColours();
  const rates = [...curve.rates, ...rows.map((b) => b.rate)];
  const unit = rateUnit(curve.dtype);
  const plot = figure({
    height: 320,
    x: {
      range: new Range1d({start: 0.8, end: curve.batches.at(-1) * 1.4}),
      tick: plainTick,
      label: "batch B: rows of X[B,D]·Y[D,F]"
    },
    y: {
      range: new Range1d({start: Math.min(...rates) / 2, end: Math.max(...rates) * 2}),
      tick: (v) => tick(v, ""),
      label: unit
    }
  });
  const from = curve.critical_batch == null ?
      "never compute-bound" :
      `compute-bound from B = ${plainNumber(curve.critical_batch)}`;
  steady(plot.line(curve.batches, curve.rates, {
    line_color: colours.roof,
    line_width: 2,
    legend_label: `predicted: ${from}, ${quantity(curve.peak, unit)}`
  }));
  const source = new ColumnDataSource({
    data: {
      x: rows.map((b) => keysOf(b.shape).M),
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
