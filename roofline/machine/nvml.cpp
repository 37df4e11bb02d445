#include "roofline/machine/nvml.hpp"

#include <fmt/format.h>

namespace roofline::machine {

Nvml::Nvml(const char* library) : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {}

Nvml::~Nvml() {
  if (started_) call("nvmlShutdown");
  if (handle_) dlclose(handle_);
}

std::string Nvml::start() {
  const int code = call("nvmlInit_v2");
  started_ = code == kSuccess;
  if (started_) return {};
  const auto text = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
  return text ? text(code) : fmt::format("NVML error {}", code);
}

}  // namespace roofline::machine
