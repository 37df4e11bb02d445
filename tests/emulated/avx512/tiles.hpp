// AMX by plain loops, one set of tiles a thread, from the pseudo-code of Intel's intrinsics guide.
#pragma once

#include <cstdint>
#include <cstring>

namespace emulated {

struct Tiles {
  std::uint8_t rows[8];
  std::uint16_t row_bytes[8];
  std::uint8_t data[8][16][64];
};
inline Tiles& tiles() {
  thread_local Tiles all{};
  return all;
}

inline void tile_loadconfig(const void* config) {
  const auto* bytes = static_cast<const std::uint8_t*>(config);
  Tiles& all = tiles() = {};
  std::memcpy(all.row_bytes, bytes + 16, sizeof all.row_bytes);
  std::memcpy(all.rows, bytes + 48, sizeof all.rows);
}
inline void tile_release() { tiles() = {}; }
inline void tile_zero(int t) { std::memset(tiles().data[t], 0, sizeof tiles().data[t]); }
inline void tile_loadd(int t, const void* base, std::int64_t stride) {
  tile_zero(t);
  for (int r = 0; r < tiles().rows[t]; ++r)
    std::memcpy(tiles().data[t][r], static_cast<const char*>(base) + r * stride,
                tiles().row_bytes[t]);
}
inline void tile_stored(int t, void* base, std::int64_t stride) {
  for (int r = 0; r < tiles().rows[t]; ++r)
    std::memcpy(static_cast<char*>(base) + r * stride, tiles().data[t][r], tiles().row_bytes[t]);
}

/// sums += a . b: Sum are the sums, A and B the elements, as many to a sum as fit its four bytes.
/// Rows that the tiles do not have stay zero.
template <class Sum, class A, class B, class Value>
inline void tile_products(int sums, int a, int b, Value value) {
  constexpr int kGroup = 4 / sizeof(A);
  Tiles& all = tiles();
  for (int m = 0; m < all.rows[sums]; ++m)
    for (int k = 0; k < all.row_bytes[a] / 4; ++k)
      for (int n = 0; n < all.row_bytes[sums] / 4; ++n) {
        Sum sum;
        A left[kGroup];
        B right[kGroup];
        std::memcpy(&sum, all.data[sums][m] + 4 * n, 4);
        std::memcpy(left, all.data[a][m] + 4 * k, 4);
        std::memcpy(right, all.data[b][k] + 4 * n, 4);
        for (int i = 0; i < kGroup; ++i) sum += value(left[i]) * value(right[i]);
        std::memcpy(all.data[sums][m] + 4 * n, &sum, 4);
      }
}
inline void tile_dpbf16ps(int sums, int a, int b) {
  tile_products<float, std::uint16_t, std::uint16_t>(sums, a, b, [](std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  });
}
template <class A>
inline void tile_dpb(int sums, int a, int b) {
  tile_products<std::int32_t, A, std::int8_t>(sums, a, b,
                                              [](auto byte) { return std::int32_t{byte}; });
}

}  // namespace emulated

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbusd
#define _tile_loadconfig(config) emulated::tile_loadconfig(config)
#define _tile_release() emulated::tile_release()
#define _tile_zero(t) emulated::tile_zero(t)
#define _tile_loadd(t, base, stride) emulated::tile_loadd(t, base, stride)
#define _tile_stream_loadd(t, base, stride) emulated::tile_loadd(t, base, stride)
#define _tile_stored(t, base, stride) emulated::tile_stored(t, base, stride)
#define _tile_dpbf16ps(sums, a, b) emulated::tile_dpbf16ps(sums, a, b)
#define _tile_dpbssd(sums, a, b) emulated::tile_dpb<std::int8_t>(sums, a, b)
#define _tile_dpbusd(sums, a, b) emulated::tile_dpb<std::uint8_t>(sums, a, b)
