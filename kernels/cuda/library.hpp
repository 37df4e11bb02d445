// NVIDIA's libraries, opened at run time.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/peers/library.hpp"

namespace kernels::cuda {

/// A library that was looked for: itself, or in one line why there is none.
struct Found {
  std::optional<peers::Library> library;
  std::string missing;
};

/// The first one that has these functions and no `fault`, whose words follow the file's name.
/// Throws BadInput like peers::load().
Found find_library(const peers::Search&, std::initializer_list<const char*> functions,
                   const std::function<std::string(const peers::Library&)>& fault = nullptr);

/// A function of a library. Throws Unsupported if it has none of that name, or if it was not found.
template <class Function>
Function* library_function(const Found& found, const char* name) {
  void* f = found.library ? found.library->find(name) : nullptr;
  if (f == nullptr)
    throw Unsupported(found.library ? found.library->path() + " has no " + name : found.missing);
  return reinterpret_cast<Function*>(f);
}

}  // namespace kernels::cuda
