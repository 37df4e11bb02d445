"use strict";
// Bandwidth and latency over the size of the working set, with the levels marked.

// By operation: series of the palette, and marks that differ where curves lie on each other.
const SWEEP_LOOKS = {
  read: [0, "circle"],
  write: [1, "square"],
  copy: [2, "triangle"],
  triad: [3, "inverted_triangle"],
  chase: [6, "diamond"]
};
const SPARE_LOOKS = [[4, "star"], [5, "hex"], [7, "plus"]];

function sweepLooks(operations) {
  const known = (operation) => Object.hasOwn(SWEEP_LOOKS, operation);
  const spare = operations.filter((operation) => !known(operation));
  return operations.map(
      (operation) => known(operation) ? SWEEP_LOOKS[operation] :
                                        SPARE_LOOKS[spare.indexOf(operation) % SPARE_LOOKS.length]);
}

function sweepChoices(run) {
  const able = run.sweep.filter((r) => r.measured);
  const groups = groupBy(able, (r) => [r.device, r.resource, r.threads].join("\n"));
  return titledBy(
             groups,
             (r) => `${r.device} ${r.resource}${r.threads ? `, ${threadWords(r.threads)}` : ""}`)
      .sort(
          (a, b) => a.rows[0].resource.localeCompare(b.rows[0].resource) ||
              (b.rows[0].threads ?? 0) - (a.rows[0].threads ?? 0));
}

// Of each access the variant and dtype that reached most; one of a single size, as a GPU's probe of
// L1, only where no other has more.
function sweepCurves(rows) {
  const latency = rows[0].resource === "latency";
  const best = (variants) => {
    const curves = [...variants.values()], longer = curves.filter((curve) => curve.length > 1);
    const reached = (curve) =>
        (latency ? -Math.min(...curve.map((r) => r.measured)) :
                   Math.max(...curve.map((r) => r.measured)));
    return (longer.length ? longer : curves).reduce((a, b) => (reached(b) > reached(a) ? b : a));
  };
  return [...groupBy(rows, (r) => r.operation)].map(
      ([operation, some]) =>
          [operation,
           best(groupBy(some, (r) => `${r.variant} ${r.dtype}`))
               .sort((a, b) => a.size_bytes - b.size_bytes)]);
}

function drawSweep({rows}) {
  const colours = themeColours();
  const unit = rows[0].resource === "latency" ? "s" : "B/s";
  const curves = sweepCurves(rows);
  const values = curves.flatMap(([, curve]) => curve.map((r) => r.measured));
  const sizes = curves.flatMap(([, curve]) => curve.map((r) => r.size_bytes));
  const [low, high] = [Math.min(...values) / 1.4, Math.max(...values) * 2.2];
  const plot = figure({
    height: 320,
    x: {
      range: new Range1d({start: Math.min(...sizes) / 1.5, end: Math.max(...sizes) * 1.5}),
      tick: size,
      label: rows[0].device === "gpu" ? "working set" : "working set per thread"
    },
    y: {range: new Range1d({start: low, end: high}), tick: (v) => tick(v, unit)}
  });
  setTicker(plot, "x", new Bokeh.LogTicker({base: 4, desired_num_ticks: 8}));
  // Where each level's ceiling was taken.
  for (const [level, some] of groupBy(
           curves.flatMap(([, c]) => c).filter((r) => r.plateau && r.level), (r) => r.level)) {
    const span = [
      Math.min(...some.map((r) => r.size_bytes)) / 1.15,
      Math.max(...some.map((r) => r.size_bytes)) * 1.15
    ];
    steady(plot.quad(
        [span[0]], [span[1]], [high], [low],
        {fill_color: colours.quiet, fill_alpha: 0.12, line_color: null}));
    steady(plot.text([Math.sqrt(span[0] * span[1])], [high / 1.05], [isolated(level, 8)], {
      text_align: "center",
      text_baseline: "top",
      text_font_size: "11px",
      text_color: colours.quiet
    }));
  }
  const looks = sweepLooks(curves.map(([operation]) => operation));
  curves.forEach(([operation, curve], i) => {
    const [series, mark] = looks[i], colour = colours.series[series];
    const [x, y] = [curve.map((r) => r.size_bytes), curve.map((r) => r.measured)];
    const source = new ColumnDataSource({
      data: {
        x,
        y,
        low: curve.map((r) => r.measured_low ?? r.measured),
        high: curve.map((r) => r.measured_high ?? r.measured)
      }
    });
    const f = (field) => ({field});
    steady(plot.segment(
        f("x"), f("low"), f("x"), f("high"), {source, line_color: colour, line_alpha: 0.6}));
    steady(plot.line(
        f("x"), f("y"),
        {source, line_color: colour, line_width: 1.6, legend_label: shorten(operation, 20)}));
    const points = steady(plot.scatter(f("x"), f("y"), {
      source,
      marker: mark,
      size: 8,
      fill_color: colours.plate,
      line_color: colour,
      line_width: 1.4,
      legend_label: shorten(operation, 20)
    }));
    plot.add_tools(hoverTool(
        [points], (_, at) => tooltip(`${operation} ${size(curve[at].size_bytes)}`, [
                    ["", quantity(curve[at].measured, unit)],
                    ["variant", `${curve[at].variant} ${curve[at].dtype}`],
                    ["level", curve[at].level], ["plateau", curve[at].plateau ? "yes" : "no"],
                    ["clock", quantity(curve[at].clock_hz, "Hz")]
                  ])));
  });
  legendBelow(plot);
  return plot;
}
