"""report.html of folders that are hostile, incomplete or several, in a real headless browser
(page_case.py).
"""

import csv
import io
import json
import math
import shutil
import tarfile
import tempfile
from pathlib import Path

from browser import complaints, until
from page_case import FIXTURE, FoldersCase, benchmarks, main, read, roofline, write
from selenium.webdriver.common.by import By

import page

HOSTILE = (
    "\"q\"' <img src=x onerror=document.title='broken'> </script><script>document.title='broken'</script> "
    "&amp; <!-- \u202eabc \u05e9\u05dc\u05d5\u05dd \x07 ${title} " + "n" * 300
)


class Folders(FoldersCase):
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
        done = roofline(
            "analyze", "--bench", bench / "own.json", "--ceilings", self.folder / "ceilings.csv", "--device", "cpu",
            "--dtype", "f32", "--exec-unit", "simd-avx2", "--out", self.folder / "roofline.csv",
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
                row.update(measured_low="", measured_high="")
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

    def test_pages_at_random_are_no_roof(self):
        rows = read(self.folder / "ceilings.csv")
        pages = {"operation": "pages_4096", "measured": "9e12", "measured_low": "", "measured_high": ""}
        rows = [{**r, **pages} if (r["level"], r["operation"]) == ("DRAM", "copy") else r for r in rows]
        write(self.folder / "ceilings.csv", [r for r in rows if (r["level"], r["operation"]) != ("DRAM", "read")])
        self.open()
        stand_in = self.js("return roofsOf(runs[0], 'cpu', 4).memory.find((c) => c.level === 'DRAM').operation")
        self.assertEqual(stand_in, "triad")

    def test_peak_labels_stand_in_the_margin(self):
        """Of a dozen peaks within 1 %: beside the frame, within its height, apart, in the peaks' order."""
        rows = read(self.folder / "ceilings.csv")
        top = next(r for r in rows if (r["dtype"], r["resource"], r["threads"]) == ("f32", "compute", "4"))
        top = {**top, "measured_low": "", "measured_high": ""}
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
        refused = [("bench.tar.xz: bench/mine.json: is nested too deeply", "[" * 100000),
                   ("bench.tar.xz: bench/mine.json: Expecting", "{")]  # fmt: skip
        for said, text in refused:
            (self.folder / "mine.json").write_text(text)
            with tarfile.open(self.folder / "bench.tar.xz", "w:xz") as archive:
                archive.add(self.folder / "mine.json", "bench/mine.json")
            self.refuses(said)
        (self.folder / "bench.tar.xz").write_bytes(b"no archive")
        self.refuses("bench.tar.xz")

    def refuses(self, said):
        done = roofline("report", self.folder)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(said, done.stderr)

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

    def test_why_there_are_no_verdicts_is_a_note(self):
        (self.folder / "machine.json").write_text('{"name": 7}')
        self.assertIn("no verdicts of check (machine.json: field 'name' is not a text)", self.open())

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
        rows.append({**lived, "condition": "quiet", "measured": "5.5e10", "measured_low": "", "measured_high": ""})
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


if __name__ == "__main__":
    main()
