#!/usr/bin/env bash
# A library that the environment names and that cannot be used is one clear line and exit code 2; one
# that can is called with what it takes (AOCL-DLP and ggml, which Debian does not have).
set -euo pipefail
bin=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect_refusal() {  # library variable, file, what the line says, operation
  local code=0 message
  message=$(env "$1=$2" "$bin/bench_${4-matmul}" --device=cpu --list 2>&1 >/dev/null) || code=$?
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
expect_refusal ROOFLINE_GGML libm.so.6 ' has no symbol ggml_flash_attn_ext' attention

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

# A ggml whose only operation is attention, in double; it ends the program where it is not called as
# its header says. Its threads are this program's where it is built for OpenMP, and not otherwise.
cat >"$scratch/ggml.c" <<'C'
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
struct params { size_t size; void* memory; bool no_alloc; };
struct tensor { int type; int64_t n[4]; struct tensor *q, *k, *v, *mask; float scale; void* data; };
struct buffer { char* data; size_t bytes; };
struct context { size_t size, used; char memory[]; };
static int threads;
#define NEED(x) if (!(x)) abort()

#ifdef IK_LLAMA
void iqk_flash_attn_noalibi(void) {}
#else
const char* ggml_version(void) { return "9.8.7"; }
#endif
int ggml_cpu_has_avx2(void) { return 1; }
size_t ggml_tensor_overhead(void) { return sizeof(struct tensor); }
size_t ggml_graph_overhead_custom(size_t size, bool grads) { NEED(!grads); return size * sizeof(void*); }
void* ggml_init(struct params p) {
  NEED(p.memory == NULL && p.no_alloc);
  struct context* c = calloc(1, sizeof *c + p.size);
  c->size = p.size;
  return c;
}
void ggml_free(void* c) { free(c); }
static void* take(struct context* c, size_t bytes) {
  c->used += bytes;
  NEED(c->used <= c->size);
  return c->memory + c->used - bytes;
}
void* ggml_new_tensor_4d(void* c, int type, int64_t a, int64_t b, int64_t d, int64_t e) {
  struct tensor* t = take(c, sizeof *t);
  *t = (struct tensor){.type = type, .n = {a, b, d, e}};
  return t;
}
size_t ggml_nbytes(const struct tensor* t) {
  return t->n[0] * t->n[1] * t->n[2] * t->n[3] * (t->type == 0 ? 4 : 2);
}
void* ggml_flash_attn_ext(void* c, struct tensor* q, struct tensor* k, struct tensor* v, struct tensor* mask,
                          float scale, float max_bias, float softcap) {
  NEED(max_bias == 0 && softcap == 0 && q->type == 0 && k->type == v->type);
  NEED(mask->type == 1 && mask->n[0] == k->n[1] && mask->n[1] >= 64 && mask->n[2] * mask->n[3] == 1);
  NEED(memcmp(k->n, v->n, sizeof k->n) == 0 && q->n[0] == k->n[0] && q->n[3] == k->n[3]);
  struct tensor* t = ggml_new_tensor_4d(c, 0, v->n[0], q->n[2], q->n[1], q->n[3]);
  t->q = q, t->k = k, t->v = v, t->mask = mask, t->scale = scale;
  return t;
}
void* ggml_new_graph_custom(void* c, size_t size, bool grads) { NEED(!grads); return take(c, size * sizeof(void*)); }
void ggml_build_forward_expand(struct tensor** graph, struct tensor* t) { graph[0] = t; }
void* ggml_backend_cpu_init(void) { return malloc(1); }
void ggml_backend_free(void* backend) { free(backend); }
void ggml_backend_cpu_set_n_threads(void* backend, int n) { (void)backend, threads = n; }
void* ggml_backend_cpu_buffer_from_ptr(void* data, size_t bytes) {
  struct buffer* b = malloc(sizeof *b);
  *b = (struct buffer){data, bytes};
  return b;
}
void ggml_backend_buffer_free(void* b) { free(b); }
void ggml_backend_tensor_alloc(struct buffer* b, struct tensor* t, void* data) {
  NEED(t->data == NULL && data == b->data && b->bytes == ggml_nbytes(t));
  t->data = data;
}
static double at(const struct tensor* t, int64_t i) {
  if (t->type == 0) return ((float*)t->data)[i];
  uint32_t bits = (uint32_t)((uint16_t*)t->data)[i] << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
int ggml_backend_graph_compute(void* backend, struct tensor** graph) {
  const struct tensor *out = graph[0], *q = out->q, *k = out->k, *v = out->v;
#ifdef _OPENMP
  NEED(backend != NULL && threads >= 1 && threads <= omp_get_num_procs());
#endif
  const int64_t d = q->n[0], heads = q->n[2], tokens = k->n[1], kv_heads = k->n[2];
  for (int64_t b = 0; b < q->n[3]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t to = (b * heads + h) * d, kv = (b * kv_heads + h / (heads / kv_heads)) * tokens * d;
      double all = 0, *sum = calloc(d, sizeof *sum);
      for (int64_t t = 0; t < tokens; ++t) {
        NEED(((uint16_t*)out->mask->data)[t] == 0);
        double score = 0;
        for (int64_t i = 0; i < d; ++i) score += at(q, to + i) * at(k, kv + t * d + i);
        const double weight = exp(out->scale * score - 16);
        all += weight;
        for (int64_t i = 0; i < d; ++i) sum[i] += weight * at(v, kv + t * d + i);
      }
      for (int64_t i = 0; i < d; ++i) ((float*)out->data)[to + i] = (float)(sum[i] / all);
      free(sum);
    }
  return 0;
}
C
"${CC:-cc}" -shared -fPIC -O1 -o "$scratch/ggml_threads.so" "$scratch/ggml.c" -lm
expect_refusal ROOFLINE_GGML "$scratch/ggml_threads.so" ' is not built for OpenMP' attention
"${CC:-cc}" -shared -fPIC -O1 -fopenmp -o "$scratch/ggml.so" "$scratch/ggml.c" -lm
for dtype in f32 bf16; do
  shape=batch:2/context:333/heads:6/kv_heads:2/head_dim:64/layout:contiguous
  ROOFLINE_GGML=$scratch/ggml.so "$bin/bench_attention" --device=cpu --threads=1 --dtype=$dtype \
    --shape=$shape/temp:cold --benchmark_filter=ggml --benchmark_min_time=0.001 \
    --benchmark_format=json >"$scratch/ggml.json"
  grep -q '"name": "attention/ggml/'$dtype/$shape "$scratch/ggml.json"
  grep -q 'library=ggml 9.8.7;library_config=avx2, OpenMP;' "$scratch/ggml.json"
  if grep -q error_occurred "$scratch/ggml.json"; then
    cat "$scratch/ggml.json" >&2
    exit 1
  fi
done
ROOFLINE_GGML=$scratch/ggml.so "$bin/bench_attention" --device=cpu --list >"$scratch/list.json"
if ! grep -q 'attention/ggml/f32/' "$scratch/list.json" ||
  grep -E 'attention/ggml/.*(paged|/s8/)' "$scratch/list.json"; then
  echo 'ggml is offered what it does not do' >&2
  exit 1
fi

# That of ik_llama.cpp: in bf16 alone, and contexts of whole 32 tokens.
"${CC:-cc}" -shared -fPIC -O1 -fopenmp -DIK_LLAMA -o "$scratch/ik.so" "$scratch/ggml.c" -lm
for case in f32/320/0 bf16/333/0 bf16/320/1; do
  IFS=/ read -r dtype context offered <<<"$case"
  shape=batch:1/context:$context/heads:4/kv_heads:2/head_dim:64/layout:contiguous/temp:warm
  ROOFLINE_GGML=$scratch/ik.so "$bin/bench_attention" --device=cpu --threads=1 --dtype=$dtype \
    --shape=$shape --list >"$scratch/list.json"
  if [[ $(grep -c '"attention/ggml/' "$scratch/list.json") != "$offered" ]]; then
    echo "ik_llama.cpp's ggml and $case" >&2
    exit 1
  fi
done
ROOFLINE_GGML=$scratch/ik.so "$bin/bench_attention" --device=cpu --threads=1 --dtype=bf16 --shape=$shape \
  --benchmark_filter=ggml --benchmark_min_time=0.001 --benchmark_format=json >"$scratch/ik.json"
grep -q 'library=ggml of ik_llama.cpp;library_config=avx2, OpenMP;' "$scratch/ik.json"
