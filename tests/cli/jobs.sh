# scripts/jobs.sh: how many compilers at once, by made-up limits of a container.
set -euo pipefail
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/jobs.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect JOBS WHY
expect() {
  local got
  got=$(CGROUP=$work OMP_NUM_THREADS=1 PATH=$work/bin:$PATH "$jobs")
  [[ $got == "$1" ]] || { echo "FAILED: $2: $got jobs, not $1" >&2; exit 1; }
}
mkdir -p "$work/bin" "$work/cpu" "$work/memory"
printf '#!/bin/sh\n[ -z "$OMP_NUM_THREADS" ] && echo 64 || echo 1\n' >"$work/bin/nproc"
chmod +x "$work/bin/nproc"
echo max >"$work/memory.max"
most=$(awk '/MemAvailable/ {n = int($2 / 1500000); print n < 1 ? 1 : n > 64 ? 64 : n}' /proc/meminfo)
((most >= 3)) || exit 0  # too little memory here to see the other limits
echo 'max 100000' >"$work/cpu.max"
got=$(CGROUP=$work PATH=$work/bin:$PATH "$jobs")
((got >= 3)) || { echo "FAILED: no limit: $got jobs" >&2; exit 1; }
echo '150000 100000' >"$work/cpu.max"
expect 2 'one and a half CPUs'
echo '50000 100000' >"$work/cpu.max"
expect 1 'half a CPU'
rm "$work/cpu.max"
echo 250000 >"$work/cpu/cpu.cfs_quota_us"
echo 100000 >"$work/cpu/cpu.cfs_period_us"
expect 3 'version 1, two and a half CPUs'
echo 3100000000 >"$work/memory.max"
expect 2 '3.1 GB'
echo 1000 >"$work/memory.max"
expect 1 'next to no memory'
