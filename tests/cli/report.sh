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
exit $failed
