// cuDNN's backend API, loaded at run time (library.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/cuda/library.hpp"

namespace kernels::cuda {

/// What is used of <cudnn_graph.h>, by hand: a build needs no cuDNN, and one binary serves every
/// version 9. device_test.cpp holds it against the header where one is installed.
namespace cudnn {

using Handle = struct cudnnContext*;

enum class DataType { f32 = 0, f16 = 2, s32 = 4, bf16 = 9 };

enum class Object {
  engine_config = 3,
  engine_heuristics = 4,
  execution_plan = 5,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  sdpa_forward = 41,
};

enum class Attribute {
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  plan_handle = 400,
  plan_engine_config = 401,
  plan_workspace_size = 402,
  graph_handle = 800,
  graph_operations = 801,
  tensor_byte_alignment = 900,
  tensor_data_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_unique_id = 906,
  tensor_is_by_value = 908,
  pack_unique_ids = 1000,
  pack_data_pointers = 1001,
  pack_workspace = 1003,
  sdpa_q = 2800,
  sdpa_k = 2801,
  sdpa_v = 2802,
  sdpa_o = 2803,
  sdpa_scale = 2805,
  sdpa_page_table_k = 2807,
  sdpa_page_table_v = 2808,
  sdpa_lengths_q = 2809,
  sdpa_lengths_kv = 2810,
};

enum class Value {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  pointer = 6,
  heuristics_mode = 8,
  object = 15,
};

inline constexpr int kSuccess = 0, kHeuristicsModeA = 3;

/// The first version whose attention operation reads pages: 9.15.0.
inline constexpr std::size_t kFirstVersion = 91500;

}  // namespace cudnn

/// Empty if it loads and is new enough, else why not, in one line.
std::string missing_cudnn();

/// "9.22.0". Only where it is not missing, like all that follows.
std::string cudnn_version();

/// The process's handle, set to that stream; made by the first call, never destroyed.
cudnn::Handle cudnn_on(cudaStream_t stream);

/// One object of the backend API. Throws Unsupported, naming the call, where cuDNN refuses.
class CudnnObject {
 public:
  explicit CudnnObject(cudnn::Object kind);
  ~CudnnObject();
  CudnnObject(CudnnObject&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  CudnnObject& operator=(CudnnObject&&) = delete;

  CudnnObject& set(cudnn::Attribute, cudnn::Value, std::int64_t count, const void* values);
  CudnnObject& set(cudnn::Attribute attribute, std::int64_t value) {
    return set(attribute, cudnn::Value::int64, 1, &value);
  }
  CudnnObject& set(cudnn::Attribute attribute, const CudnnObject& value) {
    return set(attribute, cudnn::Value::object, 1, &value.raw_);
  }
  /// Completes it; nothing can be set any more.
  CudnnObject& finalize();
  /// The same; returns why cuDNN refuses, empty if it does not.
  std::string try_finalize();
  /// Up to `count` values; returns how many there are.
  std::int64_t get(cudnn::Attribute, cudnn::Value, std::int64_t count, void* values) const;

  void* raw() const { return raw_; }

 private:
  void* raw_ = nullptr;
};

/// Enqueues a plan on the handle's stream.
void cudnn_execute(cudnn::Handle handle, const CudnnObject& plan, const CudnnObject& pack);

}  // namespace kernels::cuda
