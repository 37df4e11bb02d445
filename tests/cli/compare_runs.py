#!/usr/bin/env python3
"""Writes results folders of made-up runs: compare_runs.py FOLDER RUNS SEED [SLOWED]

Six kernels and a peak, ten samples each. As on a shared host: a run has a speed of its own (scale
5 %), a kernel in a run another (0.8 %), and samples are slowed down by up to a half, now and then.
SLOWED names a kernel that takes 5 % longer.
"""
import json
import os
import random
import sys

folder, runs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
slowed = sys.argv[4] if len(sys.argv) > 4 else ""
chance = random.Random(seed)


def rows(name, flops, unit_bytes, time_ns, label):
    for repetition in range(10):
        noise = chance.uniform(1.0, 1.02) * (chance.uniform(1.0, 1.5) if chance.random() < 0.2 else 1)
        yield {"name": name, "run_type": "iteration", "repetition_index": repetition, "iterations": 100,
               "real_time": time_ns * noise, "cpu_time": time_ns * noise, "time_unit": "ns",
               "threads": 1, "flops": flops, "bytes": unit_bytes, "label": label}


for run in range(runs):
    place = os.path.join(folder, f"run{run:02}") if runs > 1 else folder
    os.makedirs(os.path.join(place, "bench"))
    with open(os.path.join(place, "machine.json"), "w") as file:
        json.dump({"name": "made-up-2c", "cpu": {"microarchitecture": "zen3"}, "caches": [],
                   "state": {"hypervisor": "KVMKVMKVM", "governor": "powersave" if slowed else "performance",
                             "load_average": [chance.random(), 0, 0]}}, file)
    speed = chance.gauss(0, 0.05)
    bench = list(rows("fma_peak/avx2/f32/threads:1/real_time", 1e6, 0, 2e4 * (1 + speed),
                      "device=cpu;exec_unit=simd-avx2;"))
    for kernel in range(6):
        time_ns = 1000 * (kernel + 1) * (1 + speed + chance.gauss(0, 0.008))
        name = f"v{kernel}"
        bench += rows(f"dot/{name}/f32/N:1000/temp:warm/threads:1/real_time", 2000, 8000,
                      time_ns * (1.05 if name == slowed else 1), "device=cpu;exec_unit=simd-avx2;")
    with open(os.path.join(place, "bench", "all.json"), "w") as file:
        json.dump({"context": {"compiler": "13" if slowed else "12", "date": str(run)},
                   "benchmarks": bench}, file)
