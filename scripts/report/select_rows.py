"""Chooses what a picture shows out of the rows of a results folder."""

from dataclasses import dataclass

from load import is_of_pages

# From the core outwards.
LEVELS = ("L1", "L2", "L3", "L4", "DRAM", "HBM")
# What the variants that are libraries begin with; shown as hollow marks.
LIBRARIES = ("openblas", "blis", "onednn", "mkl", "aocl", "cub", "cudnn", "cutlass", "torch",
             "ggml")
REFUSED = ("above-roof", "impossible")
# What makes samples or their clock doubtful, as tables on the terminal have it.
DOUBTS = ("not-quiet", "samples-disagree", "clock-moved")


def level_order(level):
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def devices(results):
    """Devices with anything to draw, CPU first."""
    names = {row.device for row in results.ceilings} | {row.device for row in results.rows}
    return sorted(names, key=lambda name: (name != "cpu", name))


def _most_threads(rows):
    return max((row.threads for row in rows if row.threads is not None), default=None)


def all_core_threads(results, device):
    """The thread count that stands for the whole device, None if no row has one."""
    return _most_threads(
        [c for c in results.ceilings if c.device == device and c.resource != "latency"]
    ) or _most_threads([r for r in results.rows if r.device == device])


def shown_threads(results, device):
    """{kernel: the thread count it is shown on}: all cores, or the most where it has not run on all."""
    whole = all_core_threads(results, device)
    counts = {}
    for row in results.rows:
        if row.device == device:
            counts.setdefault(row.kernel, set()).add(row.threads)
    return {
        kernel: whole if whole in found else max((n for n in found if n is not None), default=None)
        for kernel, found in counts.items()
    }


def roof_order(verdict, measured):
    """As `roofline analyze` takes roofs: a flat one below its own theory before a higher one."""
    doubtful = "no-plateau" in verdict or "above-theory" in verdict
    return (not doubtful, measured)


def _roof_order(row):
    return roof_order(row.verdict, row.measured)


def memory_roofs(results, device):
    """The fastest measured read of each level on the whole device, inner level first.

    Reads are what roofline.csv holds kernels against; another operation, but no pages at random,
    stands in for a missing one.
    """
    threads = all_core_threads(results, device)
    better = lambda row: (row.operation == "read", *_roof_order(row))
    best = {}
    for row in results.ceilings:
        if (row.device, row.resource) != (device, "bandwidth") or not row.measured:
            continue
        if is_of_pages(row.operation):
            continue
        if row.threads is not None and row.threads != threads:
            continue
        if row.level not in best or better(row) > better(best[row.level]):
            best[row.level] = row
    return sorted(best.values(), key=lambda row: level_order(row.level))


def compute_roofs(results, device):
    """The best measured rate of each (dtype, execution unit) on the whole device, highest first."""
    threads = all_core_threads(results, device)
    best = {}
    for row in results.ceilings:
        if (row.device, row.resource) != (device, "compute") or not row.measured:
            continue
        if row.threads is not None and row.threads != threads:
            continue
        key = (row.dtype, row.exec_unit)
        if key not in best or _roof_order(row) > _roof_order(best[key]):
            best[key] = row
    return sorted(best.values(), key=lambda row: -row.measured)


@dataclass(frozen=True)
class Point:
    row: object
    x: float
    y: float
    y_low: float
    y_high: float
    library: bool


def _benchmarks(rows):
    groups = {}
    for row in rows:
        key = (row.kernel, row.variant, row.dtype, row.shape, row.temperature, row.threads)
        groups.setdefault(key, []).append(row)
    return groups.values()


def _bounding(rows):
    """The row of the level that bounds a benchmark; of the tightest roof if none is named."""
    rows = [row for row in rows if row.intensity and row.flops_per_s]
    for row in rows:
        if row.level == row.bound_by:
            return row
    return min(
        rows,
        key=lambda row: (row.roof_flops_per_s or float("inf"), -level_order(row.level)),
        default=None,
    )


def points(results, device):
    """(points to draw, benchmarks refused by their verdict, benchmarks without coordinates).

    Parts of programs are left to the page.
    """
    threads = shown_threads(results, device)
    chosen, refused, unplaced = [], [], []
    whole = (r for r in results.rows if r.device == device and not r.parent)
    for rows in _benchmarks(whole):
        if rows[0].threads is not None and rows[0].threads != threads[rows[0].kernel]:
            continue
        bad = next((row for row in rows if set(row.verdict.split("+")) & set(REFUSED)), None)
        if bad:
            refused.append(bad)
            continue
        row = _bounding(rows)
        if row is None:
            unplaced.append(rows[0])
            continue
        rate = lambda time: row.flops / time if row.flops and time else row.flops_per_s
        chosen.append(
            Point(
                row=row,
                x=row.intensity,
                y=row.flops_per_s,
                y_low=min(row.flops_per_s, rate(row.time_high_s)),
                y_high=max(row.flops_per_s, rate(row.time_low_s)),
                library=row.variant.startswith(LIBRARIES),
            )
        )
    return chosen, refused, unplaced


def sweep_threads(results, device, resource):
    """Thread counts of a device's sweeps, most first."""
    rows = [r for r in results.sweep if (r.device, r.resource) == (device, resource)]
    return sorted({r.threads for r in rows}, key=lambda n: -(n or 0))


def sweeps(results, device, resource, threads):
    """{operation: rows by size} of the fastest variant and dtype of each operation; one that has a
    single size, as a GPU's probe of L1, only where no other has more."""
    curves = {}
    for row in results.sweep:
        if (row.device, row.resource, row.threads) == (device, resource, threads) and row.measured:
            curves.setdefault(row.operation, {}).setdefault((row.variant, row.dtype), []).append(row)
    fastest = {}
    for operation, variants in curves.items():
        rate = lambda rows: max(r.measured for r in rows) * (-1 if resource == "latency" else 1)
        best = max(variants.values(), key=lambda rows: (len(rows) > 1, rate(rows)))
        fastest[operation] = sorted(best, key=lambda row: row.size_bytes)
    return fastest
