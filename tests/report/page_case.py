"""What the tests of report.html have in common: its folders, and the page in a real headless browser.

Each file is called as FILE ROOFLINE_BINARY [unittest flags]. Exit code 77 (skipped) where there is no
Chromium, no Selenium or no Bokeh.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import browser as chromium
from browser import complaints, open_page
from selenium.webdriver.common.by import By

HERE = Path(__file__).resolve().parent
FIXTURE = HERE / "fixture"
SCRIPTS = HERE.parent.parent / "scripts" / "report"
sys.path.insert(0, str(SCRIPTS))
import load
import select_rows

BINARY = None
NAME = ("device", "kernel", "variant", "dtype", "shape", "temperature", "threads")


def roofline(*arguments):
    """`roofline`, which draws with this repository's scripts, when it has ended."""
    return subprocess.run(
        [BINARY, *map(str, arguments)],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "ROOFLINE_REPORT": str(SCRIPTS)},
    )  # fmt: skip


def report(*folders):
    done = roofline("report", *folders)
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


class PageCase(unittest.TestCase):
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


class FoldersCase(unittest.TestCase):
    """Pages of folders that each test makes of the fixture."""

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


def main():
    global BINARY
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
