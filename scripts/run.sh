#!/usr/bin/env bash
# From a fresh clone to a results folder: installs what is missing, builds, measures.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: run.sh [--quick|--full] [--device cpu|gpu|all] [--gpu INDEX|UUID] [--filter REGEX]
              [--bench PROGRAM]… [--out DIR] [--resume DIR] [--timeout S] [--peers]

Installs what is missing, builds into build/, measures this machine and writes a results folder.
  --quick        two to four minutes once built, six where the last cache has hundreds of MB; a GPU
                 adds some five (default)
  --full         every case; shows progress with the time left
  --device D     cpu, gpu or all (default all: no GPU is one line and a skip)
  --gpu G        which GPU, by index or UUID
  --filter RE    only benchmarks whose name matches
  --bench P      also a Google Benchmark program of your own (README, 'Your own kernel')
  --out DIR      where results folders go (default: results/ of this repository)
  --resume DIR   go on with a results folder that was interrupted
  --timeout S    seconds after which a bench process is ended (README, 'What is in a results folder')
  --peers        also compare with newer libraries from PyPI (1 to 2.5 GB, installed once)
  --help         this text
Exit codes: 0 done, 1 a kernel was wrong, 2 bad usage or something is missing.
HELP
}

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
run_flags=()
setup_flags=()
device=all
has_out=false
while (($#)); do
  case $1 in
    --quick | --full) run_flags+=("$1") ;;
    --out | --device | --gpu | --filter | --bench | --resume | --timeout)
      if (($# < 2)); then echo "run.sh: $1 needs a value (see --help)" >&2; exit 2; fi
      [[ $1 == --out || $1 == --resume ]] && has_out=true
      [[ $1 == --device ]] && device=$2
      run_flags+=("$1" "$2")
      shift
      ;;
    --out=* | --resume=*) has_out=true; run_flags+=("$1") ;;
    --device=*) device=${1#*=}; run_flags+=("$1") ;;
    --gpu=* | --filter=* | --bench=* | --timeout=*) run_flags+=("$1") ;;
    --peers) setup_flags+=(--peers) ;;
    --help | -h) usage; exit 0 ;;
    *) echo "run.sh: unknown flag $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

# need_nvcc: before minutes go into what --device gpu cannot do.
need_nvcc() {
  local why
  [[ $device == gpu ]] || return 0
  if [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]]; then
    echo "run.sh: --device gpu: no NVIDIA driver here (a container sees it if it was started with --gpus all)" >&2
    exit 2
  fi
  why=$("$repo/scripts/nvcc.sh" --advice 2>&1 >/dev/null) || {
    echo "run.sh: --device gpu: $why" >&2
    exit 2
  }
}

need_nvcc
"$repo/scripts/setup.sh" ${setup_flags[@]+"${setup_flags[@]}"}
need_nvcc  # with the g++ that may just have been installed
"$repo/scripts/build.sh" "$repo/build" -DCMAKE_BUILD_TYPE=Release -DROOFLINE_TESTS=OFF

$has_out || run_flags+=(--out "$repo/results")
exec "$repo/build/bin/roofline" run ${run_flags[@]+"${run_flags[@]}"}
