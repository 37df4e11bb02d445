#!/usr/bin/env bash
# The one place that says which CUDA compiler builds the GPU half; CMake and the other scripts ask here.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: nvcc.sh [--advice] [--prefix DIR] [--driver FILE] [NVCC]

Prints the path of the first nvcc that compiles the GPU half: $CUDACXX and no other where it is set,
else that of $PATH, then DIR/cuda (default: /usr/local), then DIR/cuda-*, the newest first; of
several, those that the driver is too old for come last.
$CUDAHOSTCXX is the compiler for the host, where g++ is too new for that nvcc.
  NVCC          look at this one only
  --prefix DIR  where toolkits are installed
  --driver FILE where the driver tells its version (default: /proc/driver/nvidia/version)
  --advice      where there is none, that line also says what to install; where the driver is too old
                for the one that is printed, a line on stderr says so
  --help        this text
Exit code 1: there is none; one line on stderr says why, for each that was looked at.
HELP
}

least=12.4  # Below, ptxas knows no mma on FP8 for sm_89 (PTX 8.4); below 12.0 there is no C++20.

prefix=/usr/local
driver_file=/proc/driver/nvidia/version
given=${CUDACXX:-}
advice=
while (($#)); do
  case $1 in
    --prefix | --driver)
      if (($# < 2)); then echo "nvcc.sh: $1 needs a value (see --help)" >&2; exit 2; fi
      if [[ $1 == --prefix ]]; then prefix=$2; else driver_file=$2; fi
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

version_of() { "$1" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+\.[0-9]+).*/\1/p' || true; }

# The newest major version of CUDA that the driver here runs; nothing where it is not known.
driver_runs() {
  local driver
  driver=$(sed -nE 's/^NVRM version:.* ([0-9]{3})\.[0-9.]+ .*/\1/p' "$driver_file" 2>/dev/null) || true
  if [[ -n $driver ]]; then echo $((driver >= 580 ? 13 : 12)); fi
}

# fault NVCC: why it does not do; nothing where it does.
fault() {
  local version
  if [[ ! -x $1 ]]; then echo "no $1"; return; fi
  version=$(version_of "$1")
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
too_new=
runs=$(driver_runs)
while read -r nvcc; do
  same=$(realpath "$nvcc" 2>/dev/null || echo "$nvcc")
  [[ $seen != *" $same "* ]] || continue
  seen+=" $same "
  why=$(fault "$nvcc")
  if [[ -n $why ]]; then
    faults+="${faults:+; }$why"
    continue
  fi
  version=$(version_of "$nvcc")
  if [[ -n $runs ]] && ((${version%%.*} > runs)); then
    too_new=${too_new:-$nvcc}
    continue
  fi
  echo "$nvcc"
  exit 0
done < <(candidates)
if [[ -n $too_new ]]; then
  echo "$too_new"
  # Data-centre boards take a newer driver library that lies beside the toolkit in NVIDIA's images.
  if [[ -n $advice && -z $(ls "$(dirname "$(dirname "$too_new")")"/compat/libcuda.so.* 2>/dev/null) ]]; then
    echo "$too_new of CUDA $(version_of "$too_new") builds what this driver, for CUDA $runs, cannot run$advice" >&2
  fi
  exit 0
fi
if [[ -n $advice && $faults =~ 'gcc versions later than '([0-9]+) ]]; then
  advice="; install g++-${BASH_REMATCH[1]} and name it: CUDAHOSTCXX=g++-${BASH_REMATCH[1]}"
fi
echo "${faults:-no nvcc}$advice" >&2
exit 1
