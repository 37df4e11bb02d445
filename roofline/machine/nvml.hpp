// NVML's C interface as far as it is used (nvml.h, stable since driver 450), loaded at run time:
// the header comes with the CUDA Toolkit only, and this must build without it.
#pragma once

#include <dlfcn.h>

#include <limits>
#include <optional>
#include <string>

namespace roofline::machine {

class Nvml {
 public:
  using Device = struct nvmlDevice_st*;
  struct Memory {
    unsigned long long total, free, used;
  };
  static constexpr int kSuccess = 0, kInsufficientSize = 7;
  static constexpr unsigned kClockSm = 1, kClockMemory = 2;
  static constexpr unsigned kExclusiveThread = 1, kExclusiveProcess = 3;
  static constexpr unsigned kPowerInstant = 186;  ///< a field's id, since driver 530
  static constexpr int kUnsigned = 1;             ///< of a field's types

  explicit Nvml(const char* library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool loaded() const { return handle_ != nullptr; }
  /// To be called once, of a loaded one. Empty, or why it cannot be used, in NVML's words.
  std::string start();

  /// The status code; -1 if this driver lacks the function. The arguments' types have to be those
  /// of NVML's parameters.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto f = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name));
    return f ? f(arguments...) : -1;
  }

  /// What `int name(device, T*)` tells; nothing where it cannot.
  template <class T>
  std::optional<T> get(const char* name, Device device) const {
    T value{};
    return call(name, device, &value) == kSuccess ? std::optional(value) : std::nullopt;
  }

  /// The same of `int name(device, selector, unsigned*)`.
  std::optional<unsigned> get(const char* name, Device device, unsigned selector) const {
    unsigned value = 0;
    return call(name, device, selector, &value) == kSuccess ? std::optional(value) : std::nullopt;
  }

 private:
  void* handle_;
  bool started_ = false;
};

/// In base units, as NVML's counts times `factor`; NaN where it does not tell.
inline double number(std::optional<unsigned> value, double factor) {
  return value ? factor * *value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace roofline::machine
