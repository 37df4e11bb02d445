# roofline check on a made-up GPU box, healthy and with parts missing, live with fewer cores and a
# competing load (as a fake bench tells of it), and on bad input.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/fake_bin.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# judged NAME EXPECTED_CODE FOLDER…: exit code, nothing on stderr, and the golden text if there is one.
judged() {
  local name=$1 expected=$2 code
  shift 2
  "$roofline" check "$@" >"$name.txt" 2>err.txt
  code=$?
  [ $code -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat err.txt; }
  [ -s err.txt ] && { fail "$name: something on stderr"; cat err.txt; }
  [ ! -e "$here/check/$name.txt" ] || diff -u "$here/check/$name.txt" "$name.txt" || failed=1
}

cp -r "$here/../check/made-up-h100" healthy
judged healthy 0 healthy

# 114 SMs at 1.2 GHz under a lowered power limit: 0.95 x 114 x 4096 x 1.2e9 = 532 TFLOP/s.
mkdir other
cp -r healthy other/slow
python3 - <<'PY'
import csv, json
with open("other/slow/machine.json") as file:
    machine = json.load(file)
machine["gpu"]["devices"][0]["power_limit_w"] = 350
json.dump(machine, open("other/slow/machine.json", "w"))
json.dump({"context": {"gpu_sms": "114"}}, open("other/slow/bench/fma-peak.json", "w"))
rows = list(csv.DictReader(open("other/slow/ceilings.csv")))
for row in rows:
    if row["dtype"] == "bf16" and row["exec_unit"] == "wgmma" and "random" in row["condition"]:
        row.update(clock_hz="1.2e9", measured="532.3e12", measured_low="530e12", measured_high="535e12")
with open("other/slow/ceilings.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
PY
judged slow 1 other/slow
judged slow_json 1 other/slow --json
python3 - <<'PY' || fail 'JSON'
import json
report = json.load(open("slow_json.txt"))
peak = next(r for r in report["resources"] if r["key"] == "gpu/compute/bf16/wgmma")
assert report["verdict"] == peak["verdict"] == "FAIL"
assert peak["causes"] == ["fewer-sms", "power-limit-lowered"], peak["causes"]
assert abs(peak["of_advertised"] - 0.538) < 0.001 and peak["advertised_clock_hz"] == 1.83e9
assert [round(f["share"], 3) for f in peak["gap"]] == [0.864, 0.656, 0.950]
assert next(r for r in report["resources"] if r["level"] == "L2")["advertised"] is None
assert next(f for f in report["findings"] if f["name"] == "mig")["grade"] == "PASS"
PY
# 901 TFLOP/s x 3600 s / $2.5 = 1.297e18 FLOP; a latency has no price.
judged priced 0 healthy --price 2.5
grep -q '^price    \$2.5 an hour$' priced.txt || fail 'no price'
grep -Eq '^gpu bf16 wgmma .* 1\.30 EFLOP$' priced.txt || fail 'FLOP a dollar'
grep -Eq '^gpu HBM read .* 4\.[0-9]+ PB$' priced.txt || fail 'bytes a dollar'
judged priced_json 0 healthy --price 2.5 --json
python3 - <<'PY' || fail 'JSON of a price'
import json
report = json.load(open("priced_json.txt"))
for r in report["resources"]:
    if r["resource"] == "latency":
        assert r["per_dollar"] is None, r
    else:
        assert abs(r["per_dollar"] - 1440 * r["measured"]) <= 1e-9 * r["per_dollar"], r
assert report["price_per_hour"] == 2.5
PY
judged 'with a healthy one beside it' 1 other/slow --results .
grep -q '901 TFLOP/s (1)' 'with a healthy one beside it.txt' || fail 'no typical figure'

# Several: each judged, held against each other, the slowest first.
judged side_by_side 1 healthy other/slow
judged side_by_side_json 1 healthy other/slow --json
python3 - <<'PY' || fail 'JSON of several'
import json
out = json.load(open("side_by_side_json.txt"))
assert out["verdict"] == "FAIL" and [box["verdict"] for box in out["boxes"]] == ["PASS", "FAIL"]
peak = next(row for row in out["side_by_side"] if row["key"] == "gpu/compute/bf16/wgmma")
assert [round(share, 3) for share in peak["shares"]] == [1.257, 0.743], peak
PY

# Live: the probes' own programs are faked, the machine's state is this one's.
fake_bin bench_ceilings
run() { "$roofline" run --bin bin --out "$1" --device cpu --filter fma_peak >/dev/null 2>err.txt; }
# The fake machine's CPUs are those from 0 on.
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null && taskset -cp $$ | grep -q ': 0'; then
  first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
  (taskset -cp "$first" $BASHPID >/dev/null; run pinned) || { fail 'run on one core'; cat err.txt; }
  "$roofline" check pinned/*/* >pinned.txt
  grep -Eq '^WARN fewer-cores: 1 of the machine.s [0-9]+ cores are usable' pinned.txt ||
    { fail 'one core of several is not named'; cat pinned.txt; }
fi
FAKE_FAULTS=shared:fma_peak run shared || { fail 'run under load'; cat err.txt; }
"$roofline" check shared/*/* >shared.txt
grep -q '^WARN shared-cores: peaks over all moments are 49.5 %' shared.txt ||
  { fail 'a competing load is not named'; cat shared.txt; }
[ "$(nproc)" -le 2 ] || grep -q '^WARN fewer-threads: measured with 2 threads of ' shared.txt ||
  { fail 'two threads on more cores are not named'; cat shared.txt; }

# refused NAME REGEX ARGUMENTS…: exit code 2 and one line on stderr.
refused() {
  local name=$1 regex=$2 code
  shift 2
  "$roofline" check "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq "$regex" err.txt; then
    fail "$name: exit code $code, expected 2 and one line like /$regex/:"; cat err.txt
  fi
}
# spoilt NAME FILE TEXT: a copy of the healthy folder with one file replaced.
spoilt() { rm -rf "$1"; cp -r healthy "$1"; printf '%s' "$3" >"$1/$2"; }
mkdir empty
refused 'no folder' 'DIR'
refused 'a folder that is not there' '^roofline: nowhere: no such results folder' nowhere
refused 'an empty folder' 'empty/machine.json' empty
refused 'one of several that is not there' '^roofline: nowhere: no such results folder' healthy nowhere
refused 'no price' '^roofline: --price: .*0' healthy --price 0
refused 'a price that is no number' '^roofline: --price: nan is not a number' healthy --price nan
refused 'no root' 'cannot read nowhere' healthy --results nowhere
spoilt a machine.json '{"name": '
refused 'half a machine.json' 'a/machine.json:1: not JSON' a
spoilt b machine.json '[1]'
refused 'a list' 'b/machine.json: is not a JSON object' b
spoilt c machine.json '{"name": 7}'
refused 'a name that is none' "c/machine.json: field 'name' is not a text" c
spoilt d ceilings.csv "$(sed -n 1p healthy/ceilings.csv)"
refused 'no ceilings' 'd/ceilings.csv: has no rows' d
spoilt e trace.csv "$(sed 's/0x0/hot/' healthy/trace.csv)"
refused 'a bad throttle reason' "e/trace.csv:3: column 'throttle': 'hot'" e
spoilt f bench/fma-peak.json ''
refused 'an empty bench file' 'f/bench/fma-peak.json: is empty' f
spoilt g run.json '{"gpu": 3}'
refused 'a GPU that is no text' "g/run.json: field 'gpu' is not a text" g

exit $failed
