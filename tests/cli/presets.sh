#!/usr/bin/env bash
# usage: presets.sh BIN_DIR
# CMakePresets.json: CMake can read it, and what it sets is known to CMakeLists.txt.
set -euo pipefail

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
presets=$(cmake --list-presets)
for name in release cpu debug asan tsan; do
  grep -q "\"$name\"" <<<"$presets" || { echo "no preset $name in: $presets"; exit 1; }
done
for option in $(grep -o 'ROOFLINE_[A-Z]*' CMakePresets.json | sort -u); do
  grep -q "$option" CMakeLists.txt || { echo "CMakePresets.json sets $option, which CMakeLists.txt does not have"; exit 1; }
done
