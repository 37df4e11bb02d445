"use strict";
// The machine's state during the run.

const TRACES = {
  clock_hz: ["core clock", (v) => quantity(v, "Hz")],
  memory_clock_hz: ["memory clock", (v) => quantity(v, "Hz")],
  power_w: ["power", (v) => quantity(v, "W")],
  temperature_c: ["temperature", (v) => `${plainTick(v)} °C`],
  load: ["load: runnable tasks", plainNumber],
  steal: ["steal: CPU time taken by the hypervisor", percent]
};

function traceChoices(run) {
  return [...groupBy(run.trace, (r) => r.device)].flatMap(
      ([device, rows]) => Object.keys(TRACES)
                              .filter((key) => rows.some((r) => r[key] != null))
                              .map((key) => ({
                                     words: `${device}: ${TRACES[key][0]}`,
                                     key,
                                     rows: rows.filter((r) => r[key] != null)
                                   })));
}

function drawTrace({rows, key}) {
  const colours = themeColours();
  const words = TRACES[key][1];
  const [x, y] = [rows.map((r) => r.time_s), rows.map((r) => r[key])];
  const [low, high] = [Math.min(...y), Math.max(...y)];
  const margin = (high - low) * 0.15 || Math.abs(high) * 0.1 || 1;
  const plot = figure({
    height: 240,
    x: {
      type: "linear",
      range: new Range1d({start: Math.min(...x), end: Math.max(...x) + 0.01}),
      tick: (v) => `${plainTick(v)} s`,
      label: "since the run began"
    },
    y: {
      type: "linear",
      range: new Range1d({start: Math.max(0, low - margin), end: high + margin}),
      tick: words
    }
  });
  const source = new ColumnDataSource({data: {x, y}});
  steady(plot.step(
      {field: "x"}, {field: "y"}, "after",
      {source, line_color: colours.series[0], line_width: 1.6}));
  const points = steady(plot.scatter(
      {field: "x"}, {field: "y"},
      {source, size: 5, marker: "circle", fill_color: colours.series[0], line_color: null}));
  plot.add_tools(hoverTool(
      [points], (_, i) => tooltip(words(y[i]), [
                  ["at", `${x[i]} s`], ["during", rows[i].during], ["throttle", rows[i].throttle]
                ])));
  return plot;
}
