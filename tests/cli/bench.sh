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

# What no kernel of a GPU could do is a matter of the CPU's where there is none.
good bench_matmul --shape=M:3000000/N:4/K:4 --threads=1 --benchmark_filter=avx2_packed
for format in json csv; do
  good bench_dot --shape=N:1000 --threads=1 --benchmark_filter=/scalar/ --benchmark_format=$format
  case $format in
    json) python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["benchmarks"]' "$work/out" ;;
    csv) grep -q '^name,iterations,' "$work/out" ;;
  esac || { echo "--benchmark_format=$format:"; head -5 "$work/out"; failed=1; }
done
exit $failed
