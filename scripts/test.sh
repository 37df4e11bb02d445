#!/usr/bin/env bash
# Builds with every compiler and sanitizer there is and runs all tests; needs no GPU.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: test.sh [STAGE…]

Stages; by default all of them, in this order:
  format  clang-format 14 on every source file
  clang   Clang, optimised: the kernels and their tests
  asan    Clang with AddressSanitizer and UndefinedBehaviorSanitizer: all CPU code, unit and CLI tests
  tsan    Clang with ThreadSanitizer: the kernels and their tests
  arm     the kernels and their tests for AArch64, under qemu-user
  gcc     GCC build, all CUDA files with it where nvcc is, all tests, and a real
          `roofline run --quick` whose CSVs are checked
Exit code 1: a test failed. 2: a build failed or something is missing.
HELP
}

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
all=(format clang asan tsan arm gcc)
stages=("${all[@]}")
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  '') ;;
  *)
    for stage in "$@"; do
      [[ " ${all[*]} " == *" $stage "* ]] ||
        { echo "test.sh: unknown stage $stage (see --help)" >&2; exit 2; }
    done
    stages=("$@")
    ;;
esac

"$repo/scripts/setup.sh" --test
cd "$repo"

build() { "$repo/scripts/build.sh" "$@"; }

skipped=()
# skip STAGE WHY: said again in the last line.
skip() {
  echo "$1: SKIPPED, $2"
  skipped+=("$1")
}

# run_tests BUILD_DIR [ctest flags…]. Tests that time or use every core are RUN_SERIAL in CMake.
run_tests() {
  local build=$1
  shift
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(scripts/jobs.sh)" --timeout 600 "$@" || exit 1
}

# again_where_leak_check_crashed BUILD_DIR: LeakSanitizer at times crashes on OpenMP's threads as they
# end. If nothing but that failed in the last run, what failed is run once more.
again_where_leak_check_crashed() {
  local last=$1/Testing/Temporary/LastTest
  [[ $(grep -ac 'LeakSanitizer has encountered a fatal error' "$last.log") == $(grep -c . "${last}sFailed.log") ]] &&
    ctest --test-dir "$1" --output-on-failure --rerun-failed
}

# can_link CXX FLAGS…: whether a compiler really has a runtime (its headers may come without it).
can_link() {
  local out
  out=$(mktemp)
  "$1" -x c++ - -o "$out" "${@:2}" <<<'int main() {}' 2>/dev/null
  local ok=$?
  rm -f "$out"
  return $ok
}

stage_format() {
  local tool=clang-format-14
  command -v $tool >/dev/null || tool=clang-format
  if ! $tool --version 2>/dev/null | grep -q 'version 14\.'; then
    skip format 'needs clang-format 14 (other versions break lines elsewhere)'
    return
  fi
  find bench kernels roofline scripts tests -regex '.*\.\(cpp\|hpp\|cu\|cuh\|js\)' -print0 |
    xargs -0 $tool --dry-run -Werror || exit 1
}

clang_flags=(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DROOFLINE_CUDA=OFF)

stage_clang() {
  if ! can_link clang++ -fopenmp; then
    skip clang 'no Clang with OpenMP here'
    return
  fi
  build build-clang -DCMAKE_BUILD_TYPE=Release "${clang_flags[@]}" -- kernel_tests
  run_tests build-clang -L kernel_tests
  run_tests build-clang -R kernels.isa_symbols
}

# Little optimisation: the tests are short, the build is not.
sanitize_flags=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1")

stage_asan() {
  local compiler=("${clang_flags[@]}")
  if ! can_link clang++ -fopenmp -fsanitize=address,undefined; then
    echo "asan: with GCC, no Clang with OpenMP and AddressSanitizer here"
    compiler=(-DROOFLINE_CUDA=OFF)
  fi
  build build-asan "${sanitize_flags[@]}" "${compiler[@]}" -DROOFLINE_SANITIZE=address,undefined
  local -x UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  # LeakSanitizer itself crashes on the threads that a library's own runtime, loaded late, leaves.
  local libraries='matmul_onednn|OneDnn|Peers'
  # Scripts about scripts start no program that is instrumented.
  local scripts='^cli\.(nvcc|registered|presets|bundle|sanitize)$'
  (run_tests build-asan -LE 'e2e|report' -E "$libraries|$scripts") ||
    again_where_leak_check_crashed build-asan || exit 1
  ASAN_OPTIONS=detect_leaks=0 run_tests build-asan -R "$libraries"
}

# Clang with libomp: GCC's OpenMP runtime has no annotations, so that every barrier would be
# reported as a race. Only the kernel tests run: they hold all OpenMP code; peers are left out,
# as their own thread pools are not instrumented, and oracles, which run on one thread.
stage_tsan() {
  if ! can_link clang++ -fopenmp -fsanitize=thread; then
    skip tsan 'no Clang with OpenMP and ThreadSanitizer here'
    return
  fi
  build build-tsan "${sanitize_flags[@]}" "${clang_flags[@]}" -DROOFLINE_SANITIZE=thread \
    -- kernel_tests
  # libarcher, which libomp loads by itself, tells ThreadSanitizer of OpenMP's barriers.
  TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1 \
    run_tests build-tsan -L kernel_tests -E 'openblas|blis|onednn|mkl|ggml|OneDnn|MatmulOracle|AttentionVerify'
}

stage_arm() {
  local code=0
  "$repo/scripts/test_arm.sh" || code=$?
  case $code in
    0) ;;
    77) skip arm 'see the line before' ;;
    *) exit $code ;;
  esac
}

stage_gcc() {
  build build -DCMAKE_BUILD_TYPE=Release -DROOFLINE_TESTS=ON
  # As mere information: messages C7501 to C7599.
  if grep -F '(C75' build/build.log; then
    echo 'gcc: ptxas has wgmma wait for each other'
    exit 1
  fi
  run_tests build
}

for stage in "${stages[@]}"; do
  echo "== $stage (after $SECONDS s)"
  "stage_$stage"
done
echo "== passed (after $SECONDS s): ${#skipped[@]} of ${#stages[@]} stages skipped${skipped[*]:+: ${skipped[*]}}"
