# roofline run killed at random moments, disks of random sizes: the folder loads at once, what was
# finished stays, --resume completes it. KILLS=50 for more of them, SEED=n for others.
set -u
roofline=$(cd "$1" && pwd)/roofline || exit 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/fake_bin.sh"
kills=${KILLS:-5} seed=${SEED:-1}
RANDOM=$seed
work=$(mktemp -d)
mounted=
finish() { [ -z "$mounted" ] || umount "$mounted"; rm -rf "$work"; }
trap finish EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED (seed $seed): $*"; failed=1; }

fake_bin bench_ceilings bench_matmul bench_dot
groups=13
export ROOFLINE_REPORT=$here/../../scripts/report

# now: milliseconds.
now() { echo $(($(date +%s%N) / 1000000)); }
# below N: a random number from 0 to N - 1; RANDOM itself ends at 32767.
below() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }

# loads FOLDER: everything that reads a results folder does.
loads() {
  local files
  "$roofline" report --text "$1" >out.txt 2>err.txt || fail "$2: report --text: $(cat err.txt)"
  files=$(ls "$1"/bench/*.json 2>/dev/null)
  [ -z "$files" ] || "$roofline" analyze --bench $files --ceilings "$1/ceilings.csv" --out all.csv \
    >out.txt 2>err.txt || fail "$2: analyze: $(cat err.txt)"
  python3 - "$1" <<'PY' || fail "$2: a file that is not whole"
import csv, glob, json, sys
for name in glob.glob(sys.argv[1] + "/**/*.json", recursive=True):
    json.load(open(name))
for name in glob.glob(sys.argv[1] + "/*.csv"):
    rows = list(csv.reader(open(name, newline="")))
    assert rows and all(len(row) == len(rows[0]) for row in rows), name
PY
}

# completes FOLDER NAME: --resume does, leaves the finished files alone and nothing else behind.
completes() {
  local before kept same
  before=$(stat -c %n.%Y.%i "$1"/bench/*.json 2>/dev/null | sort)
  kept=$(grep -c . <<<"$before")
  "$roofline" run --bin bin --resume "$1" >out.txt 2>err.txt || fail "$2: resume: $(cat err.txt)"
  same=$(comm -12 <(echo "$before") <(stat -c %n.%Y.%i "$1"/bench/*.json | sort) | grep -c .)
  [ "$same" -eq "$kept" ] || fail "$2: $same of $kept finished files untouched"
  [ "$(ls "$1"/bench | wc -l)" -eq $groups ] || fail "$2: $(ls "$1"/bench | wc -l) files in bench/"
  grep -q '"status": "complete"' "$1/run.json" || fail "$2: not complete"
  [ "$(wc -l <"$1/roofline.csv")" -eq 25 ] || fail "$2: roofline.csv has $(wc -l <"$1/roofline.csv") lines"
  find "$1" -name '.part' -o -name '*.tmp' -o -name '*.part' | grep . && fail "$2: leavings"
}

# struck SIGNAL DELAY_MS NAME ARGUMENTS…: a run that gets the signal after the delay.
struck() {
  local signal=$1 delay=$2 name=$3 pid done_files file
  shift 3
  FAKE_SLEEP=0.02 "$roofline" run --bin bin "$@" >run.out 2>run.err &
  pid=$!
  sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
  done_files=$(ls out/"$name"/*/*/bench/*.json 2>/dev/null)
  # One that comes after the end is none.
  if kill -s "$signal" $pid 2>/dev/null; then blows=$((blows + 1)); else late=$((late + 1)); fi
  wait $pid 2>/dev/null
  for file in $done_files; do [ -s "$file" ] || fail "$name: $file is gone"; done
}

begin=$(now)
FAKE_SLEEP=0.02 "$roofline" run --bin bin --out out/whole --device cpu >out.txt 2>err.txt || fail "whole: $(cat err.txt)"
whole=$(($(now) - begin))
machine=$(ls out/whole)

# Every second folder is struck a second time, while it is being resumed; each tenth blow is SIGINT.
blows=0 late=0 unborn=0 again=0 partial=0 number=0
while [ $blows -lt "$kills" ]; do
  number=$((number + 1))
  name=n$number
  signal=KILL
  [ $((blows % 10)) -eq 9 ] && signal=INT
  struck $signal "$(below $whole)" $name --out out/$name --device cpu
  folder=$(ls -d out/$name/*/*/ 2>/dev/null | tail -1)
  if [ -z "$folder" ]; then
    unborn=$((unborn + 1))
    continue
  fi
  finished=$(ls "$folder"bench 2>/dev/null | grep -c '\.json$')
  [ "$finished" -gt 0 ] && [ "$finished" -lt $groups ] && partial=$((partial + 1))
  loads "${folder%/}" "$name"
  if [ $((number % 2)) -eq 0 ] && [ $blows -lt "$kills" ]; then
    struck KILL "$(below $whole)" $name --resume "${folder%/}"
    again=$((again + 1))
    loads "${folder%/}" "$name, struck again"
  fi
  completes "${folder%/}" "$name"
  [ $failed -eq 0 ] || break
  rm -rf "out/$name"
done
echo "$blows blows within $whole ms, seed $seed: $partial on a part of the groups, $again on a resumed" \
  "run, $unborn before there was a folder; $late more came after the end"

# What a run leaves that is killed before its folder has a name goes with the next one; that of a
# process which is still there stays. Process ids end at 4194304.
mkdir -p "out/starts/$machine/.start.4194305/bench" "out/starts/$machine/.start.$$"
echo '{' >"out/starts/$machine/.start.4194305/machine.json"
"$roofline" run --bin bin --out out/starts --device cpu --filter fma_peak >out.txt 2>err.txt ||
  fail "starts: $(cat err.txt)"
[ "$(ls -A "out/starts/$machine" | grep start)" = ".start.$$" ] ||
  fail "starts: $(ls -A "out/starts/$machine" | tr '\n' ' ')"

# A disk that is full at some moment.
mkdir full
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
  mounted=$work/full
  disks=0 refused=0
  while [ $disks -lt $((kills / 5 + 1)) ]; do
    disks=$((disks + 1))
    kilobytes=$((16 + $(below 280))) # full while it is measured
    [ $((disks % 2)) -eq 0 ] && kilobytes=$((400 + $(below 1200))) # while it is drawn
    rm -rf full/*
    mount -o remount,size=${kilobytes}k full
    "$roofline" run --bin bin --out full --device cpu >out.txt 2>err.txt
    code=$?
    if [ $code -eq 2 ]; then
      refused=$((refused + 1))
      grep -q '^roofline: .*: No space left' err.txt || fail "disk of $kilobytes kB: $(cat err.txt)"
    elif [ $code -ne 0 ]; then
      fail "disk of $kilobytes kB: exit code $code: $(cat err.txt)"
    fi
    folder=$(ls -d full/*/*/ 2>/dev/null | tail -1)
    [ -z "$folder" ] && continue
    loads "${folder%/}" "disk of $kilobytes kB"
    mount -o remount,size=8m full
    completes "${folder%/}" "disk of $kilobytes kB"
  done
  echo "$disks disks of 16 to 1599 kB, $refused of them too small"
  umount full && mounted=
else
  echo 'SKIPPED: full disks (cannot mount a tmpfs here)'
fi
exit $failed
