# tests/gpu/sanitize.sh by a made-up compute-sanitizer and made-up tests: what it tells of each tool, and
# its exit code.
set -u
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
mkdir -p build/tests tools
cat >tools/compute-sanitizer <<'SH'
#!/bin/sh
tool=$2; shift 4
"$@"
[ "$tool" != "$FINDS" ] || exit 9
SH
cat >build/tests/gpu_tests <<'SH'
#!/bin/sh
echo "[  PASSED  ] $PASSED tests. $1"
SH
chmod +x tools/* build/tests/*
export PATH=$work/tools:$PATH FINDS PASSED

# gives CODE WORDS NAME: of a run with FINDS and PASSED as set.
gives() {
  local got
  bash "$repo/tests/gpu/sanitize.sh" build out 'Dot*' >out.txt 2>&1
  got=$?
  [ $got = "$1" ] && grep -qF "$2" out.txt && return
  echo "FAILED: $3: exit code $got, not $1, or no '$2' in:"
  cat out.txt
  failed=1
}
FINDS=none PASSED=3
gives 0 'initcheck: clean' 'nothing found'
grep -qF 'gtest_filter=Dot*' out/memcheck.txt || { echo 'FAILED: the filter does not come through'; failed=1; }
FINDS=racecheck
gives 1 'racecheck: NOT CLEAN (exit code 9)' 'a race'
FINDS=none PASSED=0
gives 1 'memcheck: clean, no test ran' 'no GPU'
rm build/tests/gpu_tests
gives 2 'no build/tests/gpu_tests' 'not built'
exit $failed
