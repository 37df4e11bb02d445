#!/usr/bin/env bash
# usage: isa_symbols.sh ARCHIVE CXX
# An object compiled for an instruction set must offer the linker nothing but its kernel tables.
#  - A weak symbol (an inline function, a template on ordinary types, a static local of one) exists
#    once in the program: if the linker keeps the copy that was compiled with -mavx512f, every caller
#    runs AVX-512 code, and a machine without it dies of SIGILL in a place that never asked for it.
#  - An initialiser runs before main on every machine, whatever CPUID says.
# The check is then tried on planted objects.
set -euo pipefail

archive=$1
cxx=$2

# check ARCHIVE: prints what is wrong, one line each.
check() {
  (cd "$(dirname "$1")" && nm -A -C --defined-only "$(basename "$1")" 2>/dev/null) | awk '
    {
      split($1, at, ":"); object = at[2]; type = $2
      if (object !~ /_(amx|avx512|avx_vnni|avx2|neon)[_.]/) next
      name = $0; sub(/^[^ ]* [^ ]* /, "", name)
      # A pointer to the unwinder, and a call of std::terminate: no code that could use the set.
      if (name ~ /^DW\.ref\./ || name == "__clang_call_terminate") next
      if (type ~ /^[VvWwu]$/) print object ": weak symbol " name
      else if (name ~ /^_?_?GLOBAL__/ || name ~ /^global constructors/) print object ": initialiser " name
      else if (type == "T") print object ": function visible to other files: " name
    }'
}

if ! nm -A --defined-only "$archive" | grep -E '_(avx2|neon)\.cpp' >/dev/null; then
  echo "$archive: no object of an instruction set in it"
  exit 1
fi
faults=$(check "$archive")
if [[ -n $faults ]]; then
  echo "$faults"
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# expect_fault WORDS SOURCE
expect_fault() {
  local found
  rm -f "$work/planted.a"
  "$cxx" -O2 -x c++ -c - -o "$work/planted_avx2.cpp.o" <<<"$2"
  ar rc "$work/planted.a" "$work/planted_avx2.cpp.o"
  found=$(check "$work/planted.a")
  if [[ $found != *"$1"* ]]; then
    echo "planted '$2': expected '$1', found '$found'"
    exit 1
  fi
}
expect_fault 'weak symbol shared' 'inline int shared(int x) { return x + 1; } int (*keep)(int) = shared;'
expect_fault 'weak symbol' 'template <class T> T twice(T x) { return x + x; } float (*keep)(float) = twice;'
expect_fault 'initialiser' 'int probe(); int keep = probe();'
expect_fault 'function visible' 'int plain(int x) { return x + 1; }'
