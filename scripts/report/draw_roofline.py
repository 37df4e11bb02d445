"""Draws roofline.svg/png and sweep.svg/png into a results folder from its CSVs.

usage: draw_roofline.py RESULTS_DIR
Prints `wrote PATH` per picture. Exit codes: 2 an unusable folder or CSV, one line on stderr; 3 no
matplotlib.
"""

import io
import os
import sys
from pathlib import Path

import load


def _write(path, data):
    """Renamed into place, so that a full disk leaves no half a picture."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise load.BadTable(f"{path}: {error.strerror}") from None
    print(f"wrote {path}")


def _save(figure, folder, name):
    # Without dates and versions the same CSVs make the same bytes.
    for suffix, options in (
        ("svg", {"metadata": {"Date": None, "Creator": None}}),
        ("png", {"dpi": 200, "metadata": {"Software": None}}),
    ):
        data = io.BytesIO()
        figure.savefig(data, format=suffix, facecolor="white", **options)
        _write(folder / f"{name}.{suffix}", data.getvalue())


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
        _save(plot_roofline.draw(results), folder, "roofline")
        sweep = plot_sweep.draw(results)
        if sweep:
            _save(sweep, folder, "sweep")
        else:
            print("sweep.csv has no rows: no sweep picture")
    except load.BadTable as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
