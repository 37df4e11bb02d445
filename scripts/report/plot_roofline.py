"""The roofline: FLOP/s over intensity, one panel a device."""

import math

import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from select_rows import DOUBTS, all_core_threads, compute_roofs, devices, memory_roofs, points

WIDTH = 8.0  # inches; 800 px at 100 dots an inch
PANEL = 4.7
LEFT, RIGHT, TOP = 0.72, 1.75, 0.5
NOTE = 0.17
SMALL = 7.6
# What lies behind a label on a slope shows through it faintly.
UNDER_TEXT = dict(facecolor="white", edgecolor="none", alpha=0.8, pad=0.5)
# Roofs this close share a label.
SAME = 0.01
# Points this far above their level's line are spoken of.
ABOVE = 0.03
MOST_ENTRIES = 12  # of kernels, and of dtypes, that the legend names


def _flagged(row):
    return row.verdict not in ("", "ok")


def _memory_label(row):
    star = " *" if _flagged(row) else ""
    return style.shorten(
        f"{row.level} {row.operation} {style.quantity(row.measured, 'B/s')}", 40
    ) + star


def _compute_labels(roofs):
    """One label for roofs within SAME of each other: [(rate, name, its text, a row if of one dtype)]."""
    groups = []
    for row in reversed(roofs):
        near = groups and row.measured <= groups[-1][0].measured * (1 + SAME)
        if near and style.operations(row.dtype) == style.operations(groups[-1][0].dtype):
            groups[-1].append(row)
        else:
            groups.append([row])
    labels = []
    for rows in groups:
        units = dict.fromkeys(row.exec_unit for row in rows)
        dtypes = dict.fromkeys(row.dtype for row in rows)
        if len(units) == 1 or len(dtypes) == 1:
            name = f"{', '.join(dtypes)} {', '.join(units)}"
        else:
            name = ", ".join(f"{row.dtype} {row.exec_unit}" for row in rows)
        star = " *" if any(_flagged(row) for row in rows) else ""
        rate = f"{style.quantity(rows[0].measured, style.operations(rows[0].dtype))}{star}"
        labels.append((rows[0].measured, name, rate, rows[0] if len(dtypes) == 1 else None))
    return labels


class _Panel:
    def __init__(self, axes, results, device):
        self.axes = axes
        self.known = self.known_kernels = []  # of the whole picture, set before drawing
        self.memory = memory_roofs(results, device)
        self.compute = compute_roofs(results, device)
        self.points, self.refused, self.unplaced = points(results, device)
        whole = all_core_threads(results, device)
        self.on_fewer = {
            f"{p.row.kernel} on {p.row.threads:g}": None
            for p in self.points
            if p.row.threads not in (None, whole)
        }
        self.placer = style.Placer()

    def beyond_line(self):
        """Bandwidths, higher than the line of the level that bounds them, that points were held
        against: the main memory beside a sample may be quicker than the run's ceiling."""
        line = {row.level: row.measured for row in self.memory}
        rows = (p.row for p in self.points if p.row.level == p.row.bound_by and p.row.level in line)
        above = (r for r in rows if r.flops_per_s > r.intensity * line[r.level] * (1 + ABOVE))
        return [r.roof_flops_per_s / r.intensity for r in above if r.roof_flops_per_s]

    def draw(self):
        self._limits()
        self._grid()
        self._roofs()
        self._ridges()
        self._marks()
        self._compute_text()
        self._memory_text()
        self._ridge_text()

    def _limits(self):
        xs = [p.x for p in self.points]
        ys = [y for p in self.points for y in (p.y_low, p.y_high)]
        tops = [r.measured for r in self.compute]
        for row in self.compute:
            ys.append(row.measured)
            tops += [v for v in (row.theory, row.advertised) if v]
        for roof in self.compute:
            for level in self.memory:
                xs.append(roof.measured / level.measured)
        xs, ys = xs or [1.0], ys or [1e9]
        self.x = (min(xs) / 4, max(xs) * 4)
        if not self.compute:
            tops = [max(ys + [r.measured * self.x[1] for r in self.memory]) / 2]
        self.top = max(tops)
        self.y = (min(ys) / 2.5, max(ys + tops) * 1.8)
        # A slope that enters from below has no room for its label further left.
        if self.memory:
            slowest = min(r.measured for r in self.memory)
            self.x = (min(self.x[0], max(self.y[0] / slowest, self.x[0] / 30)), self.x[1])
        self.axes.set_xscale("log")
        self.axes.set_yscale("log")
        self.axes.set_xlim(*self.x)
        self.axes.set_ylim(*self.y)

    def _grid(self):
        axes = self.axes
        axes.grid(True, which="major", color=style.GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(base=10, numticks=30))
            axis.set_major_formatter(FuncFormatter(style.tick))
            axis.set_minor_formatter(NullFormatter())
        axes.tick_params(which="both", length=2.5, width=0.6, labelsize=8)
        axes.set_xlabel("arithmetic intensity (FLOP per byte that crosses the level)", fontsize=8.5)
        axes.set_ylabel("FLOP/s", fontsize=8.5)

    def _slope(self, bandwidth, ceiling, **looks):
        (x0, _), end = self.x, ceiling / bandwidth
        if end > x0:
            self.axes.plot([x0, end], [x0 * bandwidth, ceiling], **looks)

    def _flat(self, rate, color, **looks):
        start = self.x[0]
        if self.memory:
            start = max(start, rate / max(r.measured for r in self.memory))
        self.axes.plot([start, self.x[1]], [rate, rate], color=color, **looks)

    def _roofs(self):
        thin = dict(linewidth=0.8, zorder=1.5)
        for row in self.memory:
            self._slope(row.measured, self.top_measured(), color="#4a4a4a", linewidth=1.5, zorder=2)
            if row.theory:
                self._slope(row.theory, self.top, color="#9a9a9a", dashes=(4, 2.5), **thin)
            if row.advertised:
                self._slope(row.advertised, self.top, color="#9a9a9a", dashes=(1, 1.5), **thin)
        for row in self.compute:
            color = style.dtype_color(row.dtype, self.known)
            self._flat(row.measured, color, linewidth=1.5, zorder=2)
            if row.theory:
                self._flat(row.theory, color, dashes=(4, 2.5), alpha=0.75, **thin)
            if row.advertised:
                self._flat(row.advertised, color, dashes=(1, 1.5), alpha=0.75, **thin)

    def top_measured(self):
        return max((r.measured for r in self.compute), default=self.top)

    def _ridges(self):
        for level in self.memory:
            for roof in self.compute:
                ridge = roof.measured / level.measured
                self.placer.add_point(*self._pixels(ridge, roof.measured))
                self.axes.plot(
                    [ridge],
                    [roof.measured],
                    marker="o",
                    markersize=3.4,
                    markerfacecolor="white",
                    markeredgecolor="#4a4a4a",
                    markeredgewidth=0.8,
                    linestyle="none",
                    zorder=2.5,
                )

    def _ridge_text(self):
        """Intensities of the outermost level's ridges, where there is room."""
        if not self.memory:
            return
        outer = self.memory[-1]
        for roof in self.compute:
            ridge = roof.measured / outer.measured
            text = f"{ridge:.3g}"
            width, height = self._text_size(text, SMALL - 0.8)
            x, y = self._pixels(ridge, roof.measured)
            x, y = x + 5, y - height - 2
            corners = style.box(x - 1, y, width + 2, height, 0)
            if self.placer.cost(corners) or not self._inside_axes(corners):
                continue
            self.placer.take(corners)
            self.axes.text(
                *self.axes.transData.inverted().transform((x, y)), text, fontsize=SMALL - 0.8,
                color="#4a4a4a", ha="left", va="bottom", zorder=5,
            )  # fmt: skip

    def _marks(self):
        series = {}
        for point in self.points:
            series.setdefault((point.row.kernel, point.row.dtype, point.library), []).append(point)
        for index, ((kernel, dtype, library), members) in enumerate(series.items()):
            color = style.dtype_color(dtype, self.known)
            xs, ys = [p.x for p in members], [p.y for p in members]
            self.axes.errorbar(
                xs,
                ys,
                yerr=[[p.y - p.y_low for p in members], [p.y_high - p.y for p in members]],
                fmt="none",
                ecolor=color,
                elinewidth=0.7,
                alpha=0.6,
                zorder=3,
            )
            # plot, not scatter: in an SVG each mark is then one <use>, whatever their number.
            self.axes.plot(
                xs,
                ys,
                marker=style.kernel_marker(kernel, self.known_kernels),
                markersize=5,
                markerfacecolor="none" if library else color,
                markeredgecolor=color if library else "white",
                markeredgewidth=1.0 if library else 0.5,
                linestyle="none",
                alpha=0.9,
                zorder=4,
                gid=f"points-{self.axes.get_label()}-{index}",
            )
        for p in self.points:
            self.placer.add_point(*self._pixels(p.x, p.y))

    def _pixels(self, x, y):
        return tuple(self.axes.transData.transform((x, y)))

    def _text_size(self, text, size):
        """Width and height in pixels of the unrotated text."""
        probe = self.axes.text(0, 0, text, fontsize=size)
        extent = probe.get_window_extent(self.axes.figure.canvas.get_renderer())
        probe.remove()
        return extent.width, extent.height

    def _in_lines(self, name, rate, width):
        """A peak's name and rate, in lines no wider than `width` pixels. The rate has its own, unless
        the name needs two: then it follows if there is room."""
        fits = lambda text: self._text_size(text, SMALL)[0] <= width
        lines = []
        for part in name.split(", "):
            joined = f"{lines[-1]}, {part}" if lines else part
            if lines and fits(joined):
                lines[-1] = joined
                continue
            if lines:
                lines[-1] += ","
            limit = len(part)
            while limit > 8 and not fits(style.shorten(part, limit)):
                limit = min(limit - 1, 60)
            lines.append(style.shorten(part, limit))
        if len(lines) > 1 and fits(f"{lines[-1]} {rate}"):
            lines[-1] += f" {rate}"
        else:
            lines.append(rate)
        return "\n".join(lines)

    def _compute_text(self):
        """Labels in the right margin at the height of their roofs, moved apart where they meet."""
        labels = _compute_labels(self.compute)
        if not labels:
            return
        right = self._pixels(self.x[1], 1)[0]
        room = self.axes.figure.bbox.x1 - right - 18
        heights = [self._pixels(self.x[1], label[0])[1] for label in labels]
        texts = [self._in_lines(name, rate, room) for _, name, rate, _ in labels]
        halves = [self._text_size(text, SMALL)[1] / 2 for text in texts]
        gaps = [low + high + 3 for low, high in zip(halves, halves[1:])]
        to_axes = self.axes.transAxes.inverted()
        places = style.spread(heights, gaps, self.axes.figure.bbox.y1 - halves[-1] - 3)
        for height, at, text, label in zip(heights, places, texts, labels):
            color = style.dtype_color(label[-1].dtype, self.known) if label[-1] else "#444444"
            corners = to_axes.transform([(right + 2, height), (right + 9, at), (right + 12, at)])
            self.axes.plot(
                corners[:, 0], corners[:, 1], transform=self.axes.transAxes, color=color,
                linewidth=0.7, clip_on=False,
            )  # fmt: skip
            self.axes.text(
                *to_axes.transform((right + 14, at)), text, transform=self.axes.transAxes,
                color=style.ink(color), fontsize=SMALL, va="center", ha="left", linespacing=1.1,
            )  # fmt: skip

    def _memory_text(self):
        """Labels along the slopes, where they meet no other label and cover the fewest points."""
        for row in self.memory:
            text = _memory_label(row)
            width, height = self._text_size(text, SMALL)
            end = self.top_measured() / row.measured
            start = max(self.x[0], self.y[0] / row.measured)
            (x0, y0), (x1, y1) = (self._pixels(x, x * row.measured) for x in (start, end))
            length = math.hypot(x1 - x0, y1 - y0)
            if end <= start or length < width + 12:
                continue
            angle = math.atan2(y1 - y0, x1 - x0)
            best = None
            for step in range(40):
                along = 6 + (length - width - 12) * step / 39
                for offset in (3, -3 - height):
                    x = x0 + along * math.cos(angle) - offset * math.sin(angle)
                    y = y0 + along * math.sin(angle) + offset * math.cos(angle)
                    corners = style.box(x, y, width, height, angle)
                    if not self._inside_axes(corners):
                        continue
                    cost = self.placer.cost(corners) + self._crossings(corners) + (offset < 0) * 0.5
                    if best is None or cost < best[0]:
                        best = (cost, x, y, corners)
            if best is None or math.isinf(best[0]):
                continue
            _, x, y, corners = best
            self.placer.take(corners)
            self.axes.text(
                *self.axes.transData.inverted().transform((x, y)), text, fontsize=SMALL,
                color="#333333", rotation=math.degrees(angle), rotation_mode="anchor",
                ha="left", va="bottom", zorder=5, bbox=UNDER_TEXT,
            )  # fmt: skip

    def _inside_axes(self, corners):
        extent = self.axes.get_window_extent()
        return all(
            extent.x0 + 4 < x < extent.x1 and extent.y0 + 4 < y < extent.y1 for x, y in corners
        )

    def _crossings(self, corners):
        """How many roofs run through a box: each is worth a few points."""
        count = 0
        data = [self.axes.transData.inverted().transform(corner) for corner in corners]
        for row in self.memory:
            for slope in (row.measured, row.theory, row.advertised):
                count += slope is not None and len({y > x * slope for x, y in data}) == 2
        heights = [y for _, y in corners]
        for row in self.compute:
            count += min(heights) < self._pixels(1, row.measured)[1] < max(heights)
        return 4 * count


def _name(row):
    parts = (row.kernel, row.variant, row.dtype, row.shape, row.temperature)
    return "/".join(part for part in parts if part)


def _notes(results, panels):
    notes = [f"{note}: that part is left out" for note in results.notes if "sweep" not in note]
    refused = [row for panel in panels for row in panel.refused]
    if refused:
        count = f"{len(refused)} " if len(refused) > 2 else ""
        names = [style.shorten(_name(row), 56) for row in refused[:2]]
        more = ", …" if len(refused) > 2 else ""
        notes.append(f"{count}not plotted, faster than their own roof: {', '.join(names)}{more}")
    unplaced = sum(len(panel.unplaced) for panel in panels)
    if unplaced:
        notes.append(f"not plotted, no intensity or rate known: {unplaced} benchmarks")
    flagged = [row for panel in panels for row in (*panel.memory, *panel.compute) if _flagged(row)]
    if flagged:
        names = {f"{r.level or r.dtype} {r.verdict}": None for r in flagged}
        notes.append(f"* roof in doubt: {', '.join(names)}")
    beside = [rate for panel in panels for rate in panel.beyond_line()]
    if beside:
        span = " to ".join(style.quantity(rate, "B/s") for rate in dict.fromkeys((min(beside), max(beside))))
        notes.append(f"{len(beside)} above their memory's line: held against the memory beside each sample, {span}")
    points_ = [point.row for panel in panels for point in panel.points]
    doubtful = sum(bool(set(row.verdict.split("+")) & set(DOUBTS)) for row in points_)
    if doubtful:
        notes.append(f"{doubtful} of {len(points_)} points: too few quiet samples, samples that disagree, or a clock that moved")
    fewer = [name for panel in panels for name in panel.on_fewer]
    if fewer:
        more = ", …" if len(fewer) > 3 else ""
        names = ", ".join(style.shorten(name, 40) for name in fewer[:3])
        notes.append(f"threads, where not all cores: {names}{more}")
    if not any(panel.points for panel in panels):
        notes.append("No kernel points")
    return notes


def _legend_entries(panels, known, kernels):
    """Marks and strokes, then the colours of the dtypes."""
    grey = dict(color="#555555", linestyle="none", markersize=5)
    marks = [
        Line2D([], [], marker=style.kernel_marker(k, kernels), label=style.shorten(k, 24), **grey)
        for k in kernels[:MOST_ENTRIES]
    ]
    more = lambda names: [Line2D([], [], linestyle="none", label=f"and {len(names)} more")] if names else []
    marks += more(kernels[MOST_ENTRIES:])
    if any(point.library for panel in panels for point in panel.points):
        marks.append(Line2D([], [], marker="o", markerfacecolor="white", label="library", **grey))
    roofs = [row for panel in panels for row in (*panel.memory, *panel.compute)]
    marks.append(Line2D([], [], color="#4a4a4a", linewidth=1.5, label="measured"))
    for label, dashes, there in (
        ("theory at clock", (4, 2.5), any(row.theory for row in roofs)),
        ("advertised", (1, 1.5), any(row.advertised for row in roofs)),
    ):
        if there:
            marks.append(Line2D([], [], color="#777777", linewidth=0.9, dashes=dashes, label=label))
    if any(panel.memory and panel.compute for panel in panels):
        marks.append(Line2D([], [], marker="o", markerfacecolor="white", color="#4a4a4a",
                            linestyle="none", markersize=3.4, label="ridge"))  # fmt: skip
    colors = [
        Line2D([], [], color=style.dtype_color(d, known), linewidth=4, label=style.shorten(d, 10))
        for d in known[:MOST_ENTRIES]
    ]
    return marks, colors + more(known[MOST_ENTRIES:])


def _legend_lines(figure, *groups):
    """The entries of each group, in lines that are no wider than the figure."""
    renderer = figure.canvas.get_renderer()
    lines = []
    for entries in groups:
        room = 0
        for entry in entries:
            probe = figure.text(0, 0, entry.get_label(), fontsize=SMALL)
            # Handle, its distance to the text and that to the next: in font sizes, as below.
            width = probe.get_window_extent(renderer).width + 3.1 * SMALL / 72 * figure.dpi
            probe.remove()
            if width > room:
                lines.append([])
                room = 0.98 * figure.bbox.width
            lines[-1].append(entry)
            room -= width
    return lines


def _draw_legend(figure, lines, y, height):
    for row, entries in enumerate(lines):
        figure.legend(
            handles=entries, loc="lower left",
            bbox_to_anchor=(0.01, y + (len(lines) - 1 - row) * NOTE / height),
            ncol=len(entries), frameon=False, fontsize=SMALL, handlelength=1.4,
            handletextpad=0.5, columnspacing=1.2, borderpad=0, borderaxespad=0,
        )  # fmt: skip


def _panel_title(results, device):
    name = results.names[device]
    return style.shorten(device if name == results.title else f"{device}: {name}", 60)


def draw(results):
    """The figure of a results folder. Never empty: what is missing is said at its foot."""
    style.apply()
    names = devices(results) or ["cpu"]
    figure = Figure(figsize=(WIDTH, PANEL), dpi=100)
    FigureCanvasAgg(figure)  # measures text
    drawn = set()
    panels = []
    for name in names:
        panel = _Panel(figure.add_axes((0, 0, 1, 1), label=len(panels)), results, name)
        drawn |= {p.row.dtype for p in panel.points} | {r.dtype for r in panel.compute}
        panels.append(panel)
    order = list(style.DTYPE_COLORS)
    known = sorted(drawn, key=lambda d: (order.index(d) if d in order else len(order), d))
    notes = _notes(results, panels)

    kernels = sorted({point.row.kernel for panel in panels for point in panel.points})
    legend = _legend_lines(figure, *_legend_entries(panels, known, kernels))
    foot = 0.08 + NOTE * (len(legend) + len(notes))
    top = TOP + (0.16 if len(panels) > 1 else 0)
    height = top + len(panels) * PANEL + foot
    figure.set_size_inches(WIDTH, height)
    threads = all_core_threads(results, names[0]) if names[0] == "cpu" else None
    subtitle = [f"all {threads:g} cores"] if threads else []
    subtitle += [results.date] if results.date else []
    subtitle.append("one point per benchmark, at the memory level that bounds it")
    figure.text(0.012, 1 - 0.12 / height, style.shorten(results.title or "unknown machine", 72),
                fontsize=11.5, fontweight="bold", va="top")  # fmt: skip
    figure.text(0.012, 1 - 0.37 / height, "  ·  ".join(subtitle), fontsize=8.5, color="#555555",
                va="top")  # fmt: skip
    for i, panel in enumerate(panels):
        panel.known, panel.known_kernels = known, kernels
        bottom = foot + (len(panels) - 1 - i) * PANEL + 0.5
        panel.axes.set_position(
            (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - RIGHT) / WIDTH, (PANEL - 0.62) / height)
        )
        if len(panels) > 1:
            panel.axes.set_title(_panel_title(results, names[i]), loc="left", fontsize=9, pad=3)
        panel.draw()
    _draw_legend(figure, legend, (0.1 + NOTE * len(notes)) / height, height)
    for i, note in enumerate(notes):
        figure.text(0.012, (0.06 + NOTE * (len(notes) - 1 - i)) / height, style.shorten(note, 138),
                    fontsize=7, color="#555555", va="bottom")  # fmt: skip
    return figure
