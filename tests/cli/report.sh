# roofline report --text on a folder of one point under one slope and one peak, and bad usage.
set -u
roofline=$1/roofline
data=$(dirname "$0")/report
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# By hand: the axes run from 1/3 to 30 FLOP/byte and from 2.5e8 to 2e10 FLOP/s in 60 x 20 cells, so
# that the point (1, 5e8) is in column 14 of row 16, the peak of 1e10 in row 3 from the ridge (10,
# column 45) on. Half of the 1e9 bytes/s are reached: T_lower 10 ns of 20 ns.
"$roofline" report --text "$data" | sed -n '/^cpu, 2 threads/,$p' >"$work/text"
diff -u "$data/text.txt" "$work/text" || failed=1
cell() { sed -n "/^FLOP/,\$p" "$work/text" | sed -n "$(($1 + 2))p" | cut -c$(($2 + 11)); }
[ "$(cell 16 14)$(cell 3 45)$(cell 3 44)" = 'd-D' ] || { echo 'a mark is elsewhere'; failed=1; }

# refuses NAME REGEX ARGUMENTS…: exit code 2 and one line on stderr.
refuses() {
  local name=$1 regex=$2
  shift 2
  "$roofline" report "$@" >"$work/out" 2>"$work/err"
  local got=$?
  if [ $got -ne 2 ] || [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -Eq "$regex" "$work/err"; then
    echo "$name: exit code $got:"; cat "$work/err"; failed=1
  fi
}
mkdir "$work/empty" "$work/bad"
refuses 'no folder' 'DIR' --text
refuses 'a folder that is not there' 'nowhere: no such results folder' --text "$work/nowhere"
refuses 'one of two is not there' 'nowhere: no such results folder' "$data" "$work/nowhere"
refuses 'an empty folder' 'neither ceilings.csv nor roofline.csv' --text "$work/empty"
sed 's/2e-8/soon/' "$data/roofline.csv" >"$work/bad/roofline.csv"
refuses 'a bad number' "roofline.csv:2: column 'time_s': 'soon'" --text "$work/bad"
refuses 'text and a page' 'text.*out|out.*text' --text --out "$work/page.html" "$data"

mkdir "$work/half"
cp "$data/roofline.csv" "$work/half"
"$roofline" report --text "$work/half" | grep -Fq 'no ceilings.csv' || { echo 'no note'; failed=1; }

# What ran on fewer threads says so; of copies, which do no FLOP, the largest is shown, in bytes.
mkdir "$work/fewer"
cp "$data/ceilings.csv" "$work/fewer"
{ cat "$data/roofline.csv"
  echo 'small,cpu,operation,,dot,slow,f64,scalar,N:8,cold,1,,2e-8,,,6,,,,,10,DRAM,10,model,1,5e8,,,,10,DRAM,1e-8,,,,,,,,ok'
  for n in 1 100; do
    echo "small,cpu,operation,,copy,c,f32,scalar,N:$n,cold,2,,${n}e-8,,,6,,,,,0,DRAM,$n,model,0,0,,,,,DRAM,${n}e-9,,,,,,,,ok"
  done
} >"$work/fewer/roofline.csv"
"$roofline" report --text "$work/fewer" >"$work/out"
grep -q '^other threads:  dot f64 on 1T$' "$work/out" &&
  grep -q '^dot f64 cold on 1T  *N:8 ' "$work/out" &&
  grep -q '^copy f32 cold  *N:100  *c  *1.00 us  *100 MB/s  *DRAM  *10.0 %  *-$' "$work/out" ||
  { echo 'fewer threads, or no FLOP:'; cat "$work/out"; failed=1; }
# Ours is shown, beside the library that is faster.
{ head -2 "$data/roofline.csv" | sed 's/,ok$/x/; s/,,x$/,lib 1.2,0.8,ok/'
  sed -n 2p "$data/roofline.csv" | sed 's/,slow,/,lib,/; s/,2e-8,/,1.6e-8,/'
} >"$work/fewer/roofline.csv"
"$roofline" report --text "$work/fewer" | grep -q '^dot f32 cold .* slow  *20.0 ns .* 50.0 %  *0.80x lib 1.2$' ||
  { echo 'beside a library:'; "$roofline" report --text "$work/fewer" | tail -3; failed=1; }
# Nothing ran on two: the roofs of one thread are shown, where there are any.
sed 's/,cold,2,/,cold,1,/' "$data/roofline.csv" >"$work/fewer/roofline.csv"
sed 's/,2,/,1,/' "$data/ceilings.csv" | tail -n +2 >>"$work/fewer/ceilings.csv"
"$roofline" report --text "$work/fewer" | grep -qx 'cpu, 1 thread' || { echo 'not shown on one thread'; failed=1; }

sed 's/,2e-8,/,-2e-8,/' "$data/roofline.csv" >"$work/bad/roofline.csv"
refuses 'a time below 0' "roofline.csv:2: column 'time_s': '-2e-8' is not above 0" --text "$work/bad"

# A file of samples that is cut off costs the line that counts them, not the tables.
cp -r "$data" "$work/cut"
mkdir "$work/cut/bench"
echo '{"name": "small"}' >"$work/cut/machine.json"
echo '{"benchmarks": [' >"$work/cut/bench/dot.json"
"$roofline" report --text "$work/cut" >"$work/out" || { echo 'a cut-off bench file is fatal'; failed=1; }
grep -q '^dot f32 cold ' "$work/out" &&
  grep -q '^quiet samples are not counted: .*bench/dot.json:.*not JSON, or cut off' "$work/out" ||
  { echo 'a cut-off bench file:'; cat "$work/out"; failed=1; }
echo '{"name": ' >"$work/cut/machine.json"
refuses 'half a machine.json' 'cut/machine.json:.*not JSON, or cut off' --text "$work/cut"

# What a run says of itself: on the terminal, and refused where it is no record.
cp -r "$data" "$work/short"
echo '{"status": "interrupted", "groups_measured": 2, "groups_total": 5}' >"$work/short/run.json"
"$roofline" report --text "$work/short" |
  sed -n 2p | grep -qx 'the run was interrupted: 2 of 5 groups of benchmarks were measured' ||
  { echo 'an interrupted run is not said'; failed=1; }
echo '{' >"$work/short/run.json"
refuses 'half a run.json' 'short/run.json:.*not JSON' --text "$work/short"
refuses 'half a run.json, for the page' 'short/run.json:.*not JSON' "$work/short"

# The page takes no ceiling that check refuses, and goes to no file that holds results.
cp -r "$data" "$work/zero"
sed -i 's/,1e9,/,0,/' "$work/zero/ceilings.csv"
cmp -s "$work/zero/ceilings.csv" "$data/ceilings.csv" && { echo 'no ceiling was changed'; failed=1; }
refuses 'a ceiling of 0' "zero/ceilings.csv:[0-9]+: column '.*': 0 is not above 0" "$work/zero"
# What draws may break: that is no page, and says so.
mkdir "$work/scripts"
echo 'raise ValueError("odd")' >"$work/scripts/report.py"
ROOFLINE_REPORT=$work/scripts refuses 'a script that breaks' \
  "$data: no pictures, no page: exit code 1: ValueError: odd" "$data"
# A Ctrl-C while samples are unpacked ends it, and leaves nothing behind.
mkdir -p "$work/packed/bench" "$work/path" "$work/tmp"
cp "$data"/*.csv "$work/packed"
echo '{}' >"$work/packed/machine.json"
tar -C "$work/packed" -cJf "$work/packed/bench.tar.xz" bench
rmdir "$work/packed/bench"
printf '#!/bin/sh\nkill -INT $PPID\nsleep 5\n' >"$work/path/tar"
chmod +x "$work/path/tar"
heeded='import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])'
PATH=$work/path:$PATH TMPDIR=$work/tmp python3 -c "$heeded" "$roofline" report --text "$work/packed" >"$work/out" 2>"$work/err"
got=$?
[ $got -eq 130 ] && [ -z "$(ls -A "$work/tmp")" ] ||
  { echo "interrupted while it unpacks: exit code $got, left:"; ls -A "$work/tmp"; failed=1; }
refuses 'a page over results' 'roofline: --out .*zero/roofline.csv: lies in a results folder' \
  --out "$work/zero/roofline.csv" "$work/zero"
exit $failed
