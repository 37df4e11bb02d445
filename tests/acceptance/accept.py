#!/usr/bin/env python3
"""Holds `roofline compare` and the quick run against real, repeated runs; takes an hour.

  accept.py same-build --bin build/bin --out OUT
      Quick runs in a row, each compared with the next one: how many pairs raise an alarm, and how
      far every ceiling scatters over the runs.
  accept.py slowed-kernel --bin build/bin --slowed build/tests/acceptance/slowed_bench_dot --out OUT
      Short runs of bench_dot in turns: as it is, as it is again, and once for each trial with
      another kernel slowed by 5 %. --runs of each make the sides that are compared: how many of the
      slowed kernels are found, and what else is told. Build that program first, with
      `cmake --build build --target slowed_bench_dot`.

  accept.py likwid --bin build/bin --out OUT
      This machine's ceilings by bench_ceilings and by likwid-bench, in turns, on the same sizes: the
      median ratio of the pairs for every peak, level and access that likwid-bench has, or --filter.

  accept.py live-faults --bin build/bin --out OUT
      Two faults of this machine's own making: a run that may use one core, and one beside as many
      busy processes as there are cores. Does `roofline check` name them?

Each keeps its runs under OUT and, called again, goes on with those that are there. Exit code 1 if
the target is missed, 2 for bad usage or a run that fails.
"""
import argparse
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path


def give_up(words):
    print(words, file=sys.stderr)
    sys.exit(2)


def run(command, **environment):
    """The standard output; ends the program if the command fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        give_up(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def finished(root):
    """The complete results folders below root, oldest first."""
    return sorted(state.parent for state in root.glob("*/*/run.json")
                  if json.loads(state.read_text())["status"] == "complete")


def alarms(roofline, a, b):
    """What `compare` calls real: (name, ratio, p). The first may be 'all together'."""
    result = json.loads(run([roofline, "compare", a, b, "--json"]))
    real = [(e["name"], e["own"]["value"], e["p"]) for e in result["entries"] if e["real"]]
    whole = result["whole"]
    if whole["real"]:
        real.insert(0, ("all together", whole["ratio"]["value"], whole["p"]))
    return real, result


def told(real):
    return "".join(f"\n    {name}: B/A {ratio:.3f}, p {p:.2g}" for name, ratio, p in real) or " silent"


KEY = ("device", "resource", "level", "operation", "dtype", "exec_unit", "threads", "condition")


def ceilings(folder):
    with open(folder / "ceilings.csv", newline="") as file:
        return {" ".join(filter(None, (row[k] for k in KEY))): float(row["measured"])
                for row in csv.DictReader(file) if row["measured"]}


def print_scatter(folders):
    """Over the runs: IQR/median, the distance of the quartiles, and MAD/median, about half of it."""
    runs = [ceilings(folder) for folder in folders]
    rows = []
    for name in sorted(set.intersection(*map(set, runs))):
        values = [measured[name] for measured in runs]
        middle = statistics.median(values)
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        mad = statistics.median(abs(value - middle) for value in values)
        rows.append((name, middle, (high - low) / middle, mad / middle))
    print(f"\nscatter of each ceiling over {len(runs)} runs\n"
          f"{'ceiling':58} {'median':>10} {'IQR/median':>11} {'MAD/median':>11}")
    for name, middle, iqr, mad in rows:
        print(f"{name:58} {middle:10.4g} {iqr:11.2%} {mad:11.2%}")
    for condition in ("quiet", "as-lived"):
        chosen = [row for row in rows if row[0].endswith(condition)]
        if chosen:
            print(f"median of the {len(chosen)} ceilings, {condition}: "
                  f"IQR/median {statistics.median(r[2] for r in chosen):.2%}, "
                  f"MAD/median {statistics.median(r[3] for r in chosen):.2%}")


def print_against(full, folders):
    runs = [ceilings(folder) for folder in folders]
    offs = []
    print(f"\nmedian of the quick runs over {full}")
    for name, measured in sorted(ceilings(full).items()):
        if all(name in quick for quick in runs):
            ratio = statistics.median(quick[name] for quick in runs) / measured
            offs.append(abs(ratio - 1))
            print(f"{name:58} {ratio:8.3f}")
    print(f"median distance of {len(offs)} ceilings: {statistics.median(offs):.2%}")


def same_build(options):
    roofline = options.bin / "roofline"
    root = options.out / "same-build"
    command = [roofline, "run", "--quick", "--out", root, "--device", options.device]
    if options.filter:
        command += ["--filter", options.filter]
    while (number := len(finished(root))) < options.runs:
        print(f"run {number + 1} of {options.runs}", file=sys.stderr)
        run(command)
    folders = finished(root)[:options.runs]
    loud = 0
    for number, (a, b) in enumerate(zip(folders, folders[1:]), 1):
        real, _ = alarms(roofline, a, b)
        loud += bool(real)
        print(f"pair {number}, {a.name} and {b.name}:{told(real)}")
    print(f"\n{loud} of {len(folders) - 1} pairs raise an alarm (target: at most 1 of 20)")
    print_scatter(folders)
    if options.full:
        print_against(options.full, folders)
    return 0 if loud <= (len(folders) - 1) / 20 else 1


def warm_kernels(program):
    """Our single-threaded dot products on data in L1 and L2."""
    listed = [entry for entry in json.loads(run([program, "--list", "--suite=quick", "--device=cpu"]))
              if not entry["library"] and not entry["needs_missing"] and entry["threads"] == 1
              and re.search("/f(32|64)/.*/temp:warm/", entry["name"])]
    size = lambda entry: int(re.search("/N:([0-9]+)/", entry["name"])[1])
    sizes = sorted({(entry["name"].split("/")[2], size(entry)) for entry in listed})
    small = {pair for dtype in ("f32", "f64") for pair in [p for p in sizes if p[0] == dtype][:2]}
    return [entry["name"] for entry in listed if (entry["name"].split("/")[2], size(entry)) in small]


def slowed_kernel(options):
    # A copy beside which there is no scripts/report: runs that nobody looks at are not drawn.
    programs = {}
    for side, dot in (("plain", options.bin / "bench_dot"), ("slowed", options.slowed)):
        folder = programs[side] = options.out / "programs" / side
        folder.mkdir(parents=True, exist_ok=True)
        for source, name in ((options.bin / "roofline", "roofline"), (dot, "bench_dot"),
                             (options.bin / "bench_ceilings", "bench_ceilings")):
            shutil.copy(source, folder / name)
    names = options.kernel or warm_kernels(programs["plain"] / "bench_dot")
    chosen = options.filter or "^(fma_peak/.*/threads:1$|({})$)".format("|".join(map(re.escape, names)))
    names = [names[trial % len(names)] for trial in range(options.trials)]
    sides = {"a": ("plain", ""), "same": ("plain", "")}
    sides |= {f"slowed-{trial:02}": ("slowed", name) for trial, name in enumerate(names, 1)}
    root = options.out / "slowed-kernel"
    for number in range(options.runs):
        for side, (program, slowed) in sides.items():
            if len(finished(root / side)) > number:
                continue
            print(f"round {number + 1} of {options.runs}, {side}", file=sys.stderr)
            run([programs[program] / "roofline", "run", "--quick", "--device", "cpu", "--out",
                 root / side, "--filter", chosen], ROOFLINE_SLOWED=slowed)
    folders = {side: finished(root / side)[0].parent for side in sides}
    roofline = options.bin / "roofline"
    same, result = alarms(roofline, folders["a"], folders["same"])
    print(f"{options.runs} runs a side, {len(result['entries'])} quantities\nsame build:{told(same)}")
    found = loud = 0
    for trial, name in enumerate(names, 1):
        real, result = alarms(roofline, folders["a"], folders[f"slowed-{trial:02}"])
        own = next(entry for entry in result["entries"] if entry["name"] == f"cpu {name}")
        hit = own["real"] and own["own"]["value"] < 1
        others = [alarm for alarm in real if alarm[0] != own["name"]]
        found += hit
        loud += bool(others)
        print(f"trial {trial}: {name} {'FOUND' if hit else 'MISSED'}, B/A "
              f"{own['own']['value']:.3f}, p {own['p']:.2g}; other alarms:{told(others)}")
    print(f"\n{found} of {options.trials} slowed kernels found (target: at least 9 of 10); "
          f"{loud + bool(same)} of {options.trials + 1} comparisons tell of a kernel that is as it was")
    return 0 if found >= 0.9 * options.trials and not same else 1


# Accesses as likwid-bench names them: f64, streams counted as here; `_mem` stores past the caches.
LIKWID = {"read": ["load_{}"], "write": ["store_{}", "store_mem_{}"],
          "copy": ["copy_{}", "copy_mem_{}"], "triad": ["stream_{}_fma", "stream_mem_{}_fma"]}
LIKWID_PEAK = {"f64": ["peakflops_{}_fma"], "f32": ["peakflops_sp_{}_fma"]}


def likwid_tests(entries, caches):
    """By title: bytes a thread, threads, our benchmarks, likwid-bench's kernels; the best of each counts."""
    offered = [e["name"].split("/") for e in entries if not e["needs_missing"]]
    best = "avx512" if any(words[1] == "avx512" for words in offered) else "avx2"
    l1, l2, l3 = caches
    tests = {}
    for operation, variant, dtype, *keys in offered:
        keys = dict(key.split(":") for key in keys)
        threads, access = int(keys["threads"]), keys.get("access", "").removesuffix("_nt")
        if operation == "fma_peak" and variant == best and dtype in LIKWID_PEAK:
            title, size, theirs = f"peak {dtype}", l1 // 2, LIKWID_PEAK[dtype]
        elif operation == "stream":
            size, theirs = int(keys["size"]), LIKWID[access]
            total = size * threads
            level = ("L1" if size == l1 * 3 // 4 else "L2" if l2 // 4 <= size <= l2 * 3 // 4 else
                     "L3" if size > 2 * l2 and total <= l3 // 3 else
                     "DRAM" if total >= 4 * l3 else None)
            if not level or variant != best and level == "L1":
                continue
            title, theirs = f"{level} {access}", theirs if level == "DRAM" else theirs[:1]
        else:
            continue
        name = "/".join([operation, variant, dtype, *(f"{k}:{v}" for k, v in keys.items())])
        test = tests.setdefault(f"{title} T={threads}", (size, threads, [], theirs))
        if test[0] == size:
            test[2].append(name)
    return tests


def bench(program, out, *flags):
    """Google Benchmark's JSON."""
    run([program, f"--benchmark_out={out}", "--benchmark_out_format=json", *flags])
    return json.loads(out.read_text())


def our_rate(program, name, out):
    """FLOP/s or B/s over all samples together."""
    rows = bench(program, out, f"--benchmark_filter=^{re.escape(name)}/real_time$",
                 "--benchmark_repetitions=8", "--benchmark_min_time=0.05")["benchmarks"]
    rows = [row for row in rows if row["run_type"] == "iteration"]
    work = rows[0]["flops"] if name.startswith("fma_peak") else rows[0]["bytes"]
    return work / (1e-9 * statistics.mean(row["real_time"] for row in rows))


def likwid_rate(kernel, size, threads):
    words = run(["likwid-bench", "-t", kernel, "-s", "1", "-w", f"S0:{size * threads // 1000}kB:{threads}"])
    field = "MFlops/s" if kernel.startswith("peak") else "MByte/s"
    return 1e6 * float(re.search(rf"^{field}:\s+([0-9.]+)", words, re.M)[1])


def likwid(options):
    if not shutil.which("likwid-bench"):
        give_up("likwid-bench is not installed (apt: likwid)")
    program = options.bin / "bench_ceilings"
    options.out.mkdir(parents=True, exist_ok=True)
    own = options.out / "ours.json"
    context = bench(program, own, "--benchmark_filter=^fma_peak/.*/f32/threads:1/",
                    "--benchmark_min_time=0.001")["context"]
    caches = [int(context[f"l{level}_bytes"]) for level in "1d 2 3".split()]
    entries = json.loads(run([program, "--list", "--suite=full", "--device=cpu"]))
    try:
        wanted = re.compile(options.filter or "")
    except re.error as error:
        give_up(f"--filter: '{options.filter}' is no regular expression: {error}")
    tests = {title: test for title, test in likwid_tests(entries, caches).items()
             if wanted.search(title)}
    if not tests:
        give_up(f"--filter: no test's title has '{options.filter}'")
    offered = {line.split(" - ")[0] for line in run(["likwid-bench", "-a"]).splitlines()}
    ratios, simd = {}, "avx512" if "/avx512/" in str(tests) else "avx"
    pairs = options.out / "likwid.csv"
    known = {}
    if pairs.exists():
        with open(pairs, newline="") as file:
            known = {(int(row["round"]), row["test"]): (float(row["ours"]), float(row["likwid"]))
                     for row in csv.DictReader(file)}
    with open(pairs, "a", newline="") as file:
        out = csv.writer(file)
        if file.tell() == 0:
            out.writerow(["round", "test", "bytes_a_thread", "ours", "likwid"])
        for number in range(1, options.runs + 1):
            print(f"round {number} of {options.runs}", file=sys.stderr)
            for title, (size, threads, names, kernels) in tests.items():
                kernels = [kernel for kernel in (k.format(simd) for k in kernels) if kernel in offered]
                if not kernels:
                    continue
                if (number, title) not in known:
                    ours = max(our_rate(program, name, own) for name in names)
                    theirs = max(likwid_rate(kernel, size, threads) for kernel in kernels)
                    out.writerow([number, title, size, f"{ours:.6g}", f"{theirs:.6g}"])
                    file.flush()
                    known[number, title] = ours, theirs
                ours, theirs = known[number, title]
                ratios.setdefault(title, []).append((ours / theirs, ours, theirs))
    print(f"{'':24} {'ours':>10} {'likwid':>10} {'ratio':>7} {'quartiles':>15}   medians of {options.runs} pairs")
    below = 0
    for title, pairs in ratios.items():
        ratio, ours, theirs = (statistics.median(column) for column in zip(*pairs))
        low, _, high = statistics.quantiles([p[0] for p in pairs], n=4, method="inclusive")
        below += ratio < 0.99
        print(f"{title:24} {ours:10.4g} {theirs:10.4g} {ratio:7.3f} {low:7.3f} {high:7.3f}")
    print(f"\n{below} of {len(ratios)} medians below 0.99 (target: none)")
    return 1 if below else 0


def names_found(roofline, folder):
    """What `check` found, worst first; its exit code 1 stands for a FAIL."""
    done = subprocess.run([roofline, "check", folder, "--json"], capture_output=True, text=True)
    if done.returncode > 1:
        give_up(done.stderr)
    return [(f["grade"], f["name"], f["text"]) for f in json.loads(done.stdout)["findings"]
            if f["grade"] in ("FAIL", "WARN")]


def live_faults(options):
    roofline = options.bin / "roofline"
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        give_up("live-faults: one core is all there is, none can be taken away")
    command = [roofline, "run", "--quick", "--device", "cpu", "--filter", options.filter or "^fma_peak"]
    os.sched_setaffinity(0, cpus[:1])
    run(command + ["--out", options.out / "one-core"])
    os.sched_setaffinity(0, cpus)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in cpus]
    try:
        time.sleep(options.seconds)  # until the load average, one of a minute, tells
        run(command + ["--out", options.out / "busy"])
    finally:
        for process in busy:
            process.kill()
            process.wait()
    missed = 0
    for fault, wanted in (("one-core", "fewer-cores"), ("busy", "other-processes")):
        found = names_found(roofline, finished(options.out / fault)[-1])
        named = any(name == wanted for _, name, _ in found)
        missed += not named
        print(f"{fault}: {wanted} {'named' if named else 'MISSED'}")
        for grade, name, text in found:
            print(f"    {grade} {name}: {text}")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, runs in (("same-build", 21), ("slowed-kernel", 20), ("likwid", 10), ("live-faults", 0)):
        command = commands.add_parser(name)
        command.add_argument("--bin", type=Path, required=True, help="folder of roofline and bench_*")
        command.add_argument("--out", type=Path, required=True, help="where the runs go")
        command.add_argument("--filter", help="only tests whose title has it, as in 'L2 read T=1'"
                             if name == "likwid" else "only these benchmarks, as of roofline run")
        if runs > 0:
            command.add_argument("--runs", type=int, default=runs, help=f"runs, a side ({runs})")
        if name == "live-faults":
            command.add_argument("--seconds", type=float, default=45,
                                 help="of load before the run (45)")
        elif name == "same-build":
            command.add_argument("--device", default="cpu", help="cpu, gpu or all (cpu)")
            command.add_argument("--full", type=Path, help="a full run to hold the ceilings against")
        elif name == "slowed-kernel":
            command.add_argument("--slowed", type=Path, required=True, help="slowed_bench_dot")
            command.add_argument("--trials", type=int, default=10, help="trials (10)")
            command.add_argument("--kernel", action="append", help="slow this one; may be repeated")
    options = parser.parse_args()
    if getattr(options, "runs", 2) < 2:
        parser.error("--runs: at least 2")
    return {"same-build": same_build, "slowed-kernel": slowed_kernel,
            "likwid": likwid, "live-faults": live_faults}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
