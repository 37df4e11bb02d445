#include "kernels/cuda/cublas.hpp"

#include <cuda_runtime_api.h>
#include <glob.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace kernels::cuda {
namespace {

std::vector<std::string> candidates(const std::string& library) {
  // The major version of the runtime that this was built with comes first.
#if CUDART_VERSION < 13000
  const std::vector<std::string> names = {library + ".12", library + ".13"};
#else
  const std::vector<std::string> names = {library + ".13", library + ".12"};
#endif
  std::vector<std::string> folders = {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
                                      "/usr/lib/x86_64-linux-gnu/"};
  const auto add_wheels = [&](const std::string& prefix) {
    for (const char* wheel : {"nvidia/cublas/lib/", "nvidia/cu13/lib/"})
      for (const char* packages : {"site-packages/", "dist-packages/"})
        folders.push_back(prefix + "/lib/python3*/" + packages + wheel);
  };
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* root = std::getenv(variable)) add_wheels(root);
  if (const char* home = std::getenv("HOME")) add_wheels(std::string(home) + "/.local");
  add_wheels("/usr/local");
  add_wheels("/usr");
  std::vector<std::string> all = names;
  for (const auto& folder : folders)
    for (const auto& name : names) all.push_back(folder + name);
  return all;
}

void* open(const std::string& pattern) {
  if (pattern.find('/') == std::string::npos) return dlopen(pattern.c_str(), RTLD_NOW | RTLD_LOCAL);
  glob_t found{};
  void* handle = nullptr;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc && !handle; ++i)
      handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  globfree(&found);
  return handle;
}

void* load(const std::string& library) {
  for (const auto& candidate : candidates(library))
    if (void* handle = open(candidate)) return handle;
  return nullptr;
}

std::string missing(const char* name, const char* library, void* handle,
                    std::initializer_list<const char*> functions) {
  if (handle == nullptr) return std::string(name) + ": " + library + ".12 or .13 not found";
  for (const char* function : functions)
    if (dlsym(handle, function) == nullptr)
      return std::string(name) + ": the library found has no " + function;
  return {};
}

}  // namespace

void* cublas_handle() {
  static void* const handle = load("libcublas.so");
  return handle;
}

void* cublaslt_handle() {
  static void* const handle = load("libcublasLt.so");
  return handle;
}

std::string missing_cublas() {
#if __has_include(<cublas_v2.h>)
  return missing("cuBLAS", "libcublas.so", cublas_handle(), {"cublasCreate_v2", "cublasSdot_v2"});
#else
  return "cuBLAS: built without cublas_v2.h";
#endif
}

std::string missing_cublaslt() {
#if __has_include(<cublasLt.h>)
  return missing("cuBLASLt", "libcublasLt.so", cublaslt_handle(),
                 {"cublasLtCreate", "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"});
#else
  return "cuBLASLt: built without cublasLt.h";
#endif
}

}  // namespace kernels::cuda
