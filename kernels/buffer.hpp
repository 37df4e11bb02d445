// Buffers for inputs and outputs: huge pages where allowed, touched first by the threads that use
// them, filled with reproducible values.
#pragma once

#include <omp.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/values.hpp"

namespace kernels {

/// It sees what lies past the end of a buffer if each has memory of its own.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// `bytes` of memory on a 2 MiB boundary when they span one, else on a 4 KiB boundary; asks for
/// huge pages, which small buffers share where memory has one node: the first ones pages that L2
/// holds well (l2_pages.hpp), which the first call looks for. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate(std::size_t bytes);

/// What a buffer of `bytes` takes: whole pages.
inline double held_bytes(double bytes) { return 4096 * std::ceil(std::fmax(bytes, 1) / 4096); }

/// Has the system provide `bytes` of memory that holds nothing yet, from `p` on, by all cores at
/// once: a virtual machine may get its pages back from its host one fault at a time. Does nothing
/// where memory has several nodes, and belongs to the thread that touches it first.
void provide(std::byte* p, std::size_t bytes);

/// Slice `part` of `parts` of [0, n), in multiples of `grain` but for the last.
struct Slice {
  std::int64_t begin, end;
};
inline Slice slice(std::int64_t n, int part, int parts, std::int64_t grain = 1) {
  const std::int64_t blocks = (n + grain - 1) / grain;
  const auto edge = [&](int p) {
    const std::int64_t at = blocks * p / parts * grain;
    return at < n ? at : n;
  };
  return {edge(part), edge(part + 1)};
}

/// An array of T that lives on `threads` threads' pages: element i is written first by the thread
/// that owns it in slice(), by whole pages.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  template <class F>
  Buffer(std::int64_t n, int threads, F value) : size_(n), bytes_(allocate(n * sizeof(T))) {
    T* p = data();
    if (threads == 1) provide(bytes_.get(), n * sizeof(T));
#pragma omp parallel num_threads(threads)
    {
      const Slice s = slice(n, omp_get_thread_num(), omp_get_num_threads(), 4096 / sizeof(T));
      for (std::int64_t i = s.begin; i < s.end; ++i) p[i] = value(i);
    }
  }
  T* data() const { return reinterpret_cast<T*>(bytes_.get()); }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t i) const { return data()[i]; }

 private:
  std::int64_t size_ = 0;
  std::shared_ptr<std::byte> bytes_;
};

}  // namespace kernels
