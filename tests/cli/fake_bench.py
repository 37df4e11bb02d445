#!/usr/bin/env python3
"""Stands in for the bench programs: same flags, instant answers, and every way to fail.

Linked as bench_ceilings, bench_matmul … into a folder that `roofline run --bin` is given.
FAKE_FAULTS="<mode>:<part of a name>[,...]" decides what happens when such a benchmark is asked for:
  crash, hang, garbage (not JSON), truncated, nocounters, nan, exit3, silent (no row): the process
  killedonce: SIGKILL, of the first process only (counted in FAKE_STATE)
  wrong (error row, exit code 1), skip (error row, exit code 0): the row
  crowded (error row, exit code 0): the row, where other processes take turns with this one
  shared: all samples but the first take twice as long, and their windows say that a core was shared
  tiny: a counter of 1e-310, which is no normal double
  scatter: the time of every third sample is half as long again, of every other third twice as long
  throttle: two reasons in turns, and none
  clock: the clock falls by a fifth from sample to sample, and rises again
  low: a hundredth of the speed; lowonce: in the first process only (counted in FAKE_STATE); lowdies:
  so, and the next ones crash
  badstart: the first repetition is an error row
FAKE_SLEEP=<seconds> is how long each process takes. FAKE_LIST=garbage|crash spoils --list.
FAKE_GPU=<why it cannot run> lists a GPU kernel too; % in it stands for CUDA_VISIBLE_DEVICES, @ for
CUDA_LAUNCH_BLOCKING. Empty: it runs, and FAKE_COUNTERS=<fault> says why its work cannot be counted.
FAKE_GPU_LIBRARY=1: a library's too. FAKE_GPU_CEILINGS=<file>: a peak of the GPU, and its link, whose
beginnings and ends go to that file; FAKE_SLOW_GPU=<index> is a GPU of two thirds of the speed.
FAKE_TUNED=<variable=value> is what suits the library better: with it, it takes half the time.
"""
import json
import os
import re
import signal
import sys
import time

PROGRAM = os.path.basename(sys.argv[0])
SIZES = [4096, 8192, 16384, 24576, 65536, 131072, 262144, 2 << 20, 4 << 20, 64 << 20, 128 << 20,
         256 << 20]


def flag(name, default=""):
    for argument in sys.argv[1:]:
        if argument.startswith("--" + name + "="):
            return argument.split("=", 1)[1]
    return default


def entry(op, variant, rest, threads, library=False, missing="", device="cpu"):
    return {"name": f"{op}/{variant}/{rest}/threads:{threads}", "op": op, "variant": variant,
            "dtype": rest.split("/")[0], "device": device, "library": library, "threads": threads,
            "quick": True, "needs_missing": missing,
            "tuned": os.environ.get("FAKE_TUNED", "") if library else ""}


def entries():
    if PROGRAM == "bench_ceilings":
        for threads in (1, 2):
            for variant in ("scalar", "avx2"):
                yield entry("fma_peak", variant, "f32", threads)
            for access in ("read", "copy"):
                for size in SIZES:
                    yield entry("stream", "avx2", f"f32/access:{access}/size:{size}", threads)
        for size in SIZES:
            yield entry("chase", "plain", f"u64/size:{size}", 1)
        if "FAKE_GPU_CEILINGS" in os.environ:
            yield entry("fma_peak", "sm80_cuda_core", "f32/data:random", 1, device="gpu")
            yield entry("link", "sm80_pinned", "u8/access:h2d", 1, device="gpu")
    elif PROGRAM == "bench_decode":
        for batch in (1, 8):
            yield entry("decode", "avx2", f"bf16/B:{batch}/T:64/layers:2/kv:s8", 2)
    else:
        op = PROGRAM.removeprefix("bench_")
        for temp in ("warm", "cold"):
            for threads in (1, 2):
                rest = f"f32/N:1000/temp:{temp}"
                yield entry(op, "scalar", rest, threads)
                yield entry(op, "avx2", rest, threads)
                yield entry(op, "openblas", rest, threads, library=True)
                yield entry(op, "avx512", rest, threads, missing="this CPU has no AVX-512")
        if "FAKE_GPU" in os.environ:
            seen = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
            blocking = os.environ.get("CUDA_LAUNCH_BLOCKING", "not set")
            missing = os.environ["FAKE_GPU"].replace("%", seen).replace("@", blocking)
            yield entry(op, "sm80_naive", "f32/N:1000/temp:cold", 132, device="gpu", missing=missing)
            if "FAKE_GPU_LIBRARY" in os.environ:
                yield entry(op, "cublas", "f32/N:1000/temp:cold", 132, library=True, device="gpu")


def gigabytes_per_s(size):
    """Falls from level to level of a 32 KiB, 512 KiB, 32 MiB machine, flat within each."""
    return 200 if size <= 24576 else 100 if size <= 262144 else 50 if size <= 16 << 20 else 10


def work(item):
    """Seconds, FLOP, bytes and counters of one call."""
    keys = dict(part.split(":") for part in item["name"].split("/")[3:])
    threads = item["threads"]
    if item["device"] == "gpu":
        slow = os.environ.get("FAKE_SLOW_GPU", "none") == os.environ.get("CUDA_VISIBLE_DEVICES")
        return {"fma_peak": (1.5e-6 if slow else 1e-6, 5e7, 0, {}), "link": (1e-3, 0, 5e7, {})}.get(
            item["op"], (1e-6, 2000, 8000, {"bytes_HBM": 8000, **counted()}))
    if item["op"] == "fma_peak":
        peak = 50e9 if item["variant"] == "avx2" else 6e9
        return 1e6 / peak, 1e6 * threads, 0, {}
    if item["op"] == "stream":
        size = int(keys["size"])
        return size / gigabytes_per_s(size) / 1e9, 0, size * threads, \
            {"working_set_bytes": size * threads}
    if item["op"] == "chase":
        return 1e-6 / gigabytes_per_s(int(keys["size"])), 0, 8, {"working_set_bytes": 8}
    if item["op"] == "decode":
        return program(int(keys["B"]))
    time_s = {"scalar": 4e-6, "avx2": 1e-6, "openblas": 1.25e-6}[item["variant"]] / threads
    if item["tuned"] and os.environ.get(item["tuned"].split("=")[0]) == item["tuned"].split("=")[1]:
        time_s /= 2
    return time_s, 2000, 8000, {"bytes_L1": 8000, "working_set_bytes": 8000}


def counted():
    if "--counters" not in sys.argv or "FAKE_COUNTERS" in os.environ:
        return {}
    return {"counted_flops": 2010.0, "counted_bytes_HBM": 8200.0}


def program(batch):
    """1 GB of weights and 0.1 GB of cache a sequence, over 20 GB/s: 50 and 5 ms."""
    counters = {"time_part_qkv": 52e-3, "time_part_attention": 5.5e-3 * batch, "time_part_glue": 1e-3,
                "flops_part_qkv": 1e8 * batch, "flops_part_attention": 1e6 * batch,
                "flops_part_glue": 1e3, "bytes_DRAM": 1e9 + 1e8 * batch, "bytes_DRAM_part_qkv": 1e9,
                "bytes_DRAM_part_attention": 1e8 * batch, "bytes_part_qkv": 1e9,
                "bytes_part_attention": 1e8 * batch, "bytes_part_glue": 1e3,
                "bytes_L1_part_glue": 1e3}
    return 53e-3 + 5.5e-3 * batch, 1.01e8 * batch + 1e3, 1e9 + 1e8 * batch, counters


def row(item, repetition):
    time_s, flops, moved, counters = work(item)
    wobble = 1 + 0.01 * ((repetition * 7) % 3 - 1)
    label = f"device={item['device']};exec_unit=simd-avx2;roof_dtype=f32;"
    if item["library"]:
        label += "library=OpenBLAS 0.3.21;"
    if item["op"] == "decode":
        label += ("scope=program;parts=qkv attention glue;part_qkv=matmul/avx2/bf16/simd-avx2/f32;"
                  "part_attention=attention/avx2/s8/simd-avx2/f32;"
                  "part_glue=glue//f32/simd-avx2/f32;")
    if "--counters" in sys.argv and "FAKE_COUNTERS" in os.environ:
        label += f"counters={os.environ['FAKE_COUNTERS']};"
    if item["variant"] in ("scalar",):
        label = label.replace("simd-avx2", "scalar")
    if item["variant"] == "sm80_cuda_core":
        label = label.replace("simd-avx2", "cuda-core")
    return {"name": item["name"] + "/real_time", "run_name": item["name"] + "/real_time",
            "run_type": "iteration", "repetitions": 3, "repetition_index": repetition,
            "threads": 1, "iterations": 100, "real_time": time_s * wobble * 1e9,
            "cpu_time": time_s * 1e9, "time_unit": "ns", "flops": float(flops),
            "bytes": float(moved), "clock_hz": 3.5e9, "label": label, **counters}


def count(item):
    """How many processes have run it, this one included."""
    path = os.path.join(os.environ["FAKE_STATE"], item["name"].replace("/", "_"))
    with open(path, "a+") as file:
        file.write("x")
        return file.tell()


def note(path, word):
    with open(path, "a") as file:
        file.write(word + "\n")


def error_row(item, message):
    return {"name": item["name"] + "/real_time", "run_type": "iteration", "error_occurred": True,
            "error_message": message, "iterations": 0, "real_time": 0.0, "cpu_time": 0.0,
            "time_unit": "ns", "threads": 1}


def main():
    device = flag("device", "all")
    items = [item for item in entries() if device in ("all", item["device"])]
    if "--list" in sys.argv:
        if os.environ.get("FAKE_LIST") == "garbage":
            print("not a list")
        elif os.environ.get("FAKE_LIST") == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        else:
            print(json.dumps(items))
        return 0
    wanted = re.compile(flag("benchmark_filter", "."))
    items = [item for item in items if wanted.search(item["name"] + "/real_time")]
    noted = "FAKE_GPU_CEILINGS" in os.environ and any(item["op"] == "link" for item in items)
    if noted:
        note(os.environ["FAKE_GPU_CEILINGS"], "begin")
    time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
    if noted:
        note(os.environ["FAKE_GPU_CEILINGS"], "end")
    rows, exit_code = [], 0
    text = None
    for item in items:
        modes = [fault.split(":", 1)[0] for fault in os.environ.get("FAKE_FAULTS", "").split(",")
                 if fault and fault.split(":", 1)[1] in item["name"]]
        mode = modes[0] if modes else ""
        if mode == "crash" or mode == "lowdies" and count(item) > 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        elif mode == "killedonce" and count(item) <= 1:
            os.kill(os.getpid(), signal.SIGKILL)
        elif mode == "hang":
            time.sleep(3600)
        elif mode == "exit3":
            print("out of luck", file=sys.stderr)
            return 3
        elif mode == "garbage":
            text = "\x00\xff garbage"
        elif mode == "truncated":
            text = "truncated"
        elif mode == "wrong":
            rows.append(error_row(item, "wrong result: 1 instead of 2"))
            exit_code = 1
        elif mode == "skip":
            rows.append(error_row(item, "not on this machine"))
        elif mode == "crowded" and flag("turns"):
            rows.append(error_row(item, "out of memory (device or page-locked)"))
        elif mode != "silent":
            low = mode in ("low", "lowdies") or mode == "lowonce" and count(item) <= 1
            slow = 100 if low else 1
            for repetition in range(int(flag("passes", "1"))):
                made = row(item, repetition)
                if mode == "badstart" and repetition == 0:
                    rows.append(error_row(item, "not yet"))
                    continue
                made["real_time"] *= slow
                if "shared:" in os.environ.get("FAKE_FAULTS", ""):
                    made["issue_per_cycle"] = 9.0
                if mode == "shared":
                    disturbed = repetition > 0
                    made["real_time"] *= 2 if disturbed else 1
                    made["issue_per_cycle"] = 0.1 if disturbed else 9.0
                if mode == "scatter":
                    made["real_time"] *= 1 + (repetition % 3) / 2
                if mode == "throttle":
                    made["label"] += ("throttle=none;", "throttle=power-cap;",
                                      "throttle=hardware-thermal;")[repetition % 3]
                if mode == "clock" and repetition % 2:
                    made["clock_hz"] *= 0.8
                if mode == "tiny":
                    made["residual"] = 1.25e-310
                if mode == "nocounters":
                    del made["flops"]
                if mode == "nan":
                    made["flops"] = float("nan")
                rows.append(made)
            rows.append({"name": item["name"] + "/real_time_mean", "run_type": "aggregate",
                         "real_time": 1.0, "time_unit": "ns"})
    out = json.dumps({"context": {"machine": "fake-box", "host_name": "secret", "executable": sys.argv[0], "date": "2025-01-01T00:00:00+00:00"},
                      "benchmarks": rows}, indent=2)
    if text == "truncated":
        out = out[:len(out) // 2]
    elif text is not None:
        out = text
    try:
        with open(flag("benchmark_out"), "w", encoding="latin-1") as file:
            file.write(out)
    except OSError:
        pass  # like Google Benchmark, which does not look
    return exit_code


sys.exit(main())
