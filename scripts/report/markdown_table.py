"""Prints the README's tables from a results folder, for the CPU and for every GPU in it: the read and
compute ceilings (of a CPU on all cores), and for each operation, dtype and temperature the largest
problem with this suite's fastest kernel on it, the ladder of each operation (on a GPU of each of its
dtypes), and the decode steps beside what the ceilings predict.

With an operation: this suite's fastest kernel on every case of it, with its quiet samples; then for
each family of cases the shares of the roof and the geometric mean against the best library.

usage: markdown_table.py DIR [OPERATION]
Exit code 2: an unusable folder or operation, or a Python without matplotlib, one line on stderr.
"""

import csv
import re
import signal
import sys
from pathlib import Path
from statistics import geometric_mean

import load
from select_rows import DOUBTS, LIBRARIES, REFUSED, level_order, roof_order

try:
    import style
except ImportError as error:
    if load.is_ours(error):
        raise
    print(f"markdown_table.py: {error}: build/venv/bin/python3 has it", file=sys.stderr)
    sys.exit(2)


REGISTRY = Path(__file__).resolve().parents[2] / "kernels" / "kernels.def"


def _rows(path):
    class Row(dict):
        def __missing__(self, column):
            raise ValueError(f"{path}: no column {column!r}")

    with open(path, newline="", encoding="utf-8") as file:
        return [Row(row) for row in csv.DictReader(file)]


def _number(text):
    return float(text) if text else None


def _share(value):
    return f"{100 * value:.0f} %" if value is not None else ""


def _of_roof(row):
    """A row's share of its roof, and what puts its samples or their clock in doubt."""
    doubts = [word for word in row["verdict"].split("+") if word in DOUBTS]
    return ", ".join([_share(float(row["t_lower_s"]) / float(row["time_s"])), *doubts])


def _table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def _quiet_before_lived(rows):
    """One row for each ceiling: what quiet moments gave where there were any, else as lived."""
    def key(row):
        return tuple(row[c] for c in ("device", "resource", "level", "operation", "dtype",
                                      "exec_unit", "threads"))  # fmt: skip
    quiet = {key(row) for row in rows if row["condition"].endswith("quiet")}
    return [r for r in rows if r["condition"].endswith("quiet") or key(r) not in quiet]


def _ceilings(rows, threads):
    """Of each level's reads, and of those of pages, the ones of the unit which is the roof."""
    def read(row):
        of_pages = load.is_of_pages(row["operation"])
        return row["resource"] == "bandwidth" and (row["operation"] == "read" or of_pages)
    def place(row):
        return level_order(row["level"]), row["operation"] != "read", row["operation"]
    rows = [row for row in rows if row["threads"] == threads and row["measured"]]
    rows = [row for row in rows if read(row) or row["resource"] == "compute"]
    rows.sort(key=lambda row: place(row) if read(row) else (-1,))
    order = lambda row: roof_order(row["verdict"], float(row["measured"]))
    best = {}
    for row in filter(read, rows):
        best[place(row)] = max(best.get(place(row), order(row)), order(row))
    shown = []
    for row in rows:
        bandwidth = read(row)
        if bandwidth and order(row) < best[place(row)]:
            continue
        unit = "B/s" if bandwidth else style.operations(row["dtype"])
        theory = _number(row["theory_at_clock"])
        shown.append([
            f"{row['level']} {row['operation']}" if bandwidth else f"{row['dtype']} {row['exec_unit']}",
            style.quantity(theory, unit) if theory else "",
            style.quantity(float(row["measured"]), unit),
            _share(_number(row["fraction_of_theory"])),
            row["verdict"],
        ])
    return shown


def _bounded(rows):
    """Of each of this suite's benchmarks that can be believed, the row of what bounds it."""
    return [
        row
        for row in rows
        if row["roof"] and row["level"] == _bounding(row)
        and row["verdict"] not in REFUSED
        and row["scope"] == "operation" and not row["parent"] and row["bytes_source"] != "counter"
        and not row["variant"].startswith(LIBRARIES)
    ]  # fmt: skip


def _best(rows, columns, order):
    """Of the rows that are the same in some columns the one that comes last in an order."""
    best = {}
    for row in rows:
        key = tuple(row[column] for column in columns)
        if key not in best or order(row) > order(best[key]):
            best[key] = row
    return best.values()


def _kernels(rows, threads):
    rows = [row for row in _bounded(rows) if row["threads"] == threads]
    return [
        [f"{row['kernel']} {row['dtype']}", f"{row['shape']} {row['temperature']}", *_figures(row)]
        for row in _best(rows, ("kernel", "dtype", "temperature"), _order)
    ]


def _fastest(rows, operation):
    """Of each case of an operation the row of this suite's fastest kernel."""
    rows = [row for row in _bounded(rows) if row["kernel"] == operation]
    fastest = lambda row: -float(row["time_s"])
    return _best(rows, ("dtype", "shape", "temperature", "threads"), fastest)


def _cases(rows, operation):
    return [
        [row["dtype"], row["shape"], row["temperature"], row["threads"], *_figures(row), _quiet(row)]
        for row in _fastest(rows, operation)
    ]


def _quiet(row):
    """How many of a kernel's samples are quiet; with fewer than three, all of them count."""
    if row["verdict"] == "not-quiet":
        return f"under 3 of {row['samples']}"
    return f"{row['samples']} of {int(row['samples']) + int(row['samples_rejected'])}"


def _family(row):
    """What the cases of a table's line have in common beside dtype, temperature and threads."""
    shape = dict(part.split(":") for part in row["shape"].split("/"))
    if row["kernel"] == "matmul":
        square = shape["M"] == shape["N"] == shape["K"]
        rows = "squares" if square else f"M:{shape['M']}"
        batch = f"batch:{shape['batch']}/" if "batch" in shape else ""
        return batch + rows + ("/pack:pre" if "pack" in shape else "")
    if row["kernel"] == "attention":
        group = int(shape["heads"]) // int(shape["kv_heads"])
        return f"layout:{shape['layout']}, {group} head{'s' if group > 1 else ''} a kv head"
    level = _bounding(row)
    return f"{level}, region:{shape['region']}" if "region" in shape else level


def _families(rows, operation):
    """The fastest kernels of cases that belong together: how many, and over all of them the mean."""
    families = {}
    for row in _fastest(rows, operation):
        key = (row["dtype"], _family(row), row["temperature"], row["threads"])
        families.setdefault(key, []).append(row)
    for key, members in sorted(families.items()):
        shares = [float(row["t_lower_s"]) / float(row["time_s"]) for row in members]
        ratios = [float(row["peer_ratio"]) for row in members if row["peer_ratio"]]
        compared = f"{geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
        quiet = sum(row["verdict"] != "not-quiet" for row in members)
        yield [*key, str(len(members)), str(quiet), f"{_share(min(shares))} to {_share(max(shares))}",
               str(len(ratios)), compared]  # fmt: skip


FIGURES = ["variant", "time", "rate", "bound by", "of its roof", "against the best library"]


def _figures(row):
    unit = style.operations(row["dtype"])
    peer = _number(row["peer_ratio"])
    return [
        row["variant"],
        _time(float(row["time_s"])),
        style.quantity(float(row["achieved_flops_per_s"]), unit),
        row["bound_by"],
        _of_roof(row),
        f"{peer:.2f}x {row['peer']}" if peer else row["peer"] and f"{row['peer']}: no ratio",
    ]


def _ladders(rows, of_each):
    """Of each operation and value of the column `of_each` the case that most variants do, with its
    rungs in the registry's order."""
    ideas = re.findall(
        r'^(?:GPU_)?KERNEL\((\w+), (\w+), .*?"(.*)"\)', REGISTRY.read_text(), re.MULTILINE
    )
    cases = {}
    for row in rows:
        if row["scope"] != "operation" or row["parent"] or not row["roof"]:
            continue
        ladder = row["kernel"], row[of_each]
        case = tuple(row[c] for c in ("dtype", "shape", "temperature", "threads"))
        rungs = cases.setdefault(ladder, {}).setdefault(case, {})
        if row["level"] == _bounding(row) or row["variant"] not in rungs:
            rungs[row["variant"]] = row  # of a library, whose tiles are unknown, there is no L1
    highest = {ladder: max(of.values(), key=_height) for ladder, of in cases.items()}
    shown = []
    operations = list(dict.fromkeys(op for op, _, _ in ideas))
    known = [ladder for ladder in highest if ladder[0] in operations]
    for ladder in sorted(known, key=lambda ladder: (operations.index(ladder[0]), *ladder)):
        op, case = ladder[0], highest[ladder]
        rungs = [
            (variant, idea)
            for of, name, idea in ideas
            for variant in (name, f"{name}_tuned")
            if of == op and variant in case
        ]
        if len(rungs) < 2:
            continue
        first = case[rungs[0][0]]
        name = " ".join((op, first["dtype"], first["shape"], first["temperature"]))
        if first["threads"] and first["device"] == "cpu":
            name += f", {first['threads']} thread{'s' if first['threads'] != '1' else ''}"
        for variant, idea in rungs:
            row = case[variant]
            shown.append([
                name,
                variant,
                idea,
                _time(float(row["time_s"])),
                f"{float(first['time_s']) / float(row['time_s']):.3g}x",
                _of_roof(row),
            ])
            name = ""
    return shown


def _height(case):
    """More variants first, then more work."""
    return len(case), max(float(row["flops"]) for row in case.values())


def _steps(rows, threads):
    return [
        [
            row["program"].removesuffix(f"/threads:{threads}"),
            _time(float(row["time_s"])),
            _time(float(row["t_lower_s"])),
            _time(float(row["t_upper_s"])),
            f"{100 * float(row['error']):+.0f} %",
            row["verdict"],
        ]
        for row in rows
        if row["part"] == "step" and row["t_lower_s"]
    ]


def _order(row):
    """Larger problems first, then faster kernels."""
    return float(row["flops"]), -float(row["time_s"])


def _time(seconds):
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= factor:
            break
    return f"{seconds / factor:.3g} {unit}"


def _bounding(row):
    """The level whose row stands for the benchmark; compute-bound ones have it at L1."""
    return "L1" if row["bound_by"] == "compute" else row["bound_by"]


def main(folder, operation=None):
    kernels = _rows(folder / "roofline.csv")
    if operation and not any(row["kernel"] == operation for row in kernels):
        raise ValueError(f"{folder / 'roofline.csv'}: no rows of {operation}")
    ceilings = _rows(folder / "ceilings.csv")
    for device in dict.fromkeys(row["device"] for row in kernels):
        of_device = lambda rows: [row for row in rows if row["device"] == device]
        if operation:
            _print_operation(of_device(kernels), operation)
        else:
            _print_device(device, of_device(kernels), of_device(ceilings), folder)


def _print_operation(kernels, operation):
    head = ["dtype", "shape", "temperature", "threads", *FIGURES, "quiet samples"]
    _table(head, _cases(kernels, operation))
    _table(["dtype", "of", "temperature", "threads", "cases", "quiet", "of their roofs",
            "compared", "against the best library, geometric mean"],
           _families(kernels, operation))  # fmt: skip


def _print_device(device, kernels, ceilings, folder):
    ceilings = _quiet_before_lived([row for row in ceilings if load.is_roof(row["condition"])])
    counts = {row["threads"] for row in ceilings}
    threads = max(counts, key=lambda count: int(count or 0), default="")
    on = "all cores" if device == "cpu" else device
    _table([f"ceiling, {on}", "theory at the clock", "measured", "share", "verdict"],
           _ceilings(ceilings, threads))  # fmt: skip
    _table(["kernel", "shape", *FIGURES], _kernels(kernels, threads))
    _table(["case", "rung", "idea", "time", "against the first", "of its roof"],
           _ladders(kernels, of_each="temperature" if device == "cpu" else "dtype"))  # fmt: skip
    prediction = folder / "prediction.csv"
    if prediction.exists():
        steps = [row for row in _rows(prediction) if row["device"] == device]
        _table(["step", "measured", "T_lower", "T_upper", "above T_lower", "verdict"],
               _steps(steps, threads))  # fmt: skip


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        if len(sys.argv) not in (2, 3):
            raise ValueError("usage: markdown_table.py DIR [OPERATION]")
        main(Path(sys.argv[1]), *sys.argv[2:])
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
