// What the variants of a case share: inputs that take longer to fill than to time.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace kernels {

/// By name what somebody still holds.
template <class T>
using Live = std::map<std::string, std::weak_ptr<T>>;

/// What of that name somebody holds, else what `make` returns, a std::shared_ptr.
template <class T, class Make>
std::shared_ptr<T> shared(Live<T>& live, const std::string& name, Make make) {
  std::erase_if(live, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<T>& known = live[name];
  std::shared_ptr<T> found = known.lock();
  if (!found) known = found = make();
  return found;
}

}  // namespace kernels
