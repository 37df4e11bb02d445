#!/usr/bin/env bash
# A library that the environment names and that cannot be used is one clear line and exit code 2; one
# that can is called with what it takes (AOCL-DLP, which no package brings).
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
expect_refusal ROOFLINE_AOCL_BLAS libm.so.6 ' has no symbol bli_aocl_enable_instruction_query'
expect_refusal ROOFLINE_AOCL_DLP libm.so.6 ' has no symbol aocl_gemm_f32f32f32of32'

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

# BLIS_ARCH_TYPE is for BLIS: AOCL-BLAS, which ends the program at a type that it lacks, is not to see
# it, and whoever comes after is.
cat >"$scratch/aocl.c" <<'C'
#include <stdint.h>
#include <stdlib.h>
#define STUB(name) int name(void) { return 0; }
STUB(cblas_sgemm) STUB(cblas_dgemm) STUB(cblas_sgemv) STUB(cblas_dgemv) STUB(cblas_sdot)
STUB(cblas_ddot) STUB(bli_thread_set_num_threads) STUB(bli_arch_query_id)
STUB(bli_aocl_enable_instruction_query)
int64_t bli_info_get_blas_int_type_size(void) { return 32; }
int64_t bli_info_get_enable_threading(void) { return 1; }
const char* bli_info_get_version_str(void) { return "AOCL-BLAS 9.8.7 Build 20260101"; }
const char* bli_arch_string(int id) { return id == 0 ? getenv("BLIS_ARCH_TYPE") : "none"; }
void bli_init(void) {
  static int asked;
  if (asked++ == 0 && getenv("BLIS_ARCH_TYPE") != NULL) abort();
}
C
"${CC:-cc}" -shared -fPIC -o "$scratch/aocl.so" "$scratch/aocl.c"
if [[ $(uname -m) == x86_64 ]]; then
  BLIS_ARCH_TYPE=skx ROOFLINE_AOCL_BLAS=$scratch/aocl.so "$bin/bench_dot" --device=cpu --list \
    >"$scratch/list.json"
  if grep -q 'AOCL-BLAS not found' "$scratch/list.json"; then
    echo 'AOCL-BLAS named, but not found' >&2
    exit 1
  fi
fi

# An AOCL-DLP of one product, whose packed weights are transposed; it counts what it is told.
cat >"$scratch/dlp.c" <<'C'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
static int64_t threads;
void dlp_version_query(int* major, int* minor, int* patch) { *major = 9, *minor = 8, *patch = 7; }
void dlp_thread_set_num_threads_local(int64_t n) { threads = n; }
size_t aocl_get_reorder_buf_size_f32f32f32of32(char order, char trans, char kind, int64_t k,
                                               int64_t n, void* metadata) {
  return order == 'r' && trans == 'n' && kind == 'B' && metadata == NULL ? 4 * k * n : 0;
}
void aocl_reorder_f32f32f32of32(char order, char trans, char kind, const float* y, float* packed,
                                int64_t k, int64_t n, int64_t ldy, void* metadata) {
  if (order != 'r' || trans != 'n' || kind != 'B' || metadata != NULL) abort();
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) packed[j * k + i] = y[i * ldy + j];
}
void aocl_gemm_f32f32f32of32(char order, char trans_x, char trans_y, int64_t m, int64_t n, int64_t k,
                             float alpha, const float* x, int64_t ldx, char format_x,
                             const float* y, int64_t ldy, char format_y, float beta, float* z,
                             int64_t ldz, void* metadata) {
  if (order != 'r' || trans_x != 'n' || trans_y != 'n' || format_x != 'n' || alpha != 1 ||
      beta != 0 || metadata != NULL || threads != 1)
    abort();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (double)x[i * ldx + l] * (format_y == 'r' ? y[j * k + l] : y[l * ldy + j]);
      z[i * ldz + j] = (float)sum;
    }
}
#define STUB(types)                                                                       \
  void aocl_gemm_##types(void) {}                                                          \
  void aocl_get_reorder_buf_size_##types(void) {}                                          \
  void aocl_reorder_##types(void) {}
STUB(bf16bf16f32of32) STUB(s8s8s32os32) STUB(u8s8s32os32)
C
"${CC:-cc}" -shared -fPIC -O1 -o "$scratch/dlp.so" "$scratch/dlp.c"
if grep -qw avx2 /proc/cpuinfo; then
  for pack in '' /pack:pre; do
    ROOFLINE_AOCL_DLP=$scratch/dlp.so "$bin/bench_matmul" --device=cpu --threads=1 --dtype=f32 \
      --shape=M:5/N:19/K:7$pack --benchmark_filter=aocl_dlp --benchmark_min_time=0.01 \
      --benchmark_format=json >"$scratch/dlp.json"
    grep -q '"name": "matmul/aocl_dlp/f32/M:5/N:19/K:7'"$pack" "$scratch/dlp.json"
    grep -q 'library=AOCL-DLP 9.8.7;library_config=by itself;' "$scratch/dlp.json"
    if grep -q error_occurred "$scratch/dlp.json"; then
      cat "$scratch/dlp.json" >&2
      exit 1
    fi
  done
fi
