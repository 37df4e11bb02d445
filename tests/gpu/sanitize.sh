#!/usr/bin/env bash
# Runs the GPU kernels' tests under compute-sanitizer, once with each of its tools that they need.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: sanitize.sh BUILD_DIR OUT_DIR [GTEST_FILTER]

Runs BUILD_DIR/tests/gpu_tests under compute-sanitizer (it comes with CUDA): memcheck, racecheck,
synccheck and initcheck. What each printed goes to OUT_DIR/TOOL.txt, for results/<machine>/sanitizer.
Exit code 1: a tool found something or a test failed. 2: something is missing.
HELP
}

case ${1:-} in
  --help | -h) usage; exit 0 ;;
esac
(($# == 2 || $# == 3)) || { usage >&2; exit 2; }
tests=$1/tests/gpu_tests out=$2 filter=${3:-*}
[[ -x $tests ]] || { echo "sanitize.sh: no $tests (cmake -DROOFLINE_TESTS=ON, with nvcc)" >&2; exit 2; }
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[[ -x $tool ]] || { echo "sanitize.sh: no compute-sanitizer on the PATH or in /usr/local/cuda/bin" >&2; exit 2; }
mkdir -p "$out"

found=0
for check in memcheck racecheck synccheck initcheck; do
  if "$tool" --tool "$check" --error-exitcode 9 "$tests" --gtest_filter="$filter" >"$out/$check.txt" 2>&1; then
    verdict=clean
  else
    verdict="NOT CLEAN (exit code $?)"
    found=1
  fi
  # All tests skipped themselves: nothing was looked at.
  grep -q '\[  PASSED  \] [1-9]' "$out/$check.txt" || { verdict+=', no test ran'; found=1; }
  echo "$check: $verdict, $out/$check.txt"
done
exit $found
