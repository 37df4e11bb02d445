#include "kernels/cuda/library.hpp"

namespace kernels::cuda {

Found find_library(const peers::Search& search, std::initializer_list<const char*> functions) {
  Found found;
  found.missing = peers::load(search, [&](const peers::Library& library) {
    for (const char* name : functions)
      if (library.find(name) == nullptr)
        throw peers::Unusable(std::string("has no symbol ") + name);
    found.library = library;
  });
  return found;
}

}  // namespace kernels::cuda
