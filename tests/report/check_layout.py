"""Numbers, tables and label placing of the pictures, on the Python that has matplotlib.

usage: check_layout.py REPOSITORY. Exit code 77 (skipped) where no Python has matplotlib.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile
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
import markdown_table
import plot_roofline
import plot_sweep
import select_rows
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

    def test_names_of_peaks_are_whole(self):
        """Of two units and dtypes at the same rate: in lines, not cut."""
        peaks = [r for r in self.results.ceilings if r.resource == "compute" and r.device == "cpu" and r.threads == 4]
        rest = [r for r in self.results.ceilings if r not in peaks]
        made = [replace(peaks[0], dtype=dtype, exec_unit=unit, measured=1e12) for dtype, unit in
                (("bf16", "simd-avx512-bf16"), ("bf16xs8", "simd-avx512-vnni"), ("f32", "simd-avx2"))]  # fmt: skip
        figure = plot_roofline.draw(replace(self.results, ceilings=rest + made))
        names = next(t.get_text() for t in figure.findobj(Text) if "vnni" in t.get_text())
        for part in ("bf16 simd-avx512-bf16", "bf16xs8 simd-avx512-vnni", "f32 simd-avx2"):
            self.assertIn(part, names)
        self.assertEqual(overlaps(figure), [])

    def test_legend_names_what_is_drawn(self):
        """However many kernels, in lines; none of which every point is refused."""
        rows = [replace(r, kernel=f"a-kernel-of-one's-own-{len(r.shape) % 7}") for r in self.results.rows]
        kernels = sorted({r.kernel for r in rows})
        rows += [replace(r, kernel="refused", verdict="above-roof") for r in rows]
        figure = plot_roofline.draw(replace(self.results, rows=rows))
        named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        self.assertEqual([name for name in named if "own" in name], kernels)
        self.assertNotIn("refused", named)
        self.assertGreater(len(figure.legends), 2)
        self.assertEqual(overlaps(figure), [])
        many = [replace(r, kernel=f"k{i:02}") for i, r in enumerate(self.results.rows[:60])]
        figure = plot_roofline.draw(replace(self.results, rows=many))
        named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        more = next(int(name.split()[1]) for name in named if name.startswith("and "))
        self.assertEqual(more + plot_roofline.MOST_ENTRIES, len({r.kernel for r in many if r.threads in (4, None)
                         and r.verdict == "ok"}))  # fmt: skip
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
        # Offsets 0, 10 and 30 taken off, all want to be at -40/3.
        for at, expected in zip(style.spread([0, 0, 0], [10, 20]), (-40 / 3, -10 / 3, 50 / 3)):
            self.assertAlmostEqual(at, expected)
        self.assertEqual(style.spread([0, 90, 100, 100], 10, 100), [0, 80, 90, 100])

    def test_words_can_be_read_on_white(self):
        self.assertAlmostEqual(style.contrast("#000000"), 21)
        self.assertAlmostEqual(style.contrast("#ffffff"), 1)
        self.assertAlmostEqual(style.contrast("#767676"), 4.54, 2)  # the greyest that WCAG's AA allows
        for color in (*style.DTYPE_COLORS.values(), *style.SPARE_COLORS):
            self.assertGreaterEqual(style.contrast(style.ink(color)), 4.5, color)
        self.assertEqual(style.ink("#0072B2"), "#0072B2")  # 5.2: as it is

    def test_turned_boxes(self):
        square = style.box(0, 0, 2, 2, 0)
        self.assertTrue(style._overlap(square, style.box(1, 1, 2, 2, 0)))
        self.assertFalse(style._overlap(square, style.box(2, 0, 2, 2, 0)))
        # A diamond beside the square: their upright bounding boxes meet, they do not.
        self.assertFalse(style._overlap(square, style.box(3.3, 0.9, 2, 2, 0.7853981634)))


def row(variant, shape, time_s, **others):
    """A compute-bound matmul of roofline.csv that takes half a second on its roof."""
    columns = {
        "device": "cpu", "scope": "operation", "parent": "", "bytes_source": "model", "kernel": "matmul", "dtype": "f32",
        "temperature": "warm", "threads": "4", "samples": "9", "samples_rejected": "0",
        "level": "L1", "bound_by": "compute", "roof": "compute/f32", "t_lower_s": "0.5",
        "achieved_flops_per_s": "1e9", "peer": "", "peer_ratio": "", "verdict": "ok",
    }  # fmt: skip
    return columns | {"variant": variant, "shape": shape, "time_s": str(time_s)} | others


class Tables(unittest.TestCase):
    def test_libraries_are_those_of_the_registry(self):
        kernels = re.findall(
            r"^(?:GPU_)?KERNEL\(\w+, (\w+), (\w+)", markdown_table.REGISTRY.read_text(), re.MULTILINE
        )
        instructions = ("none", "avx", "amx", "neon", "sm", "fp8")
        libraries = {v for v, need in kernels if not need.startswith(instructions)}
        named = {variant for variant, _ in kernels if variant.startswith(select_rows.LIBRARIES)}
        self.assertGreater(len(libraries), 7)
        self.assertEqual(named, libraries)

    def test_cases_have_the_fastest_of_our_kernels(self):
        shape = "M:64/N:64/K:64"
        rows = [
            row("avx2_packed", shape, 1, samples="7", samples_rejected="2"),
            row("avx2_tiled", shape, 2),
            row("blis_tuned", shape, 0.6),
            row("avx2_packed", "M:1/N:64/K:64", 1, samples="12", verdict="not-quiet"),
        ]
        cases = markdown_table._cases(rows, "matmul")
        self.assertEqual([(c[4], c[8], c[-1]) for c in cases],
                         [("avx2_packed", "50 %", "7 of 9"), ("avx2_packed", "50 %, not-quiet", "under 3 of 12")])

    def test_families(self):
        rows = [
            row("avx2_packed", "M:64/N:64/K:64", 1, peer="MKL", peer_ratio="0.5"),
            row("avx2_packed", "M:128/N:128/K:128", 0.625, peer="MKL", peer_ratio="2", verdict="not-quiet"),
            row("avx2_packed", "M:128/N:128/K:128/pack:pre", 0.625),
            row("avx2_packed", "M:16/N:64/K:32", 1),
            row("avx2_packed", "batch:8/M:16/N:64/K:32", 1),
        ]
        families = [[*line[1:2], *line[4:]] for line in markdown_table._families(rows, "matmul")]
        self.assertEqual(families, [
            ["M:16", "1", "1", "50 % to 50 %", "0", ""],
            ["batch:8/M:16", "1", "1", "50 % to 50 %", "0", ""],
            ["squares", "2", "1", "50 % to 80 %", "2", "1.00 (0.50 to 2.00)"],
            ["squares/pack:pre", "1", "1", "80 % to 80 %", "0", ""],
        ])  # fmt: skip

    def test_families_of_dot_and_attention(self):
        named = lambda **columns: markdown_table._family(row("avx2", **columns, time_s=1))
        self.assertEqual(named(kernel="dot", shape="N:8/region:call", bound_by="L3"), "L3, region:call")
        self.assertEqual(named(kernel="dot", shape="N:8"), "L1")
        self.assertEqual(
            named(kernel="attention", shape="heads:32/kv_heads:8/layout:paged/page:16"),
            "layout:paged, 4 heads a kv head",
        )

    def test_ladders_of_each_temperature_and_dtype(self):
        f32, bf16 = "M:4096/N:4096/K:4096", "M:8192/N:8192/K:8192"
        rungs = re.findall(r"^GPU_KERNEL\(matmul, (sm\w+)", markdown_table.REGISTRY.read_text(), re.MULTILINE)
        on_gpu = {"device": "gpu", "threads": "", "flops": "1"}
        rows = [row(rungs[i], f32, 8 / (i + 1), **on_gpu) for i in range(3)]
        rows += [row(rungs[i], bf16, 4 / (i - 2), dtype="bf16", **on_gpu) for i in (3, 4)]
        rows.append(row("cublaslt", f32, 2, **on_gpu, level="L3"))
        rows.append(row("somebodys_own", f32, 1, kernel="unregistered", **on_gpu))
        one, each = (markdown_table._ladders(rows, of_each) for of_each in ("temperature", "dtype"))
        cold = [row(name, "M:1/N:64/K:64", 1, temperature="cold", flops="1") for name in ("avx2_packed", "blis_tuned")]
        gains = lambda lines: [(line[0], line[1], line[4]) for line in lines]
        both = gains(markdown_table._ladders(rows + cold, "temperature"))
        self.assertEqual(both[:2], [("matmul f32 M:1/N:64/K:64 cold, 4 threads", "avx2_packed", "1x"), ("", "blis_tuned", "1x")])
        self.assertEqual(both[2:], gains(one))
        self.assertEqual(gains(one), [(f"matmul f32 {f32} warm", rungs[0], "1x"), ("", rungs[1], "2x"),
                                      ("", rungs[2], "3x"), ("", "cublaslt", "4x")])  # fmt: skip
        self.assertEqual(gains(each)[:2], [(f"matmul bf16 {bf16} warm", rungs[3], "1x"), ("", rungs[4], "2x")])
        self.assertEqual(gains(each)[2:], gains(one))

    def test_every_device_has_its_tables(self):
        fixture = Path(__file__).parent / "fixture"
        said = subprocess.run([sys.executable, markdown_table.__file__, fixture], capture_output=True, text=True)
        self.assertEqual(re.findall(r"^\| ceiling, (.*?) \|", said.stdout, re.MULTILINE), ["all cores", "gpu"])
        _, gpu = said.stdout.split("| ceiling, gpu")
        self.assertIn("| matmul bf16 | M:8192", gpu)
        self.assertNotIn("DRAM", gpu)

    def test_pages_at_random_are_in_the_table_and_no_roof(self):
        """Neither beside a read of the main memory nor where there is none."""
        results = load.results(HERE / "fixture")
        pages = [replace(r, operation="pages_4096") if (r.level, r.operation) == ("DRAM", "copy") else r
                 for r in results.ceilings]  # fmt: skip
        faster = [replace(r, measured=10 * r.measured) if r.operation == "pages_4096" else r for r in pages]
        alone = [r for r in faster if r.level != "DRAM" or r.operation == "pages_4096"]
        roofs = lambda rows: select_rows.memory_roofs(replace(results, ceilings=rows), "cpu")
        self.assertEqual([(r.level, r.operation) for r in roofs(faster)][-1], ("DRAM", "read"))
        self.assertNotIn("DRAM", [r.level for r in roofs(alone)])
        row = {"resource": "bandwidth", "level": "DRAM", "operation": "read", "threads": "4", "dtype": "f32",
               "measured": "4e10", "theory_at_clock": "", "fraction_of_theory": "", "verdict": "ok"}  # fmt: skip
        rows = [{**row, "operation": "pages_4096", "measured": rate} for rate in ("2e10", "3e10")]
        shown = markdown_table._ceilings([*rows, row, {**row, "operation": "copy"}], "4")
        self.assertEqual([line[0] for line in shown], ["DRAM read", "DRAM pages_4096"])
        self.assertIn("30", shown[1][2])

    def test_python_without_matplotlib_is_told_in_a_line(self):
        fixture = Path(__file__).parent / "fixture"
        said = subprocess.run([sys.executable, "-S", markdown_table.__file__, fixture], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout), (2, ""))
        self.assertRegex(said.stderr, r"^markdown_table.py: No module named 'matplotlib': build/venv/bin/python3 .*\n$")

    def test_unusable_input_is_told_in_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "roofline.csv"
            for arguments, text in [([folder], "No such file"), ([folder, "dot"], "no rows of dot")]:
                said = subprocess.run([sys.executable, markdown_table.__file__, *arguments],
                                      capture_output=True, text=True)  # fmt: skip
                self.assertEqual(said.returncode, 2)
                self.assertRegex(said.stderr, rf"^{re.escape(str(table))}: {text}.*\n$")
                table.write_text("kernel\nmatmul\n")


if __name__ == "__main__":
    unittest.main()
