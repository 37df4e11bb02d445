# Which nvcc builds the GPU half, by made-up toolkits: too old, partial, one that the g++ is too new for,
# several beside each other; and that run.sh says so before it installs or builds.
set -u
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
ninja=$(command -v ninja)
unset CUDACXX CUDAHOSTCXX
path=$PATH

# toolkit FOLDER VERSION [ERROR]: an nvcc of that version; it compiles, or prints the error unless it
# is told the host's compiler.
toolkit() {
  mkdir -p "$1/bin"
  cat >"$1/bin/nvcc" <<SH
#!/bin/sh
case \$1 in
  --version) echo 'Cuda compilation tools, release $2, V$2.99'; exit ;;
  -ccbin) [ \$2 = tools/sh ]; exit ;;
esac
if [ -n '${3:-}' ]; then echo '${3:-}' >&2; exit 1; fi
SH
  chmod +x "$1/bin/nvcc"
}

# A box without any toolkit of its own.
mkdir tools
for tool in awk bash cat chmod cksum cmp cp dirname basename env g++ grep head ln ls mkdir mktemp realpath rm sed sh \
  sort uname; do
  ln -s "$(command -v $tool)" tools/
done

# expect NAME CODE OUTPUT ARGUMENTS…: exit code of nvcc.sh, and all that it prints.
expect() {
  local name=$1 code=$2 output=$3 got
  shift 3
  got=$("$repo/scripts/nvcc.sh" "$@" 2>&1)
  local status=$?
  [ $status -eq "$code" ] && [ "$got" = "$output" ] && return
  echo "FAILED: $name: exit code $status, expected $code and '$output', got '$got'"
  failed=1
}

PATH=$work/tools
newer='12.4 or newer is needed'
expect 'no toolkit' 1 'no nvcc' --prefix none
expect 'a name that is not there' 1 'no /opt/none/nvcc' /opt/none/nvcc
toolkit old 11.5
toolkit before 12.3
toolkit least 12.4
toolkit next 13.1
expect 'too old' 1 "old/bin/nvcc is of CUDA 11.5, $newer" old/bin/nvcc
expect 'just too old' 1 "before/bin/nvcc is of CUDA 12.3, $newer" before/bin/nvcc
expect 'the least' 0 least/bin/nvcc least/bin/nvcc
expect 'the next major version' 0 next/bin/nvcc next/bin/nvcc
CUDACXX=old/bin/nvcc expect 'by the environment' 1 "old/bin/nvcc is of CUDA 11.5, $newer"
toolkit partial 12.6 '/tmp/x/probe.cu:1:10: fatal error: cub/version.cuh: No such file or directory'
expect 'no headers' 1 \
  'partial/bin/nvcc of CUDA 12.6 does not compile: cub/version.cuh: No such file or directory' partial/bin/nvcc
toolkit gcc 12.6 "/x/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported! The nvcc flag -allow-unsupported-compiler can be used."
gcc='gcc/bin/nvcc of CUDA 12.6 does not compile: unsupported GNU version! gcc versions later than 13 are not supported!'
expect 'too new a g++' 1 "$gcc" gcc/bin/nvcc
CUDAHOSTCXX=tools/sh expect 'another compiler for the host' 0 gcc/bin/nvcc gcc/bin/nvcc
rm tools/g++
expect 'no g++ yet' 0 gcc/bin/nvcc gcc/bin/nvcc
ln -s "$(PATH=$path command -v g++)" tools/

# Where toolkits are installed: the first that will do, the newest first.
toolkit local/cuda-12.6 12.6
expect 'without the link' 0 "$work/local/cuda-12.6/bin/nvcc" --prefix "$work/local"
toolkit local/cuda-12.10 12.10
expect 'the newest' 0 "$work/local/cuda-12.10/bin/nvcc" --prefix "$work/local"
toolkit local/cuda-13.0 13.0 'sh: 1: cicc: not found'
expect 'the newest that compiles' 0 "$work/local/cuda-12.10/bin/nvcc" --prefix "$work/local"
ln -s cuda-12.6 local/cuda
expect 'the link before them' 0 "$work/local/cuda/bin/nvcc" --prefix "$work/local"
PATH=$work/old/bin:$PATH expect 'behind an old one of the system' 0 "$work/local/cuda/bin/nvcc" --prefix "$work/local"
PATH=$work/least/bin:$PATH expect 'behind one of the system' 0 "$work/least/bin/nvcc" --prefix "$work/local"
# Drivers: proprietary and open modules, and none.
toolkit both/cuda-12.8 12.8
toolkit both/cuda-13.0 13.0
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Dec  8 01:01:01 UTC 2024' >570
echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder)' >580
expect 'an older driver' 0 "$work/both/cuda-12.8/bin/nvcc" --prefix "$work/both" --driver 570
expect 'a driver that runs both' 0 "$work/both/cuda-13.0/bin/nvcc" --prefix "$work/both" --driver 580
expect 'no driver' 0 "$work/both/cuda-13.0/bin/nvcc" --prefix "$work/both" --driver none
rm -r both/cuda-12.8
old_driver="$work/both/cuda-13.0/bin/nvcc of CUDA 13.0 builds what this driver, for CUDA 12, cannot run; install NVIDIA's CUDA toolkit (12.4 to 12.9 for drivers from 525 on, 13 from 580 on), or unpack here what scripts/bundle.sh packs where there is one"
expect 'too new, but no other: told' 0 "$(printf '%s\n%s' "$work/both/cuda-13.0/bin/nvcc" "$old_driver")" \
  --advice --prefix "$work/both" --driver 570
expect 'too new, but no other' 0 "$work/both/cuda-13.0/bin/nvcc" --prefix "$work/both" --driver 570

toolkit bad/cuda-11.8 11.8
toolkit bad/cuda-13.0 13.0 'sh: 1: cicc: not found'
ln -s cuda-13.0 bad/cuda
expect 'each fault once' 1 "$work/bad/cuda/bin/nvcc of CUDA 13.0 does not compile: sh: 1: cicc: not found; \
$work/bad/cuda-11.8/bin/nvcc is of CUDA 11.8, $newer" --prefix "$work/bad"

# run.sh stops before setup.sh and build.sh, or between them where g++ has only come with the former.
mkdir -p fake/scripts
cp "$repo/scripts/"{nvcc,setup,jobs}.sh "$repo/scripts/requirements.txt" fake/scripts/
sed "s|/dev/nvidiactl|$work/nvidiactl|; s|/dev/dxg|$work/dxg|" "$repo/scripts/run.sh" >fake/scripts/run.sh
chmod +x fake/scripts/run.sh
: >nvidiactl
advice="; install NVIDIA's CUDA toolkit (12.4 to 12.9 for drivers from 525 on, 13 from 580 on), or unpack here what scripts/bundle.sh packs where there is one"
printf '#!/bin/sh\necho build >>done.txt\nexit 7\n' >fake/scripts/build.sh
# stops NAME LINE CODE DONE ARGUMENTS…: what run.sh says on stderr, its exit code, the steps that it got to.
stops() {
  local name=$1 line=$2 code=$3 steps=$4 status
  shift 4
  : >done.txt
  fake/scripts/run.sh "$@" >/dev/null 2>err.txt
  status=$?
  [ $status -eq "$code" ] && [ "$(cat err.txt)" = "$line" ] && [ "$(echo $(cat done.txt))" = "$steps" ] && return
  echo "FAILED: $name: exit code $status, expected $code, after '$(cat done.txt)' and with:"
  cat err.txt
  failed=1
}
cp fake/scripts/setup.sh setup.sh
printf '#!/bin/sh\necho setup >>done.txt\n' >fake/scripts/setup.sh
chmod +x fake/scripts/*.sh
old="run.sh: --device gpu: old/bin/nvcc is of CUDA 11.5, $newer$advice"
CUDACXX=old/bin/nvcc stops 'GPU asked for' "$old" 2 '' --device gpu
CUDACXX=old/bin/nvcc stops 'GPU asked for by =' "$old" 2 '' --quick --device=gpu
CUDACXX=old/bin/nvcc stops 'any device' '' 7 'setup build'
CUDACXX=old/bin/nvcc stops 'CPU' '' 7 'setup build' --device cpu
CUDACXX=least/bin/nvcc stops 'GPU and toolkit' '' 7 'setup build' --device gpu
mkdir folder
: >folder/run.json
stops 'both efforts' 'run.sh: --quick excludes --full' 2 '' --full --quick
stops 'resumed, and with a filter' 'run.sh: --filter excludes --resume' 2 '' --filter x --resume folder
stops 'resumed, and full' 'run.sh: --full excludes --resume' 2 '' --resume=folder --full
stops 'resumed' '' 7 'setup build' --resume folder --timeout 0.5
stops 'no such GPU' 'run.sh: --gpu first: neither an index nor a UUID (GPU-…) nor all' 2 '' --gpu first
stops 'a GPU' '' 7 'setup build' --gpu MIG-12ab-0
stops 'no time' 'run.sh: --timeout 0.0: not a number of seconds above 0' 2 '' --timeout 0.0
rm nvidiactl
none='run.sh: --device gpu: no NVIDIA driver here (a container sees it if it was started with --gpus all)'
CUDACXX=least/bin/nvcc stops 'toolkit, no GPU' "$none" 2 '' --device gpu
: >nvidiactl
rm tools/g++
cat >fake/scripts/setup.sh <<SH
#!/bin/sh
echo setup >>done.txt
ln -s /bin/true tools/g++
SH
CUDACXX=gcc/bin/nvcc stops 'g++ came with setup' \
  "run.sh: --device gpu: $gcc; install g++-13 and name it: CUDAHOSTCXX=g++-13" 2 setup --device gpu

# setup.sh on a box with a GPU, whose pictures need nothing more.
sed "s|/dev/nvidiactl|$work/nvidiactl|; s|/dev/dxg|$work/dxg|" setup.sh >fake/scripts/setup.sh
mkdir -p fake/build/venv
{ cat fake/scripts/requirements.txt; echo "#  $(uname -m)"; } >fake/build/venv/requirements.txt
: >nvidiactl
said="setup: the GPU is left out: old/bin/nvcc is of CUDA 11.5, $newer$advice"
CUDACXX=old/bin/nvcc fake/scripts/setup.sh >out.txt 2>&1 && grep -Fxq "$said" out.txt &&
  ! grep -q 'Python packages' out.txt ||
  { echo 'FAILED: setup.sh with a GPU and no toolkit'; cat out.txt; failed=1; }
rm nvidiactl
CUDACXX=old/bin/nvcc fake/scripts/setup.sh >out.txt 2>&1 && ! grep -q 'GPU' out.txt ||
  { echo 'FAILED: setup.sh without a GPU'; cat out.txt; failed=1; }

# build.sh configures anew what was configured with other compilers, and only that.
cp "$repo/scripts/build.sh" fake/scripts/
mkdir -p cmake built/CMakeFiles
cat >cmake/cmake <<'SH'
#!/bin/sh
[ -e built/CMakeCache.txt ] || [ "$1" = --version ] && exit ${FAULT:-0}
echo "CMAKE_CUDA_COMPILER:STRING=$NVCC" >built/CMakeCache.txt
: >built/anew
SH
chmod +x cmake/cmake
# again NVCC: build.sh on a folder whose cache has this nvcc.
again() {
  rm -f built/anew
  echo "CMAKE_CUDA_COMPILER:STRING=$1" >built/CMakeCache.txt
  NVCC=$1 PATH=$work/cmake:$path fake/scripts/build.sh built >out.txt 2>&1 || { cat out.txt; failed=1; }
}
# keeps NVCC [COMMAND…]: whether the second time keeps the cache, with COMMAND between.
keeps() {
  again "$1"
  "${@:2}"
  again "$1"
  [ ! -e built/anew ]
}
toolkit moving 12.6
keeps "$work/least/bin/nvcc" || { echo 'FAILED: build.sh forgets an nvcc that is there'; failed=1; }
keeps NOTFOUND || { echo 'FAILED: build.sh forgets that there was no nvcc'; failed=1; }
keeps "$work/moving/bin/nvcc" toolkit moving 12.9 && { echo 'FAILED: build.sh keeps another nvcc'; failed=1; }
keeps "$work/moving/bin/nvcc" rm -r moving && { echo 'FAILED: build.sh keeps an nvcc that is gone'; failed=1; }
keeps "$work/least/bin/nvcc" export CUDACXX="$work/next/bin/nvcc" &&
  { echo 'FAILED: build.sh keeps an nvcc where CUDACXX names another'; failed=1; }
unset CUDACXX
keeps "$work/least/bin/nvcc" sed -i "s|$work|/before|" built/tools.txt &&
  { echo 'FAILED: build.sh keeps the cache of a folder that was moved'; failed=1; }
# A compiler that does not serve is forgotten: CMake would keep it, and tools.txt is of the one before.
again "$work/least/bin/nvcc"
FAULT=1 PATH=$work/cmake:$path fake/scripts/build.sh built >out.txt 2>&1
[ $? = 2 ] && [ ! -e built/CMakeCache.txt ] && [ ! -e built/tools.txt ] ||
  { echo 'FAILED: build.sh keeps what could not be configured'; failed=1; }

# CMake leaves the GPU half out and goes on; one that compiles is CMake's to refuse.
PATH=$path
# configures NAME REASON: the whole tree, by $CUDACXX.
configures() {
  rm -rf build
  cmake ${ninja:+-G Ninja} -S "$repo" -B build -DROOFLINE_TESTS=OFF >out.txt 2>&1 &&
    [ "$(grep 'GPU half' out.txt)" = "-- GPU half: left out ($2)" ] && return
  echo "FAILED: $1: not configured without the GPU half for '$2':"
  tail -n 20 out.txt
  failed=1
}
CUDACXX=$work/old/bin/nvcc configures 'CMake, too old' "$work/old/bin/nvcc is of CUDA 11.5, $newer"
CUDACXX=$work/gcc/bin/nvcc configures 'CMake, too new a g++' "$work/$gcc"
CUDACXX=$work/least/bin/nvcc configures 'CMake, fake' "this CMake takes no $work/least/bin/nvcc"
exit $failed
