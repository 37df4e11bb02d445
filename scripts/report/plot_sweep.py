"""Bandwidth and latency against working-set size, with the plateaus that gave the ceilings."""

import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from select_rows import level_order, sweep_threads, sweeps

WIDTH, PANEL, LEFT, RIGHT, TOP = 8.0, 2.75, 0.78, 0.85, 0.5
COLORS = {"read": "#0072B2", "write": "#D55E00", "copy": "#009E73", "triad": "#B5508E",
          "chase": "#444444"}  # fmt: skip
SPARE = ("#E69F00", "#56B4E9", "#6B4FA0", "#8A7A00")


def _color(operation, known):
    if operation in COLORS:
        return COLORS[operation]
    return SPARE[[k for k in known if k not in COLORS].index(operation) % len(SPARE)]


def _panels(results):
    """[(device, resource, threads, curves)] in reading order."""
    panels = []
    for device in sorted({r.device for r in results.sweep}, key=lambda d: (d != "cpu", d)):
        for resource in ("bandwidth", "latency"):
            for threads in sweep_threads(results, device, resource):
                curves = sweeps(results, device, resource, threads)
                if curves:
                    panels.append((device, resource, threads, curves))
    return panels


def _title(results, device, resource, threads):
    whole = threads is None or device == "gpu"
    count = "" if whole else f", {threads:g} thread{'s' if threads != 1 else ''}"
    name = results.names[device]
    whose = "" if name == results.title else f" of {name}"
    return style.shorten(f"{device} {resource}{count}{whose}", 60)


def _levels(axes, curves):
    """Shades the sizes of each plateau and names its level at the top."""
    spans = {}
    for rows in curves.values():
        for row in rows:
            if row.plateau and row.level:
                low, high = spans.get(row.level, (row.size_bytes, row.size_bytes))
                spans[row.level] = (min(low, row.size_bytes), max(high, row.size_bytes))
    for level in sorted(spans, key=level_order):
        low, high = spans[level][0] / 1.15, spans[level][1] * 1.15
        axes.axvspan(low, high, color="#f1f1f1", linewidth=0, zorder=0)
        axes.text((low * high) ** 0.5, 0.965, style.shorten(level, 8), fontsize=8, color="#555555",
                  transform=axes.get_xaxis_transform(), ha="center", va="top")  # fmt: skip


def _draw(axes, title, resource, curves, known, sizes):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ends = []
    for operation in [k for k in known if k in curves]:
        rows = curves[operation]
        color = _color(operation, known)
        xs, ys = [r.size_bytes for r in rows], [r.measured for r in rows]
        axes.fill_between(
            xs,
            [r.low or r.measured for r in rows],
            [r.high or r.measured for r in rows],
            color=color, alpha=0.18, linewidth=0,
        )  # fmt: skip
        axes.plot(xs, ys, color=color, linewidth=1.3)
        for plateau, size in ((True, 3.6), (False, 2.2)):
            part = [r for r in rows if r.plateau == plateau]
            axes.plot([r.size_bytes for r in part], [r.measured for r in part], color=color,
                      marker="o", markersize=size, markeredgewidth=0, linestyle="none",
                      gid=f"points-{axes.get_label()}-{len(ends)}-{plateau}")  # fmt: skip
        ends.append((ys[-1], operation, color))
    axes.set_xlim(sizes[0] / 1.5, sizes[1] * 1.5)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.15, high * 1.6)
    _levels(axes, curves)
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=30))
    axes.xaxis.set_major_formatter(FuncFormatter(style.size_tick))
    axes.xaxis.set_minor_formatter(NullFormatter())
    unit = "s" if resource == "latency" else "B/s"
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high / low < 3e3 else (1,)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=30))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: style.short_quantity(v, unit)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color=style.GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=2.5, width=0.6, labelsize=7.5)
    axes.set_title(title, loc="left", fontsize=9, pad=4)
    _name_ends(axes, ends)


def _name_ends(axes, ends):
    """Names the curves to the right of their ends, moved apart where they meet."""
    ends.sort()
    right = axes.transAxes.transform((1, 0))[0]
    heights = [axes.transData.transform((1, y))[1] for y, _, _ in ends]
    to_axes = axes.transAxes.inverted()
    for at, (_, operation, color) in zip(style.spread(heights, 12), ends):
        axes.text(*to_axes.transform((right + 5, at)), style.shorten(operation, 12),
                  transform=axes.transAxes, color=style.ink(color), fontsize=8, va="center")  # fmt: skip


def draw(results):
    """The figure, or None if no sweep was measured."""
    style.apply()
    panels = _panels(results)
    if not panels:
        return None
    known = sorted({op for *_, curves in panels for op in curves},
                   key=lambda op: (list(COLORS).index(op) if op in COLORS else 9, op))  # fmt: skip
    height = TOP + PANEL * len(panels) + 0.3
    figure = Figure(figsize=(WIDTH, height), dpi=100)
    figure.text(0.012, 1 - 0.12 / height, style.shorten(results.title or "unknown machine", 72),
                fontsize=11.5, fontweight="bold", va="top")  # fmt: skip
    subtitle = [results.date] if results.date else []
    subtitle.append("shaded: the flat part that gives each level's ceiling")
    figure.text(0.012, 1 - 0.37 / height, "  ·  ".join(subtitle), fontsize=8.5, color="#555555",
                va="top")  # fmt: skip
    sizes = [r.size_bytes for *_, curves in panels for rows in curves.values() for r in rows]
    for i, (device, resource, threads, curves) in enumerate(panels):
        bottom = 0.3 + PANEL * (len(panels) - 1 - i) + 0.3
        axes = figure.add_axes(
            (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - RIGHT) / WIDTH, (PANEL - 0.62) / height),
            label=i,
        )
        title = _title(results, device, resource, threads)
        _draw(axes, title, resource, curves, known, (min(sizes), max(sizes)))
        if i + 1 == len(panels) or panels[i + 1][0] != device:
            each = " per thread" if device == "cpu" else ""
            axes.set_xlabel(f"working set{each}", fontsize=8.5)
    return figure
