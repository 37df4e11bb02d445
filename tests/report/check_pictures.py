"""`roofline report` on the fixture and on broken variants of it.

usage: check_pictures.py ROOFLINE_BINARY. Exit code 77 (skipped) where no Python has matplotlib.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURE = HERE / "fixture"
SCRIPTS = HERE.parent.parent / "scripts" / "report"
BINARY = None
PICTURES = ["roofline.png", "roofline.svg", "sweep.png", "sweep.svg"]
HOSTILE = "\"q\", $x_1^2$ <script>alert(1)</script> & 'é' \\frac{a}{b} \u202eabc -- ]]> " + "n" * 300


def report(folder, **environment):
    return subprocess.run(
        [BINARY, "report", folder],
        capture_output=True,
        text=True,
        env={**os.environ, "ROOFLINE_REPORT": str(SCRIPTS), **environment},
        timeout=120,
    )


def edit(path, change):
    """Rewrites a CSV with `change` applied to the list of its rows (dicts)."""
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = reader.fieldnames, list(reader)
    rows = change(rows) or rows
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def svg(path):
    """(text of the picture, number of point marks)."""
    root = ET.parse(path).getroot()
    text = "\n".join("".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text"))
    groups = [g for g in root.iter("{http://www.w3.org/2000/svg}g")
              if g.get("id", "").startswith("points-")]
    uses = [u for g in groups for u in g.iter("{http://www.w3.org/2000/svg}use")]
    return text, len(uses)


def all_core_benchmarks(path):
    """Benchmarks on all cores (4 in the fixture) or on the GPU, less the refused one."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    keys = ("kernel", "variant", "dtype", "shape", "temperature", "threads")
    name = lambda row: tuple(row[k] for k in keys)
    refused = {name(r) for r in rows if r["verdict"] in ("above-roof", "impossible")}
    assert len(refused) == 1
    return len({name(r) for r in rows if r["threads"] in ("4", "")} - refused)


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="roofline report 'x' "))
        self.addCleanup(shutil.rmtree, self.folder)
        for file in FIXTURE.iterdir():
            shutil.copy(file, self.folder)

    def draws(self, expected=PICTURES):
        done = report(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(p.name for p in self.folder.glob("*.[sp][vn]g")), expected)
        return done.stdout

    def refuses(self, *parts):
        done = report(self.folder)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_pictures_show_roofs_and_every_point(self):
        self.draws()
        text, marks = svg(self.folder / "roofline.svg")
        for label in ("L1 read", "L2 read", "L3 read", "DRAM read", "HBM read", "f32 simd-avx2",
                      "f64 simd-avx2", "s8 simd-avx2", "e4m3 wgmma", "Example CPU, 4 cores"):  # fmt: skip
            self.assertIn(label, text)
        self.assertIn("45.6 GB/s", text)  # DRAM read of 4 threads in the fixture
        self.assertEqual(marks, all_core_benchmarks(self.folder / "roofline.csv"))
        self.assertIn("faster than their own roof: dot/avx2/f32/N:65536/warm", text)

    def test_sweep_shows_every_size(self):
        self.draws()
        text, marks = svg(self.folder / "sweep.svg")
        with open(self.folder / "sweep.csv", newline="") as file:
            self.assertEqual(marks, len(list(csv.DictReader(file))))
        for label in ("read", "copy", "chase", "L1", "DRAM", "cpu bandwidth, 1 thread"):
            self.assertIn(label, text)

    def test_steps_between_their_bounds(self):
        columns = ("device program part variant dtype time_s time_low_s time_high_s t_lower_s t_upper_s "
                   "verdict").split()  # fmt: skip
        name = "decode/avx2/bf16/B:{}/T:1024/layers:{}/kv:s8{}/threads:4"
        rows = [
            ["cpu", name.format(1, 1, ""), "step", "avx2", "bf16", 0.011, 0.01, 0.012, 0.01, 0.012, "explained"],
            ["cpu", name.format(1, 1, ""), "qkv", "avx2_packed", "bf16", 0.002, "", "", 0.001, 0.0015, "lost"],
            ["cpu", name.format(8, 1, ""), "step", "avx2", "bf16", 0.03, "", "", 0.01, 0.02, "lost"],
            ["cpu", name.format(1, 32, "/V:9"), "step", "avx2", "bf16", 0.3, "", "", 0.29, 0.31, "explained"],
        ]  # fmt: skip
        path = self.folder / "prediction.csv"

        def write():
            with open(path, "w", newline="") as file:
                csv.writer(file).writerows([columns, *rows])

        def name_gpu(rows):
            for row in rows:
                row["machine"] = {"cpu": row["machine"], "gpu": "example-gpu"}[row["device"]]

        for table in ("ceilings", "roofline", "sweep"):
            edit(self.folder / f"{table}.csv", name_gpu)
        (self.folder / "machine.json").write_text('{"gpu": {"devices": [{"name": "Example GPU"}]}}')
        write()
        self.draws(["decode.png", "decode.svg", *PICTURES])
        self.assertIn("gpu: Example GPU", svg(self.folder / "roofline.svg")[0])
        text, marks = svg(self.folder / "decode.svg")
        self.assertEqual(marks, 3)  # whole steps only
        for label in ("context 1024, 1 layer", "context 1024, 32 layers + head",
                      "avx2: bf16, KV cache s8", "2 of 3 between"):  # fmt: skip
            self.assertIn(label, text)
        gpu = [["gpu", row[1].replace("threads:4", "threads:1"), *row[2:]] for row in rows[:1]]
        rows += gpu
        write()
        self.draws(["decode.png", "decode.svg", *PICTURES])
        text, _ = svg(self.folder / "decode.svg")
        self.assertIn("gpu avx2: bf16, KV cache s8", text)
        self.assertNotIn("1 thread", text)
        self.assertIn("Example CPU, 4 cores: decode steps", text)
        rows[:] = gpu
        write()
        self.draws(["decode.png", "decode.svg", *PICTURES])
        self.assertIn("Example GPU: decode steps", svg(self.folder / "decode.svg")[0])
        rows[0][1] = "decode/avx2/bf16/T:1024/layers:1"
        write()
        self.refuses("prediction.csv line 2", "program", "has no B:<number>")
        rows[0][1], rows[0][5] = name.format(1, 1, ""), 0.02
        write()
        self.refuses("prediction.csv line 2", "time_s", "is not between time_low_s and time_high_s")

    def test_png_is_1600_wide(self):
        self.draws()
        head = (self.folder / "roofline.png").read_bytes()[:24]
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(head[16:20], "big"), 1600)

    def test_same_csvs_same_bytes(self):
        self.draws()
        before = {name: (self.folder / name).read_bytes() for name in PICTURES}
        self.draws()
        self.assertEqual(before, {name: (self.folder / name).read_bytes() for name in PICTURES})

    def test_hostile_names_are_text(self):
        def rename(rows):
            for row in rows:
                row["machine"] = HOSTILE
                for column in ("kernel", "variant", "dtype", "exec_unit", "operation", "shape"):
                    if column in row:
                        row[column] += HOSTILE

        for name in ("ceilings", "roofline", "sweep"):
            edit(self.folder / f"{name}.csv", rename)
        self.draws()
        text, marks = svg(self.folder / "roofline.svg")
        self.assertIn('"q", $x_1^2$ <script>', text)
        self.assertNotIn("\u202e", text)
        self.assertEqual(marks, all_core_benchmarks(self.folder / "roofline.csv"))
        svg(self.folder / "sweep.svg")

    def test_control_characters(self):
        def rename(rows):
            for row in rows:
                row["machine"] = "a\x01b\x00c\nd"

        edit(self.folder / "ceilings.csv", rename)
        self.draws()
        svg(self.folder / "roofline.svg")

    def test_missing_parts_leave_a_note(self):
        (self.folder / "sweep.csv").unlink()
        self.assertIn("no sweep picture", self.draws(PICTURES[:2]))
        (self.folder / "ceilings.csv").unlink()
        self.draws(PICTURES[:2])
        self.assertIn("no ceilings.csv", svg(self.folder / "roofline.svg")[0])

    def test_roofs_alone(self):
        edit(self.folder / "roofline.csv", lambda rows: [])
        (self.folder / "roofline.csv").write_text(
            (FIXTURE / "roofline.csv").read_text().splitlines()[0] + "\n"
        )
        self.draws()
        text, marks = svg(self.folder / "roofline.svg")
        self.assertEqual(marks, 0)
        self.assertIn("No kernel points", text)

    def test_unknown_is_not_zero(self):
        def forget(rows):
            for row in rows:
                if row["level"] == "L3":
                    row["measured"] = row["theory_at_clock"] = ""

        edit(self.folder / "ceilings.csv", forget)
        self.draws()
        self.assertNotIn("L3", svg(self.folder / "roofline.svg")[0])

    def test_what_counters_saw_stands_beside_the_model(self):
        self.draws()
        before = (self.folder / "roofline.svg").read_bytes()

        def count(rows):
            rows += [{**row, "bytes_source": "counter", "intensity": "1e3", "verdict": "above-roof"}
                     for row in rows]  # fmt: skip

        edit(self.folder / "roofline.csv", count)
        self.draws()
        self.assertEqual((self.folder / "roofline.svg").read_bytes(), before)

    def test_doubtful_roof_is_marked(self):
        def doubt(rows):
            for row in rows:
                if row["level"] == "L3":
                    row["verdict"] = "no-plateau"

        edit(self.folder / "ceilings.csv", doubt)
        self.draws()
        self.assertIn("* roof in doubt: L3 no-plateau", svg(self.folder / "roofline.svg")[0])

    def test_a_flat_roof_goes_before_a_higher_one(self):
        self.draws()
        before = (self.folder / "roofline.svg").read_bytes()

        def add(rows):
            for row in [r for r in rows if r["level"] == "DRAM" and r["resource"] == "bandwidth"]:
                higher = {c: row[c] and str(2 * float(row[c])) for c in ("measured", "measured_low", "measured_high")}
                rows.append({**row, **higher, "exec_unit": "simd-avx512", "verdict": "no-plateau"})

        edit(self.folder / "ceilings.csv", add)
        self.draws()
        self.assertEqual((self.folder / "roofline.svg").read_bytes(), before)

    def test_bad_numbers_name_file_line_and_column(self):
        ceilings = (self.folder / "ceilings.csv").read_bytes()
        for value in ("fast", "nan", "inf", "-1", "1e300"):

            def spoil(rows, value=value):
                rows[2]["measured"] = value

            edit(self.folder / "ceilings.csv", spoil)
            self.refuses("ceilings.csv:4: column 'measured'")
            (self.folder / "ceilings.csv").write_bytes(ceilings)
            edit(self.folder / "sweep.csv", spoil)
            self.refuses("sweep.csv", "line 4", "measured")

    def test_missing_column(self):
        path = self.folder / "roofline.csv"
        path.write_text(path.read_text().replace("intensity", "intense", 1))
        self.refuses("roofline.csv", "'intensity'")

    def test_short_line(self):
        path = self.folder / "sweep.csv"
        path.write_text(path.read_text() + "a,b\n")
        self.refuses("sweep.csv", "2 fields")

    def test_empty_and_binary_files(self):
        (self.folder / "sweep.csv").write_text("")
        self.refuses("sweep.csv", "is empty")
        (self.folder / "sweep.csv").write_bytes(b"\xff\xfe\x00a")
        self.refuses("sweep.csv", "UTF-8")

    def test_no_folder_and_nothing_in_it(self):
        for file in self.folder.iterdir():
            file.unlink()
        self.refuses("no rows")
        self.folder.rmdir()
        self.refuses("no such results folder")
        self.folder.mkdir()

    def test_json_that_never_ends(self):
        (self.folder / "machine.json").write_text("[" * 100000)
        self.refuses("machine.json: is nested too deeply")

    def test_picture_that_cannot_be_written(self):
        (self.folder / "roofline.svg").mkdir()
        self.refuses("roofline.svg")

    def away(self):
        """(scripts, `roofline report` with them) of a copy of the program without an environment
        beside it, whose PATH is the folder `away`."""
        away = self.folder / "away"
        scripts = away / "share" / "a" / "b"
        shutil.copytree(SCRIPTS, scripts)
        (away / "bin").mkdir()
        program = shutil.copy(BINARY, away / "bin")
        return scripts, lambda: subprocess.run(
            [program, "report", self.folder],
            capture_output=True,
            text=True,
            env={"PATH": str(away), "ROOFLINE_REPORT": str(scripts)},
        )

    def test_no_python_is_a_note(self):
        _, run = self.away()
        done = run()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "no Python with matplotlib or Bokeh: no pictures, no page\n")

    def test_broken_package_is_a_note_and_a_broken_script_is_not(self):
        scripts, run = self.away()
        python = self.folder / "away" / "python3"
        python.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
        python.chmod(0o755)
        (scripts / "matplotlib.py").write_text("raise ImportError('libfreetype.so.6: no such file')")
        done = run()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "no Python with matplotlib or Bokeh: no pictures, no page\n")
        for fault in ("raise RuntimeError('odd')", "from load import nothing"):
            (scripts / "matplotlib.py").write_text(fault)
            done = run()
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn("no pictures, no page: exit code 1: ", done.stderr)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as probe:
        shutil.copy(FIXTURE / "ceilings.csv", probe)
        if "no Python with" in report(probe).stdout:
            print("skipped: no Python with matplotlib")
            sys.exit(77)
    unittest.main()
