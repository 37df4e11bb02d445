"use strict";
// The roofline chart of one run and device.

// Limits that hold every roof's ridge and every point, so that filters never move the axes.
function limitsOfPanels(device) {
  const xs = [], ys = [], slopes = [];
  for (const run of runs) {
    const roofs = roofsOf(run, device, run.cores.get(device));
    for (const c of roofs.compute) {
      ys.push(c.measured, c.theory_at_clock ?? c.measured, c.advertised ?? c.measured);
      for (const m of roofs.memory) xs.push(c.measured / m.measured);
    }
    slopes.push(...roofs.memory.map((m) => m.measured));
    for (const b of run.benchmarks.filter((b) => b.device === device && b.rate && !b.refused)) {
      ys.push(b.rate);
      for (const row of b.rows)
        if (row.intensity) xs.push(row.intensity);
    }
  }
  const range = (values, below, above) =>
      [values.reduce((a, b) => Math.min(a, b)) / below,
       values.reduce((a, b) => Math.max(a, b)) * above];
  if (!ys.length && slopes.length) ys.push(Math.max(...slopes));
  // Room for the labels of slopes on the left.
  return {x: range(xs.length ? xs : [1], 8, 3), y: range(ys.length ? ys : [1e9], 2.5, 2)};
}

class Panel {
  constructor(run, device) {
    Object.assign(this, {run, device, shown: []});
    this.id = `${run.index}-${device}`;
    this.target = el("div", {
      class: "plot",
      tabindex: 0,
      role: "img",
      "aria-label":
          `Roofline of ${plain(run.label)}, ${plain(device)}. Arrow keys walk through the points.`
    });
    this.buttons = el("div", {class: "plot-buttons"});
    this.element =
        el("figure", {class: "panel", id: `panel-${run.index}-${device.replace(/\W/g, "_")}`},
           this.target, this.buttons);
    this.target.addEventListener("keydown", (event) => this.walk(event));
  }

  async build() {
    const {x, y} = limitsOfPanels(this.device);
    const colours = themeColours();
    // As numbers 0xrrggbbaa: Bokeh would parse words for each point.
    this.packed = colours.series.map((hex) => Number(`0x${hex.slice(1)}ff`));
    const title =
        `${shorten(this.run.label, 60)} · ${shorten(deviceWords(this.run, this.device), 40)}`;
    const plot = this.plot = figure({
      title,
      height: 520,
      x: {
        range: new Range1d({start: x[0], end: x[1]}),
        tick: plainTick,
        label: "arithmetic intensity (FLOP/byte)"
      },
      y: {range: new Range1d({start: y[0], end: y[1]}), tick: (v) => tick(v, ""), label: "FLOP/s"},
    });
    this.limits = {x, y};
    const source = (columns) =>
        new ColumnDataSource({data: Object.fromEntries(columns.map((c) => [c, []]))});
    const f = (field) => ({field});
    const segments = ["x0", "y0", "x1", "y1"];
    const line = (from, look) =>
        steady(plot.segment(f("x0"), f("y0"), f("x1"), f("y1"), {source: from, ...look}));

    this.band = source(["x", "low", "high"]);
    steady(plot.varea(
        f("x"), f("low"), f("high"),
        {source: this.band, fill_color: colours.series[0], fill_alpha: 0.16}));
    const roof = {line_color: colours.roof, line_alpha: f("alpha")};
    this.roofs = {
      measured: source([...segments, "alpha"]),
      theory: source([...segments, "alpha"]),
      advertised: source([...segments, "alpha"])
    };
    line(this.roofs.advertised, {...roof, line_width: 1.6, line_dash: "dotted"});
    line(this.roofs.theory, {...roof, line_width: 1, line_dash: "dashed"});
    line(this.roofs.measured, {...roof, line_width: 2});
    this.ridges = source(["x", "y", "alpha", "text"]);
    const ridges = steady(plot.scatter(f("x"), f("y"), {
      source: this.ridges,
      size: 6,
      marker: "circle",
      fill_color: colours.plate,
      line_color: colours.roof,
      line_alpha: f("alpha"),
      fill_alpha: f("alpha")
    }));
    this.links = source(segments);
    line(this.links, {line_color: colours.quiet, line_width: 1, line_alpha: 0.6});
    this.bars = source(["x", "low", "high", "colour"]);
    steady(plot.segment(
        f("x"), f("low"), f("x"), f("high"),
        {source: this.bars, line_color: f("colour"), line_width: 1}));
    // Libraries are hollow. Outlines cost most of the painting, so that filled marks have none.
    this.marks = [source(["x", "y", "marker", "colour"]), source(["x", "y", "marker", "colour"])];
    const looks = [
      {fill_color: f("colour"), fill_alpha: 0.85, line_color: null},
      {fill_color: null, line_color: f("colour"), line_width: 1.4}
    ];
    const points = this.marks.map(
        (from, i) => steady(plot.scatter(
            f("x"), f("y"), {source: from, marker: f("marker"), size: 8.5, ...looks[i]})));
    const type = {
      text_font_size: "11px",
      text_font: "system-ui, sans-serif",
      text_color: colours.roof,
      text_alpha: f("alpha")
    };
    this.labels = source(["x", "y", "text", "angle", "alpha"]);
    steady(plot.text(f("x"), f("y"), f("text"), {
      source: this.labels,
      angle: f("angle"),
      y_offset: -1,
      text_baseline: "bottom",
      background_fill_color: colours.plate,
      background_fill_alpha: 0.8,
      ...type
    }));
    this.peaks = source([...segments, "x", "text", "alpha"]);
    const beside = [
      line(this.peaks, {line_color: colours.roof, line_alpha: f("alpha"), line_width: 0.8}),
      steady(plot.text(
          f("x"), f("y1"), f("text"),
          {source: this.peaks, text_baseline: "middle", text_line_height: 1, ...type}))
    ];
    for (const renderer of beside) renderer.level = "annotation";  // the frame clips lower levels
    this.ring = source(["x", "y"]);
    steady(plot.scatter(f("x"), f("y"), {
      source: this.ring,
      marker: "circle",
      size: 18,
      fill_color: null,
      line_color: colours.ink,
      line_width: 2.5
    }));

    plot.add_tools(
        hoverTool(
            points,
            (from, i) => {
              const {b, row} = this.points.get(from)[i];
              return tooltip(b.title, describe(b, row));
            },
            (from, indices) => this.pointsAt(from, indices).length - 1),
        hoverTool([ridges], (from, i) => tooltip("ridge point", [["", from.data.text[i]]])),
        new TapTool({renderers: points}));
    for (const from of this.marks) {
      from.selected.properties.indices.change.connect(() => this.tapped(from));
    }
    this.entry = await show(plot, this.target, `roofline-${this.run.folder}-${this.device}`);
    this.buttons.replaceChildren(exportButtons(this.entry));
    for (const range of [plot.x_range, plot.y_range]) range.change.connect(() => this.framed());
    plot.properties.inner_width.change.connect(() => this.framed());
  }

  // Where points are within the frame, in pixels.
  positions(points) {
    const {x_scale, y_scale, bbox} = this.entry.view.frame;
    const x = x_scale.v_compute(points.map(({row}) => row.intensity));
    const y = y_scale.v_compute(points.map(({row}) => row.achieved_flops_per_s));
    return points.map((_, i) => [x[i] - bbox.left, y[i] - bbox.top]);
  }

  // The points at those of a source: painted, and then those that may lie beneath.
  pointsAt(source, indices) {
    const tops = indices.map((i) => this.points.get(source)[i]);
    if (this.shown.length <= CROWD) return tops;
    const places = this.positions(tops), all = this.positions(this.shown);
    const near = (a, b) => Math.abs(a - b) <= 2 * REACH;
    const beneath = this.shown.filter(
        (_, i) => places.some(([x, y]) => near(x, all[i][0]) && near(y, all[i][1])));
    return unique([...tops, ...beneath]);
  }

  tapped(source) {
    const {indices} = source.selected;
    if (!indices.length) return;
    const ids = unique(this.pointsAt(source, indices).map(({b}) => b.id));
    source.selected.indices = [];
    // Several points under the pointer: a further click takes the next.
    change({selected: ids[(ids.indexOf(state.selected) + 1) % ids.length]});
  }

  walk(event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step || !this.shown.length) return;
    event.preventDefault();
    const sorted =
        [...this.shown].sort((a, b) => a.row.intensity - b.row.intensity || a.b.rate - b.b.rate);
    // A benchmark with points at several levels is met once.
    const order = unique(sorted.map(({b}) => b.id));
    const at = order.indexOf(state.selected);
    change({selected: order[at < 0 ? 0 : (at + step + order.length) % order.length]});
  }

  update(visible) {
    const ours = visible.filter((b) => b.run === this.run && b.device === this.device);
    this.drawPoints(ours);
    this.drawRoofs(new Set(ours.filter((b) => !b.refused).map((b) => b.roof)));
    this.select();
    this.element.hidden = state.device.size > 0 && !state.device.has(this.device) ||
        state.run.size > 0 && !state.run.has(this.run.label);
  }

  colourOf({b}) {
    return this.packed[b.colour[state.colour]];
  }

  fillMarks() {
    const [filled, hollow] =
        [false, true].map((library) => this.shown.filter(({b}) => b.library === library));
    this.points = new Map([[this.marks[0], this.seen(filled)], [this.marks[1], hollow]]);
    for (const [from, points] of this.points) {
      from.data = {
        x: points.map(({row}) => row.intensity),
        y: points.map(({row}) => row.achieved_flops_per_s),
        marker: points.map(({b}) => b.marker),
        colour: points.map((point) => this.colourOf(point))
      };
    }
  }

  seen(points) {
    if (this.shown.length <= CROWD) return points;
    const {width, height} = this.entry.view.frame.bbox;
    const free = uncovered(this.positions(points), Math.ceil(width), Math.ceil(height));
    return points.filter((_, i) => free[i]);
  }

  // Zoomed or of another size, other marks lie beneath others.
  framed() {
    this.placeLabels();
    if (this.shown.length <= CROWD) return;
    clearTimeout(this.settled);
    this.settled = setTimeout(() => this.fillMarks(), 150);
  }

  drawPoints(ours) {
    this.shown =
        ours.filter((b) => !b.refused).flatMap((b) => pointRows(b).map((row) => ({b, row})));
    this.fillMarks();
    const barred = this.shown.length > CROWD ? [] : this.shown;
    this.bars.data = {
      x: barred.map(({row}) => row.intensity),
      colour: barred.map((point) => this.colourOf(point)),
      low:
          barred.map(({b}) => (b.time_high_s ? Math.min(b.rate, b.flops / b.time_high_s) : b.rate)),
      high: barred.map(({b}) => (b.time_low_s ? Math.max(b.rate, b.flops / b.time_low_s) : b.rate)),
    };
    const links = {x0: [], y0: [], x1: [], y1: []};
    for (const group of state.level === "all" ? groupBy(this.shown, ({b}) => b).values() : []) {
      const xs = group.map(({row}) => row.intensity);
      links.x0.push(Math.min(...xs));
      links.x1.push(Math.max(...xs));
      links.y0.push(group[0].b.rate);
      links.y1.push(group[0].b.rate);
    }
    this.links.data = links;
  }

  threadCounts() {
    if (state.threads === "cores") return [this.run.cores.get(this.device)];
    if (state.threads !== "all") return [Number(state.threads)];
    const measured =
        unique(this.run.ceilings.filter((c) => c.device === this.device && c.resource !== "latency")
                   .map((c) => c.threads));
    return measured.length ? measured : [null];
  }

  drawRoofs(binding) {
    const strokes = {measured: "measured", theory: "theory_at_clock", advertised: "advertised"};
    const lines = Object.fromEntries(
        Object.keys(strokes).map((s) => [s, {x0: [], y0: [], x1: [], y1: [], alpha: []}]));
    const ridges = {x: [], y: [], alpha: [], text: []};
    const [left, right] = [this.limits.x[0] / 1e3, this.limits.x[1] * 1e3];
    const alpha = (c) => (binding.has(c.id) ? 1 : 0.28);
    this.drawn = [];
    for (const threads of this.threadCounts()) {
      const {memory, compute} = roofsOf(this.run, this.device, threads);
      for (const [stroke, column] of Object.entries(strokes)) {
        const add = (x0, y0, x1, y1, c) => {
          const to = lines[stroke];
          for (const [key, value] of Object.entries({x0, y0, x1, y1, alpha: alpha(c)}))
            to[key].push(value);
        };
        const top =
            largest([...compute.map((c) => c[column]), ...compute.map((c) => c.measured)]) ??
            this.limits.y[1];
        const fastest = largest(memory.map((m) => m[column] ?? m.measured));
        for (const m of memory)
          if (m[column]) add(left, left * m[column], top / m[column], top, m);
        for (const c of compute)
          if (c[column]) add(fastest ? c[column] / fastest : left, c[column], right, c[column], c);
      }
      for (const m of memory) {
        for (const c of compute) {
          ridges.x.push(c.measured / m.measured);
          ridges.y.push(c.measured);
          ridges.alpha.push(Math.min(alpha(m), alpha(c)));
          ridges.text.push(`${m.level} with ${c.dtype} ${c.exec_unit}: ${
              plainNumber(c.measured / m.measured)} FLOP/byte`);
        }
      }
      this.drawn.push({memory, compute, threads});
    }
    for (const stroke of Object.keys(strokes)) this.roofs[stroke].data = lines[stroke];
    this.ridges.data = ridges;
    this.binding = binding;
    this.placeLabels();
  }

  placeLabels() {
    const box = this.entry?.view.frame?.bbox;
    if (!box?.width || !this.drawn) return;
    const frame = frameOf(this.plot, box);
    const suffix = (threads) =>
        (this.drawn.length > 1 && threads ? ` (${threadWords(threads)})` : "");
    const alpha = (c) => (this.binding.has(c.id) ? 1 : 0.6);
    const levels = this.drawn.flatMap(
        ({memory, threads}) =>
            memory.map((level) => ({
                         level,
                         text: `${isolated(level.level, 16)} ${quantity(level.measured, "B/s")}` +
                             suffix(threads) + doubtSign(level)
                       })));
    const slopes = slopeLabels(frame, levels);
    const columns = (rows, of) =>
        Object.fromEntries(Object.entries(of).map(([key, value]) => [key, rows.map(value)]));
    this.labels.data = columns(slopes, {
      x: ({x}) => x,
      y: ({y}) => y,
      text: ({text}) => text,
      angle: ({angle}) => angle,
      alpha: ({level}) => alpha(level)
    });
    const {margin, labels} = peakLabels(frame, labelledPeaks(this.drawn), suffix);
    // Pixels beyond the frame's edge are further decades of the axis.
    const right = (pixels) => 10 ** (frame.x0 + (frame.width + pixels) / frame.perX);
    const up = (pixels) => 10 ** (frame.y0 + pixels / frame.perY);
    this.peaks.data = columns(labels, {
      x0: () => right(0),
      y0: ({at}) => up(at),
      x1: () => right(16),
      y1: ({place}) => up(place),
      x: () => right(19),
      text: ({text}) => text,
      alpha: ({peak}) => alpha(peak)
    });
    // Another width of the frame: its labels are placed anew.
    if (this.plot.min_border_right !== margin) this.plot.min_border_right = margin;
  }

  // Between all of the transfer hidden behind the arithmetic and none of it: at the chosen level,
  // with the peak of the selected benchmark, else the highest of those shown.
  drawBand() {
    const data = {x: [], low: [], high: []};
    this.bandNote = "";
    const chosen = this.shown.filter(({b}) => b.id === state.selected);
    const threads = chosen[0]?.b.threads ?? this.run.cores.get(this.device);
    const {memory} = this.drawn.find((d) => d.threads === threads) ?? this.drawn[0];
    const level = memory.find((m) => m.level === state.level);
    const peaks = (level ? (chosen.length ? chosen : this.shown) : [])
                      .map(({b, row}) => ({peak: limits(row).peak, dtype: b.dtype}));
    const peak = largest(peaks.map((p) => p.peak));
    if (peak) {
      const unit = rateUnit(peaks.find((p) => p.peak === peak).dtype);
      const [left, right] = this.limits.x.map(Math.log10);
      for (let i = 0; i <= 120; ++i) {
        const x = 10 ** (left - 1 + (right - left + 2) * i / 120);
        data.x.push(x);
        data.high.push(Math.min(peak, x * level.measured));
        data.low.push(1 / (1 / peak + 1 / (x * level.measured)));
      }
      this.bandNote = `Shaded: from T_upper to T_lower at ${level.level} with a peak of ${
                          quantity(peak, unit)}: ` +
          "arithmetic and transfer one after the other, up to perfect overlap.";
    }
    this.band.data = data;
  }

  // Bandwidths, higher than the line of the level that bounds them, that points were held against.
  aboveTheirLine() {
    const lines = new Map(this.drawn.flatMap(
        ({memory, threads}) => memory.map((m) => [`${m.level} ${threads}`, m.measured])));
    return this.shown
        .filter(
            ({b, row}) => row.level === b.bound_by &&
                row.achieved_bytes_per_s > 1.03 * lines.get(`${row.level} ${b.threads}`))
        .map(({row}) => limits(row).bandwidth)
        .filter(Boolean);
  }

  select() {
    const ours = this.shown.filter(({b}) => b.id === state.selected);
    this.drawBand();
    this.ring.data = {x: ours.map(({row}) => row.intensity), y: ours.map(({b}) => b.rate)};
  }

  notes(visible) {
    const ours = visible.filter((b) => b.run === this.run && b.device === this.device);
    const refused = ours.filter((b) => b.refused).length;
    const unplaced = ours.filter((b) => !b.refused && pointRows(b).length === 0).length;
    const {threads} = this.drawn[0];
    const roofs = this.drawn.flatMap(({memory, compute}) => [...memory, ...compute]);
    const below = threads && this.drawn.length === 1 ?
        this.shown.filter(({b}) => b.threads != null && b.threads < threads) :
        [];
    const onFewer = unique(below.map(({b}) => `${shorten(b.kernel, 40)} on ${b.threads}`));
    const doubtful =
        unique(roofs.filter((c) => c.verdict && c.verdict !== "ok")
                   .map((c) => `${c.level || `${c.dtype} ${c.exec_unit}`} ${c.verdict}`));
    const beside = this.aboveTheirLine();
    const unsure =
        this.shown.filter(({row}) => row.verdict.split("+").some((w) => DOUBTS.includes(w))).length;
    const where =
        panels.length > 1 ? `${shorten(this.run.label, 60)} ${shorten(this.device, 20)}: ` : "";
    return [
      refused &&
          `${refused} not drawn, faster than their own roof: an error of a ceiling or of the byte count. The table marks them.`,
      unplaced &&
          `${unplaced} not drawn: no intensity or rate, or none but 0, is known${
              state.level === "bound" ? "" : " at this level"}.`,
      onFewer.length &&
          `Measured on fewer than the ${threads} threads of the roofs: ${
              onFewer.slice(0, 6).join(", ")}${onFewer.length > 6 ? ", …" : ""}.`,
      doubtful.length && `⚠ roof in doubt: ${doubtful.join(", ")}.`,
      this.shown.length > CROWD &&
          `Of more than ${
              CROWD} points, marks beneath others are painted only when zoomed in, and none has an error bar.`,
      !roofs.length && "No ceilings are known: points without roofs.",
      beside.length &&
          `${
              beside
                  .length} above their memory's line: held against the memory beside each sample, ${
              quantity(Math.min(...beside), "B/s")} to ${quantity(Math.max(...beside), "B/s")}.`,
      unsure &&
          `${unsure} of ${
              this.shown
                  .length} points: too few quiet samples, samples that disagree, or a clock that moved.`,
      this.bandNote,
    ].filter(Boolean)
        .map((note) => plain(where + note));
  }
}
