#!/usr/bin/env bash
# Every variant file has its line in kernels.def, every line its file, and both name the same
# instruction set. The check is then tried on copies with planted mistakes.
set -euo pipefail

# check KERNELS_DIR: prints what is wrong, one line each.
check() {
  local kernels=$1 file op name variant key isa line
  local -A needs=() files=()
  while read -r line; do
    [[ $line =~ ^(GPU_)?KERNEL\(([a-z0-9_]+),\ ([a-z0-9_]+),\ ([a-z0-9_]+) ]] || continue
    needs[${BASH_REMATCH[2]} ${BASH_REMATCH[3]}]=${BASH_REMATCH[4]}
  done <"$kernels/kernels.def"
  for file in "$kernels"/*/*.cpp "$kernels"/*/*.cu; do
    [[ -e $file ]] || continue
    op=${file%/*} op=${op##*/}
    name=${file##*/} name=${name%.*}
    [[ $name == "${op}"_* && ! $name =~ _(op|ref|cases)$ ]] || continue
    variant=${name#"${op}"_}
    key="$op $variant"
    files[$key]=$file
    if [[ -z ${needs[$key]:-} ]]; then
      echo "$file: no line in kernels.def"
      continue
    fi
    # The suffix chooses the compiler's flags (kernels/CMakeLists.txt), `needs` where it is run.
    isa=
    if [[ $file == *.cpp &&
      $name =~ _(amx|avx512_bf16|avx512_vnni|avx512|avx_vnni|avx2|neon_dotprod|neon_bf16|neon)(_|$) ]]; then
      isa=${BASH_REMATCH[1]}
    fi
    if [[ -n $isa && $isa != "${needs[$key]}" || -z $isa && ${needs[$key]} =~ ^(avx|amx|neon) ]]; then
      echo "$file: compiled for '${isa:-the baseline}', but kernels.def says it needs '${needs[$key]}'"
    fi
  done
  for key in "${!needs[@]}"; do
    [[ -n ${files[$key]:-} ]] || echo "kernels.def: (${key/ /, }) has no file"
  done
}

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
faults=$(check "$repo/kernels")
if [[ -n $faults ]]; then
  echo "$faults"
  exit 1
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# expect_fault WORDS COMMAND…: a fresh copy, changed by the command inside it, must be found wrong.
expect_fault() {
  local found
  rm -rf "$copy/kernels"
  cp -r "$repo/kernels" "$copy/kernels"
  (cd "$copy/kernels" && "${@:2}")
  found=$(check "$copy/kernels")
  if [[ $found != *"$1"* ]]; then
    echo "planted '${*:2}': expected '$1', found '$found'"
    exit 1
  fi
}
expect_fault 'dot_planted.cpp: no line in kernels.def' touch dot/dot_planted.cpp
expect_fault 'dot_planted.cu: no line in kernels.def' touch dot/dot_planted.cu
expect_fault '(dot, avx2) has no file' rm dot/dot_avx2.cpp
expect_fault 'dot_avx2.cpp: no line in kernels.def' sed -i '/^KERNEL(dot, avx2,/d' kernels.def
expect_fault "compiled for 'avx2'" sed -i 's/^KERNEL(dot, avx2, avx2/KERNEL(dot, avx2, none/' kernels.def
expect_fault "compiled for 'the baseline'" sed -i 's/^KERNEL(dot, scalar, none/KERNEL(dot, scalar, avx2/' kernels.def
