#!/usr/bin/env bash
# Cross-compiles the kernels and their tests for AArch64 and runs them under qemu-user.
set -euo pipefail

case ${1:-} in
  '') ;;
  --help | -h)
    echo "usage: test_arm.sh"
    echo "Needs g++-aarch64-linux-gnu, qemu-user and googletest; without them it says so and ends with 77."
    exit 0
    ;;
  *) echo "test_arm.sh: unknown flag $1 (see --help)" >&2; exit 2 ;;
esac

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
for tool in aarch64-linux-gnu-g++ qemu-aarch64 cmake ninja /usr/src/googletest/googletest/src/gtest.cc; do
  if ! command -v "$tool" >/dev/null && [[ ! -e $tool ]]; then
    echo "arm: no $tool here (Debian: g++-aarch64-linux-gnu qemu-user googletest)"
    exit 77
  fi
done

build=$repo/build-arm
# CMake does not get over folders that were moved.
grep -Fqsx "CMAKE_HOME_DIRECTORY:INTERNAL=$repo/tests/emulated/arm" "$build/CMakeCache.txt" || rm -rf "$build"
cmake -G Ninja -S "$repo/tests/emulated/arm" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$repo/tests/emulated/arm/toolchain.cmake" >/dev/null || exit 2
ninja -C "$build" || exit 2
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$("$repo/scripts/jobs.sh")"
