"""report.html in a real headless browser: what it shows, and its filters (page_case.py)."""

import json
import math
import shutil
import tempfile
from pathlib import Path

from browser import complaints, open_page
from page_case import HERE, NAME, PageCase, benchmarks, main, number, read, report, write
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import load
import select_rows


class Shown(PageCase):
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
        (run / "run.json").write_text('{"status": "interrupted", "groups_measured": 2, "groups_total": 5}')
        report(run)
        open_page(self.browser, run / "report.html")
        self.assertEqual(self.find(".run-note").text, "· the run was interrupted: 2 of 5 groups of benchmarks were measured")
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


class Filters(PageCase):
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


if __name__ == "__main__":
    main()
