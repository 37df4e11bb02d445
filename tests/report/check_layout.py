"""Numbers and label placing of the pictures, on the Python that has matplotlib.

usage: check_layout.py REPOSITORY. Exit code 77 (skipped) where no Python has matplotlib.
"""

import itertools
import os
import sys
import unittest
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts" / "report"))

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError:
    python = REPOSITORY / "build" / "venv" / "bin" / "python3"
    if python.exists() and Path(sys.prefix) != REPOSITORY / "build" / "venv":
        os.execv(python, [str(python), *sys.argv])
    print("skipped: no Python with matplotlib")
    sys.exit(77)

import load
import plot_roofline
import plot_sweep
import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def overlaps(figure):
    """Pairs of visible texts that share pixels, the slope labels by their turned boxes; and texts
    that run out of the picture."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = []
    off_axis = set()  # tick labels outside the limits exist, but are not drawn
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
            off_axis |= {t.label1 for t in ticks if not low <= t.get_loc() <= high}
    for text in figure.findobj(Text):
        if not text.get_text() or not text.get_visible() or text in off_axis:
            continue
        angle = text.get_rotation()
        if text.axes and angle not in (0, 90):
            x, y = text.get_transform().transform(text.get_position())
            text.set_rotation(0)
            extent = text.get_window_extent(renderer)
            text.set_rotation(angle)
            corners = style.box(x, y, extent.width, extent.height, angle * 3.14159265 / 180)
        else:
            extent = text.get_window_extent(renderer)
            corners = style.box(extent.x0, extent.y0, extent.width, extent.height, 0)
        boxes.append((text.get_text(), corners))
    width, height = figure.bbox.size
    cut = [
        (name, "edge")
        for name, corners in boxes
        if not all(0 <= x <= width and 0 <= y <= height for x, y in corners)
    ]
    return cut + [(a[0], b[0]) for a, b in itertools.combinations(boxes, 2) if style._overlap(a[1], b[1])]


class Layout(unittest.TestCase):
    def setUp(self):
        self.results = load.results(HERE / "fixture")

    def test_labels_do_not_overlap(self):
        self.assertEqual(overlaps(plot_roofline.draw(self.results)), [])
        self.assertEqual(overlaps(plot_sweep.draw(self.results)), [])

    def test_roofs_that_nearly_meet(self):
        """Every compute roof within 12 % of the next, every level within 5 %."""
        rows, rate, bandwidth = [], 4e11, 1e11
        for row in self.results.ceilings:
            if row.device == "cpu" and row.resource == "compute":
                rate *= 1.03
                row = replace(row, measured=rate, theory=None)
            if row.device == "cpu" and row.resource == "bandwidth":
                bandwidth *= 1.012
                row = replace(row, measured=bandwidth, theory=None)
            rows.append(row)
        self.assertEqual(overlaps(plot_roofline.draw(replace(self.results, ceilings=rows))), [])

    def test_long_names(self):
        ceilings = [replace(r, exec_unit=r.exec_unit + "x" * 99) for r in self.results.ceilings]
        rows = [replace(r, kernel=r.kernel + "y" * 99) for r in self.results.rows]
        figure = plot_roofline.draw(replace(self.results, ceilings=ceilings, rows=rows))
        self.assertEqual(overlaps(figure), [])

    def test_one_cpu_panel(self):
        cpu = lambda rows: [r for r in rows if r.device == "cpu"]
        results = replace(
            self.results, ceilings=cpu(self.results.ceilings), rows=cpu(self.results.rows)
        )
        figure = plot_roofline.draw(results)
        self.assertEqual(len(figure.axes), 1)
        self.assertEqual(overlaps(figure), [])


class Style(unittest.TestCase):
    def test_quantity(self):
        for value, text in ((1.794e12, "1.79 TB/s"), (999.7e9, "1.00 TB/s"), (45.6e9, "45.6 GB/s"),
                            (431e9, "431 GB/s"), (12.0, "12.0 B/s"), (999, "999 B/s")):  # fmt: skip
            self.assertEqual(style.quantity(value, "B/s"), text)

    def test_ticks(self):
        self.assertEqual([style.tick(v) for v in (0.01, 1, 100, 1e3, 1e11, 1e12)],
                         ["0.01", "1", "100", "1 k", "100 G", "1 T"])  # fmt: skip
        self.assertEqual([style.size_tick(v) for v in (512, 16384, 2**20, 2**30)],
                         ["512 B", "16 KiB", "1 MiB", "1 GiB"])  # fmt: skip
        self.assertEqual([style.short_quantity(v, "s") for v in (5e-9, 1e-7, 2e-6)],
                         ["5 ns", "100 ns", "2 µs"])  # fmt: skip

    def test_spread(self):
        self.assertEqual(style.spread([0, 100], 10), [0, 100])
        self.assertEqual(style.spread([0, 1], 10), [-4.5, 5.5])
        self.assertEqual(style.spread([0, 0, 0], 10), [-10, 0, 10])
        # 0 and 1 push each other to -4.5 and 5.5; 14 then is too close and joins them.
        self.assertEqual(style.spread([0, 1, 14], 10), [-5, 5, 15])
        self.assertEqual(style.spread([], 10), [])

    def test_turned_boxes(self):
        square = style.box(0, 0, 2, 2, 0)
        self.assertTrue(style._overlap(square, style.box(1, 1, 2, 2, 0)))
        self.assertFalse(style._overlap(square, style.box(2, 0, 2, 2, 0)))
        # A diamond beside the square: their upright bounding boxes meet, they do not.
        self.assertFalse(style._overlap(square, style.box(3.3, 0.9, 2, 2, 0.7853981634)))


if __name__ == "__main__":
    unittest.main()
