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

# On a GPU a launch takes the host long, and is not in what is timed; made up here, with a call of 10 us.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$repo/scripts/peers python3 - <<'PYTHON' || fail "the clock of a GPU"
import types
import torch_attention

CALL, LAUNCH = 10e-6, 100e-6
host = free = 0.0  # now; when the device has done all it was given


def run(seconds):
    global host, free
    host += LAUNCH
    free = max(free, host) + seconds


def synchronize():
    global host
    host = max(host, free)


def tick():
    global host
    host += 1e-6
    return host


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        self.at = max(free, host)

    def synchronize(self):
        synchronize()

    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)


class Graph:
    calls = 0

    def __enter__(self):
        attention.recording = self

    def __exit__(self, *_):
        attention.recording = None

    def replay(self):
        run(self.calls * CALL)


class Attention:
    caches, recording = [None] * 3, None

    def call(self):
        if self.recording:
            self.recording.calls += 1
        else:
            run(CALL)


attention = Attention()
cuda = types.SimpleNamespace(Event=Event, CUDAGraph=Graph, graph=lambda graph: graph, synchronize=synchronize)
torch_attention.time = types.SimpleNamespace(perf_counter=tick)
clock = torch_attention.Clock(types.SimpleNamespace(cuda=cuda), "gpu")
count = clock.prepare(attention)
assert count == 400, count  # 4 ms
assert host > torch_attention.SETTLE_SECONDS
once = clock.seconds(attention, count) / count
assert abs(once - CALL) < 1e-3 * CALL, once
PYTHON

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
