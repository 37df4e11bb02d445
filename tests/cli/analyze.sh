# roofline analyze: golden tables, other people's benchmarks, and one line for whatever is wrong.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/analyze" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cp "$here"/*.json "$here"/*.csv .
failed=0

# golden NAME FILE: FILE is what $here/NAME says. GOLDEN_UPDATE=1 writes it anew instead.
golden() {
  if [ -n "${GOLDEN_UPDATE:-}" ]; then cp "$2" "$here/$1"; fi
  diff -u "$here/$1" "$2" || { echo "$1 differs"; failed=1; }
}

# bad REGEX ARGUMENTS…: exit code 2 and one line on stderr that matches.
bad() {
  local regex=$1 code
  shift
  "$roofline" analyze "$@" >out 2>err
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -Eq "$regex" err; then
    echo "analyze $*: exit code $code, expected 2 and one line like /$regex/:"
    cat err
    failed=1
  fi
}

"$roofline" analyze --bench bench.json --ceilings ceilings.csv --out roofline.csv >out 2>err ||
  { echo "exit code $?"; cat err; failed=1; }
golden expected_roofline.csv roofline.csv
golden expected_summary.txt out
grep -q 'skipped dot/avx512.*this CPU has no AVX-512' err || { echo 'error row not listed'; failed=1; }

# Someone's own benchmark, over an advertised chip: 1e12 FLOP in 2 ms, 1e9 bytes.
cat >own.json <<'JSON'
{"context": {}, "benchmarks": [
 {"name": "BM_Mine/1024", "run_type": "iteration", "threads": 1, "real_time": 2.0, "cpu_time": 2.0,
  "time_unit": "ms", "flops": 1e12, "bytes": 1e9}]}
JSON
"$roofline" analyze --bench own.json --chip h100-sxm --device gpu --dtype bf16 --exec-unit wgmma \
  --out own.csv >out 2>err || { echo "own: exit code $?"; cat err; failed=1; }
golden expected_own.csv own.csv
# A name like a probe's, rows without counters and a probe.
cat >mixed.json <<'JSON'
{"context": {}, "benchmarks": [
 {"name": "stream/1024", "run_type": "iteration", "threads": 1, "real_time": 2.0, "time_unit": "ms",
  "flops": 1e6, "bytes": 1e6},
 {"name": "BM_plain", "run_type": "iteration", "threads": 1, "real_time": 2.0, "time_unit": "ms"},
 {"name": "stream/avx2/f32/size:8", "run_type": "iteration", "threads": 1, "real_time": 2.0,
  "time_unit": "ms", "flops": 0, "bytes": 8}]}
JSON
"$roofline" analyze --bench mixed.json --ceilings ceilings.csv --device cpu --dtype f32 \
  --out mixed.csv >out 2>err || { echo "mixed: exit code $?"; cat err; failed=1; }
[ "$(cut -d, -f5,9 mixed.csv)" = "$(printf 'kernel,shape\nstream,1024')" ] || { echo 'mixed:'; cat mixed.csv; failed=1; }
grep -qx "skipped BM_plain: no counters 'flops' and 'bytes'" err &&
  grep -qx 'skipped stream/avx2/f32/size:8: a probe: ceilings come of it, no point' err ||
  { echo 'mixed: not said'; cat err; failed=1; }
# A program: 4 MB of weights take 0.2 ms at least, and it took 1.4 ms.
cat >program.json <<'JSON'
{"context": {}, "benchmarks": [
 {"name": "decode/v/bf16/B:1/T:1/layers:1/kv:bf16/threads:1", "run_type": "iteration", "threads": 1,
  "real_time": 1.4, "time_unit": "ms", "flops": 1e6, "bytes": 4e6, "bytes_DRAM": 4e6,
  "label": "device=cpu;scope=program;parts=qkv glue;part_qkv=matmul/m/bf16/u/f32;part_glue=glue//f32/u/f32;",
  "time_part_qkv": 1.2e-3, "flops_part_qkv": 1e6, "bytes_part_qkv": 4e6, "bytes_DRAM_part_qkv": 4e6,
  "time_part_glue": 0.2e-3, "flops_part_glue": 1, "bytes_part_glue": 0}]}
JSON
"$roofline" analyze --bench program.json --ceilings ceilings.csv --out program.csv \
  --prediction prediction.csv >out 2>err || { echo "program: exit code $?"; cat err; failed=1; }
[ "$(grep -c ,decode/v/bf16/B:1 prediction.csv)" -eq 3 ] || { echo 'prediction.csv:'; cat prediction.csv; failed=1; }
grep -q '^0 of 1 steps between T_lower and T_upper' out || { echo 'no table of steps'; cat out; failed=1; }
sed 's/"time_part_glue": 0.2e-3, //' program.json >wrong.json
bad "wrong.json: benchmarks\[0\] 'decode.*counter 'time_part_glue' is not a number above 0" --bench wrong.json

bad "own.json: benchmarks\[0\] 'BM_Mine/1024': device is not known.*--device" \
  --bench own.json --dtype f32
bad "dtype is not known.*--dtype" --bench own.json --device cpu
bad "^roofline: --dtype 'f99' is not an element type" --bench own.json --device cpu --dtype f99
bad '^roofline: .*--device' --bench own.json --device tpu
bad "^roofline: unknown chip 'h101'" --bench own.json --chip h101
bad '^roofline: .*--chip' --bench own.json --chip h100-sxm --ceilings ceilings.csv
bad '^roofline: --chip h100-sxm: is no cpu, which BM_Mine/1024 ran on' \
  --bench own.json --chip h100-sxm --device cpu --dtype f32
bad '^roofline: .*--bench' --ceilings ceilings.csv
bad '^roofline: .*--nonsense' --bench own.json --nonsense

bad '^roofline: cannot read nowhere.json: No such file' --bench nowhere.json
bad '^roofline: cannot read .: Is a directory' --bench .
: >empty.json
bad '^roofline: empty.json: is empty' --bench empty.json
head -c 3000 bench.json >cut.json
bad '^roofline: cut.json:[0-9]+: not JSON, or cut off, at byte 3000 of 3000' --bench cut.json
head -c 4096 /dev/urandom >noise.json
bad '^roofline: noise.json:[0-9]+: not JSON' --bench noise.json
echo '{"benchmarks": {}}' >object.json
bad "^roofline: object.json: 'benchmarks' is object, not an array" --bench object.json
for field in flops bytes real_time; do
  for value in '"x"' NaN -1 '[]'; do
    sed "s/\"$field\": [0-9e.]*/\"$field\": $value/" own.json >wrong.json
    bad "wrong.json: benchmarks\[0\] 'BM_Mine/1024': .*'$field'" --bench wrong.json --device cpu --dtype f32
  done
done
bad '^roofline: ceilings.csv:1: .*' --bench ceilings.csv
bad '^roofline: bench.json:3: 2 fields where the header has 1' --bench bench.json --ceilings bench.json
bad '^roofline: empty.json: is empty' --bench bench.json --ceilings empty.json
sed '3s/12500000000/fast/' ceilings.csv >wrong.csv
bad "^roofline: wrong.csv:3: column 'measured': 'fast' is not a finite number" \
  --bench bench.json --ceilings wrong.csv
sed '3s/,12500000000,/,-1,/' ceilings.csv >wrong.csv
bad "^roofline: wrong.csv:3: column 'measured': -1 is not above 0" --bench bench.json --ceilings wrong.csv
sed '4s/,ok,/,ok/' ceilings.csv >wrong.csv
bad '^roofline: wrong.csv:4: 22 fields where the header has 23' --bench bench.json --ceilings wrong.csv
sed '1s/measured,/mesured,/' ceilings.csv >wrong.csv
bad "^roofline: wrong.csv: no column 'measured'" --bench bench.json --ceilings wrong.csv
sed '3s/^[^,]*,/another-box,/' ceilings.csv >wrong.csv
{ cat ceilings.csv; sed -n 3p ceilings.csv; } >twice.csv
bad '^roofline: twice.csv:[0-9]+: the same ceiling as twice.csv:3' --bench bench.json --ceilings twice.csv
echo hello >hello.txt
bad "^roofline: hello.txt: no column 'device'" --bench bench.json --ceilings hello.txt
head -1 ceilings.csv >header.csv
"$roofline" analyze --bench bench.json --ceilings header.csv >out 2>err &&
  grep -q '^roofline: header.csv has no rows: the points have no roof' err ||
  { echo 'a table without rows:'; cat err; failed=1; }
# What is read is not written over, by whatever name.
cp bench.json kept.json
ln -s bench.json linked.json
for out in bench.json linked.json ./ceilings.csv; do
  bad "^roofline: --out $out: is read by the same command" --bench bench.json --ceilings ceilings.csv --out "$out"
done
for both in both.csv ./both.csv; do
  bad "^roofline: --prediction $both: is read by the same command" \
    --bench bench.json --ceilings ceilings.csv --out both.csv --prediction $both
done
cmp bench.json kept.json || { echo 'an input was written over'; failed=1; }
bad "^roofline: wrong.csv:3: column 'machine': 'another-box', but '.*' above: one machine at a time" \
  --bench bench.json --ceilings wrong.csv
bad '^roofline: --draw requires --ceilings' --bench bench.json --draw drawn
bad '^roofline: --draw \.: is there already: name a new folder' \
  --bench bench.json --ceilings ceilings.csv --draw . --out not-yet.csv
[ ! -e not-yet.csv ] || { echo 'written although the folder to draw into is taken'; failed=1; }
bad '^roofline: --draw bench.json/x: Not a directory' \
  --bench bench.json --ceilings ceilings.csv --draw bench.json/x
"$roofline" analyze --bench bench.json --ceilings ceilings.csv --draw drawn/here >out 2>err &&
  cmp drawn/here/roofline.csv roofline.csv && cmp drawn/here/ceilings.csv ceilings.csv &&
  [ ! -e drawn/here/prediction.csv ] &&
  { [ -s drawn/here/report.html ] || grep -q 'no page' out; } || {
  echo '--draw:'
  cat err
  failed=1
}
echo '{"benchmarks": []}' >none.json
bad "^roofline: none.json: 'benchmarks' is empty" --bench none.json
bad '^roofline: ./bench.json: given twice' --bench bench.json ./bench.json
mkdir odd
echo 'raise ValueError("odd")' >odd/report.py
ROOFLINE_REPORT=$work/odd "$roofline" analyze --bench bench.json --ceilings ceilings.csv \
  --draw broken/here >out 2>err
[ $? -eq 2 ] &&
  grep -q '^roofline: broken/here: no pictures, no page: exit code 1: ValueError: odd' err || {
  echo 'a script that breaks:'
  cat err
  failed=1
}
bad '^roofline: cannot write .*nowhere/x.csv: No such file' --bench bench.json --out nowhere/x.csv
if [ -c /dev/full ]; then
  bad '^roofline: cannot write' --bench bench.json --out /dev/full/x.csv
  "$roofline" analyze --bench bench.json --out unheard.csv >out 2>/dev/full
  [ $? -eq 0 ] && [ -s unheard.csv ] || { echo 'lost for want of a stderr'; failed=1; }
fi
exit $failed
