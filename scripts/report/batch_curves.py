"""The predicted curves of the page's batch plate; `roofline predict sweep batch` computes them."""

import csv
import io
import subprocess

# The most rows that one call may write; it refuses more.
_MOST_ROWS = 100000


def _sizes(shape):
    """'M:8/N:4096/K:1024' -> {'M': 8, 'N': 4096, 'K': 1024}."""
    pairs = (part.split(":", 1) for part in shape.split("/") if ":" in part)
    return {key: int(value) for key, value in pairs if value.isdecimal()}


def _measured(table):
    """{(device, dtype): {(D, F): largest batch}} of the products whose weights came from memory."""
    column = {name: i for i, name in enumerate(table["columns"])}
    works = {}
    for row in table["rows"]:
        device, kernel, dtype, shape, temperature = (
            row[column[name]] for name in ("device", "kernel", "dtype", "shape", "temperature")
        )
        sizes = _sizes(shape)
        if kernel != "matmul" or temperature != "cold" or sizes.keys() != {"M", "N", "K"}:
            continue
        if device not in ("cpu", "gpu") or not dtype.isalnum():
            continue
        largest = works.setdefault((device, dtype), {})
        size = (sizes["K"], sizes["N"])
        largest[size] = max(largest.get(size, 0), sizes["M"])
    return works


def _thinned(rows):
    """Batches 3 % apart: as many as a line on a logarithmic axis shows."""
    kept, last = [], 0
    for row in rows:
        batch = int(row["B"])
        if batch >= 1.03 * last or row is rows[-1]:
            kept.append(row)
            last = batch
    return kept


def curves(folder, table, roofline):
    """One for each (device, dtype, D, F) that was measured cold in roofline.csv and whose ceilings
    are known: batches, and FLOP/s on all cores. None without the program."""
    found = []
    for (device, dtype), sizes in _measured(table).items() if roofline and table else ():
        x, _, y = dtype.partition("x")
        most = min(max(512, *sizes.values()), _MOST_ROWS // len(sizes))
        done = subprocess.run(
            [roofline, "predict", "sweep", "batch", "--machine", folder, "--device", device,
             # Products sum into f32 or s32, four bytes, and f64 into its own.
             "--x", x, "--y", y or x, "--z", "f64" if dtype == "f64" else "f32",
             "--sizes", ",".join(f"{d}x{f}" for d, f in sizes), "--max-batch", str(most)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:  # no peak of that type or no memory's bandwidth is known
            continue
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        for d, f in sizes:
            own = _thinned([r for r in rows if (int(r["D"]), int(r["F"])) == (d, f)])
            found.append({
                "device": device,
                "dtype": dtype,
                "D": d,
                "F": f,
                "peak": float(own[0]["peak_flops_per_s"]),
                "critical_batch": float(own[0]["critical_batch"]) if own[0]["critical_batch"] else None,
                "batches": [int(r["B"]) for r in own],
                "rates": [float(r["attainable_flops_per_s"]) for r in own],
            })  # fmt: skip
    return found
