"""report.html of ten thousand points in a real headless browser (page_case.py)."""

import math
import os
import subprocess
import sys

from browser import complaints, open_page, until
from page_case import FIXTURE, SCRIPTS, FoldersCase, benchmarks, main, read, write


class Crowd(FoldersCase):
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
    main()
