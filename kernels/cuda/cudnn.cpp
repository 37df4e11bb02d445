#include "kernels/cuda/cudnn.hpp"

namespace kernels::cuda {
namespace {

std::string words_of(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

const Found& library() {
  static const Found found = find_library(
      {.name = "cuDNN",
       .variable = "ROOFLINE_CUDNN",
       .package = "PyPI: nvidia-cudnn-cu13, setup.sh --peers",
       .names = {"libcudnn.so.9"},
       .paths = {"/usr/local/cuda/lib*/libcudnn.so.9"},
       .wheels = {"nvidia/cudnn/lib/libcudnn.so.9"}},
      {"cudnnGetVersion", "cudnnGetErrorString", "cudnnCreate", "cudnnSetStream",
       "cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor", "cudnnBackendSetAttribute",
       "cudnnBackendGetAttribute", "cudnnBackendFinalize", "cudnnBackendExecute"},
      [](const peers::Library& found) -> std::string {
        const auto version = reinterpret_cast<std::size_t (*)()>(found.find("cudnnGetVersion"))();
        if (version >= cudnn::kFirstVersion) return {};
        return "is " + words_of(version) + ": attention over pages needs 9.15";
      });
  return found;
}

/// The functions, with the library's int-sized enumerations as int.
struct Api {
  template <class F>
  static F* get(const char* name) {
    return library_function<F>(library(), name);
  }
  using Raw = void*;
  std::size_t (*version)() = get<std::size_t()>("cudnnGetVersion");
  const char* (*words)(int) = get<const char*(int)>("cudnnGetErrorString");
  int (*create)(cudnn::Handle*) = get<int(cudnn::Handle*)>("cudnnCreate");
  int (*set_stream)(cudnn::Handle,
                    cudaStream_t) = get<int(cudnn::Handle, cudaStream_t)>("cudnnSetStream");
  int (*create_object)(int, Raw*) = get<int(int, Raw*)>("cudnnBackendCreateDescriptor");
  int (*destroy_object)(Raw) = get<int(Raw)>("cudnnBackendDestroyDescriptor");
  int (*set)(Raw, int, int, std::int64_t, const void*) =
      get<int(Raw, int, int, std::int64_t, const void*)>("cudnnBackendSetAttribute");
  int (*read)(Raw, int, int, std::int64_t, std::int64_t*, void*) =
      get<int(Raw, int, int, std::int64_t, std::int64_t*, void*)>("cudnnBackendGetAttribute");
  int (*finalize)(Raw) = get<int(Raw)>("cudnnBackendFinalize");
  int (*execute)(cudnn::Handle, Raw,
                 Raw) = get<int(cudnn::Handle, Raw, Raw)>("cudnnBackendExecute");
};

const Api& api() {
  static const Api functions;
  return functions;
}

void check(int status, const std::string& what) {
  if (status != cudnn::kSuccess)
    throw Unsupported("cuDNN " + cudnn_version() + ": " + what + ": " + api().words(status));
}

std::string number(int enumerator) { return std::to_string(enumerator); }

}  // namespace

std::string missing_cudnn() { return library().missing; }

std::string cudnn_version() { return words_of(api().version()); }

cudnn::Handle cudnn_on(cudaStream_t stream) {
  static const cudnn::Handle handle = [] {
    cudnn::Handle made = nullptr;
    check(api().create(&made), "cudnnCreate");
    return made;
  }();
  check(api().set_stream(handle, stream), "cudnnSetStream");
  return handle;
}

CudnnObject::CudnnObject(cudnn::Object kind) {
  check(api().create_object(static_cast<int>(kind), &raw_),
        "creating an object of kind " + number(static_cast<int>(kind)));
}

CudnnObject::~CudnnObject() {
  if (raw_ != nullptr) api().destroy_object(raw_);
}

CudnnObject& CudnnObject::set(cudnn::Attribute attribute, cudnn::Value type, std::int64_t count,
                              const void* values) {
  check(api().set(raw_, static_cast<int>(attribute), static_cast<int>(type), count, values),
        "setting attribute " + number(static_cast<int>(attribute)));
  return *this;
}

CudnnObject& CudnnObject::finalize() {
  check(api().finalize(raw_), "cudnnBackendFinalize");
  return *this;
}

std::string CudnnObject::try_finalize() {
  const int status = api().finalize(raw_);
  return status == cudnn::kSuccess ? std::string() : api().words(status);
}

std::int64_t CudnnObject::get(cudnn::Attribute attribute, cudnn::Value type, std::int64_t count,
                              void* values) const {
  std::int64_t found = 0;
  check(
      api().read(raw_, static_cast<int>(attribute), static_cast<int>(type), count, &found, values),
      "reading attribute " + number(static_cast<int>(attribute)));
  return found;
}

void cudnn_execute(cudnn::Handle handle, const CudnnObject& plan, const CudnnObject& pack) {
  check(api().execute(handle, plan.raw(), pack.raw()), "cudnnBackendExecute");
}

}  // namespace kernels::cuda
