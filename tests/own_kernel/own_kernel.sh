# A benchmark program of one's own: installed library, example project, analyze, run --bench.
set -u
build=$1 example=$2 compiler=$3
roofline=$build/bin/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
ninja=$(command -v ninja)
fail() { echo "FAILED: $*"; failed=1; }

# 1. Install into an empty prefix, and build the example against it alone.
cmake --install "$build" --prefix "$work/prefix" >install.log 2>&1 || { cat install.log; exit 1; }
{ cmake ${ninja:+-G Ninja} -S "$example" -B example -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" &&
  cmake --build example; } >build.log 2>&1 || { cat build.log; exit 1; }
grep -q "^roofline_DIR:PATH=$work/prefix/" example/CMakeCache.txt || fail 'found another roofline'
example/my_bench --benchmark_out=mine.json --benchmark_repetitions=3 --benchmark_min_time=0.002 \
  >out.txt 2>&1 || { cat out.txt; fail 'my_bench'; }
if [ -x example/my_gpu_bench ]; then
  example/my_gpu_bench >out.txt 2>&1 || { cat out.txt; fail 'my_gpu_bench'; }
  grep -E 'ERROR OCCURRED|manual_time' out.txt | head -1
else
  echo 'SKIPPED: the GPU half of the example (no nvcc)'
fi

# check FILE EXPRESSION: true in Python, with `bench` (its rows) or `csv` (its rows).
check() {
  python3 - "$1" "$2" <<'PY' || fail "$1: not so: $2"
import csv as reader, json, sys
path, expression = sys.argv[1:]
with open(path, newline="") as file:
    if path.endswith(".csv"):
        csv = list(reader.DictReader(file))
    else:
        bench = [row for row in json.load(file)["benchmarks"] if row["run_type"] == "iteration"]
sys.exit(0 if eval(expression) else 1)
PY
}
check mine.json "{(row['name'], row['flops'], row['bytes']) for row in bench} == {(f'saxpy/{n}/real_time', 2 * n, 12 * n) for n in (2048, 16384, 16777216)}"
check mine.json "all(abs(row['intensity'] - 1 / 6) < 1e-12 for row in bench)"
check mine.json "all(abs(row['FLOP/s'] * row['real_time'] * 1e-9 / row['flops'] - 1) < 0.01 for row in bench)"
check mine.json "all(abs(row['B/s'] * row['real_time'] * 1e-9 / row['bytes'] - 1) < 0.01 for row in bench)"
check mine.json "all(3e8 < row['clock_hz'] < 1e10 for row in bench)"
check mine.json "all(row['label'] == 'device=cpu;threads=1;dtype=f32;' for row in bench)"

# 2. On the chart: its points, by `analyze` and by `run --bench`.
"$roofline" analyze --bench mine.json --ceilings "$here/ceilings.csv" --out mine.csv >out.txt 2>&1 ||
  { cat out.txt; fail 'analyze'; }
check mine.csv "[(r['kernel'], r['shape'], r['dtype'], r['device'], int(r['samples']) + int(r['samples_rejected'])) for r in csv] == [('saxpy', f'{n}', 'f32', 'cpu', 3) for n in (2048, 16384, 16777216)]"
check mine.csv "all(r['roof'] and r['fraction_of_roof'] and r['clock_hz'] for r in csv)"

mkdir bin
interpreter="#!$(python3 -c 'import sys; print(sys.executable)') -SE"
sed "1s|.*|$interpreter|" "$here/../cli/fake_bench.py" >bin/bench_ceilings
sed "1s|.*|$interpreter|" "$here/fake_own.py" >fake_own
chmod +x bin/bench_ceilings fake_own
cp "$(command -v cat)" stopped && chmod -x stopped

measure() {
  local name=$1 expected=$2 code
  shift 2
  "$roofline" run --bin bin --out "out/$name" --device cpu "$@" >"$name.out" 2>"$name.err"
  code=$?
  folder=$(ls -d "out/$name"/*/*/ 2>/dev/null | tail -1)
  [ $code -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat "$name.err"; }
}
measure real 0 --bench example/my_bench --bench ./fake_own
check "${folder}roofline.csv" "{r['kernel'] + ' ' + r['shape'] for r in csv} == {'saxpy 2048', 'saxpy 16384', 'saxpy 16777216', 'mine 1', 'mine 2'}"
# Nine samples, and five for each of two further rounds where they disagree.
check "${folder}roofline.csv" "all(int(r['samples']) + int(r['samples_rejected']) in (9, 14, 19) for r in csv)"
check "${folder}roofline.csv" "all(r['roof'] for r in csv)"
[ -s "${folder}bench/own-my-bench.json" ] || fail 'real: no own-my-bench.json'
grep -rq "$work" "$folder" && fail 'real: a path is in the folder'
"$roofline" run --bin bin --resume "$folder" >out.txt 2>err.txt
[ $? -eq 2 ] && grep -q 'began with --bench my_bench --bench fake_own' err.txt || fail 'resume without --bench'
"$roofline" run --bin bin --resume "$folder" --bench example/my_bench --bench ./fake_own >out.txt 2>&1 ||
  { cat out.txt; fail 'resume with --bench'; }

# A program that breaks later on costs its own benchmark only.
FAKE_OWN=crash2 measure crash2 1 --bench ./fake_own
grep -q '^failed: mine/2: killed by SIGSEGV' crash2.err || fail 'crash2: reason'
check "${folder}roofline.csv" "{r['kernel'] + ' ' + r['shape'] for r in csv} == {'mine 1'}"

# 3. What cannot work ends before anything is measured: exit code 2, one line, no results folder.
refused() {
  local mode=$1 regex=$2 code
  shift 2
  FAKE_OWN=$mode "$roofline" run --bin bin --out out/refused --device cpu "$@" >out.txt 2>err.txt
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <err.txt)" -ne 1 ] || ! grep -Eq "$regex" err.txt; then
    fail "run $* ($mode): exit code $code, expected 2 and one line like /$regex/:"
    cat err.txt
  fi
  ls out/refused/*/*/ >/dev/null 2>&1 && fail "run $* ($mode): left a results folder"
}
refused '' '^roofline: --bench nowhere: No such file or directory$' --bench nowhere
refused '' '^roofline: --bench \.: not an executable file$' --bench .
refused '' '^roofline: --bench ./stopped: not an executable file$' --bench ./stopped
refused '' '^roofline: --bench [^ ]*/true: lists no benchmarks; is it a Google Benchmark program\?$' --bench "$(type -P true)"
refused '' '^roofline: --bench [^ ]*/ls: listing: exit code 2: .*is it a Google Benchmark program\?$' --bench "$(type -P ls)"
refused '' '^roofline: --bench [^ ]*/echo: .*no JSON on its output, or no benchmark of that name' --bench "$(type -P echo)"
refused '' "^roofline: fake_own: another benchmark has the name 'mine/1' too$" --bench ./fake_own --bench ./fake_own
refused twice "^roofline: fake_own: another benchmark has the name 'mine/1' too$" --bench ./fake_own
refused probe "^roofline: --bench ./fake_own: 'stream/mine/f32/size:1' has a probe's name" --bench ./fake_own
refused crashlist '^roofline: --bench ./fake_own: listing: killed by SIGSEGV$' --bench ./fake_own
refused crash '^roofline: --bench ./fake_own: mine/1: killed by SIGSEGV$' --bench ./fake_own
refused hang '^roofline: --bench ./fake_own: mine/1: no end after 1 s, killed$' --bench ./fake_own --timeout 1
refused garbage '^roofline: --bench ./fake_own: mine/1: no JSON on its output' --bench ./fake_own
refused nocounters "^roofline: --bench ./fake_own: benchmarks\[0\] 'mine/1': no counter 'flops'" --bench ./fake_own
refused nocounters "^roofline: --bench ./fake_own: benchmarks\[0\] 'mine/2': no counter 'flops'" --bench ./fake_own --filter /2
refused nodevice "^roofline: --bench ./fake_own: benchmarks\[0\] 'mine/1': device is not known" --bench ./fake_own
exit $failed
