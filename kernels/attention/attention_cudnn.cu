// Idea: cuDNN's attention operation, loaded at run time, by the first plan of its heuristics.
// Bound: HBM, as for the rungs here.
// Gains over the ladder: what the vendor knows. Queries, weights and result are in the cache's 16
// bits, where the rungs here keep fp32; the queries are converted before anything is timed. Caches
// of 8 bits are left out: cuDNN's have one scale for each tensor, these one for each row.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/cuda/memory.hpp"

namespace kernels::attention {
namespace {

using cuda::CudnnObject;
using cuda::Memory;
using cuda::Type;
using cuda::cudnn::Attribute;
using cuda::cudnn::DataType;
using cuda::cudnn::Object;
using cuda::cudnn::Value;

/// Names of the tensors in the graph and in what is bound to it.
enum Id : std::int64_t { kQ = 1, kK, kV, kOut, kScale, kLengthsQ, kLengthsKv, kTableK, kTableV };

struct Dimensions {
  std::int64_t batch, heads, tokens, width;
};

/// Dense, in the order of its dimensions.
CudnnObject tensor(Id id, DataType type, const Dimensions& d, bool by_value = false) {
  const std::int64_t sizes[] = {d.batch, d.heads, d.tokens, d.width};
  const std::int64_t strides[] = {d.heads * d.tokens * d.width, d.tokens * d.width, d.width, 1};
  CudnnObject t(Object::tensor);
  t.set(Attribute::tensor_unique_id, id)
      .set(Attribute::tensor_data_type, Value::data_type, 1, &type)
      .set(Attribute::tensor_byte_alignment, by_value ? 4 : 16)
      .set(Attribute::tensor_dimensions, Value::int64, 4, sizes)
      .set(Attribute::tensor_strides, Value::int64, 4, strides);
  if (by_value) t.set(Attribute::tensor_is_by_value, Value::boolean, 1, &by_value);
  t.finalize();
  return t;
}

/// What a plan depends on.
struct Shape16 {
  Type type;
  std::int64_t batch, heads, kv_heads, head_dim, page_tokens, sequence_pages, pages;
  bool paged, lengths;
  auto key() const {
    return std::tuple(type, batch, heads, kv_heads, head_dim, page_tokens, sequence_pages, pages,
                      paged, lengths);
  }
};

/// With all that it was made of.
struct Plan {
  std::vector<CudnnObject> parts;
  CudnnObject plan{Object::execution_plan};
  Memory workspace;
};

/// The graph of one attention operation, whose tensors go to `parts`.
CudnnObject graph_of(const Shape16& s, cuda::cudnn::Handle handle,
                     std::vector<CudnnObject>& parts) {
  const DataType narrow = s.type == Type::bf16 ? DataType::bf16 : DataType::f16;
  const Dimensions q{s.batch, s.heads, 1, s.head_dim},
      kv{s.pages, s.kv_heads, s.page_tokens, s.head_dim}, lengths{s.batch, 1, 1, 1},
      table{s.batch, 1, s.sequence_pages, 1};
  CudnnObject attention(Object::sdpa_forward);
  const auto give = [&](Attribute attribute, CudnnObject t) {
    attention.set(attribute, t);
    parts.push_back(std::move(t));
  };
  give(Attribute::sdpa_q, tensor(kQ, narrow, q));
  give(Attribute::sdpa_k, tensor(kK, narrow, kv));
  give(Attribute::sdpa_v, tensor(kV, narrow, kv));
  give(Attribute::sdpa_o, tensor(kOut, narrow, q));
  give(Attribute::sdpa_scale, tensor(kScale, DataType::f32, {1, 1, 1, 1}, true));
  if (s.lengths) {
    give(Attribute::sdpa_lengths_q, tensor(kLengthsQ, DataType::s32, lengths));
    give(Attribute::sdpa_lengths_kv, tensor(kLengthsKv, DataType::s32, lengths));
  }
  if (s.paged) {
    give(Attribute::sdpa_page_table_k, tensor(kTableK, DataType::s32, table));
    give(Attribute::sdpa_page_table_v, tensor(kTableV, DataType::s32, table));
  }
  attention.finalize();
  CudnnObject graph(Object::operation_graph);
  graph.set(Attribute::graph_handle, Value::handle, 1, &handle)
      .set(Attribute::graph_operations, attention)
      .finalize();
  parts.push_back(std::move(attention));
  return graph;
}

/// The first configuration of the heuristics that this chip takes. Throws Unsupported.
std::shared_ptr<Plan> make_plan(const Shape16& s) {
  const auto handle = cuda::cudnn_on(nullptr);
  std::vector<CudnnObject> parts;
  const CudnnObject& graph = parts.emplace_back(graph_of(s, handle, parts));
  CudnnObject heuristics(Object::engine_heuristics);
  heuristics.set(Attribute::heuristics_graph, graph)
      .set(Attribute::heuristics_mode, Value::heuristics_mode, 1, &cuda::cudnn::kHeuristicsModeA)
      .finalize();
  constexpr int kConfigs = 8;
  std::vector<CudnnObject> configs;
  void* raw[kConfigs];
  for (void*& r : raw) r = configs.emplace_back(Object::engine_config).raw();
  const std::int64_t found =
      heuristics.get(Attribute::heuristics_results, Value::object, kConfigs, raw);
  std::string why = "its heuristics know none";
  for (std::int64_t i = 0; i < std::min<std::int64_t>(found, kConfigs); ++i) {
    auto made = std::make_shared<Plan>();
    made->plan.set(Attribute::plan_handle, Value::handle, 1, &handle)
        .set(Attribute::plan_engine_config, configs[i]);
    why = made->plan.try_finalize();
    if (!why.empty()) continue;
    std::int64_t bytes = 0;
    made->plan.get(Attribute::plan_workspace_size, Value::int64, 1, &bytes);
    made->workspace = cuda::allocate(bytes);
    parts.push_back(std::move(heuristics));
    parts.push_back(std::move(configs[i]));
    made->parts = std::move(parts);
    return made;
  }
  throw cuda::Unsupported("cuDNN " + cuda::cudnn_version() + " has no plan for this case: " + why);
}

/// Copies of one cache share their plan.
std::shared_ptr<Plan> plan_of(const Shape16& s) {
  static std::map<decltype(s.key()), std::weak_ptr<Plan>> plans;
  auto& kept = plans[s.key()];
  auto plan = kept.lock();
  if (plan == nullptr) kept = plan = make_plan(s);
  return plan;
}

template <class T>
Memory narrow(const float* device, std::int64_t n) {
  std::vector<float> wide(n);
  CUDA_CHECK(cudaMemcpy(wide.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
  return cuda::upload(std::vector<T>(wide.begin(), wide.end()));
}

/// One copy of a cache: its plan, and the pointers bound to it.
struct State {
  std::shared_ptr<Plan> plan;
  Memory q, out, lengths_q, lengths_kv;
  float scale;
  CudnnObject pack{Object::variant_pack};
};

std::shared_ptr<void> open(const GpuArguments& a, Type type, std::int64_t rows,
                           std::int64_t head_dim) {
  const Shape16 s{.type = type,
                  .batch = a.batch,
                  .heads = a.heads,
                  .kv_heads = a.kv_heads,
                  .head_dim = head_dim,
                  .page_tokens = a.page_tokens,
                  .sequence_pages = a.sequence_pages,
                  .pages = rows / (std::int64_t{a.kv_heads} * a.page_tokens),
                  .paged = a.table != nullptr,
                  .lengths = a.table != nullptr || a.lengths != nullptr};
  auto state = std::make_shared<State>();
  state->plan = plan_of(s);
  const std::int64_t n = std::int64_t{a.batch} * a.heads * head_dim;
  state->q = type == Type::bf16 ? narrow<bf16>(a.q, n) : narrow<__half>(a.q, n);
  state->out = cuda::allocate(n * 2);
  state->scale = 1 / std::sqrt(static_cast<float>(head_dim));
  std::vector<std::int64_t> ids = {kQ, kK, kV, kOut, kScale};
  std::vector<const void*> pointers = {state->q.get(), a.k, a.v, state->out.get(), &state->scale};
  const auto bind = [&](Id id, const void* pointer) {
    ids.push_back(id);
    pointers.push_back(pointer);
  };
  if (s.lengths) {
    state->lengths_q = cuda::upload(std::vector<std::int32_t>(a.batch, 1));
    if (a.lengths == nullptr)
      state->lengths_kv = cuda::upload(std::vector<std::int32_t>(a.batch, a.context));
    bind(kLengthsQ, state->lengths_q.get());
    bind(kLengthsKv, a.lengths != nullptr ? a.lengths : state->lengths_kv.get());
  }
  if (s.paged) {
    bind(kTableK, a.table);
    bind(kTableV, a.table);
  }
  void* const workspace = state->plan->workspace.get();
  const auto count = static_cast<std::int64_t>(ids.size());
  state->pack.set(Attribute::pack_unique_ids, Value::int64, count, ids.data())
      .set(Attribute::pack_data_pointers, Value::pointer, count, pointers.data())
      .set(Attribute::pack_workspace, Value::pointer, 1, &workspace)
      .finalize();
  return state;
}

const State& state_of(const GpuArguments& a) { return *static_cast<const State*>(a.state); }

/// At least one launch: how many, cuDNN does not say.
int launch(const GpuArguments& a, cudaStream_t stream) {
  const State& state = state_of(a);
  cuda::cudnn_execute(cuda::cudnn_on(stream), state.plan->plan, state.pack);
  return 1;
}

std::string label() { return "library=cuDNN " + cuda::cudnn_version() + ";"; }

}  // namespace

extern const GpuKernel cudnn = {
    .bf16 = {launch, launch},
    .f16 = {launch, launch},
    .shared_heads = [](int) { return 16; },
    .tensor_cores = true,
    .open = open,
    .narrow_out = [](const GpuArguments& a) { return state_of(a).out.get(); },
    .label = label};

}  // namespace kernels::attention
