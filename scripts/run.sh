#!/usr/bin/env bash
# From a fresh clone to a results folder: installs what is missing, builds, measures.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: run.sh [--quick|--full] [--device cpu|gpu|all] [--gpu INDEX|UUID|all]
              [--filter REGEX] [--bench PROGRAM]… [--out DIR] [--resume DIR] [--timeout S] [--peers]

Installs what is missing, builds into build/, measures this machine and writes a results folder.
  --quick        two to four minutes once built, four to nine on 2 cores with an L3 of hundreds of MB;
                 a GPU adds about five, an estimate (default)
  --full         every case, one to three hours on 2 to 4 cores; shows the time left
  --device D     cpu, gpu or all (default all: no GPU is one line and a skip)
  --gpu G        which GPU, by index or UUID; all: every GPU at once, a folder each, without the CPU
  --filter RE    only benchmarks whose name matches; all ceilings, unless it matches some of them
  --bench P      also a Google Benchmark program of your own (README, 'Your own kernel')
  --out DIR      where results folders go (default: results/ of this repository)
  --resume DIR   go on with a results folder that was interrupted
  --timeout S    seconds after which a bench process is ended (README, 'What is in a results folder')
  --peers        also compare with newer libraries from PyPI (1 to 2.5 GB, installed once)
  --help         this text
Exit codes: 0 done, 1 a kernel was wrong or gave no time, or the run was interrupted, 2 bad usage or
something is missing.
HELP
}

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wrong() { echo "run.sh: $1" >&2; exit 2; }

run_flags=()
setup_flags=()
own=()
given=' '  # names of flags
device=all
gpu=0
timeout=1
resume=
has_out=false
# take FLAG VALUE: for roofline run, and what is looked at here.
take() {
  case $1 in
    --out) has_out=true ;;
    --resume) has_out=true; resume=$2 ;;
    --device) device=$2 ;;
    --gpu) gpu=$2 ;;
    --timeout) timeout=$2 ;;
    --bench) own+=("$2") ;;
  esac
  given+="$1 "
  run_flags+=("$1=$2")
}
while (($#)); do
  case $1 in
    --quick | --full) given+="$1 "; run_flags+=("$1") ;;
    --out | --device | --gpu | --filter | --bench | --resume | --timeout)
      (($# >= 2)) || wrong "$1 needs a value (see --help)"
      take "$1" "$2"
      shift
      ;;
    --out=* | --device=* | --gpu=* | --filter=* | --bench=* | --resume=* | --timeout=*)
      take "${1%%=*}" "${1#*=}"
      ;;
    --peers) setup_flags+=(--peers) ;;
    --help | -h) usage; exit 0 ;;
    *) wrong "unknown flag $1 (see --help)" ;;
  esac
  shift
done

# need_nvcc: before minutes go into what --device gpu cannot do.
need_nvcc() {
  local why
  [[ $device == gpu ]] || return 0
  if [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]]; then
    wrong '--device gpu: no NVIDIA driver here (a container sees it if it was started with --gpus all)'
  fi
  why=$("$repo/scripts/nvcc.sh" --advice 2>&1 >/dev/null) || true
  [[ -z $why ]] || wrong "--device gpu: $why"
}

# apart FLAG OTHER…: the one was not given with any of the others.
apart() {
  local flag=$1 other
  shift
  [[ $given == *" $flag "* ]] || return 0
  for other; do
    [[ $given != *" $other "* ]] || wrong "$other excludes $flag"
  done
}

# What the program itself would refuse, but only after minutes of installing and building.
[[ $device =~ ^(cpu|gpu|all)$ ]] || wrong "--device $device: not cpu, gpu or all"
[[ $gpu =~ ^(all|[0-9]{1,4}|(GPU|MIG)-[0-9a-fA-F-]+)$ ]] || wrong "--gpu $gpu: neither an index nor a UUID (GPU-…) nor all"
[[ $gpu != all || $device != cpu ]] || wrong '--gpu all: not with --device cpu'
[[ $gpu != all ]] || device=gpu  # for what is looked at here
[[ $timeout =~ ^[0-9]*\.?[0-9]+$ && $timeout =~ [1-9] ]] || wrong "--timeout $timeout: not a number of seconds above 0"
[[ -z $resume || -e $resume/run.json ]] || wrong "--resume $resume: no run.json there"
apart --full --quick
apart --resume --quick --full --out --device --gpu --filter
for program in "${own[@]}"; do
  [[ -f $program && -x $program ]] || wrong "--bench $program: not an executable file"
done

need_nvcc
"$repo/scripts/setup.sh" ${setup_flags[@]+"${setup_flags[@]}"}
need_nvcc  # with the g++ that may just have been installed
"$repo/scripts/build.sh" "$repo/build" -DCMAKE_BUILD_TYPE=Release -DROOFLINE_TESTS=OFF

$has_out || run_flags+=(--out "$repo/results")
exec "$repo/build/bin/roofline" run ${run_flags[@]+"${run_flags[@]}"}
