# roofline's exit codes, its one line for bad usage, and its JSON.
set -u
roofline=$1/roofline
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME CODE STDERR_REGEX ARGUMENTS…: exit code, and one line on stderr (none if the code is 0).
expect() {
  local name=$1 code=$2 regex=$3
  shift 3
  "$roofline" "$@" >"$work/out" 2>"$work/err"
  local got=$? lines
  lines=$(wc -l <"$work/err")
  if [ "$got" -ne "$code" ]; then
    echo "$name: exit code $got, expected $code"; cat "$work/err"; failed=1
  elif [ "$code" -ne 0 ] && { [ "$lines" -ne 1 ] || ! grep -Eq "$regex" "$work/err"; }; then
    echo "$name: stderr has $lines lines, or does not match /$regex/:"; cat "$work/err"; failed=1
  elif [ "$code" -eq 0 ] && [ "$lines" -ne 0 ]; then
    echo "$name: something on stderr:"; cat "$work/err"; failed=1
  fi
}

# shows TEXT: the last output holds it.
shows() { grep -Fq -- "$1" "$work/out" || { echo "output lacks '$1':"; cat "$work/out"; failed=1; }; }

# json EXPRESSION: true of the last output, read as JSON into d.
json() {
  python3 -c "import json,sys; d=json.load(open(sys.argv[1])); sys.exit(0 if ($1) else 1)" \
    "$work/out" || { echo "JSON: not so: $1"; failed=1; }
}

expect version 0 '' --version
shows 'roofline '
expect help 0 '' --help
expect 'help of machine' 0 '' machine --help
expect 'help of specs' 0 '' specs --help
expect 'no subcommand' 2 '^roofline: ' 
expect 'unknown subcommand' 2 '^roofline: .*nonsense' nonsense
expect 'unknown flag, no subcommand' 2 "^roofline: unknown option '--foo' \(see --help\)$" --foo run
expect 'unknown flag' 2 '^roofline: .*--nonsense' specs --nonsense
expect 'a name of two lines' 2 "^roofline: unknown chip 'l4\?x'" specs $'l4\nx'
expect 'too many names' 2 '^roofline: not expected: l40s l40 \(see --help\)$' specs l4 l40s l40

expect machine 0 '' machine
shows 'microarchitecture'
shows 'GPU'
shows 'advertised'
expect 'machine as JSON' 0 '' machine --json
json 'd["usable"]["threads"] >= 1 and len(d["usable"]["cpus"]) >= d["usable"]["threads"]'
json 'd["gpu"]["status"] in ("none", "unusable", "ok")'
json '"advertised" in d["cpu"] and all("advertised" in g for g in d["gpu"]["devices"])'

expect specs 0 '' specs
shows 'h100-sxm'
shows 'tpu-v5e'
expect 'one chip' 0 '' specs h100-sxm
shows '1830 MHz'
shows '989.40'
shows 'NVIDIA H100 Tensor Core GPU datasheet'
expect 'alias' 0 '' specs h200
shows 'h200-sxm'
expect 'one chip as JSON' 0 '' specs h100-sxm --json
json 'd["sms"] == 132 and d["bandwidth_bytes_per_s"] == 3.352e12'
json 'any(p["dtype"] == "bf16" and abs(p["ridge_intensity"] - 295.2) < 0.05 for p in d["peaks"])'
expect 'TPU as JSON' 0 '' specs tpu-v5e --json
json 'd["sms"] is None and d["vector_clock_hz"] is None'
expect 'all as JSON' 0 '' specs --json
json 'len(d) == 19'
expect 'capitals' 0 '' specs H100-SXM
shows 'h100-sxm'
expect 'nothing near' 2 "^roofline: unknown chip 'foo'; .roofline specs. lists" specs foo
expect 'unknown chip' 2 "^roofline: unknown chip 'h100-sxn'; near it: h100-sxm" specs h100-sxn
expect 'empty chip name' 2 "^roofline: unknown chip ''" specs ''

exit $failed
