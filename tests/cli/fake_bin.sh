# fake_bin PROGRAM…: fake_bench.py under these names in ./bin. To be sourced.
# The interpreter itself, without its start-up extras: the fakes are started a few hundred times.
# Their sizes are those of a machine with 32 KiB, 512 KiB and 32 MiB of cache: so is this one, then.
export HWLOC_THISSYSTEM=1
HWLOC_SYNTHETIC="numa:1(memory=16GB) L3:1(size=33554432) L2:$(nproc)(size=524288) L1:1(size=32768) core:1 pu:1"
export HWLOC_SYNTHETIC
fake_bin() {
  local program
  mkdir bin
  sed "1s|.*|#!$(python3 -c 'import sys; print(sys.executable)') -SE|" \
    "$(dirname "${BASH_SOURCE[0]}")/fake_bench.py" >fake
  chmod +x fake
  for program in "$@"; do ln -s ../fake "bin/$program"; done
}
