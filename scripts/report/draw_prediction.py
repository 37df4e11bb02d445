"""Draws a CSV of `roofline predict sweep batch` or `serve` as .svg and .png beside it.

usage: draw_prediction.py batch|serve FILE.csv
Prints `wrote PATH` per picture. Exit codes: 2 an unusable CSV, one line on stderr; 3 this
Python is too old, or has no matplotlib in working order.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit(3)

import load
import load_prediction
from save import save


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("batch", "serve"):
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    kind, path = arguments[0], Path(arguments[1])
    try:
        rows = (load_prediction.batch_rows if kind == "batch" else load_prediction.serve_rows)(path)
        if not rows:
            raise load.BadTable(f"{path}: no rows")
        import plot_batch
        import plot_serve

        save((plot_batch if kind == "batch" else plot_serve).draw(rows), path.with_suffix(""))
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
