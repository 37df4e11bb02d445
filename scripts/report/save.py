"""Writes a figure as SVG and PNG, in one step each and the same bytes for the same figure."""

import io
import os

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


def save(figure, stem):
    """`stem` is the path without .svg and .png."""
    # Without dates and versions the same CSVs make the same bytes.
    for suffix, options in (
        ("svg", {"metadata": {"Date": None, "Creator": None}}),
        ("png", {"dpi": 200, "metadata": {"Software": None}}),
    ):
        data = io.BytesIO()
        figure.savefig(data, format=suffix, facecolor="white", **options)
        _write(stem.with_name(f"{stem.name}.{suffix}"), data.getvalue())
