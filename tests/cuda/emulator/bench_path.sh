#!/usr/bin/env bash
# usage: bench_path.sh BIN_DIR EMULATED_BIN_DIR FAKE_NVML
# The way of a GPU's benchmarks, with the emulated GPU in a GPU's place: bench_* calibrate, verify and
# sample kernels, `roofline run` starts them and sets its roofs over them. A launch takes 200 ms there,
# whatever it does, so that every figure is known: seconds are launches.
set -u
bin=$1 emulated=$2 fake_nvml=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

mkdir driver
cp "$fake_nvml" driver/libnvidia-ml.so.1
export LD_LIBRARY_PATH=$work/driver EMULATED_LAUNCH_MS=200
# Sizes follow L2 and the memory: small ones, as an emulated thread is a thousand times slower.
export EMULATED_L2_BYTES=$((1 << 20)) EMULATED_MEMORY_BYTES=$((320 << 20))

some='^(stream/.*access:read/|launch/|link/|chase/|fma_peak/sm80_cuda_core/f64/data:random/threads|dot/sm80_v(3|6).*/f64/.*/temp:warm)'
"$bin/roofline" run --bin "$emulated" --device gpu --out results --filter "$some" >out.txt 2>err.txt ||
  { fail "run: exit code $?"; cat out.txt err.txt; }
folder=$(ls -d results/*/*/)
grep -q '^failed:' err.txt && { cat err.txt; fail 'benchmarks failed'; }
[ "$(head -1 out.txt)" = nvidia-h100-80gb-hbm3 ] || { head -1 out.txt; fail 'not headed by the GPU'; }

# What `run` has no case small enough for: Hopper's kernels too, with copies of the inputs in turns,
# under the roofs a chip is advertised with.
mkdir shaped
# shaped OPERATION DTYPE SHAPE
shaped() {
  EMULATED_COMPUTE_CAPABILITY=9 EMULATED_L2_BYTES=65536 "$emulated/bench_$1" --device gpu \
    --dtype "$2" --shape "$3" --passes 3 --benchmark_min_time=0.5 \
    --benchmark_out="shaped/$1_$2.json" >out.txt 2>&1 && return
  fail "bench_$1: exit code $?"
  cat out.txt
}
shaped matmul bf16 M:130/N:264/K:128/temp:cold
shaped matmul e4m3 M:130/N:272/K:128/pack:pre/temp:cold
shaped attention e4m3 \
  batch:3/context:100/lengths:ragged/heads:8/kv_heads:2/head_dim:128/layout:paged/page:16/temp:cold
shaped decode bf16 B:2/T:64/layers:2/kv:bf16/D:128/F:256/N:4/K:2/H:64
"$bin/roofline" analyze --bench shaped/*.json --chip h100-sxm --out shaped/roofline.csv \
  --prediction shaped/prediction.csv >out.txt 2>err.txt ||
  { fail "analyze: exit code $?"; cat err.txt; }

python3 - "$folder" <<'PYTHON' || failed=1
import csv, json, sys
from pathlib import Path

run, shaped = Path(sys.argv[1]), Path("shaped")
faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# What the first pass settles, the others repeat.
for file in sorted([*(run / "bench").glob("*.json"), *shaped.glob("*.json")]):
    iterations = {}
    for row in json.loads(file.read_text())["benchmarks"]:
        expect(not row.get("error_occurred"), f"{file.name}: {row['name']}: an error")
        if row.get("run_type") == "iteration":
            name = row["name"].removesuffix("/manual_time").split("/iterations:")[0]
            iterations.setdefault(name, []).append(row["iterations"])
    expect(iterations, f"{file.name}: no samples")
    for name, counts in iterations.items():
        expect(len(counts) >= 3 and len(set(counts)) == 1, f"{name}: {counts} iterations")

ceilings = read(run / "ceilings.csv")
expect({row["clock_hz"] for row in ceilings} == {"1500000000"}, "a ceiling at another clock")
have = {(row["resource"], row["level"], row["operation"]) for row in ceilings}
for wanted in (("compute", "", "fma_peak"), ("bandwidth", "L1", "read"), ("bandwidth", "L2", "read"),
               ("latency", "shared", "chase"), ("latency", "launch", "sm80_graph"),
               ("link", "sm80_pinned", "h2d")):  # fmt: skip
    expect(wanted in have, f"no ceiling {wanted} among {sorted(have)}")

# Launches of a call: one, two where parts of a sequence are combined, 24 of a step of two layers.
LAUNCHES = {"dot/sm80_v3_shuffle": 1, "dot/sm80_v6_single": 1, "matmul/sm80_v8_mma": 1,
            "matmul/sm90a_v13_store": 1, "matmul/sm90a_v14_streamk": 1,
            "matmul/sm90a_streamk_pairs": 1, "matmul/sm90a_v16_quarters": 1,
            "matmul/sm90a_v17_behind": 1, "matmul/sm90a_rows_cluster": 1,
            "attention/sm80_v1_warp": 1, "attention/sm80_v4_mma": 2, "attention/sm90a_v5_tma": 2,
            "attention/sm90a_v6_fused": 1, "attention/sm90a_v7_bytes": 1,
            "attention/sm90a_v8_queue": 1, "decode/sm80_mma": 24}  # fmt: skip
own, chip = read(run / "roofline.csv"), read(shaped / "roofline.csv")
times = {}
for row in own + chip:
    if not row["parent"]:
        times.setdefault(f"{row['kernel']}/{row['variant']}", set()).add(float(row["time_s"]))
for name, launches in LAUNCHES.items():
    expect(times.get(name) == {launches / 5}, f"{name}: {times.get(name)} s")
expect({row["machine"] for row in own} == {"nvidia-h100-80gb-hbm3"}, "a point of another machine")
beyond = {row["kernel"] for row in chip if row["level"] == "HBM" and row["roof_flops_per_s"]}
expect({"matmul", "attention", "decode", "decode_qkv"} <= beyond, f"under a roof of HBM: {beyond}")

step, *parts = read(shaped / "prediction.csv")
expect(step["part"] == "step" and len(parts) == 6, f"parts: {[part['part'] for part in parts]}")
total = sum(float(part["time_s"]) for part in parts)
expect(abs(total - float(step["time_s"])) < 1e-6, f"parts take {total} s, {step['time_s']} the step")

watts = [row["power_w"] for row in read(run / "trace.csv") if row["device"] == "gpu"]
expect(watts and all(watts), "no watts in trace.csv")
for fault in faults:
    print("FAILED:", fault)
sys.exit(bool(faults))
PYTHON
exit $failed
