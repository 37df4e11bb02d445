# accept.py itself, on programs that only pretend to measure: what it prints and its exit codes.
set -u
roofline=$1/roofline
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
. "$here/../cli/fake_bin.sh"
fake_bin bench_ceilings bench_dot
cp "$roofline" bin/ # no scripts/report beside it: nothing is drawn

# accept NAME EXPECTED_CODE ARGUMENTS…
accept() {
  local name=$1 expected=$2 code
  shift 2
  python3 "$here/accept.py" "$@" >"$name.txt" 2>"$name.err"
  code=$?
  [ $code -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat "$name".*; }
}
# says NAME REGEX
says() { grep -Eq "$2" "$1.txt" || { fail "$1: nothing like /$2/"; cat "$1.txt"; }; }

accept same 0 same-build --bin bin --out out --runs 3
says same '^0 of 2 pairs raise an alarm'
says same '^scatter of each ceiling over 3 runs'
full=$(ls -d out/same-build/*/*/ | head -1)
accept full 0 same-build --bin bin --out out --runs 3 --full "$full"
says full '^cpu bandwidth L2 read f32 simd-avx2 2 as-lived +1\.000'

# A kernel that takes 5 % longer where ROOFLINE_SLOWED says so.
sed 's|made\["real_time"\] \*= slow$|made["real_time"] *= 1.05 if item["name"] == os.environ["ROOFLINE_SLOWED"] else 1|' \
  fake >slowed
chmod +x slowed
grep -q 1.05 slowed || fail 'the fake is not slowed'
slowed=(slowed-kernel --bin bin --trials 2 --filter '^(fma_peak/.*/threads:1|dot/.*/temp:warm)')
accept found 0 "${slowed[@]}" --slowed slowed --out found --runs 8
says found '^same build: silent'
says found '^trial 1: dot/scalar/f32/N:1000/temp:warm/threads:1 FOUND, B/A 0.952, p 0.00.*; other alarms: silent'
says found '^2 of 2 slowed kernels found'
accept missed 1 "${slowed[@]}" --slowed bin/bench_dot --out missed --runs 2
says missed '^0 of 2 slowed kernels found'
# How busy the machine is cannot be known here; that it may use one core can.
if [ "$(nproc)" -gt 1 ] && grep -q '^Cpus_allowed_list:.0' /proc/self/status; then
  python3 "$here/accept.py" live-faults --bin bin --out live --seconds 0 >live.txt 2>live.err
  says live '^one-core: fewer-cores named'
  says live '^busy: other-processes (named|MISSED)'
fi
if ! command -v likwid-bench >/dev/null; then
  accept likwid 2 likwid --bin bin --out likwid
  grep -q '^likwid-bench is not installed' likwid.err || fail 'likwid-bench: no word'
fi
accept bad 2 same-build --bin bin --out out --runs 1
exit $failed
