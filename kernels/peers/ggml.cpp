#include "kernels/peers/ggml.hpp"

#include <cmath>
#include <vector>

#include "kernels/op.hpp"
#include "kernels/peers/library.hpp"

namespace kernels::peers {
namespace {

using Handle = void*;

/// ggml_init_params: by value.
struct InitParams {
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};

constexpr int kSuccess = 0;             // GGML_STATUS_SUCCESS
constexpr std::int64_t kMaskRows = 64;  // GGML_KQ_MASK_PAD, 16 to 64, where there is one
constexpr std::size_t kGraphSize = 8;   // nodes and leaves: q, k, v, mask, result

struct Api {
  Handle (*init)(InitParams);
  void (*free)(Handle);
  std::size_t (*tensor_overhead)();
  std::size_t (*graph_overhead)(std::size_t size, bool grads);
  Handle (*new_tensor)(Handle, int type, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
  Handle (*flash_attention)(Handle, Handle q, Handle k, Handle v, Handle mask, float scale,
                            float max_bias, float softcap);
  std::size_t (*bytes)(Handle tensor);
  Handle (*new_graph)(Handle, std::size_t size, bool grads);
  void (*expand)(Handle graph, Handle tensor);
  Handle (*backend_init)();
  void (*backend_free)(Handle);
  void (*set_threads)(Handle backend, int);
  int (*compute)(Handle backend, Handle graph);
  Handle (*buffer_of)(void* data, std::size_t bytes);
  void (*buffer_free)(Handle);
  void (*place)(Handle buffer, Handle tensor, void* data);  // newer ones return a status
};

Api g_api;

void take(const Library& library, Api& api) {
  // Threads of its own would all run where the one that calls is bound to.
  int (*openmp)() = nullptr;
  library.optional(openmp, "omp_get_max_threads");
  library.require(api.flash_attention, "ggml_flash_attn_ext");
  if (openmp == nullptr) throw Unusable("is not built for OpenMP");
  library.require(api.init, "ggml_init");
  library.require(api.free, "ggml_free");
  library.require(api.tensor_overhead, "ggml_tensor_overhead");
  library.require(api.graph_overhead, "ggml_graph_overhead_custom");
  library.require(api.new_tensor, "ggml_new_tensor_4d");
  library.require(api.bytes, "ggml_nbytes");
  library.require(api.new_graph, "ggml_new_graph_custom");
  library.require(api.expand, "ggml_build_forward_expand");
  library.require(api.backend_init, "ggml_backend_cpu_init");
  library.require(api.backend_free, "ggml_backend_free");
  library.require(api.set_threads, "ggml_backend_cpu_set_n_threads");
  library.require(api.compute, "ggml_backend_graph_compute");
  library.require(api.buffer_of, "ggml_backend_cpu_buffer_from_ptr");
  library.require(api.buffer_free, "ggml_backend_buffer_free");
  library.require(api.place, "ggml_backend_tensor_alloc");
}

/// The widest instructions that it was compiled for.
std::string built_for(const Library& library) {
  struct Isa {
    const char *symbol, *name;
  };
  constexpr Isa kIsas[] = {{"ggml_cpu_has_avx512_bf16", "avx512_bf16"},
                           {"ggml_cpu_has_avx512", "avx512"},
                           {"ggml_cpu_has_avx2", "avx2"},
                           {"ggml_cpu_has_neon", "neon"}};
  for (const Isa& isa : kIsas) {
    int (*has)() = nullptr;
    library.optional(has, isa.symbol);
    if (has != nullptr && has() != 0) return isa.name;
  }
  return "baseline";
}

bool is_of_ik_llama(const Library& library) {
  return library.find("iqk_flash_attn_noalibi") != nullptr;
}

std::string name_of(const Library& library) {
  if (is_of_ik_llama(library)) return "ggml of ik_llama.cpp";
  const char* (*version)() = nullptr;
  library.optional(version, "ggml_version");
  return version != nullptr ? std::string("ggml ") + version() : "ggml before 0.9";
}

Ggml load_ggml() {
  const Search search = {.name = "ggml",
                         .variable = "ROOFLINE_GGML",
                         .package = "llama.cpp's libggml-cpu.so",
                         .names = {"libggml-cpu.so", "libggml-cpu.so.0"},
                         .paths = {},
                         .wheels = {"llama_cpp/lib/libggml-cpu.so"}};
  Ggml found;
  found.missing = load(search, [&](const Library& library) {
    Api api{};
    take(library, api);
    found.label =
        "library=" + name_of(library) + ";library_config=" + built_for(library) + ", OpenMP;";
    found.of_ik_llama = is_of_ik_llama(library);
    g_api = api;
  });
  return found;
}

}  // namespace

const Ggml& ggml() {
  static const Ggml loaded = load_ggml();
  return loaded;
}

struct GgmlAttention::Graph {
  Graph(const GgmlCall& c, void* zeros)
      : context(g_api.init(
            {.mem_size = 5 * g_api.tensor_overhead() + g_api.graph_overhead(kGraphSize, false),
             .mem_buffer = nullptr,
             .no_alloc = true})) {
    const int f32 = static_cast<int>(GgmlType::f32), f16 = static_cast<int>(GgmlType::f16),
              type = static_cast<int>(c.type);
    // Sizes from the innermost on.
    const Handle q = g_api.new_tensor(context, f32, c.head_dim, 1, c.heads, c.batch);
    const Handle k = g_api.new_tensor(context, type, c.head_dim, c.context, c.kv_heads, c.batch);
    const Handle v = g_api.new_tensor(context, type, c.head_dim, c.context, c.kv_heads, c.batch);
    const Handle mask = g_api.new_tensor(context, f16, c.context, kMaskRows, 1, 1);
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    const Handle out = g_api.flash_attention(context, q, k, v, mask, scale, 0, 0);
    place(q, const_cast<void*>(c.q));
    place(k, const_cast<void*>(c.k));
    place(v, const_cast<void*>(c.v));
    place(mask, zeros);
    place(out, c.out);
    graph = g_api.new_graph(context, kGraphSize, false);
    g_api.expand(graph, out);
  }
  ~Graph() {
    for (const Handle buffer : buffers) g_api.buffer_free(buffer);
    g_api.free(context);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void place(Handle tensor, void* data) {
    buffers.push_back(g_api.buffer_of(data, g_api.bytes(tensor)));
    g_api.place(buffers.back(), tensor, data);
  }

  Handle context, graph = nullptr;
  std::vector<Handle> buffers;
};

GgmlAttention::GgmlAttention(int threads) : backend_(g_api.backend_init()) {
  if (backend_ == nullptr) throw BadInput("ggml: makes no CPU backend");
  g_api.set_threads(backend_, threads);
}

GgmlAttention::~GgmlAttention() { g_api.backend_free(backend_); }

void GgmlAttention::run(const GgmlCall& call) {
  if (mask_.size() == 0)
    mask_ = Buffer<std::uint16_t>(call.context * kMaskRows, 1, [](std::int64_t) { return 0; });
  auto& graph = graphs_[call.k];
  if (graph == nullptr) graph = std::make_unique<Graph>(call, mask_.data());
  if (const int status = g_api.compute(backend_, graph->graph); status != kSuccess)
    throw BadInput("ggml: attention failed with status " + std::to_string(status));
}

}  // namespace kernels::peers
