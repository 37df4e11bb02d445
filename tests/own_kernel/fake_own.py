#!/usr/bin/env python3
"""Stands in for a user's Google Benchmark program; FAKE_OWN says how it misbehaves."""
import os
import re
import signal
import sys
import time

mode = os.environ.get("FAKE_OWN", "")
flags = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
names = {"twice": ["mine/1", "mine/1"], "probe": ["stream/1", "stream/mine/f32/size:1"]}.get(mode, ["mine/1", "mine/2"])
if "benchmark_list_tests" in flags:
    if mode == "crashlist":
        os.kill(os.getpid(), signal.SIGSEGV)
    print("\n".join(names))
    sys.exit(0)
if unknown := [a for a in sys.argv[1:] if not a.startswith("--benchmark_")]:
    sys.exit(f"unrecognized command-line flag: {unknown[0]}")
wanted = re.compile(flags["benchmark_filter"])
chosen = [name for name in names if wanted.search(name)]
if mode == "hang":
    time.sleep(3600)
if mode == "crash" or mode == "crash2" and "mine/2" in chosen:
    os.kill(os.getpid(), signal.SIGSEGV)
rows = []
for name in chosen:
    counters = "" if mode == "nocounters" else '"flops": 2000.0, "bytes": 0.0, '
    label = "dtype=f32;" if mode == "nodevice" else "device=cpu;dtype=f32;"
    for _ in range(int(flags.get("benchmark_repetitions", "1"))):
        rows.append(f'{{"name": "{name}", "run_type": "iteration", "iterations": 1, "real_time": 1.0,'
                    f' "time_unit": "us", "threads": 1, {counters}"label": "{label}"}}')
text = '{\n"context": {},\n"benchmarks": [\n' + ",\n".join(rows) + "\n]\n}\n"
if mode == "garbage":
    text = "\x00\x01 garbage"
print("words of its own")
if flags.get("benchmark_format") == "json":
    print(text)
if "benchmark_out" in flags:
    with open(flags["benchmark_out"], "w") as file:
        file.write(text)
