"""Writes files in one step each; a figure as SVG and PNG, the same bytes for the same figure."""

import io
import os

import load


def write(path, data):
    """Renamed into place, so that a full disk leaves no half a file; what is no file is not replaced."""
    if path.exists() and not path.is_file() and not path.is_dir():
        try:
            path.write_bytes(data)
        except OSError as error:
            raise load.BadTable(f"{path}: {error.strerror}") from None
        return
    path = path.resolve()
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise load.BadTable(f"{path}: {error.strerror}") from None
    print(f"wrote {path}")


def in_few_colours(png):
    """A quarter of the bytes: 256 colours are enough for lines, marks and smoothed text."""
    from PIL import Image  # late: it comes with matplotlib, which bad tables do without

    out = io.BytesIO()
    whole = Image.open(png).convert("RGB")
    dither = getattr(Image, "Dither", Image)  # Pillow before 9.1
    whole.quantize(256, dither=dither.NONE).save(out, "PNG", optimize=True)
    return out


def save(figure, stem):
    """`stem` is the path without .svg and .png."""
    # Without dates and versions the same CSVs make the same bytes.
    for suffix, options in (
        ("svg", {"metadata": {"Date": None, "Creator": None}}),
        ("png", {"dpi": 200, "metadata": {"Software": None}}),
    ):
        data = io.BytesIO()
        figure.savefig(data, format=suffix, facecolor="white", **options)
        if suffix == "png":
            data = in_few_colours(data)
        write(stem.with_name(f"{stem.name}.{suffix}"), data.getvalue())
