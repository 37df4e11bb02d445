# The driver that an archive of scripts/bundle.sh needs, by the CUDA that its GPU half is built with.
set -u
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# A build folder, and a CMake that installs one program from it.
mkdir -p tools build/bin
printf '#!/bin/sh\necho roofline 9.8.7 abc1234\n' >build/bin/roofline
cat >tools/cmake <<'SH'
#!/bin/sh
while [ $# -gt 1 ]; do shift; done
mkdir -p "$1/bin" "$1/lib" && cp /bin/sh "$1/bin/bench"
SH
chmod +x tools/cmake build/bin/roofline

# packs VERSION NEEDS: what the last line and the README inside say of a build with this CUDA.
packs() {
  local line
  rm -rf roofline-* *.tar.gz
  printf 'A:BOOL=ON\nROOFLINE_CUDA_VERSION:INTERNAL=%s\n' "$1" >build/CMakeCache.txt
  line=$(PATH=$work/tools:$PATH "$repo/scripts/bundle.sh" --build build --out . 2>&1) &&
    [[ $line =~ ^\./roofline-9\.8\.7-abc1234-linux-.*\.tar\.gz:\ [0-9.]+[KM]B,\ for\ (glibc\ 2\.[0-9]+\ or\ newer,\ .*)$ ]] &&
    [[ ${BASH_REMATCH[1]} == *" or newer, $2" ]] && tar -xzf ./*.tar.gz &&
    grep -Fxq "roofline 9.8.7 abc1234, built for $(uname -m)${1:+ with CUDA $1}. Needs ${BASH_REMATCH[1]}." roofline-*/README && return
  echo "FAILED: CUDA '$1': '$line' does not end with '$2', or README lacks it:"
  cat roofline-*/README
  failed=1
}
packs '' 'for CPUs only'
packs 12.4.131 'for GPUs NVIDIA driver 525 or newer'
packs 13.0.88 'for GPUs NVIDIA driver 580 or newer'
packs 14.2.1 'for GPUs an NVIDIA driver for CUDA 14 or newer'
exit $failed
