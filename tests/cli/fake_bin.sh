# fake_bin PROGRAM…: fake_bench.py under these names in ./bin. To be sourced.
# The interpreter itself, without its start-up extras: the fakes are started a few hundred times.
fake_bin() {
  local program
  mkdir bin
  sed "1s|.*|#!$(python3 -c 'import sys; print(sys.executable)') -SE|" \
    "$(dirname "${BASH_SOURCE[0]}")/fake_bench.py" >fake
  chmod +x fake
  for program in "$@"; do ln -s ../fake "bin/$program"; done
}
