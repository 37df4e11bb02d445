# scripts/peers/torch_attention.py: bad input, and where PyTorch is, its rows beside ours.
set -u
roofline=$1/roofline
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
torch() { python3 "$repo/scripts/peers/torch_attention.py" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# refused WORDS ARGUMENTS…: exit code 2 and one line with these words.
refused() {
  local words=$1 code
  shift
  torch "$@" >out.txt 2>err.txt
  code=$?
  [ $code -eq 2 ] || fail "$*: exit code $code"
  grep -qF -e "$words" err.txt && [ "$(grep -c "torch_attention.py: " err.txt)" -eq 1 ] ||
    { fail "$*: not '$words' but:"; cat err.txt; }
}

refused "nothing: no bench/attention_*.json" nothing
refused "--filter: missing )" nothing --filter '('
mkdir -p cut/bench
echo '{"context": {}, "benchmarks": [' >cut/bench/attention_a.json
refused "cut/bench/attention_a.json: not Google Benchmark's JSON" cut

cp -r "$repo/results/amd-epyc-zen3-4c/2026-11-21T193215Z" run
if ! python3 -c 'import torch' 2>/dev/null; then
  refused "this Python has no PyTorch" run
  [ -e run/bench/attention_torch.json ] && fail "a file without measurements"
  exit $failed
fi
refused "run: no contiguous case of attention on the cpu that 's8' finds" run --device cpu --filter s8
torch run --device cpu --filter 'bf16.*context:512' || fail "exit code $?"
"$roofline" analyze --bench run/bench/*.json --ceilings run/ceilings.csv --out run/roofline.csv \
  >/dev/null || fail "analyze: exit code $?"
grep -q '^amd-epyc-zen3-4c,cpu,operation,,attention,torch,bf16,.*context:512' run/roofline.csv ||
  fail "no row of PyTorch"
exit $failed
