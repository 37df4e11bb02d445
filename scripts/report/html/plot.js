"use strict";
// What all charts share: the theme's colours, Bokeh figures with readable ticks, export, printing.

const {ColumnDataSource, HoverTool, TapTool, Range1d} = Bokeh;
const PLOTS = [];  // {view, target, fileName} of every chart on the page

function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (variable) => style.getPropertyValue(variable).trim();
  return {
    ink: colour("--ink"),
    quiet: colour("--quiet"),
    line: colour("--line"),
    plate: colour("--plate"),
    roof: colour("--roof"),
    series: [0, 1, 2, 3, 4, 5, 6, 7].map((i) => colour(`--series-${i}`))
  };
}

// Ticks in the words of text.js. Bokeh's own way, a function's source as a string, needs eval.
class WordFormatter extends Bokeh.BasicTickFormatter {
  constructor(words) {
    super();
    this.words = words;
  }
  doFormat(ticks) {
    return ticks.map(this.words);
  }
}

const PEN = document.createElement("canvas").getContext("2d");

// Pixels of the widest line of a text in a chart.
function widthOf(text, size = 11) {
  PEN.font = `${size}px system-ui, sans-serif`;
  return Math.max(...text.split("\n").map((line) => PEN.measureText(line).width));
}

// Where Bokeh's ticks of a log axis would be evenly spaced numbers, of which few are round: 1, 2
// and 5 of each decade, as in the pictures.
class DecadeTicker extends Bokeh.LogTicker {
  get_ticks_no_defaults(low, high, at, count) {
    const decades = Math.log10(high / low);
    if (decades < 3.5) {
      const major = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e)
        major.push(...[1, 2, 5].map((digit) => Number(`${digit}e${e}`)));
      const seen = major.filter((tick) => low <= tick && tick <= high);
      if (seen.length > 1) return {major: seen, minor: []};
    }
    return super.get_ticks_no_defaults(low, high, at, count);
  }
}

// Of an axis and of the grid lines that start at its ticks.
function setTicker(plot, dimension, ticker) {
  for (const part of [plot[`${dimension}axis`], plot[`${dimension}grid`]]) {
    part.each((each) => {
      each.ticker = ticker;
    });
  }
}

function figure({title, x, y, height = 320, tools = "pan,wheel_zoom,box_zoom,reset"}) {
  const colours = themeColours();
  const plot = Bokeh.Plotting.figure({
    title,
    height,
    tools,
    sizing_mode: "stretch_width",
    min_width: 280,
    toolbar_location: "above",
    x_axis_type: x.type ?? "log",
    y_axis_type: y.type ?? "log",
    x_range: x.range,
    y_range: y.range,
    x_axis_label: x.label,
    y_axis_label: y.label,
  });
  plot.toolbar.logo = null;
  plot.background_fill_color = plot.border_fill_color = colours.plate;
  plot.outline_line_color = null;
  Object.assign(
      plot.title,
      {text_color: colours.ink, text_font_size: "13px", text_font: "system-ui, sans-serif"});
  for (const [dimension, {type = "log"}] of Object.entries({x, y}))
    if (type === "log") setTicker(plot, dimension, new DecadeTicker({desired_num_ticks: 5}));
  for (const [axis, words] of [[plot.xaxis, x.tick], [plot.yaxis, y.tick]]) {
    axis.each((a) => {
      Object.assign(a, {
        axis_line_color: colours.quiet,
        major_tick_line_color: colours.quiet,
        minor_tick_line_color: null,
        major_label_text_color: colours.ink,
        axis_label_text_color: colours.ink,
        major_label_text_font: "system-ui, sans-serif",
        axis_label_text_font: "system-ui, sans-serif",
        axis_label_text_font_style: "normal",
        axis_label_text_font_size: "12px",
        major_label_text_font_size: "12px",
      });
      if (words) a.formatter = new WordFormatter(words);
    });
  }
  plot.grid.each((g) => {
    g.grid_line_color = colours.line;
  });
  return plot;
}

// Names of a chart's rows, numbered as some may be the same, in lines that leave the chart its
// room.
const rowNames = (names) => names.map((name, i) => wrapped(`${i + 1}  ${isolated(name, 120)}`, 38));

const rowHeight = (names, least) =>
    Math.max(least, 6 + 15 * Math.max(...names.map((name) => name.split("\n").length)));

// The title of such a chart starts above the names.
function besideNames(plot, names) {
  plot.title.offset = -Math.max(...names.map((name) => widthOf(name, 12))) - 8;
}

// Words at the right of what they tell of; of what reaches the frame's edge, beyond it.
function textBeside(plot, source, x, y, offset) {
  const words = steady(plot.text({field: x}, {field: y}, {field: "text"}, {
    source,
    x_offset: offset,
    text_baseline: "middle",
    text_font_size: "11px",
    text_color: themeColours().ink,
    text_font: "system-ui, sans-serif",
    background_fill_color: themeColours().plate,
    background_fill_alpha: 0.8
  }));
  words.level = "annotation";  // the frame clips lower levels
  plot.min_border_right = Math.max(...source.data.text.map((text) => widthOf(text))) + offset + 8;
}

// A glyph looks the same whether something is selected or not: the selection is marked by itself.
function steady(renderer) {
  renderer.selection_glyph = renderer.nonselection_glyph = renderer.muted_glyph = null;
  return renderer;
}

// A tooltip of labelled lines, as text; Bokeh shows it in its own shadow tree, so it brings its
// style.
function tooltip(title, lines) {
  const colours = themeColours();
  const box = el("div", {
    style: `color:${colours.ink};background:${colours.plate};padding:4px;` +
        "font:12px/1.35 system-ui,sans-serif;max-width:420px;overflow-wrap:anywhere"
  });
  box.append(el("b", {}, name(title, 160)));
  for (const [label, value] of lines) {
    if (value)
      box.append(
          el("div", {}, el("span", {style: `color:${colours.quiet}`}, `${label} `), plain(value)));
  }
  return box;
}

// Of points that lie on each other the first is described, the others are counted.
function hoverTool(renderers, describe, others = (source, indices) => indices.length - 1) {
  return new HoverTool({
    renderers,
    tooltips: (source, {index, indices}) => {
      if (index !== indices[0]) return null;
      const box = describe(source, index);
      const more = others(source, indices);
      if (more) box.append(el("div", {}, `and ${more} more here: clicks walk through them`));
      return box;
    }
  });
}

// Under the axis, where it hides no point; a click hides a curve.
function legendBelow(plot) {
  const colours = themeColours();
  const {legend} = plot;
  Object.assign(legend, {
    orientation: "horizontal",
    background_fill_color: null,
    border_line_color: null,
    label_text_color: colours.ink,
    label_text_font_size: "11px",
    padding: 2,
    margin: 2,
    location: "left",
    click_policy: "hide"
  });
  plot.center = plot.center.filter((part) => part !== legend);
  plot.add_layout(legend, "below");
}

async function show(plot, target, fileName) {
  const view = await Bokeh.Plotting.show(plot, target);
  const entry = {view, target, fileName};
  PLOTS.push(entry);
  return entry;
}

function forget(entries) {
  for (const entry of entries) {
    PLOTS.splice(PLOTS.indexOf(entry), 1);
    entry.view.remove();
    entry.target.replaceChildren();
  }
}

function exportButtons(entry) {
  const png = () => entry.view.export("png").canvas.toBlob(
      (blob) => download(`${entry.fileName}.png`, "image/png", blob));
  const svg = () => download(
      `${entry.fileName}.svg`, "image/svg+xml",
      entry.view.export("svg").ctx.get_serialized_svg(true));
  return el(
      "span", {class: "actions"},
      el("button", {type: "button", class: "export-png", onclick: png, title: "Saves this chart"},
         "PNG"),
      el("button", {type: "button", class: "export-svg", onclick: svg, title: "Saves this chart"},
         "SVG"));
}

// A canvas keeps its width on paper; pictures of the charts fit any.
addEventListener("beforeprint", () => {
  for (const {view, target} of PLOTS) {
    target.classList.add("printed");
    target.append(el("img", {class: "print", alt: "", src: view.export("png").canvas.toDataURL()}));
  }
});
addEventListener("afterprint", () => {
  for (const {target} of PLOTS) {
    target.classList.remove("printed");
    target.querySelectorAll("img.print").forEach((image) => image.remove());
  }
});
