#include "kernels/peers/onednn.hpp"

#include <array>
#include <cstdlib>
#include <unordered_map>

#include "kernels/op.hpp"
#include "kernels/peers/library.hpp"
#include "kernels/peers/onednn_abi.hpp"

namespace kernels::peers {
namespace {

using namespace dnnl;
using Handle = void*;
using Dims = std::array<std::int64_t, kMaxDims>;
using Status = int;

struct Api {
  Version version{};
  Handle engine = nullptr, stream = nullptr;

  /// Of the OpenMP runtime that oneDNN runs on, which need not be the one linked into this program.
  void (*omp_set_num_threads)(int);
  Status (*engine_create)(Handle*, int kind, std::size_t index);
  Status (*stream_create)(Handle*, Handle engine, unsigned flags);
  Status (*stream_wait)(Handle);
  Status (*memory_create)(Handle*, const void* desc, Handle engine, void* data);
  Status (*memory_set_data)(Handle, void* data);
  Status (*memory_destroy)(Handle);
  std::size_t (*desc_bytes)(const void* desc);
  Status (*reorder_create)(Handle* primitive_desc, const void* from, Handle from_engine,
                           const void* to, Handle to_engine, const void* attributes);
  const void* (*query_desc)(const void* primitive_desc, int what, int index);
  Status (*primitive_desc_destroy)(Handle);
  Status (*primitive_create)(Handle*, const void* primitive_desc);
  Status (*primitive_execute)(const void*, Handle stream, int count, const Argument*);
  Status (*primitive_destroy)(Handle);

  // Version 2 fills a caller's struct, version 3 makes an object.
  Status (*desc_init_strides_v2)(void* desc, int ndims, const std::int64_t* dims, int type,
                                 const std::int64_t* strides);
  Status (*desc_init_tag_v2)(void* desc, int ndims, const std::int64_t* dims, int type, int tag);
  Status (*matmul_init_v2)(void* matmul_desc, const void* src, const void* weights,
                           const void* bias, const void* dst);
  Status (*primitive_desc_create_v2)(Handle*, const void* matmul_desc, const void* attributes,
                                     Handle engine, const void* hint);
  Status (*desc_create_strides_v3)(Handle* desc, int ndims, const std::int64_t* dims, int type,
                                   const std::int64_t* strides);
  Status (*desc_create_tag_v3)(Handle* desc, int ndims, const std::int64_t* dims, int type,
                               int tag);
  Status (*desc_destroy_v3)(Handle desc);
  Status (*matmul_create_v3)(Handle* primitive_desc, Handle engine, const void* src,
                             const void* weights, const void* bias, const void* dst,
                             const void* attributes);
};

Api g_api;

void check(Status status, const char* what) {
  if (status == kSuccess) return;
  throw BadInput("oneDNN: " + std::string(what) +
                 (status == kUnimplemented ? " is not implemented for this CPU"
                                           : " failed with status " + std::to_string(status)));
}

void take(const Library& library, Api& api) {
  const Version* (*version)() = nullptr;
  library.require(version, "dnnl_version");
  api.version = *version();
  if (api.version.major != 2 && api.version.major != 3)
    throw Unusable("is version " + std::to_string(api.version.major) + "; known are 2 and 3");
  if (api.version.cpu_runtime != kOpenMp)
    throw Unusable("is not built for OpenMP and takes no thread count");
  library.require_used(api.omp_set_num_threads, "omp_set_num_threads");
  library.require(api.engine_create, "dnnl_engine_create");
  library.require(api.stream_create, "dnnl_stream_create");
  library.require(api.stream_wait, "dnnl_stream_wait");
  library.require(api.memory_create, "dnnl_memory_create");
  library.require(api.memory_set_data, "dnnl_memory_set_data_handle");
  library.require(api.memory_destroy, "dnnl_memory_destroy");
  library.require(api.desc_bytes, "dnnl_memory_desc_get_size");
  library.require(api.reorder_create, "dnnl_reorder_primitive_desc_create");
  library.require(api.query_desc, "dnnl_primitive_desc_query_md");
  library.require(api.primitive_desc_destroy, "dnnl_primitive_desc_destroy");
  library.require(api.primitive_create, "dnnl_primitive_create");
  library.require(api.primitive_execute, "dnnl_primitive_execute");
  library.require(api.primitive_destroy, "dnnl_primitive_destroy");
  if (api.version.major == 2) {
    library.require(api.desc_init_strides_v2, "dnnl_memory_desc_init_by_strides");
    library.require(api.desc_init_tag_v2, "dnnl_memory_desc_init_by_tag");
    library.require(api.matmul_init_v2, "dnnl_matmul_desc_init");
    library.require(api.primitive_desc_create_v2, "dnnl_primitive_desc_create");
  } else {
    library.require(api.desc_create_strides_v3, "dnnl_memory_desc_create_with_strides");
    library.require(api.desc_create_tag_v3, "dnnl_memory_desc_create_with_tag");
    library.require(api.desc_destroy_v3, "dnnl_memory_desc_destroy");
    library.require(api.matmul_create_v3, "dnnl_matmul_primitive_desc_create");
  }
  if (api.engine_create(&api.engine, kCpu, 0) != kSuccess ||
      api.stream_create(&api.stream, api.engine, kDefaultStream) != kSuccess)
    throw Unusable("makes no CPU engine");
}

OneDnn load_onednn() {
  const Search search = {.name = "oneDNN",
                         .variable = "ROOFLINE_ONEDNN",
                         .package = "apt: libdnnl2 or a later one",
                         .names = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"},
                         .paths = {"/usr/lib/*/libdnnl.so.?.*"},
                         .wheels = {}};
  OneDnn found;
  found.missing = load(search, [&](const Library& library) {
    Api api{};
    take(library, api);
    int (*isa)() = nullptr;
    const char* (*isa_name)(int) = nullptr;
    library.require(isa, "dnnl_get_effective_cpu_isa");
    library.require(isa_name, "dnnl_cpu_isa2str");
    const std::string limit = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr ? " (ONEDNN_MAX_CPU_ISA)"
                              : std::getenv("DNNL_MAX_CPU_ISA") != nullptr ? " (DNNL_MAX_CPU_ISA)"
                                                                           : "";
    const Version& v = api.version;
    const std::string isa_text = isa_name(isa()), prefix = "cpu_isa_";
    found.label = "library=oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) +
                  "." + std::to_string(v.patch) + ";library_config=" +
                  (isa_text.starts_with(prefix) ? isa_text.substr(prefix.size()) : isa_text) +
                  limit + ", OpenMP;";
    g_api = api;
  });
  return found;
}

/// A memory description of either version.
class Desc {
 public:
  /// Row major, or in any order that the library likes.
  Desc(std::int64_t rows, std::int64_t columns, DnnlType type, bool any) {
    const Dims dims = {rows, columns}, strides = {columns, 1};
    const int t = static_cast<int>(type);
    Status status;
    if (g_api.version.major == 2)
      status = any ? g_api.desc_init_tag_v2(v2_, 2, dims.data(), t, kTagAny)
                   : g_api.desc_init_strides_v2(v2_, 2, dims.data(), t, strides.data());
    else
      status = any ? g_api.desc_create_tag_v3(&v3_, 2, dims.data(), t, kTagAny)
                   : g_api.desc_create_strides_v3(&v3_, 2, dims.data(), t, strides.data());
    check(status, "a matrix of that size");
  }
  ~Desc() {
    if (v3_ != nullptr) g_api.desc_destroy_v3(v3_);
  }
  Desc(const Desc&) = delete;
  Desc& operator=(const Desc&) = delete;
  const void* get() const { return v3_ != nullptr ? v3_ : v2_; }

 private:
  alignas(16) std::byte v2_[kDescBytesV2] = {};
  Handle v3_ = nullptr;
};

Handle make_memory(const void* desc, void* data) {
  Handle memory = nullptr;
  check(g_api.memory_create(&memory, desc, g_api.engine, data), "a memory object");
  return memory;
}

}  // namespace

const OneDnn& onednn() {
  static const OneDnn loaded = load_onednn();
  return loaded;
}

struct DnnlMatmul::Primitive {
  Primitive(std::int64_t m, std::int64_t n, std::int64_t k, DnnlType x, DnnlType y, DnnlType z,
            bool packed, int threads)
      : threads(threads), plain_weights(k, n, y, false) {
    use_threads();  // a primitive is compiled for a number of threads
    const Desc src(m, k, x, false), weights(k, n, y, packed), dst(m, n, z, false);
    Status status;
    if (g_api.version.major == 2) {
      alignas(16) std::byte matmul[kMatmulDescBytesV2] = {};
      check(g_api.matmul_init_v2(matmul, src.get(), weights.get(), nullptr, dst.get()),
            "matmul of that size");
      status = g_api.primitive_desc_create_v2(&desc, matmul, nullptr, g_api.engine, nullptr);
    } else {
      status = g_api.matmul_create_v3(&desc, g_api.engine, src.get(), weights.get(), nullptr,
                                      dst.get(), nullptr);
    }
    check(status, "matmul of that type");
    own_weights = g_api.query_desc(desc, kQueryWeights, 0);
    check(g_api.primitive_create(&primitive, desc), "compiling the matmul");
    src_memory = make_memory(src.get(), nullptr);
    dst_memory = make_memory(dst.get(), nullptr);
  }

  ~Primitive() {
    for (const auto& [data, memory] : weights_memory) g_api.memory_destroy(memory);
    if (src_memory != nullptr) g_api.memory_destroy(src_memory);
    if (dst_memory != nullptr) g_api.memory_destroy(dst_memory);
    if (primitive != nullptr) g_api.primitive_destroy(primitive);
    if (desc != nullptr) g_api.primitive_desc_destroy(desc);
  }

  void use_threads() const { g_api.omp_set_num_threads(threads); }

  Handle weights_at(const void* y) {
    Handle& memory = weights_memory[y];
    if (memory == nullptr) memory = make_memory(own_weights, const_cast<void*>(y));
    return memory;
  }

  int threads;
  Desc plain_weights;
  const void* own_weights = nullptr;
  Handle desc = nullptr, primitive = nullptr, src_memory = nullptr, dst_memory = nullptr;
  /// One for each copy of the weights: to set the pointer of a padded layout writes its padding.
  std::unordered_map<const void*, Handle> weights_memory;
};

DnnlMatmul::DnnlMatmul(std::int64_t m, std::int64_t n, std::int64_t k, DnnlType x, DnnlType y,
                       DnnlType z, bool packed, int threads)
    : primitive_(std::make_unique<Primitive>(m, n, k, x, y, z, packed, threads)) {}
DnnlMatmul::~DnnlMatmul() = default;

std::int64_t DnnlMatmul::weights_bytes() const {
  return static_cast<std::int64_t>(g_api.desc_bytes(primitive_->own_weights));
}

void DnnlMatmul::pack(const void* y, void* packed) {
  Primitive& p = *primitive_;
  p.use_threads();
  Handle desc = nullptr, reorder = nullptr;
  check(g_api.reorder_create(&desc, p.plain_weights.get(), g_api.engine, p.own_weights,
                             g_api.engine, nullptr),
        "packing the weights");
  check(g_api.primitive_create(&reorder, desc), "compiling the packing");
  const Handle from = make_memory(p.plain_weights.get(), const_cast<void*>(y));
  const Argument arguments[] = {{kArgFrom, from}, {kArgTo, p.weights_at(packed)}};
  const Status status = g_api.primitive_execute(reorder, g_api.stream, 2, arguments);
  g_api.stream_wait(g_api.stream);
  g_api.memory_destroy(from);
  g_api.primitive_destroy(reorder);
  g_api.primitive_desc_destroy(desc);
  check(status, "packing the weights");
}

void DnnlMatmul::run(const void* x, const void* y, void* z) {
  Primitive& p = *primitive_;
  p.use_threads();
  g_api.memory_set_data(p.src_memory, const_cast<void*>(x));
  g_api.memory_set_data(p.dst_memory, z);
  const Argument arguments[] = {
      {kArgSrc, p.src_memory}, {kArgWeights, p.weights_at(y)}, {kArgDst, p.dst_memory}};
  check(g_api.primitive_execute(p.primitive, g_api.stream, 3, arguments), "matmul");
  check(g_api.stream_wait(g_api.stream), "matmul");
}

}  // namespace kernels::peers
