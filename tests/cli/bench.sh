# The bench programs as Google Benchmark programs of their own: cases by hand, bad flags, formats.
set -u
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# bad REGEX PROGRAM ARGUMENTS…: exit code 2 and a last line on stderr that matches.
bad() {
  local regex=$1 program=$2 code
  shift 2
  "$bin/$program" --device=cpu "$@" >"$work/out" 2>"$work/err"
  code=$?
  if [ $code -ne 2 ] || [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -Eq -- "$regex" "$work/err"; then
    echo "$program $*: exit code $code, expected 2 and one line like /$regex/:"
    cat "$work/err"
    failed=1
  fi
}

# good PROGRAM ARGUMENTS…: exit code 0; its output is $work/out.
good() {
  local program=$1
  shift
  "$bin/$program" --benchmark_min_time=0.001 "$@" >"$work/out" 2>"$work/err" ||
    { echo "$program $*: exit code $?"; cat "$work/err"; failed=1; }
}

bad "--shape: 'M' is not key:value" bench_matmul --shape=M
bad "--shape: 'N' stands there twice" bench_dot --shape=N:1000/N:2000
bad '--shape: temp:clod \(known: warm, cold\)' bench_dot --shape=N:1000/temp:clod
bad "dot has no 'foo'" bench_dot --shape=N:1000/foo:1
bad "dtype 'f99'" bench_dot --shape=N:1000 --dtype=f99
bad 'N:0' bench_dot --shape=N:0
bad '^[^ ]*: --threads: 1024 asked for' bench_dot --shape=N:1000 --threads=1024
bad '^[^ ]*: --dtype and --threads are of a --shape' bench_dot --threads=1
bad '^[^ ]*: --dtype and --threads are of a --shape' bench_dot --dtype=bf16
bad "matmul has no (key )?'foo'" bench_matmul --shape=M:4/N:4/K:4/foo:1
bad '--suite' bench_dot --suite=some
bad "unknown argument 'nonsense'" bench_dot nonsense

# What Google Benchmark would answer with exit code 0 or 1, or with an empty file.
echo kept >"$work/kept.json"
bad "no benchmark's name has 'nomatch'" bench_dot --benchmark_filter=nomatch --benchmark_out="$work/kept.json"
[ "$(cat "$work/kept.json")" = kept ] || { echo 'a filter that finds nothing empties the file'; failed=1; }
bad 'csv: rows have different counters' bench_dot --benchmark_format=csv
bad 'cannot write /nowhere/x.json: No such file' bench_dot --benchmark_out=/nowhere/x.json
bad 'passes need a file' bench_dot --passes=2
one='--shape=N:1000 --threads=1 --benchmark_filter=/scalar/ --benchmark_min_time=0.001'
if [ -c /dev/full ]; then
  for passes in '' --passes=2; do
    "$bin/bench_dot" --device=cpu $one $passes --benchmark_out=/dev/full >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] && tail -n 1 "$work/err" | grep -q 'cannot write /dev/full: .*\(full\|No space left\)' ||
      { echo "a full disk behind the file, $passes:"; cat "$work/err"; failed=1; }
  done
  for what in "$one" --list; do
    "$bin/bench_dot" --device=cpu $what >/dev/full 2>"$work/err"
    [ $? -eq 2 ] && grep -q 'stdout\|No space left' "$work/err" || { echo "a full disk behind stdout, $what:"; cat "$work/err"; failed=1; }
  done
fi
grep -q 'built as DEBUG' "$work/err" && { echo 'a warning of the library that is none'; failed=1; }
# A shell without stdout or stderr: the file must not get what is printed.
"$bin/bench_dot" --device=cpu $one --benchmark_out="$work/out.json" >&- 2>"$work/err"
"$bin/bench_dot" --device=cpu $one --benchmark_out="$work/err.json" >"$work/out" 2>&-
for file in out err; do
  python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["benchmarks"]' "$work/$file.json" ||
    { echo "closed std$file: the JSON is spoilt"; failed=1; }
done
OMP_PROC_BIND=true bad 'OMP_PROC_BIND is set.*unset it' bench_dot $one
# Memory that whole pages take, not the bytes in them.
"$bin/bench_dot" --device=cpu --shape=N:1/temp:cold --dtype=s8 --threads=1 --benchmark_filter=/scalar/ >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'needs [0-9]* MB, this process may use' "$work/out" "$work/err" ||
  { echo 'a cold N:1 is not refused:'; cat "$work/out" "$work/err"; failed=1; }
bad 'batch:1099511627776 is too many' bench_attention \
  --shape=batch:1099511627776/context:5/lengths:ragged/heads:8/kv_heads:8/head_dim:64

# What no kernel of a GPU could do is a matter of the CPU's where there is none.
good bench_matmul --shape=M:3000000/N:4/K:4 --threads=1 --benchmark_filter=avx2_packed
good bench_dot --shape=N:1000 --threads=1 --benchmark_filter=/scalar/ --benchmark_format=json
python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["benchmarks"]' "$work/out" ||
  { echo 'json on the console:'; head -5 "$work/out"; failed=1; }
good bench_ceilings --shape=size:65536 --dtype=u64 --threads=1
grep -q '^chase/' "$work/out" || { echo 'the latency probe cannot be asked for'; failed=1; }
exit $failed
