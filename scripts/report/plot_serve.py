"""Serving a transformer: throughput against step time, and what the step is made of."""

import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLORS = ("#0072B2", "#D55E00", "#009E73", "#B5508E", "#E69F00", "#56B4E9", "#6B4FA0")
PARTS = (("parameters", "parameters_s", "#0072B2"), ("KV cache", "kv_s", "#D55E00"),
         ("FLOPs", "flops_s", "#009E73"))  # fmt: skip
WIDTH, TOP, CURVES, PANEL, GAP = 8.0, 0.65, 3.4, 2.3, 0.75
LEFT, RIGHT = 0.85, 0.25


def _curves(rows):
    """{context: rows}, in the order of the file."""
    curves = {}
    for row in rows:
        curves.setdefault(row.context, []).append(row)
    return curves


def _seconds(value, _position=None):
    return style.short_quantity(value, "s")


def _dress(axes, base):
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high / low < 1e3 else (1,)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=30))
    if base == 10:
        low, high = axes.get_xlim()
        subs = (1, 2, 5) if high / low < 1e3 else (1,)
    else:
        subs = (1,)
    axes.xaxis.set_major_locator(LogLocator(base=base, subs=subs, numticks=30))
    axes.grid(True, which="major", color=style.GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=2.5, width=0.6, labelsize=7.5)


def _name_batches(axes, curve, color):
    """Batches along a curve, at powers of four."""
    powers = {4**k for k in range(1, 20)}
    for row in curve:
        if row.batch in powers:
            axes.annotate(f"{row.batch:g}", (row.step_s, row.tokens_per_s_per_chip), xytext=(3, -9),
                          textcoords="offset points", fontsize=6.5, color=style.ink(color))  # fmt: skip


def _draw_curves(axes, curves):
    axes.set_xscale("log")
    for place, (context, curve) in enumerate(curves.items()):
        color = COLORS[place % len(COLORS)]
        xs = [r.step_s for r in curve]
        ys = [r.tokens_per_s_per_chip for r in curve]
        axes.plot(xs, ys, color=color, linewidth=0.8, linestyle=(0, (2, 2)))
        fitting = [r for r in curve if r.fits is not False]
        axes.plot([r.step_s for r in fitting], [r.tokens_per_s_per_chip for r in fitting],
                  color=color, linewidth=1.6, label=f"context {context:g}")  # fmt: skip
        for bound, face in ((True, color), (False, "white")):
            part = [r for r in fitting if (r.batch > r.critical_batch) == bound]
            axes.plot([r.step_s for r in part], [r.tokens_per_s_per_chip for r in part],
                      color=color, marker="o", markersize=4, markerfacecolor=face,
                      markeredgewidth=0.9, linestyle="none",
                      gid=f"points-{place}-{bound}")  # fmt: skip
        _name_batches(axes, curve, color)
    _dress(axes, 10)
    axes.xaxis.set_major_formatter(FuncFormatter(_seconds))
    axes.yaxis.set_major_formatter(FuncFormatter(style.tick))
    axes.set_xlabel("decode step: the time between two tokens of a sequence", fontsize=8.5)
    axes.set_ylabel("tokens/s per chip", fontsize=8.5)
    axes.legend(loc="lower right", frameon=False, fontsize=8)


def _draw_parts(axes, context, curve, limits, first):
    axes.set_xscale("log", base=2)
    axes.set_ylim(*limits)
    batches = [r.batch for r in curve]
    axes.set_xlim(batches[0], batches[-1])
    for name, field, color in PARTS:
        axes.plot(batches, [getattr(r, field) for r in curve], color=color, linewidth=1.3,
                  label=name)  # fmt: skip
    axes.plot(batches, [r.step_s for r in curve], color=style.INK, linewidth=1.8, label="step")
    critical = curve[0].critical_batch
    if critical < batches[-1]:
        axes.axvspan(max(critical, batches[0]), batches[-1], color="#e1efe8", linewidth=0, zorder=0,
                     label="compute-bound")  # fmt: skip
    full = [r.batch for r in curve if r.fits is False]
    if full:
        axes.axvline(full[0], color=style.FAINT, linewidth=0.9, linestyle=(0, (2, 2)))
        left = full[0] ** 2 < batches[-1]
        axes.annotate("memory full", (full[0], limits[0]), xytext=(3 if left else -3, 4),
                      textcoords="offset points", fontsize=7, color="#555555",
                      ha="left" if left else "right")  # fmt: skip
    _dress(axes, 4)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(_seconds) if first else NullFormatter())
    axes.set_title(f"context {context:g}", loc="left", fontsize=9, pad=4)
    axes.set_xlabel("batch", fontsize=8.5)


def _limits(rows):
    times = [t for r in rows for t in (r.parameters_s, r.kv_s, r.flops_s, r.step_s)]
    return max(min(times), max(times) / 1e6) / 1.3, max(times) * 1.3


def draw(rows):
    style.apply()
    curves = _curves(rows)
    columns = min(3, len(curves))
    lines = -(-len(curves) // columns)
    height = TOP + CURVES + GAP + lines * (PANEL + GAP)
    figure = Figure(figsize=(WIDTH, height), dpi=100)
    first = rows[0]
    where = first.hardware or "given peak and bandwidth"
    title = f"{first.model} on {first.chips:g} x {where}"
    figure.text(0.012, 1 - 0.12 / height, style.shorten(title, 76), fontsize=11.5,
                fontweight="bold", va="top")  # fmt: skip
    memory = (
        "what fits: unknown" if first.fits is None else "dotted line alone: does not fit"
    )
    figure.text(0.012, 1 - 0.37 / height,
                f"weights {first.weights}, KV cache {first.kv}, computed in {first.compute}  ·  "
                f"numbers: batch; filled: compute-bound matmuls; {memory}",
                fontsize=8.5, color="#555555", va="top")  # fmt: skip
    width = WIDTH - LEFT - RIGHT
    _draw_curves(
        figure.add_axes((LEFT / WIDTH, 1 - (TOP + CURVES) / height, width / WIDTH, CURVES / height)),
        curves,
    )
    panel = (width - 0.25 * (columns - 1)) / columns
    for place, (context, curve) in enumerate(curves.items()):
        line, column = divmod(place, columns)
        axes = figure.add_axes((
            (LEFT + column * (panel + 0.25)) / WIDTH,
            1 - (TOP + CURVES + (line + 1) * (PANEL + GAP)) / height,
            panel / WIDTH,
            PANEL / height,
        ))  # fmt: skip
        _draw_parts(axes, context, curve, _limits(rows), column == 0)
        if place == 0:
            axes.legend(loc="upper left", frameon=False, fontsize=7, handlelength=1.4)
    return figure
