#include "kernels/cuda/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver.hpp"

namespace kernels::cuda {
namespace {

using Encode = PFN_cuTensorMapEncodeTiled_v12000;

CUtensorMapDataType data_type(Type type) {
  switch (type) {
    case Type::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Type::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Type::e4m3:
    case Type::s8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case Type::s32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case Type::f32:
    case Type::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    default:
      throw Error("tensor map: a type that no kernel here moves by TMA");
  }
}

}  // namespace

CUtensorMap tensor_map(const Tensor& t, int box_rows) {
  static const Encode encode = driver_function<Encode>("cuTensorMapEncodeTiled", 12000);
  const auto bytes = static_cast<std::uint64_t>(size_of(t.type));
  const cuuint64_t size[] = {static_cast<cuuint64_t>(t.columns), static_cast<cuuint64_t>(t.rows),
                             static_cast<cuuint64_t>(t.batch)};
  const cuuint64_t stride[] = {t.pitch * bytes, t.stride * bytes};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / bytes), static_cast<cuuint32_t>(box_rows),
                            1};
  const cuuint32_t step[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, data_type(t.type), 3, const_cast<void*>(t.data), size, stride, box, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw Error("cuTensorMapEncodeTiled failed with status " +
                std::to_string(static_cast<int>(status)));
  return map;
}

}  // namespace kernels::cuda
