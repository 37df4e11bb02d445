"use strict";
// The further plates. Each is drawn for every run side by side, or says why it is not there.

// An entry of a plate's drop-down: its words, and what draw() gets.
function titledBy(groups, words) {
  return [...groups.values()].map((rows) => ({words: words(rows[0]), rows}));
}

const sameWork = (b) => [b.device, b.kernel, b.dtype, b.shape, b.temperature, b.threads].join("\n");
const workWords = (b) => [b.kernel, b.dtype, b.shape, b.temperature, threadWords(b.threads)].filter(Boolean).join(" ");
const shareOfRoof = (b) => shareOf(b.t_lower_s, b.time_s);

function ladderChoices(run) {
  const able = run.benchmarks.filter((b) => shareOfRoof(b) != null);
  return titledBy(groupBy(able, sameWork), workWords).filter(({rows}) => rows.length > 1)
    .sort((a, b) => b.rows.length - a.rows.length || b.rows[0].flops - a.rows[0].flops);
}

function drawLadder({rows}) {
  const colours = themeColours();
  const factors = rows.map((b, i) => `${i + 1}  ${isolated(b.variant || "(none)", 22)}`);
  const shares = rows.map(shareOfRoof);
  const plot = figure({height: 70 + 30 * rows.length, tools: "reset",
    x: {type: "linear", range: new Range1d({start: 0, end: Math.max(1.15, Math.max(...shares) * 1.15)}),
        tick: (v) => `${Math.round(100 * v)} %`, label: "share of the roof: T_lower over the measured time"},
    y: {type: "auto", range: [...factors].reverse()}});
  const source = new ColumnDataSource({data: {factors, shares, fill: rows.map((b) => (b.refused ? 0.15 : b.library ? 0.3 : 0.85)),
    text: rows.map((b, i) => ` ${percent(shares[i])}  ${quantity(b.time_s, "s")}${b.library ? "  library" : ""}${b.refused ? `  ⚠ ${b.refused}` : ""}`)}});
  const bars = steady(plot.hbar({field: "factors"}, 0.7, {field: "shares"}, 0, {source,
    fill_color: colours.series[0], fill_alpha: {field: "fill"}, line_color: colours.series[0]}));
  steady(plot.text({field: "shares"}, {field: "factors"}, {field: "text"}, {source, text_baseline: "middle",
    text_font_size: "11px", text_color: colours.ink, text_font: "system-ui, sans-serif"}));
  steady(plot.segment([1], [factors.at(-1)], [1], [factors[0]], {line_color: colours.roof, line_width: 2}));
  plot.add_tools(hoverTool([bars], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}

function sweepChoices(run) {
  const able = run.sweep.filter((r) => r.measured);
  const groups = groupBy(able, (r) => [r.device, r.resource, r.threads].join("\n"));
  return titledBy(groups, (r) => `${r.device} ${r.resource}${r.threads ? `, ${threadWords(r.threads)}` : ""}`)
    .sort((a, b) => a.rows[0].resource.localeCompare(b.rows[0].resource) ||
          (b.rows[0].threads ?? 0) - (a.rows[0].threads ?? 0));
}

// Of each access the variant and dtype that reached most.
function sweepCurves(rows) {
  const latency = rows[0].resource === "latency";
  const best = (variants) => [...variants.values()].reduce((a, b) => {
    const [p, q] = [a, b].map((curve) => (latency ? -Math.min(...curve.map((r) => r.measured)) : Math.max(...curve.map((r) => r.measured))));
    return q > p ? b : a;
  });
  return [...groupBy(rows, (r) => r.operation)].map(([operation, some]) =>
    [operation, best(groupBy(some, (r) => `${r.variant} ${r.dtype}`)).sort((a, b) => a.size_bytes - b.size_bytes)]);
}

function drawSweep({rows}) {
  const colours = themeColours();
  const unit = rows[0].resource === "latency" ? "s" : "B/s";
  const curves = sweepCurves(rows);
  const values = curves.flatMap(([, curve]) => curve.map((r) => r.measured));
  const sizes = curves.flatMap(([, curve]) => curve.map((r) => r.size_bytes));
  const [low, high] = [Math.min(...values) / 1.4, Math.max(...values) * 2.2];
  const plot = figure({height: 320,
    x: {range: new Range1d({start: Math.min(...sizes) / 1.5, end: Math.max(...sizes) * 1.5}), tick: size, label: "working set per thread"},
    y: {range: new Range1d({start: low, end: high}), tick: (v) => tick(v, unit)}});
  plot.xaxis.each((axis) => { axis.ticker = new Bokeh.LogTicker({base: 4, desired_num_ticks: 8}); });
  // Where each level's ceiling was taken.
  for (const [level, some] of groupBy(curves.flatMap(([, c]) => c).filter((r) => r.plateau && r.level), (r) => r.level)) {
    const span = [Math.min(...some.map((r) => r.size_bytes)) / 1.15, Math.max(...some.map((r) => r.size_bytes)) * 1.15];
    steady(plot.quad([span[0]], [span[1]], [high], [low], {fill_color: colours.quiet, fill_alpha: 0.12, line_color: null}));
    steady(plot.text([Math.sqrt(span[0] * span[1])], [high / 1.05], [isolated(level, 8)], {text_align: "center",
      text_baseline: "top", text_font_size: "11px", text_color: colours.quiet}));
  }
  const hovered = curves.map(([operation, curve], i) => {
    const colour = colours.series[i % 8], mark = ["circle", "square", "triangle", "diamond", "star"][i % 5];
    const [x, y] = [curve.map((r) => r.size_bytes), curve.map((r) => r.measured)];
    const source = new ColumnDataSource({data: {x, y, low: curve.map((r) => r.measured_low ?? r.measured),
                                                high: curve.map((r) => r.measured_high ?? r.measured)}});
    const f = (field) => ({field});
    steady(plot.segment(f("x"), f("low"), f("x"), f("high"), {source, line_color: colour, line_alpha: 0.6}));
    steady(plot.line(f("x"), f("y"), {source, line_color: colour, line_width: 1.6, legend_label: shorten(operation, 20)}));
    const points = steady(plot.scatter(f("x"), f("y"), {source, marker: mark, size: 6, fill_color: colour, line_color: colour,
                                                        legend_label: shorten(operation, 20)}));
    plot.add_tools(hoverTool([points], (_, at) => tooltip(`${operation} ${size(curve[at].size_bytes)}`, [
      ["", quantity(curve[at].measured, unit)], ["variant", `${curve[at].variant} ${curve[at].dtype}`],
      ["level", curve[at].level], ["plateau", curve[at].plateau ? "yes" : "no"],
      ["clock", quantity(curve[at].clock_hz, "Hz")]])));
    return points;
  });
  styleLegend(plot, hovered.length);
  return plot;
}

function styleLegend(plot, entries) {
  if (!entries) return;
  const colours = themeColours();
  const {legend} = plot;
  Object.assign(legend, {orientation: "horizontal", background_fill_color: null, border_line_color: null,
    label_text_color: colours.ink, label_text_font_size: "11px", padding: 2, margin: 2, location: "left", click_policy: "hide"});
  plot.center = plot.center.filter((part) => part !== legend);
  plot.add_layout(legend, "below");
}

const STORAGE = {f64: 8, f32: 4, tf32: 4, bf16: 2, f16: 2, e4m3: 1, s8: 1, u8: 1, s4: 0.5};

// "M:8/N:4096/K:4096" -> {M: 8, …}
const keysOf = (shape) => Object.fromEntries(shape.split("/").map((part) => part.split(":")).map(([k, v]) => [k, Number(v)]));

// Products whose weights come from memory: what one more row of X costs is read off a measured row.
// FLOP/s(B) = 2 B D F / max(2 B D F / C, (weights + B per_row) / W), with C and W of its outermost level.
function batchModel(b) {
  const outer = b.rows.find((r) => r.level === "DRAM" || r.level === "HBM");
  const {M, N, K, batch} = keysOf(b.shape);
  const element = STORAGE[b.dtype.split("x").at(-1)];
  if (b.kernel !== "matmul" || batch || !outer?.bytes || !element || !(M * N * K)) return null;
  const {peak, bandwidth} = limits(outer);
  if (!peak) return null;
  const weights = element * K * N;
  const perRow = (outer.bytes - weights) / M;
  return {M, N, K, peak, bandwidth, rate: (B) => 2 * B * N * K / Math.max(2 * B * N * K / peak, (weights + B * perRow) / bandwidth)};
}

function batchChoices(run) {
  const able = run.benchmarks.filter((b) => !b.refused && b.rate && batchModel(b));
  const groups = groupBy(able, (b) => { const {N, K} = keysOf(b.shape); return [b.device, b.dtype, N, K, b.threads].join("\n"); });
  return titledBy(groups, (b) => { const {N, K} = keysOf(b.shape); return `${b.dtype}, D=${K} F=${N}${b.threads ? `, ${threadWords(b.threads)}` : ""}`; });
}

function drawBatch({rows}) {
  const colours = themeColours();
  const fastest = rows.reduce((a, b) => (b.rate > a.rate ? b : a));
  const model = batchModel(fastest);
  const largestB = Math.max(512, ...rows.map((b) => batchModel(b).M));
  const xs = Array.from({length: 161}, (_, i) => largestB ** (i / 160));
  const ys = xs.map(model.rate);
  const rates = [...ys, ...rows.map((b) => b.rate)];
  const plot = figure({height: 320,
    x: {range: new Range1d({start: 0.8, end: largestB * 1.4}), tick: plainTick, label: "batch B: rows of X[B,D]·Y[D,F]"},
    y: {range: new Range1d({start: Math.min(...rates) / 2, end: Math.max(...rates) * 2}), tick: (v) => tick(v, ""), label: rateUnit(fastest.dtype)}});
  steady(plot.line(xs, ys, {line_color: colours.roof, line_width: 2, legend_label: `predicted: ${quantity(model.peak, "FLOP/s")}, ${quantity(model.bandwidth, "B/s")}`}));
  const source = new ColumnDataSource({data: {x: rows.map((b) => batchModel(b).M), y: rows.map((b) => b.rate),
                                              fill: rows.map((b) => (b.library ? 0 : 0.85))}});
  const points = steady(plot.scatter({field: "x"}, {field: "y"}, {source, marker: "square", size: 9, line_color: colours.series[0],
    fill_color: colours.series[0], fill_alpha: {field: "fill"}, legend_label: "measured"}));
  plot.add_tools(hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  styleLegend(plot, 2);
  return plot;
}

function decodeChoices(run) {
  const programs = run.benchmarks.filter((b) => b.scope === "program" && b.time_s && b.t_lower_s);
  return programs.length ? [{words: "whole programs", rows: programs}] : [];
}

function drawDecode({rows}) {
  const colours = themeColours();
  const factors = rows.map((b, i) => `${i + 1}  ${isolated([b.variant, b.dtype, b.shape].filter(Boolean).join(" "), 44)}`);
  const upper = (b) => largest(b.rows.map((r) => r.t_upper_s)) ?? b.t_lower_s;
  const plot = figure({height: 80 + 34 * rows.length, tools: "reset",
    x: {type: "linear", range: new Range1d({start: 0, end: 1.15 * Math.max(...rows.map((b) => Math.max(b.time_s, upper(b))))}),
        tick: (v) => quantity(v, "s"), label: "time: predicted from T_lower to T_upper (bar), measured (point)"},
    y: {type: "auto", range: [...factors].reverse()}});
  steady(plot.hbar(factors, 0.5, rows.map(upper), rows.map((b) => b.t_lower_s), {fill_color: colours.series[0], fill_alpha: 0.25,
    line_color: colours.series[0]}));
  const source = new ColumnDataSource({data: {factors, time: rows.map((b) => b.time_s)}});
  const points = steady(plot.scatter({field: "time"}, {field: "factors"}, {source, marker: "diamond", size: 11,
    fill_color: colours.series[1], line_color: colours.series[1]}));
  plot.add_tools(hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}

function ratioChoices(run) {
  const able = run.benchmarks.filter((b) => b.peer_ratio && !b.library && !b.refused);
  const best = [...groupBy(able, sameWork).values()].map((rows) => rows.reduce((a, b) => (b.peer_ratio > a.peer_ratio ? b : a)));
  return best.length ? [{words: "each shape, the fastest kernel here", rows: best.sort((a, b) => b.peer_ratio - a.peer_ratio).slice(0, 40)}] : [];
}

function drawRatio({rows}) {
  const colours = themeColours();
  const factors = rows.map((b, i) => `${i + 1}  ${isolated(workWords(b), 46)}`);
  const ratios = rows.map((b) => b.peer_ratio);
  const plot = figure({height: 80 + 22 * rows.length, tools: "reset",
    x: {range: new Range1d({start: Math.min(0.4, Math.min(...ratios) / 1.3), end: Math.max(2, Math.max(...ratios) * 4)}),
        tick: (v) => `${plainNumber(v)}x`, label: "library's time over this one's: above 1, this one is faster"},
    y: {type: "auto", range: [...factors].reverse()}});
  plot.xaxis.each((axis) => { axis.ticker = new Bokeh.FixedTicker({ticks: [0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100, 1000]}); });
  steady(plot.segment([1], [factors.at(-1)], [1], [factors[0]], {line_color: colours.roof, line_width: 2}));
  const source = new ColumnDataSource({data: {factors, ratios, text: rows.map((b) => `  ${plainNumber(b.peer_ratio)}x ${isolated(b.peer, 24)}`),
    marker: rows.map((b) => markOf(b.kernel)[0]), colour: ratios.map((r) => colours.series[r >= 1 ? 0 : 1])}});
  const points = steady(plot.scatter({field: "ratios"}, {field: "factors"}, {source, marker: {field: "marker"}, size: 9,
    fill_color: {field: "colour"}, line_color: {field: "colour"}}));
  steady(plot.text({field: "ratios"}, {field: "factors"}, {field: "text"}, {source, x_offset: 4, text_baseline: "middle",
    text_font_size: "11px", text_color: colours.ink, text_font: "system-ui, sans-serif"}));
  plot.add_tools(hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}

const TRACES = {clock_hz: ["core clock", (v) => quantity(v, "Hz")], memory_clock_hz: ["memory clock", (v) => quantity(v, "Hz")],
  power_w: ["power", (v) => quantity(v, "W")], temperature_c: ["temperature", (v) => `${v} °C`],
  load: ["load: runnable tasks", plainNumber], steal: ["steal: CPU time taken by the hypervisor", percent]};

function traceChoices(run) {
  return [...groupBy(run.trace, (r) => r.device)].flatMap(([device, rows]) => Object.keys(TRACES)
    .filter((key) => rows.some((r) => r[key] != null))
    .map((key) => ({words: `${device}: ${TRACES[key][0]}`, key, rows: rows.filter((r) => r[key] != null)})));
}

function drawTrace({rows, key}) {
  const colours = themeColours();
  const words = TRACES[key][1];
  const [x, y] = [rows.map((r) => r.time_s), rows.map((r) => r[key])];
  const [low, high] = [Math.min(...y), Math.max(...y)];
  const margin = (high - low) * 0.15 || Math.abs(high) * 0.1 || 1;
  const plot = figure({height: 240,
    x: {type: "linear", range: new Range1d({start: Math.min(...x), end: Math.max(...x) + 0.01}), tick: (v) => `${v} s`, label: "since the run began"},
    y: {type: "linear", range: new Range1d({start: Math.max(0, low - margin), end: high + margin}), tick: words}});
  const source = new ColumnDataSource({data: {x, y}});
  steady(plot.step({field: "x"}, {field: "y"}, "after", {source, line_color: colours.series[0], line_width: 1.6}));
  const points = steady(plot.scatter({field: "x"}, {field: "y"}, {source, size: 5, marker: "circle", fill_color: colours.series[0], line_color: null}));
  plot.add_tools(hoverTool([points], (_, i) => tooltip(words(y[i]), [["at", `${x[i]} s`], ["during", rows[i].during],
                                                                   ["throttle", rows[i].throttle]])));
  return plot;
}

// absent: what is said where there is nothing to choose.
const PLATES = [
  {key: "ladder", title: "Ladder: what each idea is worth", choices: ladderChoices, draw: drawLadder,
   absent: "no work here was done by two variants with a known roof."},
  {key: "sweep", title: "Bandwidth and latency against the working set", choices: sweepChoices, draw: drawSweep,
   absent: "sweep.csv has no rows."},
  {key: "batch", title: "FLOP/s against batch, predicted and measured", choices: batchChoices, draw: drawBatch,
   absent: "no matmul was measured with weights from memory (temp:cold) and known ceilings."},
  {key: "decode", title: "Decode step, predicted against measured", choices: decodeChoices, draw: drawDecode,
   absent: "this run has no program-level rows (scope program in roofline.csv)."},
  {key: "ratio", title: "Against the best library, per shape", choices: ratioChoices, draw: drawRatio,
   absent: "no library was measured on the same work."},
  {key: "trace", title: "Clock, power and load during the run", choices: traceChoices, draw: drawTrace,
   absent: "trace.csv has nothing recorded."},
];

async function buildPlate(plate, run) {
  const choices = plate.choices(run);
  if (!choices.length) {
    return el("p", {class: "note"}, `${runs.length > 1 ? `${shorten(run.label, 60)}: ` : ""}Left out: ${plate.absent}`);
  }
  const target = el("div", {class: "plot"});
  const buttons = el("span");
  const box = el("figure", {class: "panel"});
  let entry = null;
  const draw = async () => {
    if (entry) forget([entry]);
    entry = await show(plate.draw(choices[picker.selectedIndex]), target, `${plate.key}-${run.folder}`);
    buttons.replaceChildren(exportButtons(entry));
  };
  const picker = el("select", {"aria-label": `What ${plate.title} shows`, onchange: draw},
                    ...choices.map(({words}) => el("option", {}, shorten(words, 70))));
  box.append(el("div", {class: "plot-head"}, runs.length > 1 ? name(run.label, 60) : null, picker, buttons), target);
  box.redraw = draw;
  return box;
}

async function buildPlates() {
  for (const plate of PLATES) {
    const boxes = await Promise.all(runs.map((run) => buildPlate(plate, run)));
    document.getElementById("plates").append(el("section", {class: "plate", id: `plate-${plate.key}`},
      el("h3", {}, plate.title), el("div", {class: "side-by-side"}, ...boxes)));
    for (const box of boxes) await box.redraw?.();
  }
}

async function redrawPlates() {
  for (const box of document.querySelectorAll("#plates figure")) await box.redraw();
}
