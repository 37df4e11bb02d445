"""Looks that the pictures share: type, colours, marks, number formats, placing of labels."""

import itertools
import math
import statistics

import matplotlib
import matplotlib.colors

matplotlib.use("Agg")

INK = "#222222"
FAINT = "#8a8a8a"
GRID = "#ececec"
# Okabe and Ito's palette, which stays apart for every common colour blindness; the yellow is
# darkened, as it vanishes on white.
DTYPE_COLORS = {
    "f32": "#0072B2",
    "f64": "#D55E00",
    "bf16": "#009E73",
    "s8": "#B5508E",
    "u8xs8": "#9C6B7A",
    "f16": "#E69F00",
    "tf32": "#56B4E9",
    "bf16xs8": "#6B4FA0",
    "e4m3": "#8A7A00",
}
KERNEL_MARKERS = {"matmul": "s", "dot": "o", "attention": "^"}
SPARE_COLORS = ("#444444", "#7a5c3e", "#3b7a7a", "#7a3b3b")
SPARE_MARKERS = ("D", "v", "P", "X", "*", "p", "<", ">", "h", "d")


def apply():
    matplotlib.rcParams.update(
        {
            "font.family": ["DejaVu Sans"],
            "font.size": 9,
            "text.color": INK,
            "axes.edgecolor": "#666666",
            "axes.labelcolor": INK,
            "axes.linewidth": 0.7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "xtick.color": "#444444",
            "ytick.color": "#444444",
            "svg.fonttype": "none",  # text stays text: searchable, and half the size
            "svg.hashsalt": "roofline",  # the same results make the same bytes
        }
    )
    if "text.parse_math" in matplotlib.rcParams:  # from Matplotlib 3.6 on
        matplotlib.rcParams["text.parse_math"] = False  # names may hold dollar signs


def operations(dtype):
    """The unit of what integers, or floating-point numbers, do: as the program has it (rate_unit())."""
    return "FLOP/s" if "f" in dtype or dtype.startswith("e") else "OP/s"


def dtype_color(dtype, known):
    """Colour of a dtype; `known` lists every dtype of the picture, so that spares stay apart."""
    if dtype in DTYPE_COLORS:
        return DTYPE_COLORS[dtype]
    spare = [d for d in known if d not in DTYPE_COLORS]
    return SPARE_COLORS[spare.index(dtype) % len(SPARE_COLORS)]


def contrast(color):
    """With white, as WCAG 2 has it: 1 to 21."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in matplotlib.colors.to_rgb(color)]  # fmt: skip
    return 1.05 / (0.05 + 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


def ink(color):
    """A colour of marks for words on white: darkened until they can be read, at 4.5 to 1."""
    while contrast(color) < 4.5:
        color = tuple(0.97 * c for c in matplotlib.colors.to_rgb(color))
    return color


def kernel_marker(kernel, known):
    if kernel in KERNEL_MARKERS:
        return KERNEL_MARKERS[kernel]
    spare = [k for k in known if k not in KERNEL_MARKERS]
    return SPARE_MARKERS[spare.index(kernel) % len(SPARE_MARKERS)]


def printable(text):
    """Text without control characters, which an SVG may not hold."""
    return "".join(c if c.isprintable() else " " for c in text)


def shorten(text, limit):
    text = printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def quantity(value, unit):
    """1.79e12, 'B/s' -> '1.79 TB/s'; three significant digits."""
    value = float(f"{value:.3g}")
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{_digits(value / factor)} {prefix}{unit}"
    return f"{_digits(value)} {unit}"


def _digits(value):
    if value <= 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(value) + 1e-9))
    return f"{value:.{places}f}"


def short_quantity(value, unit):
    """A tick label with its unit, small values included: 5e-9, 's' -> '5 ns'."""
    if value >= 1:
        return f"{tick(value)}{unit}" if value >= 1000 else f"{value:g} {unit}"
    for factor, prefix in ((1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")):
        if value >= factor * 0.999:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:g} {unit}"


def tick(value, _position=None):
    """A power of ten as an axis label: 1e11 -> '100 G', 0.01 -> '0.01'."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor * 0.999:
            return f"{value / factor:g} {prefix}"
    return f"{value:g}"


def size_tick(value, _position=None):
    """A power of two in bytes as an axis label: 16384 -> '16 KiB'."""
    for factor, prefix in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= factor:
            return f"{value / factor:g} {prefix}"
    return f"{value:g} B"


def spread(positions, gap, highest=math.inf):
    """Moves sorted positions apart to at least `gap` (or to each of the gaps between them) and to
    `highest` at most, as little as possible.

    With the gaps taken off, neighbours that are too close form a block around the mean of where its
    members wanted to be; blocks that then touch are merged.
    """
    gaps = gap if isinstance(gap, list) else [gap] * (len(positions) - 1)
    offsets = [0, *itertools.accumulate(gaps)][: len(positions)]
    blocks = []
    for position, offset in zip(positions, offsets):
        blocks.append([position - offset])
        while len(blocks) > 1 and statistics.mean(blocks[-1]) < statistics.mean(blocks[-2]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    apart = [statistics.mean(block) for block in blocks for _ in block]
    return [min(at + off, highest - (offsets[-1] - off)) for at, off in zip(apart, offsets)]


class Placer:
    """Remembers what is already on the picture, in pixels, and finds free room for labels."""

    def __init__(self):
        self._boxes = []
        self._points = []

    def add_point(self, x, y):
        self._points.append((x, y))

    def take(self, box):
        self._boxes.append(box)

    def cost(self, box):
        """Number of points beneath a box; infinite if it meets another label."""
        if any(_overlap(box, other) for other in self._boxes):
            return math.inf
        return sum(_inside(box, point) for point in self._points)


def box(x, y, width, height, angle):
    """Corners of a rectangle whose lower left corner is (x, y), turned by `angle` radians."""
    c, s = math.cos(angle), math.sin(angle)
    return [
        (x + u * c - v * s, y + u * s + v * c)
        for u, v in ((0, 0), (width, 0), (width, height), (0, height))
    ]


def _axes_of(corners):
    for i in range(2):
        (x0, y0), (x1, y1) = corners[i], corners[i + 1]
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        yield (x1 - x0) / length, (y1 - y0) / length


def _overlap(a, b):
    """Separating-axis test of two rectangles."""
    for ux, uy in (*_axes_of(a), *_axes_of(b)):
        pa = [x * ux + y * uy for x, y in a]
        pb = [x * ux + y * uy for x, y in b]
        if max(pa) <= min(pb) or max(pb) <= min(pa):
            return False
    return True


def _inside(corners, point):
    for ux, uy in _axes_of(corners):
        p = [x * ux + y * uy for x, y in corners]
        at = point[0] * ux + point[1] * uy
        if not min(p) <= at <= max(p):
            return False
    return True
