"""Writes files in one step each; a figure as SVG and PNG, the same bytes for the same figure."""

import io
import os

import load


def write(path, data):
    """Renamed into place, so that a full disk leaves no half a file."""
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
        write(stem.with_name(f"{stem.name}.{suffix}"), data.getvalue())
