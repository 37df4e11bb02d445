"use strict";
// Whole programs, such as a decode step, and their parts: predicted against measured.

function decodeChoices(run) {
  const programs = run.ran.filter((b) => b.scope === "program" && b.time_s && b.t_lower_s);
  if (!programs.length) return [];
  const partsOf = (program) =>
      run.ran.filter((b) => b.whole === program && b.time_s && b.t_lower_s);
  return [
    {
      words: "whole programs",
      rows: programs,
      label: (b) => [b.variant, b.dtype, b.shape, threadWords(b.threads)]
    },
    ...programs
        .map((p) => ({
               words: `parts of ${p.title}`,
               rows: partsOf(p),
               label: (b) => [b.kernel, b.variant, b.dtype]
             }))
        .filter(({rows}) => rows.length)
  ];
}

function drawDecode({rows, label}) {
  const colours = themeColours();
  const factors = rowNames(rows.map((b) => label(b).filter(Boolean).join(" ")));
  const upper = (b) => largest(b.rows.map((r) => r.t_upper_s)) ?? b.t_lower_s;
  const plot = figure({
    height: 80 + rowHeight(factors, 34) * rows.length,
    tools: "reset",
    x: {
      type: "linear",
      range: new Range1d(
          {start: 0, end: 1.15 * Math.max(...rows.map((b) => Math.max(b.time_s, upper(b))))}),
      tick: (v) => (v ? tick(v, "s") : "0"),
      label: "time"
    },
    y: {type: "auto", range: [...factors].reverse()}
  });
  steady(plot.hbar(
      factors, 0.5, rows.map(upper), rows.map((b) => b.t_lower_s),
      {fill_color: colours.series[0], fill_alpha: 0.25, line_color: colours.series[0]}));
  const source = new ColumnDataSource({data: {factors, time: rows.map((b) => b.time_s)}});
  const points = steady(plot.scatter({field: "time"}, {field: "factors"}, {
    source,
    marker: "diamond",
    size: 11,
    fill_color: colours.series[1],
    line_color: colours.series[1]
  }));
  besideNames(plot, factors);
  plot.add_tools(
      hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}
