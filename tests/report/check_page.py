"""report.html in a real headless browser.

usage: check_page.py ROOFLINE_BINARY [unittest flags]. Exit code 77 (skipped) where there is no
Chromium, no Selenium or no Bokeh.
"""

import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

import browser as chromium
from browser import complaints, open_page, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys

HERE = Path(__file__).resolve().parent
FIXTURE = HERE / "fixture"
SCRIPTS = HERE.parent.parent / "scripts" / "report"
sys.path.insert(0, str(SCRIPTS))
import load
import page
import select_rows

BINARY = None
HOSTILE = (
    "\"q\"' <img src=x onerror=document.title='broken'> </script><script>document.title='broken'</script> "
    "&amp; <!-- \u202eabc \u05e9\u05dc\u05d5\u05dd \x07 ${title} " + "n" * 300
)
NAME = ("device", "kernel", "variant", "dtype", "shape", "temperature", "threads")


def report(*arguments):
    done = subprocess.run(
        [BINARY, "report", *map(str, arguments)],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "ROOFLINE_REPORT": str(SCRIPTS)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def number(text):
    return float(text) if text else None


def benchmarks(rows):
    """{name: its rows} as the page groups them."""
    groups = {}
    for row in rows:
        groups.setdefault((*(row[k] for k in NAME), row["bytes_source"]), []).append(row)
    return groups


class Page(unittest.TestCase):
    """The fixture with what it lacks: a machine, a trace, bench JSON, counters, a program, a library."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="roofline page '1' "))
        cls.downloads = cls.folder / "downloads"
        cls.browser = chromium.start(cls.downloads)
        for file in FIXTURE.iterdir():
            shutil.copy(file, cls.folder)
        (cls.folder / "machine.json").write_text(json.dumps({
            "cpu": {"model": "Example 9000", "per_core_cycle": {"name": "Example Core"},
                    "physical_cores": 4, "logical_cpus": 8},
            "caches": [{"level": 1, "bytes": 32768}], "memory": {"bytes": 2**34}, "state": {}}))  # fmt: skip
        (cls.folder / "trace.csv").write_text(
            "time_s,device,during,clock_hz,memory_clock_hz,power_w,temperature_c,throttle,load,steal\n"
            "0.5,cpu,dot,3.4e9,,,,,1.5,\n1.5,cpu,dot,3.5e9,,65.5,,,1.6,0.01\n")  # fmt: skip
        rows = read(cls.folder / "roofline.csv")
        counted = [r for r in rows if (r["kernel"], r["variant"], r["dtype"], r["shape"], r["temperature"]) ==
                   ("matmul", "avx2_packed", "f32", "M:1024/N:1024/K:1024", "warm")]  # fmt: skip
        assert counted
        for row in counted:
            row["peer"], row["peer_ratio"] = "OpenBLAS 0.3", "1.25"
        rows += [{**row, "bytes_source": "counter"} for row in counted]
        whole = {**counted[0], "scope": "program", "kernel": "decode", "shape": "batch:1", "peer": "",
                 "peer_ratio": "", "time_s": "0.02", "time_low_s": "", "time_high_s": "",
                 "t_lower_s": "0.015", "t_upper_s": "0.03"}  # fmt: skip
        rows += [
            {**whole, "shape": "batch:2", "time_s": "0.04"},
            whole,
            {
                **whole,
                "scope": "operation",
                "parent": "decode/avx2_packed/f32/batch:1/temp:warm/threads:4",
                "kernel": "decode_mlp",
                "time_s": "0.005",
            },
        ]
        write(cls.folder / "roofline.csv", rows)
        (cls.folder / "bench").mkdir()
        (cls.folder / "bench" / "matmul.json").write_text(json.dumps({"benchmarks": [
            {"name": "matmul/avx2_packed/f32/M:1024/N:1024/K:1024/temp:warm/threads:4/real_time",
             "iterations": n, "real_time": 6.0, "time_unit": "ms"} for n in (3, 4)]}))  # fmt: skip
        report(cls.folder)
        cls.page = cls.folder / "report.html"
        cls.rows = rows

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.folder)

    def setUp(self):
        open_page(self.browser, self.page)
        self.addCleanup(lambda: self.assertEqual(complaints(self.browser), []))

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        element = self.find(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def points(self):
        """(intensity, FLOP/s) of the marks in all charts, from what Bokeh draws."""
        return sorted(map(tuple, self.js(
            "return panels.filter((p) => !p.element.hidden).flatMap((p) => p.marks.flatMap("
            "  (m) => Array.from(m.data.x, (x, i) => [x, m.data.y[i]])))")))  # fmt: skip

    def table(self):
        """[{column: value}] of all pages: numbers in full, texts as shown."""
        rows = []
        while True:
            rows += self.js(
                "return [...document.querySelectorAll('#table tbody tr')].map((tr) => Object.fromEntries("
                "  [...tr.children].map((td) => [td.dataset.column, td.dataset.value ?? td.textContent])))"
            )
            if self.find("#next").get_attribute("disabled"):
                return rows
            self.click("#next")

    def drawn(self, rows):
        """What the chart must show of some rows: as the pictures choose it, and parts of programs."""
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(self.folder / "ceilings.csv", folder)
        expected = []
        for source in ("model", "counter"):
            some = [{**row, "parent": "", "bytes_source": "model"} for row in rows
                    if row["bytes_source"] == source]  # fmt: skip
            if some:
                write(folder / "roofline.csv", some)
                results = load.results(folder)
                for device in ("cpu", "gpu"):
                    expected += [(p.x, p.y) for p in select_rows.points(results, device)[0]]
        return sorted(expected)

    def pixel(self, index):
        """Where a point of the first chart is on the screen, and its benchmark's id."""
        self.js("panels[0].element.scrollIntoView({block: 'center'})")
        return self.js(
            "const {b, row} = panels[0].shown[arguments[0]], {view} = panels[0].entry;"
            "const box = view.canvas_view.el.getBoundingClientRect();"
            "return [box.left + view.frame.x_scale.compute(row.intensity),"
            "        box.top + view.frame.y_scale.compute(b.rate), b.id, b.title]", index)  # fmt: skip

    def lonely(self):
        """Index of a point that no other one covers."""
        return self.js(
            "const log = ({b, row}) => [Math.log(row.intensity), Math.log(b.rate)];"
            "const all = panels[0].shown.map(log);"
            "return all.findIndex(([x, y], i) => all.every(([u, v], j) => i === j || Math.hypot(x - u, y - v) > 0.4))"
        )

    def tooltips(self):
        return self.js(
            "const found = []; const walk = (node) => { for (const e of node.querySelectorAll('*')) {"
            "  if (e.shadowRoot) walk(e.shadowRoot);"
            "  if (e.classList.contains('bk-Tooltip')) found.push(e.shadowRoot ? e.shadowRoot.textContent : e.textContent);"
            "} }; walk(document); return found.join('\\n')"
        )

    # -- what is shown --

    def test_loads_nothing_from_elsewhere(self):
        self.assertEqual(
            self.js("return performance.getEntriesByType('resource').map((e) => e.name)"), []
        )
        blocked = self.browser.execute_async_script(
            "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('fetched'), () => done('blocked'))"
        )
        self.assertEqual(blocked, "blocked")
        self.assertIn("Content Security Policy", "".join(complaints(self.browser)))
        self.assertIn(
            "Redistribution and use",
            self.js("return document.getElementById('license').textContent"),
        )

    def test_first_screen(self):
        line = self.find("#machines").text
        for part in (
            "Example 9000 (Example Core)",
            "4 cores",
            "8 threads",
            "L1 32 KiB",
            "16 GiB",
            "3.45 GHz",
        ):
            self.assertIn(part, line)
        self.assertLess(self.find("#panels .plot").rect["y"], 1000)

    def test_verdicts_equal_ceilings(self):
        cells = {row.get_attribute("data-ceiling"): row.get_attribute("innerText").replace("\n", " ") for row in
                 self.browser.find_elements(By.CSS_SELECTOR, "[data-ceiling]")}  # fmt: skip
        # From the fixture's ceilings.csv: theory 441.6e9, measured 430.56e9, 97.5 %.
        text = cells["compute/f32/fma_peak/simd-avx2/threads:4"]
        for part in ("442 GFLOP/s", "431 GFLOP/s", "98 % of theory", "✓ PASS"):
            self.assertIn(part, text)
        best = max(float(r["achieved_flops_per_s"]) for r in self.rows if r["device"] == "cpu"
                   and "compute/f32/fma_peak/simd-avx2/threads:4" == r["roof"] and r["verdict"] == "ok")  # fmt: skip
        self.assertIn(f"{best / 1e9:.0f} GFLOP/s", text)
        self.assertIn(f"{100 * best / 430.56e9:.0f} % of measured", text)
        self.assertIn("45.6 GB/s", cells["bandwidth/DRAM/read/simd-avx2/threads:4"])
        text = cells["compute/bf16/fma_peak/wgmma/threads:1"]
        for part in ("989 TFLOP/s", "800 TFLOP/s", "81 % of advertised"):
            self.assertIn(part, text)

    def test_verdicts_of_check(self):
        """What `roofline check` says: a badge and its causes, findings below, nothing it does not tell."""
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        run = folder / "run"
        shutil.copytree(HERE.parent / "check" / "made-up-h100", run)
        machine = json.loads((run / "machine.json").read_text())
        machine["gpu"]["devices"][0].update(power_limit_w=350, pcie_width=8)
        (run / "machine.json").write_text(json.dumps(machine))
        rows = read(run / "ceilings.csv")
        for row in rows:
            if (row["dtype"], row["exec_unit"]) == ("bf16", "wgmma"):
                row.update(measured="532e12", measured_low="530e12", measured_high="535e12", clock_hz="1.2e9")
            if row["operation"] == "h2d":
                row.update(measured="25e9", measured_low="24e9", measured_high="26e9")
        write(run / "ceilings.csv", rows)
        report(run)
        open_page(self.browser, run / "report.html")
        row = self.find("[data-ceiling='compute/bf16/fma_peak/wgmma/threads:1']")
        self.assertEqual(row.find_element(By.CSS_SELECTOR, ".badge.bad").text, "✗ FAIL")
        title = row.find_element(By.CSS_SELECTOR, ".badge").get_attribute("title")
        self.assertIn("power-limit-lowered; 54 % of advertised = 100 % SMs (132 of 132)", title)
        passed = self.find("[data-ceiling='compute/f32/fma_peak/cuda-core/threads:1']")
        self.assertEqual(passed.find_element(By.CSS_SELECTOR, ".badge.good").text, "✓ PASS")
        level = self.find("[data-ceiling='bandwidth/L2/read/cuda-core/threads:1']")
        self.assertEqual(level.find_element(By.CSS_SELECTOR, ".badge.unknown").text, "UNKNOWN")
        self.assertEqual(self.find(".findings").text.split("\n"), [
            "✗ FAIL bf16 wgmma: power-limit-lowered; 54 % of advertised = 100 % SMs (132 of 132) × "
            "66 % clock (1.20 GHz of 1.83 GHz) × 82 % the rest",
            "✗ FAIL sm80_pinned h2d: pcie-width",
            "⚠ WARN power limit 350 W, the board's default is 700 W", "⚠ WARN PCIe x8 of x16"])  # fmt: skip
        self.assertNotIn(str(folder), (run / "report.html").read_text())

    def test_causes_need_no_pointing(self):
        """Of what warns as of what fails, limits of one cause together; those of ceilings.csv where
        nothing judged."""
        said = lambda check: self.js("""
          const shown = ["f64", "f32"].map((dtype) => ({id: dtype, resource: "compute", dtype, exec_unit: "avx2",
                                                        verdict: "steal", cause: "3 % stolen"}));
          const judged = shown.map((c) => ({...c, device: "cpu", verdict: "WARN", causes: ["steal"], gap: []}));
          const list = findings({check: arguments[0] && {resources: judged, findings: []}}, "cpu", shown);
          return [...list.children].map((line) => line.textContent);""", check)  # fmt: skip
        self.assertEqual(said(True), ["⚠ WARN f64 avx2, f32 avx2: steal; 3 % stolen"])
        self.assertEqual(said(False), ["⚠ WARN f64 avx2, f32 avx2: steal: 3 % stolen"])

    def test_table_equals_csv(self):
        groups = benchmarks(self.rows)
        shown = self.table()
        self.assertEqual(len(shown), len(groups))
        for row in shown:
            source = {**row, "bytes_source": row["bytes_source"]}
            rows = groups.pop((*(source.get(k, "") for k in NAME), source["bytes_source"]))
            for column, csv_column in (
                ("time_s", "time_s"),
                ("rate", "achieved_flops_per_s"),
                ("clock_hz", "clock_hz"),
                ("time_low_s", "time_low_s"),
                ("t_lower_s", "t_lower_s"),
                ("peer_ratio", "peer_ratio"),
            ):
                self.assertEqual(number(row[column]), number(rows[0][csv_column]), (row, column))
            for level in rows:
                self.assertEqual(
                    number(row[f"bandwidth_{level['level']}"]),
                    number(level["achieved_bytes_per_s"]),
                )
                self.assertEqual(
                    number(row[f"intensity_{level['level']}"]), number(level["intensity"])
                )
        self.assertEqual(groups, {})

    def test_occurrences_and_shares(self):
        rows = [r for r in self.table() if r["calls"]]
        self.assertEqual(
            {(r["kernel"], r["variant"], r["calls"]) for r in rows},
            {("matmul", "avx2_packed", "7")},
        )
        self.assertAlmostEqual(float(rows[0]["total_time"]), 7 * 0.006)
        part = next(r for r in self.table() if r["kernel"] == "decode_mlp")
        self.assertEqual(float(part["share"]), 0.25)  # 5 ms of the decode step's 20 ms

    def test_counters_rows_do_not_count_twice(self):
        """What counters counted of a benchmark is shown, and is no second benchmark."""
        rows = [r for r in self.table() if r["variant"] == "avx2_packed" and r["calls"]]
        self.assertEqual({(r["bytes_source"], r["rank"], r["share"]) for r in rows},
                         {("model", "1", "1"), ("counter", "", "1")})  # fmt: skip
        self.assertEqual(
            self.js("return [ladderChoices, ratioChoices, batchChoices, decodeChoices].map((choices) =>"
                    "  choices(runs[0]).flatMap(({rows}) => rows).filter((b) => b.counted).length)"),
            [0, 0, 0, 0],
        )  # fmt: skip
        self.assertGreater(self.js("return benchmarks.filter((b) => b.counted).length"), 0)
        self.assertEqual(
            self.js("for (const b of benchmarks) if (b.counted) b.rate = 1e30;"
                    "return runs[0].ceilings.filter((c) => bestOn(runs[0], c)?.rate === 1e30).length"),
            0,
        )  # fmt: skip

    def test_points_equal_the_pictures(self):
        expected = self.drawn(self.rows)
        self.assertGreater(len(expected), 50)
        self.assertEqual(self.points(), expected)
        self.assertIn("1 not drawn, faster than their own roof", self.find("#roofline-notes").text)

    def test_marks(self):
        """Error bars over the interval of the time, libraries hollow, a shape a kernel, a colour a
        kernel on a device."""
        write(self.folder / "whole.csv", [{**r, "parent": ""} for r in self.rows if r["bytes_source"] == "model"])
        results = load.results(self.folder)
        results.rows[:] = load.roofline(self.folder / "whole.csv")
        points = [p for d in ("cpu", "gpu") for p in select_rows.points(results, d)[0]]
        self.js("change({source: new Set(['model'])})")
        bars = ("return panels.flatMap(({bars: {data}}) => Array.from(data.x, "
                "(x, i) => [x, data.low[i], data.high[i]]))")  # fmt: skip
        self.assertEqual(sorted(map(tuple, self.js(bars))), sorted((p.x, p.y_low, p.y_high) for p in points))
        self.assertTrue(any(p.y_low < p.y < p.y_high for p in points))
        hollow = ("return panels.flatMap(({marks: [, {data}]}) => Array.from(data.x, (x, i) => [x, data.y[i]]))")
        expected = sorted((p.x, p.y) for p in points if p.library)
        self.assertTrue(expected)
        self.assertEqual(sorted(map(tuple, self.js(hollow))), expected)
        looks = self.js(
            "return panels.map((p) => [...p.points].flatMap(([{data}, points]) => points.map("
            "  ({b}, i) => [b.kernel, b.device, data.marker[i], data.colour[i]])))"
        )
        shapes, colours = {}, {}
        for kernel, device, marker, colour in sum(looks, []):
            shapes.setdefault(kernel, set()).add(marker)
            colours.setdefault((kernel, device), set()).add(colour)
        for seen in (shapes, colours):
            self.assertEqual(sum(map(len, seen.values())), len(set().union(*seen.values())))
            self.assertEqual({len(values) for values in seen.values()}, {1})
        self.assertIn(("matmul", "gpu"), colours)

    def test_roofs(self):
        roofs = self.js(
            "const {data} = panels[0].roofs.measured; return data.y1.map((y, i) => [data.x1[i], y])"
        )
        # DRAM's slope ends under the highest peak, at s8's ridge: 861.12e9 / 45.6e9.
        self.assertTrue(
            any(math.isclose(x, 861.12e9 / 45.6e9) and math.isclose(y, 861.12e9) for x, y in roofs),
            roofs,
        )
        ridges = self.js("return panels[0].ridges.data.text")
        self.assertIn("DRAM with f32 simd-avx2: 9.44 FLOP/byte", ridges)  # 430.56 / 45.6
        advertised = self.js("return panels[1].roofs.advertised.data.y0")
        self.assertIn(989.4e12, advertised)

    # -- filters --

    def check_filter(self, keep):
        rows = [row for group in benchmarks(self.rows).values() if keep(group) for row in group]
        table = self.table()
        groups = benchmarks(rows)
        self.assertEqual(len(table), len(groups))
        self.assertEqual({(r["kernel"], r["variant"], r["dtype"], r["shape"]) for r in table},
                         {(g[0]["kernel"], g[0]["variant"], g[0]["dtype"], g[0]["shape"]) for g in groups.values()})  # fmt: skip
        self.assertIn(f"{len(groups)} of {len(benchmarks(self.rows))} ", self.find("#shown").text)
        self.assertEqual(self.points(), self.drawn(rows))
        self.assertNotEqual(len(groups), len(benchmarks(self.rows)))

    def test_each_choice_changes_points_and_table(self):
        for key, value, keep in (
            ("device", "gpu", lambda g: g[0]["device"] == "gpu"),
            ("scope", "program", lambda g: g[0]["scope"] == "program"),
            ("kernel", "dot", lambda g: g[0]["kernel"] == "dot"),
            ("variant", "openblas", lambda g: g[0]["variant"] == "openblas"),
            ("dtype", "bf16", lambda g: g[0]["dtype"] == "bf16"),
            ("bound", "DRAM", lambda g: g[0]["bound_by"] == "DRAM"),
            ("source", "counter", lambda g: g[0]["bytes_source"] == "counter"),
        ):
            with self.subTest(key):
                self.click(f"details[data-choice={key}] summary")
                self.click(f"input[data-filter={key}][value='{value}']")
                self.check_filter(keep)
                self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
                self.assertIsNone(self.find(f"details[data-choice={key}]").get_attribute("open"))
                self.click("#clear")
                self.assertEqual(self.points(), self.drawn(self.rows))

    def test_search(self):
        self.find("#search").send_keys("OPENblas/f32")
        self.check_filter(lambda g: g[0]["variant"] == "openblas" and g[0]["dtype"] == "f32")

    def test_level_and_hierarchy(self):
        self.click("#select-level option[value=L2]")
        ok = [
            row
            for group in benchmarks(self.rows).values()
            if all(r["verdict"] == "ok" for r in group)
            for row in group
        ]
        expected = sorted(
            (float(r["intensity"]), float(r["achieved_flops_per_s"]))
            for r in ok
            if r["level"] == "L2"
        )
        self.assertEqual(self.points(), expected)
        self.assertEqual(
            len(self.table()),
            sum(any(r["level"] == "L2" for r in g) for g in benchmarks(self.rows).values()),
        )
        self.assertIn("T_upper to T_lower at L2 with a peak of 861 GOP/s", self.find("#roofline-notes").text)
        # Of the CPU's points that of s8 has the highest peak: 861.12e9; L2 reads 387e9 bytes/s.
        for x, low, high in self.js(
            "const {x, low, high} = panels[0].band.data; return Array.from(x, (v, i) => [v, low[i], high[i]])"
        ):
            self.assertAlmostEqual(high / min(861.12e9, x * 387e9), 1, places=3)
            self.assertAlmostEqual(low / (1 / (1 / 861.12e9 + 1 / (x * 387e9))), 1, places=3)
        self.click("#select-level option[value=all]")
        expected = sorted((float(r["intensity"]), float(r["achieved_flops_per_s"])) for r in ok)
        self.assertEqual(self.points(), expected)

    def test_faint_roofs(self):
        alphas = "const a = {}; panels[0].ridges.data.text.forEach((t, i) => { a[t.split(':')[0]] = panels[0].ridges.data.alpha[i]; }); return a"
        self.js("change({dtype: new Set(['f64']), kernel: new Set(['matmul'])})")
        now = self.js(alphas)
        bound = {
            r["bound_by"]
            for r in self.rows
            if r["dtype"] == "f64" and r["kernel"] == "matmul" and r["device"] == "cpu"
        }
        self.assertIn("compute", bound)
        for ridge, alpha in now.items():
            level, unit = ridge.split(" with ")
            self.assertEqual(alpha == 1, level in bound and unit == "f64 simd-avx2", ridge)

    def test_legend_shows_one_kernel_alone(self):
        self.js("document.getElementById('legend').scrollIntoView()")
        next(
            b
            for b in self.browser.find_elements(By.CSS_SELECTOR, "button.legend-item")
            if "dot" in b.text
        ).click()
        self.check_filter(lambda g: g[0]["kernel"] == "dot")

    # -- pointing and choosing --

    def test_hover_tells_all(self):
        at = self.lonely()
        x, y, ident, title = self.pixel(at)
        self.move(x, y)
        text = until(self.tooltips, "a tooltip")
        row = self.js("const {b, row} = panels[0].shown[arguments[0]]; return row", at)
        self.assertIn(title, text)
        for part in (row["dtype"], row["shape"], "4 threads", "time", "bound by", "of roof", "of advertised", "clock 3.45 GHz",
                     "GB/s at", "FLOP/byte", "…"):  # fmt: skip
            self.assertIn(part, text)

    def test_how_far_the_bounds_overlap(self):
        words = """const b = benchmarks.find((b) => b.kernel === arguments[0] && b.variant === arguments[1] &&
                     b.dtype === "f32" && b.shape === arguments[2]);
                   return overlapWords(overlapOf(b))"""
        # 0.609 us of arithmetic, 1.240 in L1, 2.709 in L2: 2.709 to 4.558, and it took 3.035.
        self.assertEqual(self.js(words, "dot", "avx2", "N:131072"), "82 %")
        # 4.988 ms of arithmetic, 0.726, 0.370 and 0.082 in L1, L2 and L3: 6.165 of the 17.379.
        self.assertEqual(self.js(words, "matmul", "avx2_blocked", "M:1024/N:1024/K:1024"), "lost 65 %")
        self.assertEqual(self.js(words, "dot", "avx2", "N:65536"), "", "above its roof")

    def move(self, x, y, click=False):
        actions = ActionChains(self.browser)
        actions.w3c_actions.pointer_action.move_to_location(int(round(x)), int(round(y)))
        if click:
            actions.w3c_actions.pointer_action.click()
        actions.perform()

    def test_pan_and_zoom(self):
        ranges = "const {x_range: x, y_range: y} = panels[0].plot; return [x.start, x.end, y.start, y.end]"
        whole = self.js(ranges)
        x, y, _, _ = self.pixel(self.lonely())
        chain = ActionChains(self.browser)
        pointer = chain.w3c_actions.pointer_action
        pointer.move_to_location(int(x) + 40, int(y) + 40)
        pointer.pointer_down()
        pointer.move_to_location(int(x) + 120, int(y) + 40)
        pointer.pointer_up()
        chain.perform()
        until(lambda: self.js(ranges)[1] < 0.9 * whole[1], "panned to lower intensities")
        self.js("panels[0].plot.toolbar.tools.find((t) => t.type === 'WheelZoomTool').active = true")
        before = self.js(ranges)
        self.js("arguments[0].scrollIntoView({block: 'center'})", self.find("#panels .plot"))
        origin = ScrollOrigin.from_element(self.find("#panels .plot"))
        ActionChains(self.browser).scroll_from_origin(origin, 0, -300).perform()
        zoomed = until(lambda: self.js(ranges) != before and self.js(ranges), "zoomed in")
        self.assertLess(zoomed[1] / zoomed[0], before[1] / before[0])
        self.js("panels[0].entry.view.reset()")
        for now, then in zip(self.js(ranges), whole):
            self.assertAlmostEqual(now / then, 1)

    def test_copy_link(self):
        self.click("#copy-link")
        until(lambda: self.find("#copy-link").text in ("Copied", "See the address bar"), "an answer")

    def test_click_point_marks_row(self):
        x, y, ident, title = self.pixel(self.lonely())
        self.move(x, y, click=True)
        row = until(
            lambda: self.browser.find_elements(By.CSS_SELECTOR, "#table tr[aria-selected=true]"),
            "a marked row",
        )[0]
        self.assertEqual(row.get_attribute("data-id"), ident)
        self.assertIn(title, self.find("#detail").text)

    def test_click_row_marks_point(self):
        self.click("#table tbody tr:nth-child(3)")
        ident = self.find("#table tr[aria-selected=true]").get_attribute("data-id")
        ring = self.js("return panels.flatMap((p) => Array.from(p.ring.data.y))")
        self.assertEqual(ring, [self.js("return benchmarkById.get(arguments[0]).rate", ident)])
        self.click("#isolate")
        self.assertEqual(len(self.table()), 1)
        self.assertEqual(len(self.points()), 1)
        self.click("#isolate")
        self.assertEqual(self.points(), self.drawn(self.rows))

    def test_keyboard(self):
        row = self.find("#table tbody tr")
        self.js("arguments[0].focus()", row)
        self.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        second = self.find("#table tbody tr:nth-child(2)")
        self.assertEqual(second.get_attribute("aria-selected"), "true")
        heading = self.find("#table th[data-column=rate] button")
        self.js("arguments[0].focus()", heading)
        heading.send_keys(Keys.ENTER)
        self.assertEqual(self.find("#table th[aria-sort]").get_attribute("data-column"), "rate")
        self.assertEqual(self.browser.switch_to.active_element, heading)
        chart = self.find("#panels .plot")
        self.js("arguments[0].focus()", chart)
        chart.send_keys(Keys.ARROW_RIGHT)
        first = self.js("return state.selected")
        chart.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(self.js("return state.selected"), first)
        self.assertEqual(
            self.find("#table tr[aria-selected=true]").get_attribute("data-id"),
            self.js("return state.selected"),
        )

    def test_arrows_walk_through_all_levels(self):
        """A benchmark with points at several levels does not hold them up."""
        self.js("change({level: 'all'})")
        met = self.js(
            "const met = new Set(), [panel] = panels;"
            "for (const _ of panel.shown) {"
            "  panel.walk({key: 'ArrowRight', preventDefault() {}}); met.add(state.selected); }"
            "return [met.size, new Set(panel.shown.map(({b}) => b.id)).size, panel.shown.length]"
        )
        self.assertEqual(met[0], met[1])
        self.assertGreater(met[2], met[1])

    def test_sort(self):
        for order, sign in (("descending", -1), ("ascending", 1)):
            self.click("#table th[data-column=rate] button")
            self.assertEqual(
                self.find("#table th[data-column=rate]").get_attribute("aria-sort"), order
            )
            rates = [float(r["rate"]) for r in self.table()]
            self.assertEqual(rates, sorted(rates, key=lambda v: sign * v))

    def test_permalink(self):
        self.js(
            "change({kernel: new Set(['matmul', 'dot']), level: 'L2', q: 'N:', sort: 'rate', colour: 'dtype'})"
        )
        self.click("#table tbody tr:nth-child(2)")
        rows, points, link = self.table(), self.points(), self.browser.current_url
        selected = self.js("return state.selected")
        open_page(self.browser, self.page, "#" + link.split("#", 1)[1])
        self.assertEqual(
            (self.js("return state.selected"), self.table(), self.points()),
            (selected, rows, points),
        )
        self.assertEqual(self.find("#select-level").get_attribute("value"), "L2")
        open_page(self.browser, self.page, "#colour=none-of-them&level=L2")
        self.assertEqual(self.find("#select-colour").get_attribute("value"), "kernel")
        self.assertTrue(self.points())

    # -- taking away --

    def downloaded(self, pattern):
        # The browser makes the file before it fills it.
        path = until(lambda: next((p for p in self.downloads.glob(pattern) if p.stat().st_size), None),
                     pattern)
        data = path.read_bytes()
        path.unlink()
        return data

    def test_export_pictures(self):
        self.click("#panels .export-png")
        data = self.downloaded("*.png")
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(int.from_bytes(data[16:20], "big"), 600)
        self.click("#panels .export-svg")
        root = ET.fromstring(self.downloaded("*.svg"))
        text = "".join(root.itertext())
        self.assertIn("45.6 GB/s", text)
        self.assertIn("arithmetic intensity", text)

    def test_export_csv(self):
        self.js("change({kernel: new Set(['dot']), sort: 'rate'})")
        self.click("#export-csv")
        rows = list(csv.DictReader(self.downloaded("*.csv").decode().splitlines()))
        shown = self.table()
        self.assertEqual([(r["variant"], number(r["rate"]), number(r["time_s"])) for r in rows],
                         [(r["variant"], number(r["rate"]), number(r["time_s"])) for r in shown])  # fmt: skip

    def test_print(self):
        self.js("dispatchEvent(new Event('beforeprint'))")
        images = self.js(
            "return [...document.querySelectorAll('img.print')].map((i) => i.src.length)"
        )
        self.assertEqual(len(images), self.js("return PLOTS.length"))
        self.assertGreater(min(images), 2000)
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.js("return document.querySelectorAll('img.print').length"), 0)
        self.assertTrue(self.browser.print_page().startswith("JVBER"))  # %PDF in base64
        # Their drop-downs are not printed.
        titles = self.js("return PLOTS.map(({view}) => view.model.title.text)")
        self.assertIn("\u2068cpu: core clock\u2069", titles)
        self.assertTrue(all(titles))

    def test_themes(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = self.js(ground)
        self.click("#theme")
        self.click("#theme")
        self.assertEqual(self.find("#theme").text, "Theme: dark")
        self.assertNotEqual(self.js(ground), light)
        until(
            lambda: self.js(
                "return panels.every((p) => p.entry && p.plot.background_fill_color === "
                "getComputedStyle(document.documentElement).getPropertyValue('--plate').trim())"
            ),
            "dark charts",
        )
        until(lambda: self.points() == self.drawn(self.rows), "points in the dark")

    # -- plates --

    def test_plates(self):
        for key in ("ladder", "sweep", "batch", "decode", "ratio", "trace"):
            with self.subTest(key):
                self.assertGreater(self.find(f"#plate-{key} .plot").rect["height"], 80)
        options = [
            o.text for o in self.browser.find_elements(By.CSS_SELECTOR, "#plate-trace option")
        ]
        self.assertEqual(options, ["cpu: core clock", "cpu: power", "cpu: load: runnable tasks",
                                   "cpu: steal: CPU time taken by the hypervisor"])  # fmt: skip
        highest = ("const {view} = PLOTS.find((p) => p.fileName.startsWith('sweep'));"
                   "return view.model.y_range.end")  # fmt: skip
        self.assertGreater(self.js(highest), 1e9)  # bytes/s
        options = self.browser.find_elements(By.CSS_SELECTOR, "#plate-sweep option")
        next(option for option in options if "latency" in option.text).click()
        until(lambda: self.js(highest) < 1, "a plate in seconds")

    def test_sweep_curves(self):
        """Of each access the fastest; one of a single size, as a probe of L1, only where it is alone."""
        curves = self.js("""
          const row = (operation, variant, size_bytes, measured) =>
              ({resource: "bandwidth", operation, variant, dtype: "", size_bytes, measured});
          return sweepCurves([row("read", "sm80_shared", 1, 33), row("read", "sm80", 8, 4), row("read", "sm80", 4, 9),
                              row("read", "slow", 4, 2), row("read", "slow", 8, 2), row("write", "one", 4, 5)])
              .map(([operation, rows]) => [operation, rows.map((r) => r.variant + r.size_bytes)]);""")
        self.assertEqual(curves, [["read", ["sm804", "sm808"]], ["write", ["one4"]]])
        looks = self.js("return sweepLooks(['copy', 'copy_nt', 'read', 'triad', 'triad_nt', 'write', 'write_nt'])")
        for part in zip(*looks):
            self.assertEqual(len(set(part)), 7, part)

    def test_ticks_of_few_decades(self):
        ticks = ("return Array.from(new DecadeTicker({desired_num_ticks: 5})"
                 ".get_ticks_no_defaults(arguments[0], arguments[1], null, 5).major)")  # fmt: skip
        self.assertEqual(self.js(ticks, 3e9, 6e10), [5e9, 1e10, 2e10, 5e10])
        self.assertEqual(self.js(ticks, 9e-10, 3e-9), [1e-9, 2e-9])
        self.assertEqual(self.js(ticks, 0.5, 2e4), [1, 10, 100, 1000, 10000])
        shared = self.js("return PLOTS.map(({view: {model: {below, center}}}) => below[0].ticker === "
                         "center.find((part) => part.dimension === 0 && part.ticker).ticker)")  # fmt: skip
        self.assertEqual(set(shared), {True})

    def test_words_of_plates_have_room(self):
        """Beside bars and points up to the chart's edge, above them in lines."""
        for key in ("ladder", "ratio"):
            over = self.js("""
              const {view: {model: plot, frame, canvas_view}} = PLOTS.find((p) => p.fileName.startsWith(arguments[0]));
              const {data} = plot.renderers.map((r) => r.data_source).find((s) => s.data.text);
              const at = data.ratios ?? data.shares, edge = canvas_view.el.getBoundingClientRect().width;
              return Math.max(...data.text.map(
                  (text, i) => frame.x_scale.compute(at[i]) + widthOf(text))) - edge;""", key)  # fmt: skip
            self.assertLessEqual(over, 0, key)
        names = ("return PLOTS.find((p) => p.fileName.startsWith('decode')).view.model.y_range.factors")
        self.assertRegex(self.js(names)[0].replace("\n", " "), "batch:.* 4 threads")
        work = "attention bf16 batch:1/context:8192/heads:32/kv_heads:8/head_dim:128/layout:contiguous cold"
        lines = self.js("return rowNames([arguments[0]])[0]", work).split("\n")
        self.assertEqual(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), 40)  # marks of isolation included
        self.assertEqual("".join(lines).strip("1 \u2068\u2069").replace(" ", ""), work.replace(" ", ""))

    def test_programs_and_their_parts(self):
        options = self.browser.find_elements(By.CSS_SELECTOR, "#plate-decode option")
        self.assertEqual([o.text for o in options],
                         ["whole programs", "parts of decode/avx2_packed/f32/batch:1/warm"])  # fmt: skip
        times = ("return PLOTS.find((p) => p.fileName.startsWith('decode')).view.model.renderers"
                 ".map((r) => r.data_source.data.time).find((t) => t).map((t) => 1e3 * t)")  # fmt: skip
        self.assertEqual(sorted(self.js(times)), [20, 40])
        options[1].click()
        until(lambda: self.js(times) == [5], "the parts of a program")
        self.assertEqual(
            self.js("return [222 * 0.2, 3 * 0.2].map((v) => TRACES.temperature_c[1](v))"),
            ["44.4 °C", "0.6 °C"],
        )  # fmt: skip

    def test_batch_curve(self):
        """f32, D = F = 4096 on the fixture's 430.56e9 FLOP/s and 45.6e9 B/s, worked out by hand:
        B = 1 moves 4 (4096 + 4096^2 + 4096) bytes for 2 4096^2 FLOP; compute-bound from 19.06."""
        curve = self.js("return runs[0].batchCurves.find((c) => c.dtype === 'f32' && c.device === 'cpu')")
        self.assertEqual((curve["D"], curve["F"], curve["batches"][0]), (4096, 4096, 1))
        self.assertAlmostEqual(curve["rates"][0] / (2 * 4096**2 / 67141632 * 45.6e9), 1, places=9)
        self.assertAlmostEqual(curve["critical_batch"], 19.06, places=2)
        self.assertAlmostEqual(curve["rates"][-1] / 430.56e9, 1, places=9)
        choose = "const s = document.querySelector('#plate-batch select');"
        at = self.js(choose + "return [...s.options].findIndex((o) => /f32, D=4096/.test(o.text))")
        self.js(choose + "s.selectedIndex = arguments[0]; s.dispatchEvent(new Event('change'))", at)
        drawn = ("const {view} = PLOTS.find((p) => p.fileName.startsWith('batch'));"
                 "return view.model.renderers.map((r) => r.data_source.data)"
                 ".map(({x, y}) => [Array.from(x), Array.from(y)])")  # fmt: skip
        until(lambda: self.js(drawn)[0] == [curve["batches"], curve["rates"]], "the curve")
        measured = {
            (float(r["shape"].split("/")[0][2:]), float(r["achieved_flops_per_s"]))
            for r in self.rows
            if (r["kernel"], r["dtype"], r["device"], r["temperature"], r["threads"])
            == ("matmul", "f32", "cpu", "cold", "4") and "N:4096/K:4096" in r["shape"]
        }  # fmt: skip
        self.assertGreater(len(measured), 1)
        self.assertEqual({tuple(point) for point in zip(*self.js(drawn)[1])}, measured)

    def test_words(self):
        for script, expected in (
            ("quantity(1.794e12, 'B/s')", "1.79 TB/s"), ("quantity(999.7e9, 'B/s')", "1.00 TB/s"),
            ("quantity(12, 'B/s')", "12.0 B/s"), ("quantity(2.5e-9, 's')", "2.50 ns"), ("quantity(null, 's')", ""),
            ("size(16384)", "16 KiB"), ("percent(0.643)", "64 %"), ("percent(0.012)", "1.2 %"),
            ("plain('a\\u202eb\\n')", "a\ufffdb\ufffd"), ("shorten('M:1024/N:1024/K:9', 11)", "M:1024…/K:9"),
            ("shortenApart(['M:10/N:10/K:10', 'M:10/N:11/K:10'], 9)", ["M:10/N:10/K:10", "M:10/N:11/K:10"]),
            ("shortenApart(['M:10/N:10/K:10', 'M:10/N:10/K:11'], 9)", ["M:10/…:10", "M:10/…:11"]),
            ("wrapped('parts of decode/avx2/f32 warm', 15)", "parts of\ndecode/avx2/f32\nwarm"),
        ):  # fmt: skip
            self.assertEqual(self.js(f"return {script}"), expected)


class Others(unittest.TestCase):
    """Pages of folders that are hostile, incomplete, several or large."""

    @classmethod
    def setUpClass(cls):
        cls.downloads = tempfile.mkdtemp()
        cls.browser = chromium.start(cls.downloads)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.downloads)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="roofline-page-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for file in FIXTURE.iterdir():
            shutil.copy(file, self.folder)

    def open(self, *folders):
        report(*(folders or (self.folder,)))
        open_page(self.browser, (folders or (self.folder,))[0] / "report.html")
        text = self.browser.find_element(By.TAG_NAME, "body").text
        self.assertEqual(complaints(self.browser), [])
        self.assertNotIn("could not be drawn", text)
        return text

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def test_hostile_names_are_text(self):
        for name in ("ceilings", "roofline", "sweep"):
            rows = read(self.folder / f"{name}.csv")
            for row in rows:
                row["machine"] = HOSTILE
                for column in (
                    "kernel",
                    "variant",
                    "dtype",
                    "exec_unit",
                    "operation",
                    "shape",
                    "peer",
                ):
                    if row.get(column):
                        row[column] += HOSTILE
            write(self.folder / f"{name}.csv", rows)
        (self.folder / "machine.json").write_text(json.dumps({"cpu": {"model": HOSTILE}}))
        text = self.open()
        self.assertIn("<img src=x onerror=", text)
        self.assertNotIn("\u202e", text)
        self.assertEqual(self.js("return document.title"), self.folder.name)
        self.assertEqual(
            self.js("return document.querySelectorAll('main img, header img').length"), 0
        )
        # Nothing but the page's own scripts: data, two of Bokeh, and ours.
        self.assertEqual(
            self.js("return document.querySelectorAll('script').length"), 3 + len(page.SCRIPTS)
        )
        kernel = self.js("return benchmarks[0].kernel")
        self.assertTrue(kernel.endswith(HOSTILE), kernel)
        self.js(
            "change({kernel: new Set([arguments[0]]), selected: benchmarks.find((b) => b.kernel === arguments[0]).id})",
            kernel,
        )
        self.assertIn("</script><script>", self.browser.find_element(By.ID, "detail").text)
        self.assertEqual(self.js("return document.title"), self.folder.name)
        exported = list(csv.DictReader(io.StringIO(self.js("return tableCsv()"), newline="")))
        self.assertEqual({row["kernel"] for row in exported}, {kernel})
        width = self.js("return document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(width, 0, "a long name widens the page")
        self.assertEqual(complaints(self.browser), [])

    def test_hostile_benchmark_json(self):
        """From a foreign benchmark's name to the table and the tooltip, through `roofline analyze`."""
        bench = self.folder / "bench"
        bench.mkdir()
        (bench / "own.json").write_text(json.dumps({"context": {}, "benchmarks": [
            {"name": f"{HOSTILE}/f32", "run_type": "iteration", "iterations": 5, "real_time": 2.0, "cpu_time": 2.0,
             "time_unit": "ms", "threads": 1, "flops": 4e6, "bytes": 8e6} for _ in range(3)]}))  # fmt: skip
        done = subprocess.run(
            [BINARY, "analyze", "--bench", bench / "own.json", "--ceilings", self.folder / "ceilings.csv",
             "--device", "cpu", "--dtype", "f32", "--exec-unit", "simd-avx2", "--out", self.folder / "roofline.csv"],
            capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.open()
        self.js("change({threads: 'all', selected: benchmarks[0].id})")
        title = self.js("return plain(benchmarks[0].title)")
        for part in ("<img src=x onerror=", "</script><script>", "\u05e9\u05dc", "n" * 300):
            self.assertIn(part, title)
        self.assertEqual(
            self.js("return document.querySelector('#detail h2').textContent"),
            title[:96] + "…" + title[-63:],
        )
        self.assertIn("<img src=x", self.browser.find_element(By.ID, "table").text)
        self.assertEqual(self.js("return document.title"), self.folder.name)
        self.assertEqual(complaints(self.browser), [])

    def test_slope_labels_keep_apart(self):
        """Of levels that nearly meet: each label runs behind the one before it."""
        rows = read(self.folder / "ceilings.csv")
        for row in rows:
            if row["resource"] == "bandwidth" and row["level"] in ("L1", "L2", "L3"):
                row["measured"] = str(8e11 * {"L1": 1.04, "L2": 1.02, "L3": 1}[row["level"]])
        write(self.folder / "ceilings.csv", rows)
        self.open()
        labels = self.js("""
          const {view, view: {frame}} = panels[0].entry, {data} = panels[0].labels;
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = "11px system-ui, sans-serif";
          return data.text.map((text, i) => {
            const [x, y] = [frame.x_scale.compute(data.x[i]), -frame.y_scale.compute(data.y[i])];
            const [c, s] = [Math.cos(data.angle[i]), Math.sin(data.angle[i])];
            return {angle: data.angle[i], from: x * c + y * s, off: y * c - x * s, width: pen.measureText(text).width};
          }).filter(({angle}) => angle);""")
        self.assertEqual(len(labels), 4)
        for i, a in enumerate(labels):
            for b in labels[:i]:
                apart = abs(a["off"] - b["off"]) >= 11
                self.assertTrue(
                    apart or a["from"] >= b["from"] + b["width"] or b["from"] >= a["from"] + a["width"],
                    (a, b),
                )

    def test_peak_labels_stand_in_the_margin(self):
        """Of a dozen peaks within 1 %: beside the frame, within its height, apart, in the peaks' order."""
        rows = read(self.folder / "ceilings.csv")
        top = next(r for r in rows if (r["dtype"], r["resource"], r["threads"]) == ("f32", "compute", "4"))
        rows += [{**top, "exec_unit": f"unit-{i}", "measured": str(9e11 + i * 5e8)} for i in range(12)]
        write(self.folder / "ceilings.csv", rows)
        self.open()
        labels = self.js("""
          const {frame} = panels[0].entry.view, {data} = panels[0].peaks, {bbox} = frame;
          return data.text.map((text, i) => ({
            text, right: frame.x_scale.compute(data.x[i]) - bbox.right, from: frame.y_scale.compute(data.y0[i]),
            foot: bbox.bottom - frame.y_scale.compute(data.y1[i]), height: bbox.height,
            room: panels[0].plot.min_border_right - widthOf(text)}));""")
        self.assertGreaterEqual(len(labels), 12)
        for label in labels:
            self.assertGreater(label["right"], 0)
            self.assertGreater(label["room"], label["right"])
            self.assertTrue(0 < label["foot"] < label["height"], label)
        for lower, upper in zip(labels, labels[1:]):
            self.assertGreaterEqual(upper["foot"] - lower["foot"], 12.9)
            self.assertGreaterEqual(lower["from"], upper["from"])
        self.assertIn("unit-11", labels[-1]["text"])
        # Worked out by hand, as in check_layout.py: blocks that touch are merged, then the edges hold.
        for script, expected in (
            ("[0, 1, 14], 10, -Infinity, Infinity", [-5, 5, 15]),
            ("[0, 90, 100, 100], 10, 0, 100", [0, 80, 90, 100]),
            ("[0, 0, 50], 10, 0, 100", [0, 10, 50]),
        ):
            self.assertEqual(self.js(f"return spread({script})"), expected)

    def test_fewer_threads_than_the_roofs(self):
        """A kernel of one thread under the roofs of all cores: a note; another choice of threads ends
        the isolation of a benchmark."""
        rows = read(self.folder / "roofline.csv")
        own = [{**r, "kernel": "saxpy", "variant": "", "shape": "2048", "threads": "1"} for r in rows
               if (r["variant"], r["dtype"], r["shape"]) == ("avx2_packed", "f32", "M:1024/N:1024/K:1024")]  # fmt: skip
        write(self.folder / "roofline.csv", rows + own)
        self.open()
        notes = "return document.getElementById('roofline-notes').textContent"
        self.assertIn("Measured on fewer than the 4 threads of the roofs: saxpy on 1.", self.js(notes))
        self.js("change({isolate: benchmarks.find((b) => b.threads === 4).id})")
        self.browser.find_element(By.CSS_SELECTOR, "#select-threads option[value='1']").click()
        self.assertEqual(self.js("return visible.filter((b) => b.threads !== null).map((b) => b.title)"),
                         ["saxpy/f32/2048/warm"])  # fmt: skip
        self.assertNotIn("fewer than the 4", self.js(notes))

    def test_more_variants_than_colours(self):
        rows = read(self.folder / "roofline.csv")
        names = {name: i for i, name in enumerate(dict.fromkeys((r["variant"], r["dtype"], r["shape"]) for r in rows))}
        for row in rows:
            row["variant"] = f"variant-{names[row['variant'], row['dtype'], row['shape']] % 20}"
        write(self.folder / "roofline.csv", rows)
        self.open()
        self.js("change({colour: 'variant'})")
        legend = self.browser.find_element(By.ID, "legend").text
        self.assertIn("and 4 more", legend)
        self.assertIn("20 share 8 colours", legend)
        self.js("change({colour: 'dtype'})")
        self.assertNotIn("share", self.browser.find_element(By.ID, "legend").text)

    def test_ratio_is_of_the_fastest_kernel(self):
        """Not of the one that looks best against the library; one without a ratio is counted."""
        rows = read(self.folder / "roofline.csv")
        work = lambda **keys: [r for r in rows if all(r[k] == v for k, v in {"threads": "4", **keys}.items())]
        shape = "M:1024/N:1024/K:1024"
        for variant, time, ratio in (("avx2_blocked", "0.01", "7"), ("avx2_packed", "0.005", "0.5")):
            for row in work(kernel="matmul", dtype="f32", shape=shape, variant=variant):
                row.update(time_s=time, peer="OpenBLAS 0.3", peer_ratio=ratio)
        for row in work(kernel="matmul", dtype="f64", shape=shape):
            fastest = row["variant"] == "avx2_packed"
            row.update(time_s="0.01" if fastest else "0.02", peer="OpenBLAS 0.3", peer_ratio="" if fastest else "3")
        write(self.folder / "roofline.csv", rows)
        self.open()
        choices = self.js("return ratioChoices(runs[0]).map((c) => [c.words, c.rows.map((b) => [b.variant, b.peer_ratio])])")
        self.assertEqual(choices, [["fastest kernel of each shape; of 1 more no ratio is known", [["avx2_packed", 0.5]]]])

    def test_calls_of_packed_and_own_benchmarks(self):
        """From bench.tar.xz; a user's own benchmark is called without dtype and threads."""
        rows = read(self.folder / "roofline.csv")
        first = next(r for r in rows if (r["variant"], r["dtype"], r["threads"]) == ("avx2_packed", "f32", "4"))
        own = {**first, "kernel": "saxpy", "variant": "", "shape": "2048", "temperature": "warm", "threads": "1"}
        write(self.folder / "roofline.csv", [*rows, own, {**own, "shape": "64", "threads": "4"}])
        bench = {"benchmarks": [
            {"name": name, "iterations": 5, "real_time": 2.0, "time_unit": "us"} for name in
            ("saxpy/2048/min_time:0.1/real_time", "saxpy/64/real_time/threads:4",
             f"matmul/avx2_packed/f32/{first['shape']}/temp:{first['temperature']}/threads:4/real_time")]}  # fmt: skip
        (self.folder / "mine.json").write_text(json.dumps(bench))
        with tarfile.open(self.folder / "bench.tar.xz", "w:xz") as archive:
            archive.add(self.folder / "mine.json", "bench/mine.json")
        self.open()
        calls = self.js("return benchmarks.filter((b) => b.calls).map((b) => [b.kernel, b.calls, b.total_time]).sort()")
        self.assertEqual([[kernel, n, round(1e6 * s)] for kernel, n, s in calls],
                         [["matmul", 5, 10], ["saxpy", 5, 10], ["saxpy", 5, 10]])  # fmt: skip
        (self.folder / "bench.tar.xz").write_bytes(b"no archive")
        done = subprocess.run([BINARY, "report", self.folder], capture_output=True, text=True,
                              env={**os.environ, "ROOFLINE_REPORT": str(SCRIPTS)})  # fmt: skip
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("bench.tar.xz", done.stderr)

    def test_parts_of_own_programs(self):
        """Each under its own: one called with an argument, one on several threads."""
        rows = read(self.folder / "roofline.csv")
        first = next(r for r in rows if (r["variant"], r["dtype"], r["threads"]) == ("avx2_packed", "f32", "4"))
        own = {**first, "scope": "program", "kernel": "step", "variant": "", "temperature": ""}
        programs = [("step/B:1/threads:4", {"shape": "B:1"}), ("step/threads:4", {"shape": ""}),
                    ("step", {"shape": "", "threads": "1"}), ("step/B:1", {"shape": "B:1", "threads": "1"})]  # fmt: skip
        for name, keys in programs:
            rows += [
                {**own, **keys},
                {**own, **keys, "scope": "operation", "kernel": f"part of {name}", "shape": "", "parent": name},
            ]  # fmt: skip
        write(self.folder / "roofline.csv", rows)
        self.open()
        parts = self.js("return benchmarks.filter((b) => b.parent).map((b) =>"
                        "  [b.kernel, b.whole?.kernel, b.whole?.shape, b.whole?.threads])")  # fmt: skip
        self.assertEqual(sorted(parts), sorted(
            [f"part of {name}", "step", keys["shape"], int(keys.get("threads", 4))]
            for name, keys in programs))  # fmt: skip

    def test_no_arithmetic(self):
        """A copy has its share of the roof in the table, and no place on a logarithmic axis."""
        rows = read(self.folder / "roofline.csv")
        first = next(r for r in rows if (r["variant"], r["dtype"], r["threads"], r["level"]) ==
                     ("avx2_packed", "f32", "4", "DRAM"))  # fmt: skip
        copy = {**first, "kernel": "copy", "variant": "", "shape": "1024", "flops": "0", "intensity": "0",
                "achieved_flops_per_s": "0", "achieved_bytes_per_s": "2e10", "bound_by": "DRAM",
                "roof_flops_per_s": "0", "roof": "bandwidth/DRAM/read/simd-avx2/threads:4",
                "fraction_of_roof": "0.4"}  # fmt: skip
        write(self.folder / "roofline.csv", [*rows, copy])
        self.open()
        self.js("change({kernel: new Set(['copy'])})")
        cell = "return document.querySelector(`#table td[data-column=${arguments[0]}]`).dataset.value"
        self.assertEqual(self.js(cell, "fraction_of_roof"), "0.4")
        self.assertAlmostEqual(float(self.js(cell, "of_bandwidth")), 0.4)
        for level in ("bound", "all", "DRAM"):
            self.js("change({level: arguments[0]})", level)
            self.assertEqual(self.js("return panels[0].shown.length"), 0)
        self.assertIn("none but 0", self.js("return document.getElementById('roofline-notes').textContent"))

    def test_libraries_are_hollow(self):
        """PyTorch's rows are a library's: no kernel of this suite is left out where it is faster."""
        rows = read(self.folder / "roofline.csv")
        ours = [r for r in rows if (r["kernel"], r["variant"], r["dtype"], r["threads"]) ==
                ("matmul", "avx2_packed", "f32", "4")]  # fmt: skip
        for row in ours:
            row.update(peer="PyTorch 2.9.0", peer_ratio="0.8")
        write(self.folder / "roofline.csv",
              rows + [{**r, "variant": "torch", "time_s": "1e-9", "peer": "", "peer_ratio": ""} for r in ours])
        self.open()
        self.assertEqual(self.js("return unique(ratioChoices(runs[0])[0].rows.map((b) => b.peer))"),
                         ["PyTorch 2.9.0"])  # fmt: skip
        self.assertTrue(self.js("return benchmarks.filter((b) => b.variant === 'torch').every((b) => b.library)"))

    def test_any_threads_without_ceilings(self):
        (self.folder / "ceilings.csv").unlink()
        self.open()
        self.js("change({threads: 'all'})")
        self.assertGreater(self.js("return panels[0].shown.length"), 10)
        self.assertGreater(self.js("return tableView.rows.length"), 10)

    def test_missing_parts_leave_a_note(self):
        for gone, said in (
            ("sweep", "no sweep.csv"),
            ("ceilings", "No ceilings are known"),
            ("roofline", "no roofline.csv"),
        ):
            with self.subTest(gone):
                kept = (self.folder / f"{gone}.csv").read_bytes()
                (self.folder / f"{gone}.csv").unlink()
                text = self.open()
                self.assertIn(said, text)
                self.assertIn("no trace.csv", text)
                self.assertIn("no machine.json", text)
                (self.folder / f"{gone}.csv").write_bytes(kept)

    def test_unknown_is_empty(self):
        rows = read(self.folder / "roofline.csv")
        for row in rows:
            for column in ("clock_hz", "fraction_of_roof", "roof", "roof_flops_per_s", "ridge_intensity", "bound_by",
                           "t_lower_s", "t_upper_s", "time_low_s", "time_high_s"):  # fmt: skip
                row[column] = ""
        write(self.folder / "roofline.csv", rows)
        self.open()
        cells = self.js(
            "return [...document.querySelectorAll('#table td[data-column=clock_hz]')].map((td) => td.textContent)"
        )
        self.assertEqual(set(cells), {""})

    def test_quiet_stands_before_as_lived(self):
        rows = read(self.folder / "ceilings.csv")
        lived = next(
            r for r in rows if (r["level"], r["operation"], r["threads"]) == ("DRAM", "read", "4")
        )
        rows.append({**lived, "condition": "quiet", "measured": "5.5e10"})
        lived["condition"] = "as-lived"
        write(self.folder / "ceilings.csv", rows)
        self.open()
        cell = self.browser.find_element(
            By.CSS_SELECTOR, "[data-ceiling^='bandwidth/DRAM/read'] td:nth-child(4)"
        )
        self.assertIn("55.0 GB/s", cell.text)
        self.assertIn("as lived 45.6 GB/s", cell.get_attribute("textContent"))
        self.assertIn("as lived 45.6 GB/s", cell.get_attribute("title"))
        dram = self.js(
            "return panels[0].drawn[0].memory.filter((m) => m.level === 'DRAM').map((m) => m.measured)"
        )
        self.assertEqual(dram, [5.5e10])

    def test_narrow_screen(self):
        """On a phone nothing widens the page, and no word of a verdict is out of sight."""
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False},
        )
        self.open()
        self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 400)
        right = "return Math.max(...[...document.querySelectorAll('.verdict td')].map((c) => c.getBoundingClientRect().right))"
        self.assertLess(self.js(right), 400)
        self.assertGreaterEqual(
            self.js("return Math.min(...PLOTS.map((p) => p.target.offsetWidth))"), 500
        )

    def test_verdicts_are_in_sight(self):
        """Beside the chart and several side by side, however long the names in the other columns."""
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 1380, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        hidden = """return [...document.querySelectorAll('.verdict .scroll')].map((scroll) => Math.max(
          ...[...scroll.querySelectorAll('.badge')].map((b) => b.getBoundingClientRect().right)) -
          scroll.getBoundingClientRect().right)"""
        for name in ("ceilings", "roofline"):
            rows = read(self.folder / f"{name}.csv")
            for row in rows:
                if name == "roofline":
                    row.update(kernel="grouped_attention", variant="avx512_bf16_packed")
                row["exec_unit"] = row["exec_unit"].replace("simd-avx2", "simd-avx512-vnni-fp16")
            write(self.folder / f"{name}.csv", rows)
        for devices in (("cpu", "gpu"), ("cpu",)):
            for name in ("ceilings", "roofline", "sweep"):
                rows = read(self.folder / f"{name}.csv")
                write(self.folder / f"{name}.csv", [r for r in rows if r["device"] in devices])
            self.open()
            over = self.js(hidden)
            self.assertEqual(len(over), len(devices))
            self.assertLessEqual(max(over), 0)

    def test_a_gpu_has_no_threads(self):
        """Of the CPU one waits: no word of it; and what was measured comes first."""
        (self.folder / "machine.json").write_text(json.dumps({
            "cpu": {"model": "Example 9000"}, "gpu": {"devices": [{"name": "Example GPU"}]}}))  # fmt: skip
        for name in ("ceilings", "roofline", "sweep"):
            rows = read(self.folder / f"{name}.csv")
            for row in rows:
                if row["device"] == "gpu":
                    row.update(machine="example-gpu", threads="1")
            write(self.folder / f"{name}.csv", rows)
        self.open()
        self.assertEqual(self.js("return panels.map((p) => p.plot.title.text.split(' · ')[1])"),
                         ["cpu", "gpu: Example GPU"])  # fmt: skip
        # Each device's own clock behind its name.
        words = self.js("for (const c of runs[0].ceilings) c.clock_hz = c.device === 'gpu' ? 1.98e9 : 3.4e9;"
                        "return machineLine(runs[0]).textContent.split(' · ')")  # fmt: skip
        self.assertEqual(words[:4], ["Example 9000", "3.40 GHz observed", "Example GPU", "1.98 GHz observed"])
        words = self.js("runs[0].machine = {}; return machineLine(runs[0]).textContent.split(' · ')")
        self.assertEqual(words[0], self.js("return runs[0].name"))
        self.js("change({threads: '1'})")
        self.assertGreater(self.js("return panels[1].roofs.measured.data.y1.length"), 1)
        for name in ("ceilings", "roofline", "sweep"):
            rows = read(self.folder / f"{name}.csv")
            if name == "sweep":  # the fixture's is of the CPU
                rows = [{**r, "machine": "example-gpu", "device": "gpu"} for r in rows]
            write(self.folder / f"{name}.csv", [r for r in rows if r["device"] == "gpu"])
        text = self.open()
        self.assertLess(text.index("Example GPU"), text.index("Example 9000"))
        self.assertEqual(self.js("return benchmarks.filter((b) => b.threads != null).length"), 0)
        self.assertNotIn("1 thread", text)
        self.assertNotIn("1 thread", self.js("return ladderChoices(runs[0]).map((c) => c.words).join()"))

    def test_a_flat_roof_goes_before_a_higher_one(self):
        rows = read(self.folder / "ceilings.csv")
        for row in [r for r in rows if r["level"] == "DRAM" and r["resource"] == "bandwidth"]:
            higher = {c: row[c] and str(2 * float(row[c])) for c in ("measured", "measured_low", "measured_high")}
            rows.append({**row, **higher, "exec_unit": "simd-avx512", "verdict": "no-plateau"})
        write(self.folder / "ceilings.csv", rows)
        self.open()
        roof = "roofsOf(runs[0], 'cpu', 4).memory.find((c) => c.level === 'DRAM')"
        self.assertEqual(self.js(f"return [{roof}.measured, {roof}.verdict]"), [45.6e9, "ok"])

    def test_several_folders(self):
        other = Path(tempfile.mkdtemp(prefix="roofline-page-other-"))
        self.addCleanup(shutil.rmtree, other)
        for file in FIXTURE.iterdir():
            shutil.copy(file, other)
        rows = [
            {**r, "machine": "Other CPU"}
            for r in read(other / "ceilings.csv")
            if r["device"] == "cpu"
        ]
        for row in rows:
            if row["level"] == "DRAM" and row["measured"]:
                for column in ("measured", "measured_low", "measured_high"):
                    row[column] = row[column] and str(2 * float(row[column]))
        write(other / "ceilings.csv", rows)
        write(
            other / "roofline.csv",
            [r for r in read(other / "roofline.csv") if r["device"] == "cpu"],
        )
        text = self.open(self.folder, other)
        self.assertIn("Other CPU", text)
        self.assertFalse((other / "report.html").exists())
        self.assertEqual(
            self.js("return panels.map((p) => [p.run.index, p.device])"),
            [[0, "cpu"], [0, "gpu"], [1, "cpu"]],
        )
        tops = self.js(
            "return panels.slice(0, 2).map((p) => p.element.getBoundingClientRect().top)"
        )
        self.assertEqual(tops[0], tops[1])
        # f32, D = F = 4096, B = 1 as in test_batch_curve: bound by a DRAM that is twice as fast.
        option = "[...s.options].findIndex((o) => /f32, D=4096/.test(o.text))"
        self.js(f"for (const s of document.querySelectorAll('#plate-batch select')) {{ s.selectedIndex = {option};"
                "s.dispatchEvent(new Event('change')); }")  # fmt: skip
        lowest = ("return PLOTS.filter((p) => p.fileName.startsWith('batch'))"
                  ".map(({view}) => view.model.renderers[0].data_source.data.y[0])")  # fmt: skip
        rate = 2 * 4096**2 / 67141632 * 45.6e9
        close = lambda now: len(now) == 2 and all(
            math.isclose(a, b) for a, b in zip(sorted(now), (rate, 2 * rate))
        )
        until(lambda: close(self.js(lowest)), "a curve of each machine")
        count = len(benchmarks(read(other / "roofline.csv")))
        self.js("change({run: new Set([runs[1].label])})")
        self.assertEqual(
            self.js("return [visible.length, ...panels.map((p) => p.element.hidden)]"),
            [count, True, True, False],
        )

    def test_ten_thousand_points(self):
        """Speed is reported, never judged: machines differ, and are busy."""
        rows = [
            r
            for r in read(FIXTURE / "roofline.csv")
            if r["device"] == "cpu" and r["verdict"] == "ok"
        ]
        groups = list(benchmarks(rows).values())
        many = []
        for i in range(10000):
            slower, denser = 1 + i * 7919 % 1000 / 10, 1.5 ** (i * 104729 % 11 - 5)
            for row in groups[i % len(groups)]:
                row = {
                    **row,
                    "shape": f"{row['shape']}/i:{i}",
                    "intensity": repr(float(row["intensity"]) * denser),
                }
                for column in ("achieved_flops_per_s", "achieved_bytes_per_s"):
                    row[column] = repr(float(row[column]) / slower)
                for column in ("time_s", "time_low_s", "time_high_s"):
                    row[column] = repr(float(row[column]) * slower)
                many.append(row)
        write(self.folder / "roofline.csv", many)
        subprocess.run([sys.executable, "-c", "import sys, page; from pathlib import Path; "
                        "Path(sys.argv[1], 'report.html').write_text(page.build([Path(sys.argv[1])]))", self.folder],
                       check=True, env={**os.environ, "PYTHONPATH": str(SCRIPTS)})  # fmt: skip
        open_page(self.browser, self.folder / "report.html")
        times = self.browser.execute_async_script("""
          const done = arguments[0];
          // Two frames: the first draws, the second tells that it is on the screen.
          const drawn = () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r))));
          (async () => {
            const times = [];
            for (const filter of [{kernel: new Set(["dot"])}, {kernel: new Set()}, {dtype: new Set(["f32"])},
                                  {dtype: new Set()}, {q: "i:99"}, {q: ""}, {level: "L2"}, {level: "bound"}]) {
              await drawn();
              const start = performance.now();
              change(filter);
              await drawn();
              times.push(Math.round(performance.now() - start));
            }
            done(times);
          })();""")
        self.assertEqual(self.js("return panels[0].shown.length"), 10000)
        slow = "" if max(times) < 200 else " (more than 200 ms: a busy or slow machine?)"
        print(f"10,000 points, filter to picture: median {sorted(times)[len(times) // 2]} ms of {times}{slow}")
        self.check_crowd()
        self.assertEqual(complaints(self.browser), [])

    def check_crowd(self):
        """A mark that is not painted lies wholly under others; it is still found there, and zoomed
        in it is painted."""
        positions = "return panels[0].positions(arguments[0] ? panels[0].shown : [...panels[0].points.values()].flat())"
        shown, painted = self.js(positions, True), self.js(positions, False)
        self.assertLess(len(painted), 0.6 * len(shown))
        box = lambda x, y: {
            (math.floor(x + 0.5) + i, math.floor(y + 0.5) + j)
            for i in range(-3, 4) for j in range(-3, 4)
        }  # fmt: skip
        covered = set().union(*(box(x, y) for x, y in painted))
        painted = {tuple(p) for p in painted}
        hidden = [i for i, p in enumerate(shown) if tuple(p) not in painted]
        for i in hidden:
            self.assertTrue(box(*shown[i]) <= covered, shown[i])
        hidden = hidden[len(hidden) // 2]
        self.assertTrue(
            self.js(
                "const [source, points] = [...panels[0].points][0], point = panels[0].shown[arguments[0]];"
                "const [[x, y]] = panels[0].positions([point]), all = panels[0].positions(points);"
                "const tops = all.keys().filter((i) => Math.hypot(all[i][0] - x, all[i][1] - y) < 9);"
                "return [...tops].some((i) => panels[0].pointsAt(source, [i]).includes(point))", hidden),
            "a point beneath another cannot be chosen",
        )  # fmt: skip
        self.js(
            "const {b, row} = panels[0].shown[arguments[0]], {x_range, y_range} = panels[0].plot;"
            "[x_range.start, x_range.end] = [0.99 * row.intensity, 1.01 * row.intensity];"
            "[y_range.start, y_range.end] = [0.99 * b.rate, 1.01 * b.rate];", hidden)  # fmt: skip
        until(
            lambda: self.js(
                "return [...panels[0].points.values()].flat().includes(panels[0].shown[arguments[0]])", hidden
            ),
            "the point, zoomed in",
        )


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as probe:
        shutil.copy(FIXTURE / "ceilings.csv", probe)
        said = report(probe)
        if "no Python with" in said:
            print("skipped: no Python with Bokeh")
            sys.exit(77)
        if not Path(probe, "report.html").exists():
            sys.exit(f"no report.html: {said}")
    unittest.main()
