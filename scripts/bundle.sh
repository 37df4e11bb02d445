#!/usr/bin/env bash
# Packs what was built into one archive for boxes without compiler, packages or internet.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: bundle.sh [--build DIR] [--out DIR]

Builds as run.sh does and writes roofline-<version>-linux-<processor>.tar.gz, which runs on any
Linux with this processor, the same or a newer glibc and, for GPUs, a driver for the same major
version of CUDA or a newer one: unpack it and call ./run.sh inside. The last line names both.
  --build DIR  pack this build folder as it is, instead of building
  --out DIR    where the archive goes (default: build/ of this repository)
  --help       this text
HELP
}

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=
out=$repo/build
while (($#)); do
  case $1 in
    --build | --out)
      if (($# < 2)); then echo "bundle.sh: $1 needs a value (see --help)" >&2; exit 2; fi
      if [[ $1 == --build ]]; then build=$2; else out=$2; fi
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) echo "bundle.sh: unknown flag $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

if [[ -z $build ]]; then
  build=$repo/build
  "$repo/scripts/setup.sh"
  "$repo/scripts/build.sh" "$build" -DCMAKE_BUILD_TYPE=Release -DROOFLINE_TESTS=OFF
elif [[ ! -x $build/bin/roofline ]]; then
  echo "bundle.sh: --build $build: no bin/roofline in it" >&2
  exit 2
fi
if [[ ! -d $out ]]; then
  echo "bundle.sh: --out $out: no such folder" >&2
  exit 2
fi

read -r _ version < <("$build/bin/roofline" --version)
name=roofline-${version// /-}-linux-$(uname -m)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! cmake --install "$build" --component bundle --strip --prefix "$scratch/$name" >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  echo "bundle.sh: cmake --install failed" >&2
  exit 2
fi
# run.sh uses these where the box's own do not serve; before those, they would keep libraries to
# compare with from loading that need newer ones.
mkdir -p "$scratch/$name/lib/fallback"
find "$scratch/$name/lib" -maxdepth 1 \( -name 'libstdc++*' -o -name 'libgcc_s*' \) \
  -exec mv -t "$scratch/$name/lib/fallback" {} +

# The newest symbol version that any of the files asks the C library for.
glibc=$(find "$scratch/$name/bin" "$scratch/$name/lib" -type f -exec objdump -T {} + |
  grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
needs="glibc ${glibc#GLIBC_} or newer"
# The least driver of each major version, as NVIDIA's table of minor-version compatibility has it.
cuda=$(sed -n 's/^ROOFLINE_CUDA_VERSION:INTERNAL=//p' "$build/CMakeCache.txt")
case $cuda in
  '') needs+=', for CPUs only' ;;
  12.*) needs+=', for GPUs NVIDIA driver 525 or newer' ;;
  13.*) needs+=', for GPUs NVIDIA driver 580 or newer' ;;
  *) needs+=", for GPUs an NVIDIA driver for CUDA ${cuda%%.*} or newer" ;;
esac
cat >"$scratch/$name/README" <<TEXT
roofline $version, built for $(uname -m)${cuda:+ with CUDA $cuda}. Needs $needs.
./run.sh measures this machine and writes into results/ here; ./run.sh --help shows its flags.
TEXT

tar -C "$scratch" -czf "$out/$name.tar.gz.part" --owner=0 --group=0 "$name"
mv "$out/$name.tar.gz.part" "$out/$name.tar.gz"
echo "$out/$name.tar.gz: $(du -h "$out/$name.tar.gz" | cut -f 1)B, for $needs"
