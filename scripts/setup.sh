#!/usr/bin/env bash
# Installs what is missing on Debian or Ubuntu (as root or with sudo) and makes the Python
# environment that draws the pictures. Safe to repeat: with everything there it asks no network.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: setup.sh [--test] [--peers]

Installs what is missing to build and run (Debian 12, Ubuntu 22.04 and later; root or sudo).
  --test   also what the tests need: Clang with its OpenMP and sanitizer runtimes, clang-format,
           SIMDe, a cross compiler and emulator for AArch64, and Chromium with Selenium for report.html
  --peers  also newer libraries to compare with, from PyPI into build/venv: about 1 GB for the CPU, of
           which ggml is compiled (half a minute on 2 cores), and cuDNN with what it needs (1.5 GB)
           where there are an NVIDIA GPU and its toolkit
  --help   this text
Exit code 2: something is missing and cannot be installed; one line names it.
HELP
}

want_test=false
want_peers=false
for arg in "$@"; do
  case $arg in
    --test) want_test=true ;;
    --peers) want_peers=true ;;
    --help | -h) usage; exit 0 ;;
    *) echo "setup.sh: unknown flag $arg (see --help)" >&2; exit 2 ;;
  esac
done

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scripts=$repo/scripts
venv=$repo/build/venv

scratch=()
trap '((${#scratch[@]} == 0)) || rm -rf "${scratch[@]}"' EXIT

# One at a time: two runs that begin together would install the same, and into the same environment.
if command -v flock >/dev/null && mkdir -p "$repo/build" 2>/dev/null && { exec 9>"$repo/build/.setup.lock"; } 2>/dev/null; then
  # Code 1: held; others: a file system without locks.
  flock -n 9 || { (($? == 1)) && echo "setup: waiting for another one" && flock 9; } || true
fi

# package  command or header that shows it is there  why
required='
g++                 g++                       compiles C++20, OpenMP included
cmake               cmake                     configures the build
ninja-build         ninja                     builds, and says how far it is
libbenchmark-dev    benchmark/benchmark.h     Google Benchmark: the timing loop and JSON of every bench program
libfmt-dev          fmt/format.h              text formatting (std::format needs GCC 13)
libhwloc-dev        hwloc.h                   cores, caches and NUMA nodes of the machine
nlohmann-json3-dev  nlohmann/json.hpp         reads benchmark JSON, writes machine.json
libcli11-dev        CLI/CLI.hpp               command lines of the roofline tool
python3             python3                   draws the pictures
python3-venv        python3:venv,ensurepip    keeps matplotlib and Bokeh out of the system
'
test_only='
libgtest-dev        gtest/gtest.h             unit tests
clang               clang++                   second compiler; ThreadSanitizer that knows OpenMP
libomp-dev          ?                         OpenMP runtime for Clang
clang-format        clang-format              format check
libsimde-dev        simde/x86/avx512.h        AVX-512 kernels without AVX-512: emulated in the tests
g++-aarch64-linux-gnu  aarch64-linux-gnu-g++  NEON kernels: cross-compiled,
qemu-user           qemu-aarch64              and run
googletest          ?                         sources of the test framework, for AArch64
xz-utils            xz                        samples as committed runs have them
'
# Libraries that ours is compared with; each is optional. The name is a pattern, as versions differ.
peers='
libopenblas0-pthread            OpenBLAS
libblis[0-9]+-pthread           BLIS
libdnnl[0-9][0-9.]*             oneDNN
'

has_package() { [[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == *' installed' ]]; }

# Where CMake looks, too.
has_header() {
  local prefix
  local -a prefixes
  IFS=: read -ra prefixes <<<"/usr:/usr/local:${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do
    [[ ! -e $prefix/include/$1 ]] || return 0
  done
  return 1
}

# present PACKAGE PROBE: a command, a header, or python3:modules; "?" asks dpkg alone.
present() {
  case $2 in
    '?') has_package "$1" ;;
    python3:*) "$(system_python)" -c "import ${2#*:}" 2>/dev/null ;;
    *.h | *.hpp) has_header "$2" || has_package "$1" ;;
    *) command -v "$2" >/dev/null ;;
  esac
}

# The distribution's own Python goes with its python3-venv package; one from pyenv or conda may not.
system_python() { if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else echo python3; fi; }

missing_of() {
  local package probe
  while read -r package probe _; do
    [[ -z $package ]] || present "$package" "$probe" || echo "$package"
  done <<<"$1"
}

# apt reads a proxy's name in small letters alone, and sudo forgets the environment.
settings=(LC_ALL=C)
for name in http_proxy https_proxy no_proxy; do
  large=${name^^}
  value=${!name:-${!large:-}}
  [[ -z $value ]] || settings+=("$name=$value")
done
as_root() {
  local sudo=(sudo)
  [[ $(id -u) != 0 ]] || sudo=()
  "${sudo[@]}" env "${settings[@]}" "$@" 9>&-  # a service that is installed must not keep the lock
}
# Why there is no root; empty where there is. A sudo that asks for a password needs a terminal.
no_root=
if [[ $(id -u) != 0 ]]; then
  if ! command -v sudo >/dev/null; then
    no_root='neither root nor sudo'
  elif [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
    no_root='sudo asks for a password, and there is no terminal'
  fi
fi
can_be_root() { [[ -z $no_root ]]; }
# For what is optional nobody is asked for a password.
is_root() { [[ $(id -u) == 0 ]] || sudo -n true 2>/dev/null; }
no_quiet_root=${no_root:-sudo asks for a password}
has_lists() { [[ -n $(ls /var/lib/apt/lists/*Packages* 2>/dev/null) ]]; }

# A box that has just started installs its updates: that is waited for.
apt=(apt-get -o DPkg::Lock::Timeout=600 -qq)
updated=false
apt_update() {
  $updated && return
  echo "setup: reading the package lists"
  updated=true
  for pause in 0 5 20 60; do
    sleep $pause
    as_root "${apt[@]}" update >"$update_log" 2>&1 && return
    grep -q 'Could not get lock' "$update_log" || break
  done
  cat "$update_log" >&2
  return 0  # a stale mirror entry must not stop what can be installed
}
# offered PACKAGE: by the lists as they are, which are read only where there are none.
offered() {
  apt-cache show "$1" >/dev/null 2>&1 && return
  ! has_lists && apt_update && apt-cache show "$1" >/dev/null 2>&1
}
apt_install() {
  apt_update
  echo "setup: installing $*"
  as_root env DEBIAN_FRONTEND=noninteractive \
    "${apt[@]}" install -y --no-install-recommends "$@" >"$log" 2>&1
}
# What has no CLI11 or too old a compiler cannot be built on.
too_old() {
  local id version
  id=$(sed -n 's/^ID=//p' "${OS_RELEASE:-/etc/os-release}" | tr -d '"')
  version=$(sed -n 's/^VERSION_ID=//p' "${OS_RELEASE:-/etc/os-release}" | tr -d '"')
  case $id in
    debian) [[ -n $version ]] && ((${version%%.*} < 12)) ;;
    ubuntu) [[ -n $version ]] && ((${version%%.*} < 22)) ;;
    *) false ;;
  esac
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  log=$(mktemp)
  update_log=$(mktemp)
  scratch+=("$log" "$update_log")
  list=$required
  $want_test && list+=$test_only
  # The host's own g++ has that name there.
  [[ $(uname -m) != aarch64 ]] || list=$(grep -v '^g++-aarch64' <<<"$list")
  mapfile -t missing < <(missing_of "$list")
  if ((${#missing[@]})); then
    if too_old; then
      echo "setup.sh: too old a distribution: Debian 12 or Ubuntu 22.04 at least, or what scripts/bundle.sh packs there" >&2
      exit 2
    fi
    # Make builds as well, and without venv there are no pictures.
    mapfile -t needed < <(printf '%s\n' "${missing[@]}" | grep -vxE 'ninja-build|python3-venv')
    if can_be_root; then
      is_root || echo "setup: sudo may ask for your password, to install: ${missing[*]}"
      if apt_install "${missing[@]}"; then
        missing=()
      elif ((${#needed[@]})) && ! apt_install "${needed[@]}"; then
        grep '^[WE]:' "$update_log" | tail -n 5 >&2 || true
        tail -n 20 "$log" >&2
        echo "setup.sh: apt-get could not install: ${needed[*]}" >&2
        exit 2
      fi
    elif ((${#needed[@]})); then
      echo "setup.sh: missing packages, and $no_root: ${needed[*]}; or unpack here what scripts/bundle.sh packs where they are" >&2
      exit 2
    fi
    ((${#missing[@]} == 0)) || mapfile -t missing < <(missing_of "$list")
    ((${#missing[@]} == 0)) || echo "setup: not installed (${no_root:-apt-get could not}): ${missing[*]}"
  fi

  # Debian 12 has Clang's sanitizers and libFuzzer apart; Ubuntu 22.04 among what clang needs.
  if $want_test && ! has_package libclang-rt-dev && is_root && offered libclang-rt-dev; then
    apt_install libclang-rt-dev || echo "setup: Clang's sanitizers could not be installed: asan uses GCC"
  fi

  # Ubuntu has no such driver: its Chromium is a snap, which needs a running snapd.
  if $want_test && ! has_package chromium-driver; then
    if ! is_root; then
      echo "setup: Chromium is not installed ($no_quiet_root): browser tests are skipped"
    elif ! offered chromium-driver; then
      echo "setup: Chromium is not packaged here: browser tests are skipped"
    elif ! apt_install chromium chromium-driver; then
      echo "setup: Chromium could not be installed: browser tests are skipped"
    fi
  fi

  installed=$(dpkg-query -W -f '${Status} ${Package}\n' 'lib*' 2>/dev/null || true)
  while read -r pattern name; do
    [[ -n $pattern ]] || continue
    grep -Eq "^install ok installed $pattern\$" <<<"$installed" && continue
    candidate() { apt-cache pkgnames lib 2>/dev/null | grep -Ex "$pattern" | sort -V | tail -n 1; }
    package=$(candidate || true)
    if [[ -z $package ]] && is_root && ! has_lists; then
      apt_update
      package=$(candidate || true)
    fi
    if [[ -z $package ]]; then
      echo "setup: $name is not packaged here: not compared with"
    elif ! is_root; then
      echo "setup: $name ($package) is not installed ($no_quiet_root): not compared with"
    elif ! apt_install "$package"; then
      echo "setup: $name ($package) could not be installed: not compared with"
    fi
  done <<<"$peers"
else
  echo "setup: no apt here, packages not checked; needed: $(awk 'NF {printf "%s ", $1}' <<<"$required")"
fi

# Where there is a GPU: what its half is built with.
nvcc=
if [[ -e /dev/nvidiactl || -e /dev/dxg ]]; then
  said=$(mktemp)
  if ! nvcc=$("$scripts/nvcc.sh" --advice 2>"$said"); then
    echo "setup: the GPU is left out: $(cat "$said")"
  elif [[ -s $said ]]; then
    echo "setup: $(cat "$said")"
  fi
  rm -f "$said"
fi

# The environment's Python, by itself: PYTHONPATH, and pip's settings of an image, are for others.
venv_python() {
  env -u PYTHONPATH -u PYTHONHOME -u PIP_CONSTRAINT -u PIP_TARGET -u PIP_PREFIX PIP_USER=0 \
    "$venv/bin/python3" "$@"
}
packages_key() { cat "$1" && echo "# $(venv_python --version 2>/dev/null || true) $(uname -m)"; }
# python_packages FILE [MODULES]: pip-installs a pinned list once. Its copy in the venv says that it is done, and
# for which Python: an upgrade of the distribution leaves the old one's packages behind.
python_packages() {
  local stamp
  stamp=$venv/$(basename "$1")
  packages_key "$1" 2>/dev/null | cmp -s - "$stamp" && return
  echo "setup: installing the Python packages of scripts/$(basename "$1")"
  venv_python -m pip --version >/dev/null 2>&1 || "$(system_python)" -m venv --clear "$venv" || return
  venv_python -m pip install -q --disable-pip-version-check --prefer-binary -r "$1" || return
  [[ -z ${2:-} ]] || venv_python -c "import $2" || return
  packages_key "$1" >"$stamp"
}
# ggml, llama.cpp's attention: PyPI has it among the sources of llama-cpp-python alone, of which little
# is needed; the number is that of the package. It is compiled for this CPU: a folder that another one
# sees has none.
lib=$repo/build/lib
ggml_key() {
  echo "0.3.36 $(uname -m) $(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo | cksum)"
}
has_ggml() { [[ $(ggml_key) == "$(cat "$lib/ggml.key" 2>/dev/null)" ]]; }
compile_ggml() {
  local key work generator=()
  key=$(ggml_key)
  work=$(mktemp -d "$repo/build/ggml.XXXXXX") || return
  scratch+=("$work")
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  echo "setup: compiling ggml"
  {
    venv_python -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python -d "$work" \
      "llama-cpp-python==${key%% *}" &&
      tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work" &&
      cmake "${generator[@]}" -S "$work"/llama_cpp_python-*/vendor/llama.cpp -B "$work/build" \
        -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON -DGGML_CCACHE=OFF \
        -DLLAMA_BUILD_COMMON=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH="\$ORIGIN" &&
      cmake --build "$work/build" --target ggml-cpu -j "$("$scripts/jobs.sh")" &&
      mkdir -p "$lib" && mv -f "$work"/build/bin/libggml-{base,cpu}.so* "$lib" &&
      echo "$key" >"$lib/ggml.key"
  } >"$work/log" 2>&1 9>&- || {
    tail -n 5 "$work/log" >&2
    return 1
  }
}
if [[ -e $lib/ggml.key ]] && ! has_ggml; then rm -f "$lib"/libggml-* "$lib/ggml.key"; fi
python_packages "$scripts/requirements.txt" bokeh,matplotlib ||
  echo "setup: matplotlib and Bokeh could not be installed: pictures and report.html are skipped" >&2
if $want_test; then
  python_packages "$scripts/requirements-test.txt" ||
    echo "setup: Selenium and cuobjdump could not be installed: tests of pages and of machine code are skipped" >&2
fi
if $want_peers; then
  python_packages "$scripts/requirements-peers.txt" ||
    echo "setup: the PyPI peers could not be installed: not compared with" >&2
  has_ggml || compile_ggml || echo "setup: ggml could not be compiled: not compared with" >&2
  if [[ -n $nvcc ]]; then
    cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
    # Those for CUDA 12 and 13 are files of the same names.
    for other in 12 13; do
      [[ $other != "$cuda" && -e $venv/requirements-peers-cuda$other.txt ]] || continue
      venv_python -m pip uninstall -q -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 || true
      rm -f "$venv"/requirements-peers-cuda{12,13}.txt
    done
    python_packages "$scripts/requirements-peers-cuda$cuda.txt" ||
      echo "setup: cuDNN for CUDA $cuda could not be installed: not compared with" >&2
  fi
fi
