// Keeps a value in a register and hides it from the optimiser.
#pragma once

namespace kernels {
namespace {

/// Makes the compiler forget what `v` holds, at no instruction: what is computed from it is
/// computed again, and it stays where it is, in a vector register. Volatile, because GCC merges
/// equal asm statements that are not.
template <class V>
[[gnu::always_inline]] inline void opaque(V& v) {
#if defined(__aarch64__)
  asm volatile("" : "+w"(v));
#elif defined(__AVX512F__)
  asm volatile("" : "+v"(v));
#else
  if constexpr (sizeof(V) <= 32)
    asm volatile("" : "+x"(v));
  else
    asm volatile("" : "+m"(v));  // AVX-512 emulated by the tests: no such register
#endif
}
/// An address: it stays in a register of its own.
template <class T>
[[gnu::always_inline]] inline void opaque(const T*& p) {
  asm volatile("" : "+r"(p));
}

}  // namespace
}  // namespace kernels
