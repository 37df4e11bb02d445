"""Attainable FLOP/s of a matmul over its batch, one curve a size, with measured points."""

import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLORS = ("#0072B2", "#D55E00", "#009E73", "#B5508E", "#E69F00", "#56B4E9", "#6B4FA0")


def _curves(rows):
    """{(D, F): rows}, in the order of the file."""
    curves = {}
    for row in rows:
        curves.setdefault((row.d, row.f), []).append(row)
    return curves


def _size(d, f):
    return f"D = F = {d:g}" if d == f else f"D = {d:g}, F = {f:g}"


def _mark_critical(axes, row, color, place):
    """A drop line where the curve meets the peak, its batch above."""
    if row.critical_batch is None or not 1 <= row.critical_batch <= axes.get_xlim()[1]:
        return
    axes.plot([row.critical_batch] * 2, [axes.get_ylim()[0], row.peak], color=color,
              linewidth=0.9, linestyle=(0, (2, 2)))  # fmt: skip
    axes.annotate(f"B = {row.critical_batch:.4g}", (row.critical_batch, row.peak),
                  xytext=(0, 4 + 12 * place), textcoords="offset points", color=style.ink(color),
                  fontsize=8, ha="center")  # fmt: skip


def _ticks(axes, unit):
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=30))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=30))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{style.tick(v)}{unit}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color=style.GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=2.5, width=0.6, labelsize=8)


def draw(rows):
    style.apply()
    figure = Figure(figsize=(8.0, 4.6), dpi=100)
    axes = figure.add_axes((0.11, 0.11, 0.86, 0.74))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    curves = _curves(rows)
    measured = [row for row in rows if row.measured]
    values = [row.flops_per_s for row in rows] + [row.measured for row in measured]
    axes.set_xlim(min(r.b for r in rows) / 1.1, max(r.b for r in rows) * 1.15)
    axes.set_ylim(min(values) / 1.5, max(max(values), rows[0].peak) * (1.3 + 0.25 * len(curves)))
    axes.axhline(rows[0].peak, color=style.INK, linewidth=0.9)
    for place, ((d, f), curve) in enumerate(curves.items()):
        color = COLORS[place % len(COLORS)]
        axes.plot([r.b for r in curve], [r.flops_per_s for r in curve], color=color,
                  linewidth=1.6, label=_size(d, f))  # fmt: skip
        points = [r for r in curve if r.measured]
        if points:
            axes.plot([r.b for r in points], [r.measured for r in points], color=color,
                      marker="s", markersize=5, markeredgecolor="white", markeredgewidth=0.6,
                      linestyle="none", label=f"{_size(d, f)}, measured",
                      gid=f"points-{place}")  # fmt: skip
        _mark_critical(axes, curve[0], color, place)
    unit = style.operations(rows[0].compute)
    _ticks(axes, unit)
    axes.set_xlabel("batch B")
    axes.legend(loc="lower right", fontsize=8, facecolor="white", edgecolor="none", framealpha=1)
    where = rows[0].hardware or "given peak and bandwidth"
    figure.text(0.012, 0.975, style.shorten(f"{where}: X[B,D] Y[D,F], {rows[0].dtype}", 80),
                fontsize=11.5, fontweight="bold", va="top")  # fmt: skip
    peak = f"peak {style.quantity(rows[0].peak, unit)} ({rows[0].compute})"
    note = f"{peak}  ·  lines: what compulsory bytes allow; B: compute-bound beyond"
    if measured:
        note += "; squares: measured cold, all cores"
    figure.text(0.012, 0.92, note, fontsize=8.5, color="#555555", va="top")
    return figure
