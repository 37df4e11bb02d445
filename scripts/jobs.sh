#!/usr/bin/env bash
# How many compilers, or tests, may run at once: one a core, but no more than memory allows, the box's
# or the container's. A compiler takes up to 1.5 GB.
set -euo pipefail

cgroup=${CGROUP:-/sys/fs/cgroup}
jobs=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)  # those are for programs that compute
at_most() { if [[ $1 =~ ^[0-9]+$ ]] && (($1 < jobs)); then jobs=$1; fi; }
at_most "$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null)"
# "max" is no limit, and so is what version 1 says where there is none, 2^63 less a page.
for limit in "$cgroup/memory.max" "$cgroup/memory/memory.limit_in_bytes"; do
  at_most "$(awk '$1 != "max" {printf "%d", $1 / 1.5e9}' "$limit" 2>/dev/null)"
done
at_most "$(awk '$1 != "max" && $2 > 0 {printf "%d", ($1 + $2 - 1) / $2}' "$cgroup/cpu.max" 2>/dev/null)"
quota=$(cat "$cgroup/cpu/cpu.cfs_quota_us" 2>/dev/null || echo -1)
period=$(cat "$cgroup/cpu/cpu.cfs_period_us" 2>/dev/null || echo 0)
((quota <= 0 || period <= 0)) || at_most $(((quota + period - 1) / period))
((jobs >= 1)) || jobs=1
echo "$jobs"
