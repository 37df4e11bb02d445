"""Measured decode steps over the batch, between the bounds that the ceilings predict."""

import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLORS = ("#0072B2", "#D55E00", "#009E73", "#B5508E", "#E69F00", "#56B4E9", "#6B4FA0")
PANEL, GAP, TOP, LEFT = 3.1, 0.65, 0.75, 0.85
LEGEND_LINE, LEGEND_COLUMNS = 0.15, 2
NEAR = 0.15  # kNearPrediction of roofline/overlay/prediction.hpp


def _groups(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _panel(row):
    return row.device, row.variant, row.dtype, row.kv


def _curve(row):
    return row.context, row.layers, row.head, row.threads


def _label(curve, threads):
    context, layers, head, own = curve
    text = f"context {context:g}, {layers:g} layer{'s' if layers != 1 else ''}"
    of_head = " + head" if head else ""
    fewer = own is not None and own != threads
    of_threads = f", {own:g} thread{'s' if own != 1 else ''}" if fewer else ""
    return text + of_head + of_threads


def _seconds(value, _position=None):
    return style.short_quantity(value, "s")


def _draw_panel(axes, rows, limits, threads, several_devices):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for place, (curve, points) in enumerate(sorted(_groups(rows, _curve).items())):
        color = COLORS[place % len(COLORS)]
        points = sorted(points, key=lambda row: row.batch)
        batches = [row.batch for row in points]
        if len(points) == 1:  # a band needs a width
            axes.plot(batches * 2, [points[0].lower_s, points[0].upper_s], color=color,
                      linewidth=6, alpha=0.25, solid_capstyle="butt")  # fmt: skip
        else:
            axes.fill_between(batches, [row.lower_s for row in points],
                              [row.upper_s for row in points], color=color, alpha=0.2,
                              linewidth=0)  # fmt: skip
        axes.plot(batches, [row.lower_s for row in points], color=color, linewidth=1.1)
        low = [row.time_s - (row.low_s or row.time_s) for row in points]
        high = [(row.high_s or row.time_s) - row.time_s for row in points]
        axes.errorbar(batches, [row.time_s for row in points], yerr=[low, high], color=color,
                      elinewidth=0.8, linestyle="none")  # fmt: skip
        axes.plot(batches, [row.time_s for row in points], color=color, marker="s", markersize=4.5,
                  markeredgecolor="white", markeredgewidth=0.6, linestyle="none",
                  label=_label(curve, threads), gid=f"points-{place}")  # fmt: skip
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=30))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=30))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color=style.GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=2.5, width=0.6, labelsize=7.5)
    device, variant, dtype, kv = _panel(rows[0])
    on = f"{device} " if several_devices else ""
    axes.set_title(style.shorten(f"{on}{variant}: {dtype}, KV cache {kv}", 44), loc="left", fontsize=9,
                   pad=4)  # fmt: skip
    axes.set_xlabel("batch", fontsize=8.5)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.13), borderaxespad=0, frameon=False,
                fontsize=6.8, handlelength=1.2, handletextpad=0.4, columnspacing=0.8,
                ncol=LEGEND_COLUMNS)  # fmt: skip


def _title(results):
    """Of the device, if all steps ran on one."""
    on = {row.device for row in results.steps}
    return results.names.get(on.pop(), results.title) if len(on) == 1 else results.title


def draw(results):
    """The whole steps of prediction.csv, of which there is at least one."""
    style.apply()
    rows, title = results.steps, _title(results)
    panels = _groups(rows, _panel)
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    width = 8.0
    curves = max(len(_groups(members, _curve)) for members in panels.values())
    gap = GAP + LEGEND_LINE * -(-curves // LEGEND_COLUMNS)
    height = TOP + lines * (PANEL + gap)
    figure = Figure(figsize=(width, height), dpi=100)
    figure.text(0.012, 1 - 0.12 / height, style.shorten(f"{title}: decode steps", 80),
                fontsize=11.5, fontweight="bold", va="top")  # fmt: skip
    kept = sum(row.verdict in ("explained", "near") for row in rows)
    figure.text(0.012, 1 - 0.37 / height,
                "bands: T_lower (line) to T_upper by the measured ceilings; squares: measured  ·  "
                f"{kept} of {len(rows)} between, or within {100 * NEAR:.0f} % of T_lower",
                fontsize=8.5, color="#555555", va="top")  # fmt: skip
    batches = [row.batch for row in rows]
    times = [t for row in rows for t in (row.time_s, row.lower_s, row.upper_s)]
    limits = ((min(batches) / 1.3, max(batches) * 1.3), (min(times) / 1.5, max(times) * 1.5))
    threads = max((row.threads for row in rows if row.threads), default=None)
    share = (width - LEFT - 0.2 - 0.65 * (columns - 1)) / columns
    for place, members in enumerate(panels.values()):
        line, column = divmod(place, columns)
        axes = figure.add_axes((
            (LEFT + column * (share + 0.65)) / width,
            1 - (TOP + PANEL + line * (PANEL + gap)) / height,
            share / width,
            (PANEL - 0.2) / height,
        ))  # fmt: skip
        _draw_panel(axes, members, limits, threads, len({row.device for row in rows}) > 1)
        axes.yaxis.set_major_formatter(FuncFormatter(_seconds))
        if column == 0:
            axes.set_ylabel("time of a step", fontsize=8.5)
    return figure
