#include "kernels/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace kernels {

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20, kPage = 4096;
  const std::size_t alignment = bytes >= kHuge ? kHuge : kPage;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  if (bytes >= kHuge) madvise(p, rounded, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

}  // namespace kernels
