#!/usr/bin/env bash
# The one place that says which CUDA compiler builds the GPU half; CMake and the other scripts ask here.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: nvcc.sh [--advice] [--prefix DIR] [NVCC]

Prints the path of the first nvcc that compiles the GPU half: $CUDACXX and no other where it is set,
else that of $PATH, then DIR/cuda (default: /usr/local), then DIR/cuda-*, the newest first.
$CUDAHOSTCXX is the compiler for the host, where g++ is too new for that nvcc.
  NVCC          look at this one only
  --prefix DIR  where toolkits are installed
  --advice      where there is none, that line also says what to install
  --help        this text
Exit code 1: there is none; one line on stderr says why, for each that was looked at.
HELP
}

least=12.4  # Below, ptxas knows no mma on FP8 for sm_89 (PTX 8.4); below 12.0 there is no C++20.

prefix=/usr/local
given=${CUDACXX:-}
advice=
while (($#)); do
  case $1 in
    --prefix)
      if (($# < 2)); then echo "nvcc.sh: $1 needs a value (see --help)" >&2; exit 2; fi
      prefix=$2
      shift
      ;;
    --advice)
      advice="; install NVIDIA's CUDA toolkit ($least to 12.9 for drivers from 525 on, 13 from 580 on)"
      advice+=", or unpack here what scripts/bundle.sh packs where there is one"
      ;;
    --help | -h) usage; exit 0 ;;
    -*) echo "nvcc.sh: unknown flag $1 (see --help)" >&2; exit 2 ;;
    *) given=$1 ;;
  esac
  shift
done

candidates() {
  if [[ -n $given ]]; then
    command -v "$given" || echo "$given"
    return
  fi
  command -v nvcc || true
  local nvcc
  [[ ! -x $prefix/cuda/bin/nvcc ]] || echo "$prefix/cuda/bin/nvcc"
  for nvcc in "$prefix"/cuda-*/bin/nvcc; do
    [[ ! -x $nvcc ]] || echo "$nvcc"
  done | sort -rV
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# What the sources include of a toolkit, its compilers, assemblers and libraries, and the host's g++.
cat >"$scratch/probe.cu" <<'CUDA'
#include <cub/version.cuh>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
template <class T>
concept Any = true;
template <Any T>
__global__ void probe(T* x) { *x = 1; }
int main() { probe<float><<<1, 1>>>(nullptr); }
CUDA

# fault NVCC: why it does not do; nothing where it does.
fault() {
  local version
  if [[ ! -x $1 ]]; then echo "no $1"; return; fi
  version=$("$1" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+\.[0-9]+).*/\1/p') || true
  if [[ -z $version ]]; then echo "$1 does not tell its version"; return; fi
  if [[ $(printf '%s\n' "$least" "$version" | sort -V | head -n 1) != "$least" ]]; then
    echo "$1 is of CUDA $version, $least or newer is needed"
    return
  fi
  command -v "${CUDAHOSTCXX:-g++}" >/dev/null || return 0  # on a fresh box: tried once it is installed
  "$1" ${CUDAHOSTCXX:+-ccbin "$CUDAHOSTCXX"} -std=c++20 -gencode arch=compute_90a,code=sm_90a \
    "$scratch/probe.cu" -o "$scratch/probe" >"$scratch/log" 2>&1 && return
  { grep -m 1 -iE 'error|fatal|cannot|not found' "$scratch/log" || head -n 1 "$scratch/log"; } |
    sed -E 's/.*(error|fatal) *: *//; s/^#error *-* *//; s/ The nvcc flag.*//' |
    sed "s|^|$1 of CUDA $version does not compile: |"
}

faults=
seen=
while read -r nvcc; do
  same=$(realpath "$nvcc" 2>/dev/null || echo "$nvcc")
  [[ $seen != *" $same "* ]] || continue
  seen+=" $same "
  why=$(fault "$nvcc")
  if [[ -z $why ]]; then
    echo "$nvcc"
    exit 0
  fi
  faults+="${faults:+; }$why"
done < <(candidates)
echo "${faults:-no nvcc}$advice" >&2
exit 1
