#!/usr/bin/env bash
# usage: bundle.sh BUILD_DIR
# The archive of scripts/bundle.sh: its programs load nothing but glibc and what is packed with it,
# and ./run.sh does the main job with no environment, as root in a root folder that has a shell and
# glibc alone.
set -u
build=$1
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

"$repo/scripts/bundle.sh" --build "$build" --out . >out.txt 2>&1 || { cat out.txt; exit 1; }
if "$build/bin/bench_ceilings" --list | grep -q '"stream/sm80_'; then
  gpus='for GPUs (NVIDIA driver [0-9]{3}|an NVIDIA driver for CUDA [0-9]+) or newer'
else
  gpus='for CPUs only'
fi
grep -Eq "^\./roofline-.*\.tar\.gz: [0-9.]+MB, for glibc [0-9.]+ or newer, $gpus\$" out.txt ||
  { cat out.txt; fail 'no line with size, glibc and driver'; }
mkdir root
tar -xzf roofline-*.tar.gz -C root
mv root/roofline-* root/suite
grep -Eq "Needs glibc [0-9.]+ or newer, $gpus\.\$" root/suite/README ||
  { cat root/suite/README; fail 'README does not say what is needed'; }

for program in root/suite/bin/*; do
  ldd "$program" | grep -vE "linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so|$work/root/suite/bin/../lib/" &&
    fail "$program loads more than is packed"
done

# A shell and what it and the programs load, nothing else.
empty_root() {
  mkdir -p root/bin root/proc root/sys root/tmp root/dev
  cp "$(readlink -f /bin/sh)" root/bin/sh
  { ldd root/bin/sh; ldd root/suite/bin/*; } | grep -oE '[[:space:]]/[^ ]+' | sort -u | while read -r library; do
    case $library in "$work"/* | */libstdc++.* | */libgcc_s.*) continue ;; esac
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
  done
}
# in_root COMMAND…: all mounts end with it.
in_root() {
  unshare --mount sh -c 'mount --rbind /proc root/proc && mount --rbind /sys root/sys &&
    mount --rbind /dev root/dev && exec env -i "$0" root "$@"' "$(command -v chroot)" "$@"
}
empty_root
if in_root /bin/sh -c : 2>/dev/null; then
  empty=true
  run() { in_root /suite/run.sh "$@"; }
else
  echo 'SKIPPED: the empty root (needs root and mount)'
  empty=false
  run() { env -i "$work/root/suite/run.sh" "$@"; }
fi

only='^(fma_peak/.*/f32/threads:1|stream/.*/access:read/.*/threads:1|dot/scalar/f32/N:[0-9]*/temp:warm/threads:1)$'
run --device cpu --filter "$only" >out.txt 2>err.txt || { cat err.txt; fail "run.sh: exit code $?"; }
folder=$(ls -d root/suite/results/*/*/)
for file in machine.json ceilings.csv roofline.csv sweep.csv trace.csv; do
  [ "$(wc -l <"$folder$file")" -gt 1 ] || fail "no $file, or an empty one"
done
grep -q '^results: .*/suite/results/' out.txt || { cat out.txt; fail 'no summary'; }
if $empty; then # else there may be a Python that draws
  grep -v '^\[' err.txt | grep -vE '^(results|skipped)' >rest.txt
  [ "$(cat rest.txt)" = 'no Python with matplotlib or Bokeh: no pictures, no page' ] ||
    { cat err.txt; fail 'not one line that says what is left out'; }
fi

run --device tpu >out.txt 2>err.txt
[ $? -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] || { cat err.txt; fail 'bad flag: not exit code 2 and one line'; }

# Programs that do not start: one line, exit code 2.
printf '\177ELF' >root/suite/bin/bench_ceilings
run >out.txt 2>err.txt
[ $? -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] && grep -q '^run.sh: the programs do not start' err.txt ||
  { cat err.txt; fail 'a broken program: not exit code 2 and one line'; }
exit $failed
