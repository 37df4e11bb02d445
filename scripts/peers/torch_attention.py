#!/usr/bin/env python3
"""Measures PyTorch's scaled-dot-product attention on the attention cases of a finished run.

  torch_attention.py RESULTS [--device cpu|gpu] [--filter REGEX]

For the Python that has PyTorch, outside the run itself: takes every contiguous case in bf16, f16 or
f32 from RESULTS/bench/attention*.json, checks the result against double precision, times it, and
adds RESULTS/bench/attention_torch.json. Queries and results have the cache's type. On a GPU a batch
of calls is one CUDA graph, so that no call waits for Python. Then, to see it beside the kernels:

  roofline analyze --bench RESULTS/bench/*.json --ceilings RESULTS/ceilings.csv --out RESULTS/roofline.csv
  roofline report RESULTS

Exit code 1 if a result is wrong, 2 for bad usage or without PyTorch; nothing is written then that
was not measured.
"""
import argparse
import json
import math
import os
import re
import statistics
import sys
import time
from pathlib import Path

SAMPLES = 9
BATCH_SECONDS = {"gpu": 4e-3, "cpu": 2e-2}
SETTLE_SECONDS = 0.15  # of load, until a GPU's clocks are up
CHECKED_HEADS = 4
# Half a unit in the last place of query, weight and result.
ROUNDING = {"bf16": 2.0**-9, "f16": 2.0**-12, "f32": 2.0**-24}


def give_up(words):
    print(f"torch_attention.py: {words}", file=sys.stderr)
    sys.exit(2)


def read(folder):
    """Rows and context of each file on attention."""
    files = sorted((folder / "bench").glob("attention_*.json"))
    if not files:
        give_up(f"{folder}: no bench/attention_*.json")
    for file in files:
        try:
            content = json.loads(file.read_text())
            yield content["benchmarks"], content["context"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            give_up(f"{file}: not Google Benchmark's JSON ({error})")


def find_cases(files, device, chosen):
    """Of each case our own fastest row and its file's context, by the name behind the variant."""
    found = {}
    for rows, context in files:
        labels = {row["name"]: row["label"] for row in rows if row.get("label")}
        for row in rows:
            label = labels.get(row["name"], "")
            if row.get("error_occurred") or f"device={device};" not in label or "library=" in label:
                continue
            _, _, case = row["name"].split("/", 2)
            case = re.sub("/(real|manual)_time$", "", case)
            if case.split("/")[0] not in ROUNDING or "layout:contiguous" not in case or "ragged" in case:
                continue
            if "flops" not in row or not re.search(chosen, f"attention/torch/{case}"):
                continue
            if case not in found or row["real_time"] < found[case][0]["real_time"]:
                found[case] = ({**row, "label": label}, context)
    return found


def field(case, key):
    return int(re.search(f"/{key}:([0-9]+)", case)[1])


class Attention:
    """One case with as many copies of its cache as the run had."""

    def __init__(self, torch, case, row, device):
        self.torch, self.dtype = torch, case.split("/")[0]
        kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[self.dtype]
        batch, context = field(case, "batch"), field(case, "context")
        self.heads, self.kv_heads = field(case, "heads"), field(case, "kv_heads")
        width = field(case, "head_dim")
        where = "cuda" if device == "gpu" else "cpu"
        copies = max(1, round(row.get("working_set_bytes", row["bytes"]) / row["bytes"]))
        generator = torch.Generator(where).manual_seed(1)

        def values(heads, tokens, scale):
            x = torch.empty(batch, heads, tokens, width, device=where, dtype=torch.float32)
            return (scale * x.uniform_(-1, 1, generator=generator)).to(kind)

        self.q = values(self.heads, 1, 6)
        self.caches = [(values(self.kv_heads, context, 1), values(self.kv_heads, context, 1))
                       for _ in range(copies)]
        self.calls = 0

    def call(self):
        k, v = self.caches[self.calls % len(self.caches)]
        self.calls += 1
        grouped = {"enable_gqa": True} if self.heads != self.kv_heads else {}
        return self.torch.nn.functional.scaled_dot_product_attention(self.q, k, v, **grouped)

    def wrong(self):
        """What differs from double precision in some of the heads; empty if nothing does."""
        torch = self.torch
        k, v = self.caches[self.calls % len(self.caches)]
        out = self.call()
        every = [(b, h) for b in range(self.q.shape[0]) for h in range(self.heads)]
        for b, h in every[:: max(1, len(every) // CHECKED_HEADS)]:
            kv = h // (self.heads // self.kv_heads)
            q, keys, vals = (x.double().cpu() for x in (self.q[b, h, 0], k[b, kv], v[b, kv]))
            terms = keys * q / math.sqrt(len(q))
            weights = torch.softmax(terms.sum(1), 0)
            ideal, size = weights @ vals, weights @ vals.abs()
            # As in attention_gpu_verify.hpp: rounded products make a score walk, and with it its weight.
            walk = 3 * ROUNDING[self.dtype] * (terms**2).sum(1).sqrt().max() + 1e-5
            allowed = 4 * (walk + 2 * ROUNDING[self.dtype]) * size
            off = (out[b, h, 0].double().cpu() - ideal).abs()
            if not bool((off <= allowed).all()):
                at = int((off - allowed).argmax())
                return f"wrong result: out[{b}][{h}][{at}] is off by {float(off[at]):.3g}"
        return ""


class Clock:
    """Seconds of so many calls."""

    def __init__(self, torch, device):
        self.torch, self.gpu, self.graph = torch, device == "gpu", None

    def prepare(self, attention):
        """The calls of a sample: BATCH_SECONDS of them, each copy once at least. On a GPU they are
        recorded, and replayed until its clocks are up."""
        def calls_of(seconds):
            wanted = BATCH_SECONDS["gpu" if self.gpu else "cpu"]
            return max(len(attention.caches), math.ceil(wanted / max(1e-6, seconds)))

        begin = time.perf_counter()
        attention.call()
        if self.gpu:
            self.torch.cuda.synchronize()
        count = calls_of(time.perf_counter() - begin)
        if not self.gpu:
            return count
        self.record(attention, count)
        count = calls_of(self.seconds(attention, count) / count)  # Python does not wait in these
        self.record(attention, count)
        begin = time.perf_counter()
        while time.perf_counter() - begin < SETTLE_SECONDS:
            self.seconds(attention, count)
        return count

    def record(self, attention, count):
        self.torch.cuda.synchronize()
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph):
            for _ in range(count):
                attention.call()

    def seconds(self, attention, count):
        if not self.gpu:
            begin = time.perf_counter()
            for _ in range(count):
                attention.call()
            return time.perf_counter() - begin
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.graph.replay()  # the device is busy while what is timed is launched
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)


def measure(torch, case, row, device):
    """Google Benchmark's rows of one case."""
    common = {"name": f"attention/torch/{case}/{'manual' if device == 'gpu' else 'real'}_time",
              "run_type": "iteration", "repetitions": SAMPLES, "threads": 1, "time_unit": "ns"}
    if device == "cpu":
        torch.set_num_threads(field(case, "threads"))
    attention, clock = Attention(torch, case, row, device), Clock(torch, device)
    wrong = attention.wrong() or attention.wrong()  # two copies of the cache
    if wrong:
        return [{**common, "iterations": 0, "real_time": 0, "cpu_time": 0, "error_occurred": True,
                 "error_message": wrong}]
    count = clock.prepare(attention)
    times = [clock.seconds(attention, count) / count for _ in range(SAMPLES + 1)][1:]
    told = dict(item.split("=", 1) for item in row["label"].strip(";").split(";"))
    label = (f"device={device};exec_unit={told['exec_unit']};roof_dtype={told['roof_dtype']};"
             f"library=PyTorch {torch.__version__};")
    main = "bytes_HBM" if device == "gpu" else "bytes_DRAM"
    model = {key: row[key] for key in ("flops", "bytes", "intensity", "working_set_bytes", main)
             if key in row}
    return [{**common, **model, "iterations": count, "real_time": 1e9 * seconds,
             "cpu_time": 1e9 * seconds, "FLOP/s": row["flops"] / seconds,
             "B/s": row["bytes"] / seconds, "label": label} for seconds in times]


def write(path, content):
    """All of it or nothing."""
    fresh = path.with_suffix(".fresh")
    try:
        fresh.write_text(json.dumps(content, indent=1) + "\n")
        os.replace(fresh, path)
    except OSError as error:
        give_up(f"{path}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="a results folder of roofline run")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="default: gpu if PyTorch sees one")
    parser.add_argument("--filter", default="", help="only cases whose name this finds")
    options = parser.parse_args()
    try:
        re.compile(options.filter)
    except re.error as error:
        parser.error(f"--filter: {error}")
    files = list(read(options.results))
    try:
        import torch
    except ImportError:
        give_up("this Python has no PyTorch")
    device = options.device or ("gpu" if torch.cuda.is_available() else "cpu")
    if device == "gpu" and not torch.cuda.is_available():
        give_up("--device gpu: PyTorch sees none")
    cases = find_cases(files, device, options.filter)
    if not cases:
        give_up(f"{options.results}: no contiguous case of attention on the {device}"
                + (f" that '{options.filter}' finds" if options.filter else ""))
    rows, failed = [], False
    for case, (row, context) in sorted(cases.items()):
        try:
            measured = measure(torch, case, row, device)
        except (RuntimeError, TypeError) as error:  # no memory; enable_gqa before PyTorch 2.5
            print(f"attention/torch/{case}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if "error_message" in measured[0]:
            failed = True
            print(f"attention/torch/{case}: {measured[0]['error_message']}", file=sys.stderr)
        else:
            middle = statistics.median(r["real_time"] for r in measured)
            print(f"attention/torch/{case}: {1e-3 * middle:.1f} us, "
                  f"{row['bytes'] / middle:.1f} GB/s")
        rows += measured
    if rows:
        write(options.results / "bench" / "attention_torch.json",
              {"context": {**context, "executable": "torch_attention.py"}, "benchmarks": rows})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
