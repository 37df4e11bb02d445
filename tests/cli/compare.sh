# roofline compare on made-up runs: golden text, a kernel slowed by 5 %, the same build, bad input.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
runs() { python3 "$here/compare_runs.py" "$@"; }

# compared NAME EXPECTED_CODE ARGUMENTS…: exit code, and nothing on stderr.
compared() {
  local name=$1 expected=$2 code
  shift 2
  "$roofline" compare "$@" >"$name" 2>err.txt
  code=$?
  [ $code -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat err.txt; }
  [ -s err.txt ] && { fail "$name: something on stderr"; cat err.txt; }
}

# Twelve runs a side: the slowed kernel is named, and nothing else.
runs a 12 1
runs same 12 2
runs slow 12 3 v2
compared slow.txt 1 a slow --fail-below 0.97
diff -u "$here/compare/slow.txt" slow.txt || failed=1
compared allowed.txt 0 a slow --fail-below 0.90
compared told.txt 0 a slow
compared same.txt 0 a same --fail-below 1
grep -q '^0 of 7 differences are real' same.txt || { fail 'the same build'; cat same.txt; }
compared slow.json 1 a slow --fail-below 0.97 --json
python3 - <<'PY' || fail 'JSON'
import json
c = json.load(open("slow.json"))
assert c["method"] == "mann-whitney" and c["a"]["runs"] == c["b"]["runs"] == 12
assert [e["name"] for e in c["entries"] if e["real"]] == \
    ["cpu dot/v2/f32/N:1000/temp:warm/threads:1"]
slow = next(e for e in c["entries"] if e["real"])
assert abs(slow["own"]["value"] - 1 / 1.05) < 0.015
assert slow["own"]["low"] < 1 / 1.05 < slow["own"]["high"] and slow["ratio"]["high"] > 1
assert slow["p"] < 0.01 and slow["b"] > slow["a"] and slow["unit"] == "s"
assert c["changes"] == [{"field": "state/governor", "a": "performance", "b": "powersave"},
                        {"field": "compiler", "a": "12", "b": "13"}]
peak = next(e for e in c["entries"] if e["kind"] == "ceiling")
assert peak["name"] == "cpu compute/f32/fma_peak/simd-avx2/threads:1"
assert peak["unit"] == "FLOP/s" and 4e10 < peak["a"] < 6e10
PY

# One run a side: too few for 5 %, and it says so.
compared one.txt 0 a/run00 slow/run00 --fail-below 1
diff -u "$here/compare/one.txt" one.txt || failed=1

# Another build is a change.
cp -r a/run00 built
cp -r slow/run00 rebuilt
echo '{"builds": ["0.1.0 aaaaaaa"], "suite": "quick"}' >built/run.json
echo '{"builds": ["0.1.0 bbbbbbb"], "suite": "full"}' >rebuilt/run.json
compared builds.txt 0 built rebuilt
grep -qx '  builds/0: "0.1.0 aaaaaaa" -> "0.1.0 bbbbbbb"' builds.txt &&
  grep -qx '  suite: "quick" -> "full"' builds.txt || { fail 'builds'; cat builds.txt; }
grep -q '^note ' builds.txt && { fail 'one run is told to differ'; cat builds.txt; }
# A side should be of one build.
mkdir mixed
cp -r built rebuilt mixed
compared mixed.txt 0 mixed a/run01
grep -qx 'note   the runs of A differ in builds: 0.1.0 aaaaaaa, 0.1.0 bbbbbbb' mixed.txt &&
  grep -qx 'note   the runs of A differ in suite: full, quick' mixed.txt || { fail 'mixed'; cat mixed.txt; }
compared mixed.json 0 a/run01 mixed --json
python3 -c 'import json; assert json.load(open("mixed.json"))["mixed"][1] == "the runs of B differ in suite: full, quick"' ||
  fail 'mixed as JSON'

# refused NAME REGEX ARGUMENTS…: exit code 2 and one line on stderr.
refused() {
  local name=$1 regex=$2 code
  shift 2
  "$roofline" compare "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq "$regex" err.txt; then
    fail "$name: exit code $code, expected 2 and one line like /$regex/:"; cat err.txt
  fi
}
mkdir empty
runs other 1 4
sed -i 's/"dot\//"sum\//g; s/"fma_peak/"top/g' other/bench/all.json
refused 'no folders' 'A'
refused 'one folder' 'B' a
refused 'a folder that is not there' '^roofline: nowhere: no such results folder' a nowhere
refused 'an empty folder' '^roofline: empty: neither a results folder' empty a
refused 'nothing in common' '^roofline: a and other have no ceiling and no benchmark in common' a other
echo '[]' >rebuilt/run.json
refused 'a run.json that is a list' '^roofline: rebuilt/run.json: is not a JSON object' built rebuilt
refused 'a run on both sides' '^roofline: a/run00 is on both sides' a a/run00
refused 'no ratio' 'fail-below' a slow --fail-below soon
refused 'a ratio that is no number' '^roofline: --fail-below: nan is not a number' a slow --fail-below nan
refused 'a ratio above 1' 'fail-below' a slow --fail-below 1.5
cp -r other broken
echo '{"context": {}' >broken/bench/all.json
refused 'half a JSON file' 'broken/bench/all.json:.*not JSON' a broken
tar -C broken -cJf broken/bench.tar.xz bench && rm -r broken/bench
refused 'half a JSON file, packed' '^roofline: broken/bench.tar.xz: bench/all.json:.*not JSON' a broken
cp -r a/run00 flat
echo '[]' >flat/machine.json
refused 'a machine.json that is a list' 'flat/machine.json: is not a JSON object' a flat
echo '{"cpu": {"microarchitecture": 3}}' >flat/machine.json
refused 'a field of another type' "flat/machine.json: field 'cpu/microarchitecture'" a flat

exit $failed
