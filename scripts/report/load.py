"""Reads the CSVs of a results folder by field name; columns are documented in roofline/base/schema.hpp.

An empty field is an unknown and becomes None. Whatever is wrong with a file is one BadTable that
names the file, the line and the column.
"""

import csv
import importlib.util
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path


class BadTable(Exception):
    """One line that says what is wrong with a file."""


@dataclass(frozen=True)
class Ceiling:
    """A row of ceilings.csv: FLOP/s for compute, bytes/s for bandwidth, seconds for latency."""

    machine: str
    device: str
    resource: str
    level: str
    operation: str
    dtype: str
    exec_unit: str
    threads: float | None
    measured: float | None
    theory: float | None
    advertised: float | None
    verdict: str


@dataclass(frozen=True)
class Row:
    """A row of roofline.csv: one benchmark at one memory level."""

    machine: str
    device: str
    kernel: str
    variant: str
    dtype: str
    shape: str
    temperature: str
    threads: float | None
    time_s: float | None
    time_low_s: float | None
    time_high_s: float | None
    flops: float | None
    level: str
    intensity: float | None
    flops_per_s: float | None
    roof_flops_per_s: float | None
    bound_by: str
    verdict: str
    parent: str


@dataclass(frozen=True)
class Step:
    """A row of prediction.csv: a whole decode step, measured and predicted."""

    device: str
    variant: str
    dtype: str
    kv: str
    batch: int
    context: int
    layers: int
    head: bool
    threads: int | None  # None on a GPU
    time_s: float
    low_s: float | None
    high_s: float | None
    lower_s: float
    upper_s: float
    verdict: str


@dataclass(frozen=True)
class SweepRow:
    """A row of sweep.csv: one size of one sweep."""

    machine: str
    device: str
    resource: str
    level: str
    operation: str
    variant: str
    dtype: str
    threads: float | None
    size_bytes: float
    measured: float | None
    low: float | None
    high: float | None
    plateau: bool


class _Record:
    """One CSV line whose fields are read by name."""

    def __init__(self, path, line, fields):
        self._path, self._line, self._fields = path, line, fields

    def fail(self, column, what):
        raise BadTable(f"{self._path} line {self._line}, column {column}: {what}")

    def columns(self):
        return list(self._fields)

    def text(self, column):
        return self._fields[column]

    def number(self, column):
        text = self._fields[column].strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            self.fail(column, f"{text[:40]!r} is not a number")
        if not math.isfinite(value) or value < 0:
            self.fail(column, f"{text[:40]!r} is not a finite number of at least 0")
        if value and not 1e-30 <= value <= 1e30:  # as in roofline/base/csv.cpp
            self.fail(column, f"{text[:40]!r} is beyond 1e-30 to 1e30")
        return value

    def required(self, column):
        value = self.number(column)
        if value is None:
            self.fail(column, "is empty")
        return value


def records(path, columns):
    """The lines of a CSV that has at least these columns."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, None)
            if header is None:
                raise BadTable(f"{path}: is empty")
            for column in columns:
                if column not in header:
                    raise BadTable(f"{path}: no column {column!r}")
            for fields in reader:
                if len(fields) != len(header):
                    raise BadTable(
                        f"{path} line {reader.line_num}: {len(fields)} fields, "
                        f"the header has {len(header)}"
                    )
                yield _Record(path, reader.line_num, dict(zip(header, fields)))
    except csv.Error as error:
        raise BadTable(f"{path} line {reader.line_num}: {error}") from None
    except UnicodeDecodeError:
        raise BadTable(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror}") from None


# Every other column of every table is a number; see roofline/base/schema.hpp.
TEXT = frozenset(
    "machine device scope parent kernel variant operation dtype exec_unit shape temperature resource "
    "level condition advertised_source verdict cause bytes_source roof bound_by peer throttle during"
    .split()
)


def table(path):
    """All of a CSV: {"columns": names, "rows": lists of texts, numbers and None}."""
    columns, rows = [], []
    for record in records(path, ()):
        columns = record.columns()
        rows.append([record.text(c) if c in TEXT else _short(record.number(c)) for c in columns])
    return {"columns": columns, "rows": rows}


def _short(value):
    """Whole numbers without `.0`, which would be a tenth of the page's data."""
    return int(value) if value is not None and value.is_integer() else value


def has_module(name):
    return importlib.util.find_spec(name) is not None


def is_ours(error):
    """Whether it is a script of this folder that cannot be imported, not a package."""
    return Path(__file__).with_name(f"{error.name}.py").exists()


def ceilings(path):
    """One row for each ceiling: what quiet moments gave where there were any, else as lived."""
    columns = (
        "machine device resource level operation dtype exec_unit threads condition measured "
        "theory_at_clock advertised verdict"
    ).split()
    rows = [r for r in records(path, columns) if is_roof(r.text("condition"))]
    quiet = {_ceiling_key(r) for r in rows if r.text("condition").endswith("quiet")}
    return [
        Ceiling(
            machine=r.text("machine"),
            device=r.text("device"),
            resource=r.text("resource"),
            level=r.text("level"),
            operation=r.text("operation"),
            dtype=r.text("dtype"),
            exec_unit=r.text("exec_unit"),
            threads=r.number("threads"),
            measured=r.number("measured"),
            theory=r.number("theory_at_clock"),
            advertised=r.number("advertised"),
            verdict=r.text("verdict"),
        )
        for r in rows
        if r.text("condition").endswith("quiet") or _ceiling_key(r) not in quiet
    ]


def is_of_pages(operation):
    """Whether a ceiling is a read of whole pages at random, which is no roof."""
    return operation.startswith("pages_")


def is_roof(condition):
    """As in roofline/ceilings/ceiling.hpp: not on zeros, of a rested chip, or after seconds of load."""
    return not {"zeros", "burst", "sustained"} & set(condition.split("+"))


def _ceiling_key(record):
    columns = "machine device resource level operation dtype exec_unit threads".split()
    return tuple(record.text(column) for column in columns)


def roofline(path):
    """One row for each benchmark and level by the model; what counters saw of it is beside it."""
    columns = (
        "machine device kernel variant dtype shape temperature threads time_s time_low_s "
        "time_high_s flops level intensity achieved_flops_per_s roof_flops_per_s bound_by verdict "
        "parent bytes_source"
    ).split()
    return [
        Row(
            machine=r.text("machine"),
            device=r.text("device"),
            kernel=r.text("kernel"),
            variant=r.text("variant"),
            dtype=r.text("dtype"),
            shape=r.text("shape"),
            temperature=r.text("temperature"),
            threads=r.number("threads"),
            time_s=r.number("time_s"),
            time_low_s=r.number("time_low_s"),
            time_high_s=r.number("time_high_s"),
            flops=r.number("flops"),
            level=r.text("level"),
            intensity=r.number("intensity"),
            flops_per_s=r.number("achieved_flops_per_s"),
            roof_flops_per_s=r.number("roof_flops_per_s"),
            bound_by=r.text("bound_by"),
            verdict=r.text("verdict"),
            parent=r.text("parent"),
        )
        for r in records(path, columns)
        if r.text("bytes_source") != "counter"
    ]


def steps(path):
    """The whole steps of prediction.csv, without their parts."""
    columns = (
        "device program part variant dtype time_s time_low_s time_high_s t_lower_s t_upper_s verdict"
    ).split()
    return [_step(r) for r in records(path, columns) if r.text("part") == "step"]


def _step(record):
    keys = dict(part.split(":", 1) for part in record.text("program").split("/") if ":" in part)

    def size(key, otherwise=None):
        text = keys.get(key, otherwise)
        if text is None or not text.isdecimal():
            record.fail("program", f"{record.text('program')[:80]!r} has no {key}:<number>")
        return int(text)

    device = record.text("device")
    time, low, high = (record.number(c) for c in ("time_s", "time_low_s", "time_high_s"))
    if time is not None and ((low or 0) > time or (high is not None and high < time)):
        record.fail("time_s", "is not between time_low_s and time_high_s")
    return Step(
        device=device,
        variant=record.text("variant"),
        dtype=record.text("dtype"),
        kv=keys.get("kv", ""),
        batch=size("B"),
        context=size("T"),
        layers=size("layers"),
        head=size("V", "0") > 0,
        threads=None if device == "gpu" else size("threads", "1"),
        time_s=record.required("time_s"),
        low_s=record.number("time_low_s"),
        high_s=record.number("time_high_s"),
        lower_s=record.required("t_lower_s"),
        upper_s=record.required("t_upper_s"),
        verdict=record.text("verdict"),
    )


def sweep(path):
    columns = (
        "machine device resource level operation variant dtype threads size_bytes measured "
        "measured_low measured_high plateau"
    ).split()
    return [
        SweepRow(
            machine=r.text("machine"),
            device=r.text("device"),
            resource=r.text("resource"),
            level=r.text("level"),
            operation=r.text("operation"),
            variant=r.text("variant"),
            dtype=r.text("dtype"),
            threads=r.number("threads"),
            size_bytes=r.required("size_bytes"),
            measured=r.number("measured"),
            low=r.number("measured_low"),
            high=r.number("measured_high"),
            plateau=r.text("plateau") == "1",
        )
        for r in records(path, columns)
    ]


@dataclass(frozen=True)
class Results:
    """What a folder holds; `notes` says in words what it does not."""

    machine: str
    title: str  # the model of what was measured where machine.json tells it, else the machine's name
    names: dict  # device: its title
    date: str
    ceilings: list
    rows: list
    sweep: list
    steps: list  # empty where no program was measured, as in most folders
    notes: list


def json_text(text, where):
    """JSON in UTF-8, from a place that the error names."""
    try:
        return json.loads(text)
    except RecursionError:
        raise BadTable(f"{where}: is nested too deeply") from None
    except ValueError as error:
        raise BadTable(f"{where}: {error}") from None


def json_file(path):
    """A JSON file's content, None if there is no such file."""
    try:
        return json_text(path.read_bytes(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror}") from None


def _cpu_title(path):
    """'AMD EPYC (AMD Zen 3), 4 cores', as far as it is known."""
    machine = json_file(path)
    cpu = machine.get("cpu") if isinstance(machine, dict) else None
    if not isinstance(cpu, dict) or not cpu.get("model"):
        return ""
    title = str(cpu["model"])
    design = cpu.get("per_core_cycle")
    if isinstance(design, dict) and design.get("name"):
        title += f" ({design['name']})"
    if cpu.get("physical_cores"):
        title += f", {cpu['physical_cores']} cores"
    return title


def _gpu_title(path, machine):
    """The name of the GPU whose rows' machine this is: 'NVIDIA H200'."""
    facts = json_file(path)
    gpu = facts.get("gpu") if isinstance(facts, dict) else None
    devices = gpu.get("devices") if isinstance(gpu, dict) else None
    for device in devices if isinstance(devices, list) else []:
        name = str(device.get("name") or "") if isinstance(device, dict) else ""
        if re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") == machine != "":
            return name
    return ""


def _title(path, rows):
    """Of the CPU, or of the GPU where nothing else was measured."""
    if rows and all(row.device == "gpu" for row in rows):
        return _gpu_title(path, rows[0].machine)
    return _cpu_title(path)


def results(folder):
    """Reads a results folder. A missing file is a note; a broken one is a BadTable."""
    folder = Path(folder)
    tables, notes = {}, []
    for name, read in (("ceilings", ceilings), ("roofline", roofline), ("sweep", sweep)):
        path = folder / f"{name}.csv"
        if path.exists():
            tables[name] = read(path)
        else:
            tables[name] = []
            notes.append(f"no {name}.csv")
    everything = [row for table in tables.values() for row in table]
    machine = everything[0].machine if everything else ""
    date = re.search(r"\d{4}-\d{2}-\d{2}", folder.resolve().name)
    rows_of = {}
    for row in everything:
        rows_of.setdefault(row.device, []).append(row)
    title = lambda rows: _title(folder / "machine.json", rows)
    return Results(
        machine=machine,
        title=title(everything) or machine,
        names={device: title(rows) or rows[0].machine for device, rows in rows_of.items()},
        date=date.group() if date else "",
        ceilings=tables["ceilings"],
        rows=tables["roofline"],
        sweep=tables["sweep"],
        steps=steps(folder / "prediction.csv") if (folder / "prediction.csv").exists() else [],
        notes=notes,
    )
