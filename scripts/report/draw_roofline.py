"""Draws roofline.svg/png and sweep.svg/png into a results folder from its CSVs.

usage: draw_roofline.py RESULTS_DIR
Prints `wrote PATH` per picture. Exit codes: 2 an unusable folder or CSV, one line on stderr; 3 no
matplotlib.
"""

import sys
from pathlib import Path

import load
from save import save


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        results = load.results(folder)
        if not (results.ceilings or results.rows or results.sweep):
            raise load.BadTable(f"{folder}: no rows in ceilings.csv, roofline.csv or sweep.csv")
        try:
            import plot_roofline
            import plot_sweep
        except ModuleNotFoundError as error:
            if error.name != "matplotlib":
                raise
            return 3
        save(plot_roofline.draw(results), folder / "roofline")
        sweep = plot_sweep.draw(results)
        if sweep:
            save(sweep, folder / "sweep")
        else:
            print("sweep.csv has no rows: no sweep picture")
    except load.BadTable as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
