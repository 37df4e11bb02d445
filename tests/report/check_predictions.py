"""`roofline predict sweep` draws what it writes, and refuses what it cannot draw.

usage: check_predictions.py ROOFLINE_BINARY. Exit code 77 (skipped) where no Python has matplotlib.
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
MACHINE = HERE.parent / "cli" / "predict" / "machine"
SCRIPTS = HERE.parent.parent / "scripts" / "report"
BINARY = None
SVG = "{http://www.w3.org/2000/svg}"
SERVE = ["serve", "--model", "llama3-8b", "--machine", MACHINE]


def sweep(*arguments):
    return subprocess.run(
        [BINARY, "predict", "sweep", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "ROOFLINE_REPORT": str(SCRIPTS)},
        timeout=120,
    )


def svg(path):
    """(text of the picture, number of point marks)."""
    root = ET.parse(path).getroot()
    text = "\n".join("".join(e.itertext()) for e in root.iter(SVG + "text"))
    groups = [g for g in root.iter(SVG + "g") if g.get("id", "").startswith("points-")]
    return text, sum(1 for g in groups for _ in g.iter(SVG + "use"))


class Predictions(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="roofline predict 'x' "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.csv = self.folder / "out.v1.csv"

    def draws(self, *arguments):
        done = sweep(*arguments, "--out", self.csv)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        pictures = [self.csv.with_suffix(".svg"), self.csv.with_suffix(".png")]
        self.assertEqual(done.stdout.split("\n")[:-1], [str(p) for p in (self.csv, *pictures)])
        self.assertEqual(sorted(self.folder.iterdir()), sorted([self.csv, *pictures]))
        with open(self.csv, newline="") as file:
            return svg(pictures[0]), list(csv.DictReader(file))

    def test_batch_shows_curves_peak_and_measured_points(self):
        (text, marks), rows = self.draws("batch", "--machine", MACHINE)
        for label in ("D = F = 4096", "D = F = 1024", "D = F = 1024, measured", "B = 4.016",
                      "B = 4.063", "peak 400 GFLOP/s (f32)", "example-4c"):  # fmt: skip
            self.assertIn(label, text)
        self.assertNotIn("D = F = 4096, measured", text)
        self.assertEqual(marks, sum(1 for r in rows if r["measured_flops_per_s"]))

    def test_batch_of_a_chip(self):
        (text, marks), _ = self.draws("batch", "--chip", "tpu-v5e", "--peak", "1.97e14",
                                      "--bandwidth", "8.2e11")  # fmt: skip
        for label in ("B = 136.1", "B = 226.3", "tpu-v5e", "peak 197 TFLOP/s (bf16)"):
            self.assertIn(label, text)
        self.assertEqual(marks, 0)

    def test_batch_without_a_ridge_in_range(self):
        (text, _), _ = self.draws("batch", "--chip", "h100", "--sizes", "256", "--max-batch", "1")
        self.assertNotIn("B = ", text)

    def test_serve_shows_what_fits_and_the_parts(self):
        (text, marks), rows = self.draws(*SERVE)
        self.assertEqual(marks, sum(1 for r in rows if r["fits"] == "1"))
        for label in ("llama3-8b on 1 x example-4c", "context 2048", "context 32768", "parameters",
                      "KV cache", "FLOPs", "step", "compute-bound", "memory full"):  # fmt: skip
            self.assertIn(label, text)

    def test_serve_where_the_memory_is_unknown(self):
        (text, marks), rows = self.draws("serve", "--model", "llama3-8b", "--peak", "1e15",
                                         "--bandwidth", "3e12")  # fmt: skip
        self.assertEqual({r["fits"] for r in rows}, {""})
        self.assertEqual(marks, len(rows))
        self.assertIn("what fits: unknown", text)
        self.assertNotIn("does not fit", text)
        self.assertNotIn("memory full", text)

    def test_serve_of_many_contexts(self):
        (text, _), _ = self.draws(*SERVE, "--contexts", "1,2,3,4,5,6,7,8", "--max-batch", "2")
        self.assertIn("context 8", text)

    def test_same_csv_same_bytes(self):
        self.draws(*SERVE)
        before = self.csv.with_suffix(".svg").read_bytes()
        self.draws(*SERVE)
        self.assertEqual(before, self.csv.with_suffix(".svg").read_bytes())

    def test_bad_csv_names_file_line_and_column(self):
        self.draws("batch", "--chip", "h100", "--max-batch", "2")
        good = self.csv.read_text()
        for text, part in (
            ("", "is empty"),
            (good.split("\n")[0] + "\n", "no rows"),
            (good.replace("critical_batch", "critical"), "no column 'critical_batch'"),
            (good.replace(",1,", ",one,", 1), "line 2, column B: 'one' is not a number"),
            (good.replace(",1,", ",,", 1), "line 2, column B: is empty"),
        ):
            self.csv.write_text(text)
            done = subprocess.run(
                [sys.executable, SCRIPTS / "draw_prediction.py", "batch", self.csv],
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(part, done.stderr)

    def test_picture_that_cannot_be_written(self):
        self.csv.with_suffix(".svg").mkdir()
        done = sweep("batch", "--chip", "h100", "--out", self.csv)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("out.v1.svg", done.stderr)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as probe:
        if "pictures skipped" in sweep("batch", "--chip", "h100", "--out", f"{probe}/a.csv").stdout:
            print("skipped: no Python with matplotlib")
            sys.exit(77)
    unittest.main()
