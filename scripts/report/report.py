"""Draws the pictures of a results folder and writes its page.

usage: report.py DIR [DIR…] [--out PAGE.html] [--roofline PROGRAM]
Pictures go into the first folder, and so does report.html unless --out names another file; further
folders are shown beside it on the page. PROGRAM's `check` gives the verdicts on the page. Prints
`wrote PATH` per file and one line per part that is left out. Exit codes: 2 an unusable folder or
file, one line on stderr; 3 this Python is too old, or has neither matplotlib nor Bokeh in working
order.
"""

import argparse
import sys
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit(3)

import load
from save import save, write


def _pictures(folder, results):
    import plot_roofline
    import plot_steps
    import plot_sweep

    save(plot_roofline.draw(results), folder / "roofline")
    sweep = plot_sweep.draw(results)
    if sweep:
        save(sweep, folder / "sweep")
    else:
        print("sweep.csv has no rows: no sweep picture")
    if results.steps:
        save(plot_steps.draw(results), folder / "decode")


def _arguments(arguments):
    parser = argparse.ArgumentParser(prog="report.py")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--roofline", type=Path)
    return parser.parse_args(arguments)


def main(arguments):
    given = _arguments(arguments)
    try:
        import page

        if not (load.has_module("matplotlib") or page.library()):
            return 3
        read = {folder: load.results(folder) for folder in given.folders}
        for folder, results in read.items():
            if not (results.ceilings or results.rows or results.sweep):
                raise load.BadTable(f"{folder}: no rows in ceilings.csv, roofline.csv or sweep.csv")
        if load.has_module("matplotlib"):
            _pictures(given.folders[0], read[given.folders[0]])
        else:
            print("no Python with matplotlib: pictures skipped")
        if page.library():
            html = page.build(given.folders, given.roofline)
            write(given.out or given.folders[0] / "report.html", html.encode())
        else:
            print("no Python with Bokeh: report.html skipped")
    except ImportError as error:
        if load.is_ours(error):
            raise
        return 3
    except load.BadTable as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
