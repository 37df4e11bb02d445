#!/usr/bin/env bash
# usage: build.sh BUILD_DIR [cmake flags…] [-- targets…]
# Configures and builds quietly: one progress line on a terminal, all else in BUILD_DIR/build.log,
# which is shown when something fails.
set -euo pipefail

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
shift
flags=()
while (($# > 0)) && [[ $1 != -- ]]; do
  flags+=("$1")
  shift
done
targets=()
if (($# > 1)); then targets=(--target "${@:2}"); fi
log=$build/build.log
if ! mkdir -p "$build" || ! { exec 9>"$build/.lock"; }; then
  echo "build.sh: cannot write $build/.lock" >&2
  exit 2
fi
if command -v flock >/dev/null; then
  # Code 1: held; others: a file system without locks.
  flock -n 9 || { (($? == 1)) && echo "Waiting for another build in $build" && flock 9; } || true
fi
if ! : >"$log"; then
  echo "build.sh: cannot write $log" >&2
  exit 2
fi

# CMake does not get over folders that were moved, nor over compilers that are gone or others since, by
# an upgrade of the distribution or in a volume that another image sees, and keeps to the first nvcc where
# nvcc.sh would now choose another: configured anew.
tools() {
  local nvcc
  printf '%s\n' "$repo" "$(CDPATH='' cd "$build" && pwd)" "$(uname -m)"
  printf '%s\n' "${CC:-}" "${CXX:-}" "${CUDACXX:-}" "${CUDAHOSTCXX:-}"
  command -v nvcc || true
  ls -d /usr/local/cuda*/bin/nvcc 2>/dev/null || true
  head -n 1 /proc/driver/nvidia/version 2>/dev/null || true
  nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=\//\//p' "$build/CMakeCache.txt" 2>/dev/null)
  for tool in cmake "${CXX:-g++}" ${nvcc:+"$nvcc"}; do "$tool" --version || true; done 2>&1
}
if [[ -e $build/CMakeCache.txt && -e $build/tools.txt && $(tools) != "$(cat "$build/tools.txt")" ]]; then
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
fi

generator=()
if [[ ! -e $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi

failed() {
  [[ -t 1 ]] && printf '\r\e[K'
  echo "$1 failed; the end of $log:" >&2
  if ! grep -nE -A 8 'CMake Error|error:|FAILED|fatal' "$log" | tail -n 40 >&2; then tail -n 40 "$log" >&2; fi
  if grep -q 'CMake did not find one' "$log"; then echo 'What is missing, scripts/setup.sh installs.' >&2; fi
  exit 2
}

# progress: one line that rewrites itself, on a terminal only.
progress() {
  local line
  while IFS= read -r line; do
    if [[ -t 1 && $line =~ ^\[\ *([0-9]+(/[0-9]+|%))\] ]]; then
      printf '\r\e[KBuilding %s' "${BASH_REMATCH[1]}"
    fi
  done
  [[ -t 1 ]] && printf '\r\e[K'
  return 0
}

if ! cmake -S "$repo" -B "$build" "${generator[@]}" "${flags[@]}" >>"$log" 2>&1 9>&-; then
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" "$build/tools.txt"  # CMake would keep the compiler that may be at fault
  failed 'Configuring'
fi
tools >"$build/tools.txt"
grep -E '^-- (GPU half|Left out|Without)' "$log" | sed 's/^-- //' || true
[[ -t 1 ]] || echo "Building in $build"
NINJA_STATUS='[%f/%t] ' cmake --build "$build" -j "$("$repo/scripts/jobs.sh")" "${targets[@]}" 2>&1 9>&- | tee -a "$log" | progress ||
  failed 'The build'
