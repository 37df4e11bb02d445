#include "kernels/cuda/library.hpp"

namespace kernels::cuda {

Found find_library(const peers::Search& search, std::initializer_list<const char*> functions,
                   const std::function<std::string(const peers::Library&)>& fault) {
  Found found;
  found.missing = peers::load(search, [&](const peers::Library& library) {
    for (const char* name : functions)
      if (library.find(name) == nullptr)
        throw peers::Unusable(std::string("has no symbol ") + name);
    if (fault)
      if (const std::string why = fault(library); !why.empty()) throw peers::Unusable(why);
    found.library = library;
  });
  return found;
}

}  // namespace kernels::cuda
