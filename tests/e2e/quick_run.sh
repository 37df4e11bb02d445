#!/usr/bin/env bash
# usage: quick_run.sh BIN_DIR
# A real quick run of this machine into a temporary folder, checked; then the same folder again
# through --resume and report, which must not change what was measured.
set -euo pipefail

bin=$1
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOFLINE_REPORT=$tests/../scripts/report
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

start=$SECONDS
# Its tables would bury what is wrong.
if ! "$bin/roofline" run --quick --out "$out" >"$out/log" 2>&1; then
  tail -n 40 "$out/log" >&2
  exit 1
fi
echo "quick run: $((SECONDS - start)) s"

mapfile -t folders < <(find "$out" -name machine.json -printf '%h\n')
if [[ ${#folders[@]} != 1 ]]; then
  echo "expected one results folder, found ${#folders[@]}" >&2
  exit 1
fi
folder=${folders[0]}
python3 "$tests/e2e/check_results.py" "$folder"

before=$(cd "$folder" && find bench -type f -exec sha256sum {} + | sort)
"$bin/roofline" run --resume "$folder" >/dev/null
after=$(cd "$folder" && find bench -type f -exec sha256sum {} + | sort)
if [[ $before != "$after" ]]; then
  echo "--resume of a finished run measured again" >&2
  exit 1
fi
"$bin/roofline" report "$folder" >/dev/null
python3 "$tests/e2e/check_results.py" "$folder"
