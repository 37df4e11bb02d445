"""Fills report.html: the template, style and scripts of html/, Bokeh's own script, and the data.

The page does the rest; here files are only read, checked and embedded. The data is JSON without a
single `<`, so that no name can end the script element that holds it.
"""

import html
import importlib.metadata
import importlib.util
import json
import lzma
import re
import string
import subprocess
import tarfile
from pathlib import Path

import batch_curves
import load
import select_rows

HTML = Path(__file__).resolve().parent / "html"
# In the order in which they use each other.
SCRIPTS = (
    "text data state filters verdicts plot marks crowd labels panel roofline plates/ladder "
    "plates/sweep plates/batch plates/decode plates/ratio plates/trace plates/plates table main"
).split()
# bokeh-api: figures made in the browser instead of in Python.
LIBRARY_SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")


def library():
    """Bokeh's folder, or None where it is not installed. The package itself is never imported."""
    spec = importlib.util.find_spec("bokeh")
    return Path(spec.origin).parent if spec and spec.origin else None


_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


# What Google Benchmark itself appends to a name.
_APPENDED = re.compile(
    r"(/((real|manual|process)_time|(iterations|repeats|min_time|min_warmup_time):[^/]*))+(?=(/threads:\d+)?$)"
)


def _bench_json(folder):
    """(where, document) of each bench/*.json, or of those that the folder keeps packed."""
    paths = sorted((folder / "bench").glob("*.json"))
    for path in paths:
        yield path, load.json_file(path)
    packed = folder / "bench.tar.xz"
    if paths or not packed.exists():
        return
    try:
        with tarfile.open(packed, "r:xz") as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".json"):
                    where = f"{packed}: {member.name}"
                    yield where, load.json_text(archive.extractfile(member).read(), where)
    except (OSError, EOFError, ValueError, lzma.LZMAError, tarfile.TarError) as error:
        raise load.BadTable(f"{packed}: {error}") from None


def _calls(folder):
    """{benchmark's name: [calls while timed, their seconds]} over all repetitions in bench/*.json."""
    calls = {}
    for path, document in _bench_json(folder):
        try:
            for row in document["benchmarks"]:
                if row.get("run_type") == "aggregate" or row.get("error_occurred"):
                    continue
                name = _APPENDED.sub("", row["name"])
                known = calls.setdefault(name, [0, 0.0])
                known[0] += row["iterations"]
                known[1] += row["iterations"] * row["real_time"] * _SECONDS[row["time_unit"]]
        except (AttributeError, KeyError, TypeError) as error:
            raise load.BadTable(f"{path}: is not Google Benchmark's JSON ({error})") from None
    return calls


def _verdicts(folder, roofline):
    """What `roofline check` says, without names of folders: the page is made to be sent; and notes
    that say why it says nothing."""
    if not (roofline and (folder / "machine.json").exists() and (folder / "ceilings.csv").exists()):
        return None, []
    done = subprocess.run(
        [roofline, "check", "--json", folder], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        reason = done.stderr.strip().removeprefix("roofline: ").replace(f"{folder}/", "")
        return None, [f"no verdicts of check ({reason or 'killed'})"]
    report = json.loads(done.stdout)
    return {key: report[key] for key in ("verdict", "run", "resources", "findings")}, []


def _run(folder, roofline):
    tables, notes = {}, []
    for name in ("ceilings", "roofline", "sweep", "trace"):
        path = folder / f"{name}.csv"
        tables[name] = load.table(path) if path.exists() else None
        if tables[name] is None:
            notes.append(f"no {name}.csv")
    date = re.search(r"\d{4}-\d{2}-\d{2}", folder.resolve().name)
    verdicts, reasons = _verdicts(folder, roofline)
    return {
        "folder": folder.resolve().name,
        "date": date.group() if date else "",
        "machine": load.json_file(folder / "machine.json"),
        "check": verdicts,
        "batch_curves": batch_curves.curves(folder, tables["roofline"], roofline),
        "tables": tables,
        "calls": _calls(folder),
        "notes": notes + reasons,
    }


def _embeddable(data):
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:  # Python reads NaN, which is no JSON
        raise load.BadTable(
            "machine.json or bench/*.json: holds a number that is not finite"
        ) from None
    return text.replace("<", "\\u003c")


def _script(path):
    text = path.read_text(encoding="utf-8")
    if "</script" in text.lower():  # would end the element that it is embedded in
        raise ValueError(f"{path}: holds </script")
    return f"<script>\n{text}</script>"


def build(folders, roofline=None):
    """The page of one or more results folders, as text; `roofline` is the program that judges them.

    Throws BadTable.
    """
    bokeh = library()
    runs = [_run(folder, roofline) for folder in folders]
    titles = [run["folder"] for run in runs]
    # As the pictures have them.
    words = {
        "levels": select_rows.LEVELS,
        "libraries": select_rows.LIBRARIES,
        "refused": select_rows.REFUSED,
        "doubts": select_rows.DOUBTS,
    }
    parts = {
        "title": html.escape(", ".join(titles)),
        "style": (HTML / "page.css").read_text(encoding="utf-8"),
        "data": _embeddable({"runs": runs, "words": words}),
        "library": "\n".join(_script(bokeh / "server/static/js" / n) for n in LIBRARY_SCRIPTS),
        "library_version": html.escape(importlib.metadata.version("bokeh")),
        "library_license": html.escape((bokeh / "LICENSE.txt").read_text(encoding="utf-8")),
        "scripts": "\n".join(_script(HTML / f"{name}.js") for name in SCRIPTS),
    }
    return string.Template((HTML / "page.html").read_text(encoding="utf-8")).substitute(parts)
