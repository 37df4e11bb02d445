#!/usr/bin/env bash
# A library that the environment names and that cannot be used is one clear line and exit code 2.
set -euo pipefail
bin=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect_refusal() {  # library variable, file, what the line says
  local code=0 message
  message=$(env "$1=$2" "$bin/bench_matmul" --device=cpu --list 2>&1 >/dev/null) || code=$?
  if [[ $code != 2 || $(wc -l <<<"$message") != 1 || $message != *"$1: $2$3" ]]; then
    echo "$1=$2: exit code $code, said: $message" >&2
    exit 1
  fi
}

head -c 4096 /dev/zero >"$scratch/zeros.so"
expect_refusal ROOFLINE_OPENBLAS "$scratch/none.so" ': cannot open shared object file: No such file or directory'
expect_refusal ROOFLINE_BLIS "$scratch/zeros.so" ': invalid ELF header'
expect_refusal ROOFLINE_MKL libm.so.6 ' has no symbol cblas_sgemm'
expect_refusal ROOFLINE_ONEDNN libm.so.6 ' has no symbol dnnl_version'

# An OpenBLAS for 64-bit integers has the same symbols and would read past its arguments.
cat >"$scratch/ilp64.c" <<'C'
#define STUB(name) int name(void) { return 0; }
STUB(cblas_sgemm) STUB(cblas_dgemm) STUB(cblas_sgemv) STUB(cblas_dgemv) STUB(cblas_sdot)
STUB(cblas_ddot) STUB(openblas_set_num_threads) STUB(openblas_get_parallel)
char* openblas_get_config(void) { return "OpenBLAS 9.9.9 USE64BITINT DYNAMIC_ARCH"; }
char* openblas_get_corename(void) { return "Generic"; }
C
"${CC:-cc}" -shared -fPIC -o "$scratch/ilp64.so" "$scratch/ilp64.c"
expect_refusal ROOFLINE_OPENBLAS "$scratch/ilp64.so" ' is built for 64-bit integers; the 32-bit build is needed'
