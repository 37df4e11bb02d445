"""Checks a results folder of a real run: columns, units, presence, and that what is odd is flagged.

usage: check_results.py RESULTS_DIR
Prints every fault; exit code 1 if there is one. It says nothing about how fast a machine is, only
whether the numbers can be true and fit together. The columns stand here once more, on purpose: a
change of the agreed interface must be made in two places.
"""

import csv
import io
import json
import math
import sys
import tarfile
import xml.etree.ElementTree as ET
from pathlib import Path

COLUMNS = {
    "ceilings": """machine device resource level operation dtype exec_unit threads condition
        working_set_bytes measured measured_low measured_high samples samples_rejected clock_hz
        theory_at_clock fraction_of_theory advertised advertised_source fraction_of_advertised
        verdict cause""".split(),
    "roofline": """machine device scope parent kernel variant dtype exec_unit shape temperature
        threads working_set_bytes time_s time_low_s time_high_s samples samples_rejected clock_hz
        power_w throttle flops level bytes bytes_source intensity achieved_flops_per_s
        achieved_bytes_per_s roof roof_flops_per_s ridge_intensity bound_by t_lower_s t_upper_s
        fraction_of_roof theory_roof_flops_per_s advertised_roof_flops_per_s
        fraction_of_advertised peer peer_ratio verdict""".split(),
    "prediction": """machine device program variant dtype part time_s time_low_s time_high_s flops
        parameter_bytes kv_bytes t_parameters_s t_kv_s t_flops_s t_lower_s t_upper_s overhead_s error
        verdict""".split(),
    "sweep": """machine device resource level operation variant dtype exec_unit threads size_bytes
        working_set_bytes measured measured_low measured_high samples samples_rejected relative_mad
        clock_hz plateau""".split(),
}
TEXT = set("""machine device resource level operation dtype exec_unit condition advertised_source
    verdict cause scope parent kernel variant shape temperature throttle bytes_source roof bound_by
    peer program part""".split())  # fmt: skip
# Fields where 0 is a value; anywhere else it would be an unknown written as 0.
MAY_BE_ZERO = {"samples_rejected", "plateau", "relative_mad", "parameter_bytes", "kv_bytes",
               "t_parameters_s", "t_kv_s"}  # fmt: skip
MAY_BE_NEGATIVE = {"overhead_s", "error"}
# What any machine lies within, an overloaded one too; a wrong unit (GB, ms, MHz) does not.
RANGES = {
    "clock_hz": (0.5e9, 7e9),
    "size_bytes": (512, 1e13),
    "working_set_bytes": (512, 1e13),
    "time_s": (1e-10, 1e3),
    "achieved_flops_per_s": (1e4, 1e16),
    "achieved_bytes_per_s": (1e4, 1e14),
    "roof_flops_per_s": (1e4, 1e16),
    "intensity": (1e-3, 1e5),
    "power_w": (1, 5000),
}
MEASURED = {"compute": (1e6, 1e16), "bandwidth": (1e5, 1e14), "latency": (1e-10, 0.3),
            "link": (1e5, 1e13)}  # fmt: skip
VERDICTS = {"ok", "not-quiet", "clock-moved", "samples-disagree", "at-roof", "above-roof",
            "impossible", "no-roof"}  # fmt: skip
LEVEL_ORDER = ("L1", "L2", "L3", "L4", "DRAM", "HBM")
SLACK = 1.03
# The share of t_lower_s below which a prediction is impossible: 3 % of clock, and the digits written.
EXCUSED = 0.97 - 1e-5

faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def expect(condition, where, what):
    if not condition:
        fault(where, what)


def close(a, b, relative=2e-3):
    return math.isclose(a, b, rel_tol=relative)


def check_number(where, column, value):
    expect(math.isfinite(value), where, f"{column} is {value}")
    expect(value >= 0 or column in MAY_BE_NEGATIVE, where, f"{column} is negative: {value}")
    expect(value != 0 or column in MAY_BE_ZERO, where, f"{column} is 0: an unknown is left empty")
    low, high = RANGES.get(column, (-math.inf, math.inf))
    expect(low <= value <= high or value == 0, where, f"{column} = {value} outside {low}…{high}")


def read(folder, name):
    path = folder / f"{name}.csv"
    if name == "prediction" and not any((folder / "bench").glob("decode*.json")):
        return []  # there are no decode kernels for this CPU
    if not path.exists():
        fault(path.name, "is missing")
        return []
    rows = []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file, strict=True)
        header = next(reader, [])
        expect(header == COLUMNS[name], path.name, f"columns are {header}")
        for fields in reader:
            where = f"{path.name} line {reader.line_num}"
            if len(fields) != len(header):
                fault(where, f"{len(fields)} fields, the header has {len(header)}")
                continue
            row = dict(zip(header, fields), where=where)
            for column in header:
                if column in TEXT:
                    continue
                try:
                    row[column] = float(row[column]) if row[column] else None
                except ValueError:
                    fault(where, f"{column} = {row[column]!r} is not a number")
                    row[column] = None
                # A chain in registers has a working set of 0 bytes.
                if row[column] == 0 and (row.get("resource"), column) == (
                    "compute", "working_set_bytes"):  # fmt: skip
                    continue
                if row[column] is not None:
                    check_number(where, column, row[column])
            rows.append(row)
    expect(rows, path.name, "has no rows")
    return rows


def interval(row, low, middle, high):
    values = [row[low], row[middle], row[high]]
    if None not in values:
        # Written with a limited number of digits each.
        expect(values[0] <= values[1] * 1.0001 and values[1] <= values[2] * 1.0001, row["where"],
               f"{low} {values[0]}, {middle} {values[1]}, {high} {values[2]} out of order")  # fmt: skip


def flags(row):
    return set(row["verdict"].split("+"))


def cache_levels(machine):
    return [f"L{cache['level']}" for cache in machine["caches"]] + ["DRAM"]


def check_ceilings(rows, machine, sweep):
    rows = [r for r in rows if r["measured"] is not None]
    for row in rows:
        where = row["where"]
        expect(row["device"] in ("cpu", "gpu"), where, f"device {row['device']!r}")
        low, high = MEASURED.get(row["resource"], (0, 0))
        expect(low <= row["measured"] <= high, where,
               f"{row['resource']} of {row['measured']} outside {low}…{high}")  # fmt: skip
        interval(row, "measured_low", "measured", "measured_high")
        expect(row["samples"] is not None, where, "samples is empty")
        for base in ("theory", "advertised"):
            limit = row["theory_at_clock" if base == "theory" else base]
            share = row[f"fraction_of_{base}"]
            expect((limit is None) == (share is None), where, f"fraction_of_{base} alone")
            if limit and share:
                expect(close(share, row["measured"] / limit), where, f"fraction_of_{base} is off")
        share = row["fraction_of_theory"]
        if share is not None and share > SLACK and row["resource"] != "latency":
            expect("above-theory" in flags(row), where, f"{share:.3f} of theory is not flagged")
        expect(row["advertised"] is None or row["advertised_source"], where, "advertised, no source")
        expect((row["verdict"] == "ok") == (row["cause"] == ""), where, "verdict without a cause")
    check_order(rows)
    check_presence(rows, machine)
    for row in rows:
        of_pages = row["operation"].startswith("pages_")
        if row["device"] == "cpu" and row["resource"] in ("bandwidth", "latency") and not of_pages:
            same = [s for s in sweep if all(s[c] == row[c] for c in
                    ("device", "resource", "level", "operation", "threads"))]  # fmt: skip
            expect(same, row["where"], "no size in sweep.csv behind it")


def check_order(rows):
    """An outer level faster than the one inside it must be flagged on one of the two."""
    groups = {}
    for row in rows:
        if row["resource"] in ("bandwidth", "latency"):
            key = tuple(row[c] for c in ("device", "resource", "operation", "dtype", "exec_unit",
                                         "threads", "condition"))  # fmt: skip
            groups.setdefault(key, []).append(row)
    for group in groups.values():
        group.sort(key=lambda row: LEVEL_ORDER.index(row["level"]))
        for inner, outer in zip(group, group[1:]):
            ratio = outer["measured"] / inner["measured"]
            if inner["resource"] == "latency":
                ratio = 1 / ratio
            if ratio > SLACK:
                expect("out-of-order" in flags(inner) | flags(outer), outer["where"],
                       f"{outer['level']} is {ratio:.2f} x {inner['level']} and not flagged")  # fmt: skip


def room_for(level, threads, machine):
    """Whether a thread's share of a level holds sets twice as large as the level before it."""
    inner = 0
    for cache in machine["caches"]:
        share = cache["bytes"] / max(1, min(threads, cache["cores_sharing"]))
        if f"L{cache['level']}" == level:
            return 2 * inner + 4096 <= 0.75 * share
        inner = share
    return True


def check_presence(rows, machine):
    cpu = [r for r in rows if r["device"] == "cpu"]
    have = {(r["resource"], r["level"], r["operation"], r["threads"]) for r in cpu}
    threads = {r["threads"] for r in cpu if r["resource"] == "bandwidth"}
    expect(1 in threads, "ceilings.csv", "nothing measured on one thread")
    for level in cache_levels(machine):
        expect(any(h[:2] == ("latency", level) for h in have), "ceilings.csv", f"no {level} latency")
        for operation in ("read", "write", "copy", "triad"):
            for count in threads:
                if not room_for(level, count, machine):
                    continue
                expect(("bandwidth", level, operation, count) in have, "ceilings.csv",
                       f"no {level} {operation} bandwidth for {count:g} threads")  # fmt: skip
    for count in threads:
        expect(("bandwidth", "DRAM", "pages_4096", count) in have, "ceilings.csv",
               f"no DRAM bandwidth of pages for {count:g} threads")  # fmt: skip
    for dtype in ("f64", "f32", "s8"):
        for count in threads:
            expect(any(r["resource"] == "compute" and r["dtype"] == dtype and r["threads"] == count
                       and r["exec_unit"].startswith("simd") for r in cpu),
                   "ceilings.csv", f"no SIMD {dtype} peak for {count:g} threads")  # fmt: skip
    for dtype in ("f64", "f32"):
        expect(any(r["dtype"] == dtype and r["exec_unit"] == "scalar" for r in cpu),
               "ceilings.csv", f"no scalar {dtype} peak")  # fmt: skip


def check_roofline(rows, machine):
    order = cache_levels(machine)
    for row in rows:
        where = row["where"]
        expect(row["verdict"] in VERDICTS, where, f"verdict {row['verdict']!r}")
        interval(row, "time_low_s", "time_s", "time_high_s")
        for column in ("time_s", "flops", "samples"):
            expect(row[column] is not None, where, f"{column} is empty")
        if row["device"] == "cpu" and row["level"]:
            expect(row["level"] in order, where, f"level {row['level']!r} is not of this machine")
        if row["flops"] and row["bytes"]:
            expect(close(row["intensity"], row["flops"] / row["bytes"]), where, "intensity is off")
            expect(row["bytes_source"] in ("model", "counter"), where, "bytes without a source")
        if row["flops"] and row["time_s"]:
            expect(close(row["achieved_flops_per_s"], row["flops"] / row["time_s"]), where,
                   "achieved_flops_per_s is off")  # fmt: skip
        if row["bytes"] and row["time_s"]:
            expect(close(row["achieved_bytes_per_s"], row["bytes"] / row["time_s"]), where,
                   "achieved_bytes_per_s is off")  # fmt: skip
        share = row["fraction_of_roof"]
        if share is not None:
            expect(close(share, row["achieved_flops_per_s"] / row["roof_flops_per_s"]), where,
                   "fraction_of_roof is off")  # fmt: skip
            if share > SLACK:
                expect(row["verdict"] in ("at-roof", "above-roof", "impossible", "not-quiet"), where,
                       f"{share:.3f} of its roof is not flagged")  # fmt: skip
        expect(not row["roof"] or row["bound_by"], where, "a roof, but bound_by is empty")
        expect(row["peer"] or row["peer_ratio"] is None, where, "a ratio without its peer")
    # How many dtypes of each operation a quick run must hold at least.
    for kernel, dtypes in (("matmul", "f64 f32 bf16 s8"), ("dot", "f64 f32 bf16 s8"),
                           ("attention", "f32 bf16 s8")):  # fmt: skip
        for dtype in dtypes.split():
            expect(any(r["kernel"] == kernel and r["dtype"] == dtype for r in rows),
                   "roofline.csv", f"no {kernel} in {dtype}")  # fmt: skip
    check_benchmarks(rows, order)


def check_benchmarks(rows, order):
    """What holds over the rows of a benchmark: levels follow each other from L1 outwards (one whose
    traffic is unknown, as inside a library, is left out), and a time below the bound of all levels is
    flagged at one of them."""
    groups = {}
    for row in rows:
        key = tuple(row[c] for c in ("device", "parent", "kernel", "variant", "dtype", "shape",
                                     "temperature", "threads"))  # fmt: skip
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        levels = [row["level"] for row in group if row["level"]]
        expect(len(levels) == len(set(levels)), group[0]["where"], f"levels repeat: {levels}")
        if any(row["t_lower_s"] and row["time_s"] * SLACK < row["t_lower_s"] for row in group):
            expect(any(row["verdict"] != "ok" for row in group), group[0]["where"],
                   "faster than t_lower_s, but every row is ok")  # fmt: skip
        if group[0]["device"] == "cpu" and set(levels) <= set(order):
            known = [order.index(level) for level in levels]
            expect(known == sorted(known), group[0]["where"], f"levels out of order: {levels}")


def doubtful_programs(rows):
    """Names of programs that roofline.csv has a doubt about, of the whole or of a part."""
    names = set()
    for row in rows:
        if row["verdict"] != "ok":
            own = (row["kernel"], row["variant"], row["dtype"], row["shape"], f"threads:{row['threads']:g}")
            names.add(row["parent"] or "/".join(own))
    return names


def check_predictions(rows, doubtful):
    """Parts run one after another: they add up to their step, in work, in bounds and nearly in time.
    Faster than its bound is only what is called so, or in doubt for another reason, such as too few
    quiet samples."""
    steps = {}
    for row in rows:
        interval(row, "time_low_s", "time_s", "time_high_s")
        difference = row["time_s"] - row["t_lower_s"]
        expect(abs(row["overhead_s"] - difference) <= 1e-6 * row["time_s"], row["where"],
               "overhead_s is off")  # fmt: skip
        expect(row["time_s"] >= EXCUSED * row["t_lower_s"] or row["verdict"] in ("impossible", "overhead")
               or row["program"] in doubtful,
               row["where"], f"faster than t_lower_s, but {row['verdict']}")  # fmt: skip
        steps.setdefault(row["program"], []).append(row)
    for step, *parts in steps.values():
        expect(step["part"] == "step" and parts, step["where"], "no parts behind a step")
        for column in ("flops", "parameter_bytes", "kv_bytes", "t_lower_s", "t_upper_s"):
            expect(close(step[column], sum(part[column] for part in parts)), step["where"],
                   f"{column} of the parts do not add up")  # fmt: skip
        # Medians of each need not add up to the median of the whole.
        expect(close(step["time_s"], sum(part["time_s"] for part in parts), 0.2), step["where"],
               "times of the parts do not add up")  # fmt: skip


def check_sweep(rows):
    for row in rows:
        interval(row, "measured_low", "measured", "measured_high")
        # Arrays are cut to whole vectors, so that up to a tenth of a small size may be left out.
        if row["threads"]:
            expect(close(row["working_set_bytes"], row["size_bytes"] * row["threads"], 0.1),
                   row["where"], "working set is not size x threads")  # fmt: skip


def check_other_files(folder):
    files = sorted((folder / "bench").glob("*.json"))
    expect(files, "bench/", "no JSON files")
    for file in files:
        try:
            content = json.loads(file.read_text())
            expect("benchmarks" in content and "context" in content, file.name, "no benchmarks")
        except ValueError as error:
            fault(file.name, f"is not JSON: {error}")
    for picture in folder.glob("*.svg"):
        try:
            ET.parse(picture)
        except ET.ParseError as error:
            fault(picture.name, f"is not XML: {error}")
    # As it is committed: bench/ packed, and without report.html, which is made anew from the rest.
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        archive.add(folder / "bench", "bench")
    size = packed.tell() + sum(file.stat().st_size for file in folder.rglob("*")
                               if file.is_file() and file.name != "report.html"
                               and file.parent.name != "bench")  # fmt: skip
    # A run is to stay under 3 MB; the quick one, which this is, takes 1.2 to 1.4.
    expect(size < 3e6, folder.name, f"takes {size} bytes as it is committed; a run is to stay under 3 MB")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    machine = json.loads((folder / "machine.json").read_text())
    tables = {name: read(folder, name) for name in COLUMNS}
    check_sweep(tables["sweep"])
    check_predictions(tables["prediction"], doubtful_programs(tables["roofline"]))
    check_ceilings(tables["ceilings"], machine, tables["sweep"])
    check_roofline(tables["roofline"], machine)
    check_other_files(folder)
    for line in faults:
        print(line)
    counts = ", ".join(f"{len(rows)} rows in {name}.csv" for name, rows in tables.items())
    print(f"{folder}: {counts}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
