#!/bin/sh
# The main job from an unpacked archive of scripts/bundle.sh: needs neither compiler nor internet,
# and for GPUs only the driver. Takes the flags of `roofline run`.
set -eu

case $0 in
  */*) root=$(CDPATH='' cd "${0%/*}" && pwd) ;;
  *) root=$(pwd) ;;
esac

# No C++ runtime here, or an older one.
if ! "$root/bin/bench_ceilings" --help >/dev/null 2>&1; then
  LD_LIBRARY_PATH=$root/lib/fallback${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi

# An older glibc, or another processor: the loader's own lines, as one.
if ! fault=$("$root/bin/bench_ceilings" --help 2>&1); then
  echo "run.sh: the programs do not start on this machine:" $fault >&2  # unquoted: one line
  exit 2
fi

for flag in "$@"; do
  case $flag in
    --out | --out=* | --resume | --resume=* | --help | -h) exec "$root/bin/roofline" run "$@" ;;
  esac
done
exec "$root/bin/roofline" run --out "$root/results" "$@"
