// The emulated instructions against results worked out by hand from Intel's manual: a kernel that
// agrees with a wrong emulation proves nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/avx512_bf16.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels {
namespace {

template <class T, class V>
T lane(const V& v, int i) {
  T lanes[sizeof(V) / sizeof(T)];
  std::memcpy(lanes, &v, sizeof v);
  return lanes[i];
}

TEST(Avx512Semantics, DpbusdTakesUnsignedTimesSignedWithoutSaturation) {
  const __m512i r =
      _mm512_dpbusd_epi32(_mm512_set1_epi32(7), _mm512_set1_epi8(-1), _mm512_set1_epi8(-128));
  EXPECT_EQ(lane<std::int32_t>(r, 0), 7 - 4 * 255 * 128);
  EXPECT_EQ(lane<std::int32_t>(r, 15), 7 - 4 * 255 * 128);
}

TEST(Avx512Semantics, MaddPairsNeighbouringWords) {
  std::int16_t a[32] = {}, b[32] = {};
  a[2] = 3, b[2] = -5, a[3] = 1000, b[3] = 1000;
  const __m512i r = _mm512_madd_epi16(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
  EXPECT_EQ(lane<std::int32_t>(r, 0), 0);
  EXPECT_EQ(lane<std::int32_t>(r, 1), 3 * -5 + 1000 * 1000);
}

TEST(Avx512Semantics, DpwssdAddsProductsOfNeighbouringSignedWords) {
  std::int16_t a[32] = {}, b[32] = {};
  a[2] = 3, b[2] = -5, a[3] = -1000, b[3] = -1000;
  const __m512i r =
      _mm512_dpwssd_epi32(_mm512_set1_epi32(7), _mm512_loadu_si512(a), _mm512_loadu_si512(b));
  EXPECT_EQ(lane<std::int32_t>(r, 0), 7);
  EXPECT_EQ(lane<std::int32_t>(r, 1), 7 - 15 + 1000000);
}

TEST(Avx512Semantics, PermutesTakeLanesOfBothFromTheFirstOnwards) {
  std::int32_t a[16], b[16], from[16];
  for (int i = 0; i < 16; ++i) a[i] = i, b[i] = 100 + i, from[i] = i % 2 * 16 + i / 2;
  const auto load = [](const std::int32_t* p) { return _mm512_loadu_si512(p); };
  const __m512i words = _mm512_permutex2var_epi32(load(a), load(from), load(b));
  EXPECT_EQ(lane<std::int32_t>(words, 2), 1);
  EXPECT_EQ(lane<std::int32_t>(words, 15), 107);
  const __m512i pairs =
      _mm512_permutex2var_epi64(load(a), _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), load(b));
  EXPECT_EQ(lane<std::int32_t>(pairs, 3), 3);
  EXPECT_EQ(lane<std::int32_t>(pairs, 4), 100);
  EXPECT_EQ(lane<std::int32_t>(pairs, 15), 107);
}

TEST(Avx512Semantics, ConversionsRoundToTheNearestAndKeepTheSign) {
  float x[16] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4999998f, 32767.0f, -2.51f};
  const __m512i r = _mm512_cvtps_epi32(_mm512_loadu_ps(x));
  const int expected[] = {0, 2, 2, 0, -2, 2, 32767, -3};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(lane<std::int32_t>(r, i), expected[i]) << i;
  const __m512i shifted = _mm512_srai_epi32(r, 1);
  EXPECT_EQ(lane<std::int32_t>(shifted, 4), -1);
  EXPECT_EQ(lane<std::int32_t>(shifted, 7), -2);
  const __m128i low_bytes = _mm512_cvtepi32_epi8(r);
  EXPECT_EQ(lane<std::int8_t>(low_bytes, 6), -1);
  EXPECT_EQ(lane<std::int8_t>(low_bytes, 7), -3);
  std::int8_t bytes[32] = {1, -128, 127};
  bytes[31] = -7;
  const __m512i words =
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
  EXPECT_EQ(lane<std::int16_t>(words, 1), -128);
  EXPECT_EQ(lane<std::int16_t>(words, 2), 127);
  EXPECT_EQ(lane<std::int16_t>(words, 31), -7);
}

TEST(Avx512Semantics, PermutesWithinQuartersAndOfQuarters) {
  float a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(100 + i);
  const __m512 within = _mm512_permute_ps(_mm512_loadu_ps(a), 0xb1);
  EXPECT_EQ(lane<float>(within, 0), 1);
  EXPECT_EQ(lane<float>(within, 7), 6);
  const __m512 of = _mm512_shuffle_f32x4(_mm512_loadu_ps(a), _mm512_loadu_ps(b), 0xdd);
  EXPECT_EQ(lane<float>(of, 0), 4);
  EXPECT_EQ(lane<float>(of, 5), 13);
  EXPECT_EQ(lane<float>(of, 8), 104);
  EXPECT_EQ(lane<float>(of, 15), 115);
}

TEST(Avx512Semantics, Cvtne2ps2bf16RoundsToEvenTheLaterOperandFirst) {
  float low[16], high[16];
  for (int i = 0; i < 16; ++i) low[i] = static_cast<float>(i), high[i] = static_cast<float>(-i);
  low[1] = 0x1.01p0f, low[2] = 0x1.03p0f, low[3] = 0x1.010002p0f, high[15] = 0x1p-130f;
  const __m512bh r = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(high), _mm512_loadu_ps(low));
  const auto value = [&](int i) { return static_cast<float>(lane<bf16>(r, i)); };
  EXPECT_EQ(value(1), 1.0f);
  EXPECT_EQ(value(2), 0x1.04p0f);
  EXPECT_EQ(value(3), 0x1.02p0f);
  EXPECT_EQ(value(15), 15.0f);
  EXPECT_EQ(value(16 + 3), -3.0f);
  EXPECT_EQ(value(16 + 15), 0.0f);
}

TEST(Avx512Semantics, Dpbf16PairsNeighbouringValues) {
  bf16 x[32], y[32];
  for (int i = 0; i < 32; ++i) x[i] = bf16(static_cast<float>(i)), y[i] = bf16(1.0f);
  y[3] = bf16(-2.0f);
  const auto acc = Avx512Bf16::BF16::dot(_mm512_set1_ps(0.5f), x, y);
  EXPECT_EQ(lane<float>(acc, 0), 0.5f + 0 + 1);
  EXPECT_EQ(lane<float>(acc, 1), 0.5f + 2 - 6);
  EXPECT_EQ(lane<float>(acc, 15), 0.5f + 30 + 31);
}

TEST(Avx512Semantics, WideningLoadsKeepOrderAndSign) {
  const std::int8_t s[16] = {0, -1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12, -13, 127, -128};
  bf16 b[32];
  for (int i = 0; i < 32; ++i) b[i] = bf16(static_cast<float>(i) - 8.0f);
  const auto from_s8 = Avx512::F32::load(s), from_bf16 = Avx512::F32::load(b);
  Avx512::F32::V even, odd;
  Avx512::F32::load_even_odd(b, even, odd);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(lane<float>(from_s8, i), s[i]);
    EXPECT_EQ(lane<float>(from_bf16, i), i - 8);
    EXPECT_EQ(lane<float>(even, i), 2 * i - 8);
    EXPECT_EQ(lane<float>(odd, i), 2 * i - 7);
  }
  bf16 between[32];
  Avx512::F32::store_even_odd(b, between);
  Avx512::F32::load_even_odd(between, even, odd);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(lane<float>(even, i), i - 8);
    EXPECT_EQ(lane<float>(odd, i), i + 8);
  }
}

TEST(Avx512Semantics, AlignrShiftsTwoVectorsRight) {
  std::int32_t low[16], high[16];
  for (int i = 0; i < 16; ++i) low[i] = i, high[i] = 100 + i;
  const __m512i r = _mm512_alignr_epi32(_mm512_loadu_si512(high), _mm512_loadu_si512(low), 3);
  EXPECT_EQ(lane<std::int32_t>(r, 0), 3);
  EXPECT_EQ(lane<std::int32_t>(r, 12), 15);
  EXPECT_EQ(lane<std::int32_t>(r, 13), 100);
  EXPECT_EQ(lane<std::int32_t>(r, 15), 102);
}

TEST(Avx512Semantics, NarrowingKeepsTheLowHalf) {
  std::int32_t wide[16];
  for (int i = 0; i < 16; ++i) wide[i] = 0x50000 - i;
  const __m256i r = _mm512_cvtepi32_epi16(_mm512_loadu_si512(wide));
  EXPECT_EQ(lane<std::int16_t>(r, 0), 0);
  EXPECT_EQ(lane<std::int16_t>(r, 15), -15);
}

TEST(Avx512Semantics, ReduceAndScalefTakeTheWholeNumberBelow) {
  const auto fraction = [](float x) {
    return lane<float>(Avx512::F32::fraction(_mm512_set1_ps(x)), 3);
  };
  EXPECT_EQ(fraction(2.75f), 0.75f);
  EXPECT_EQ(fraction(-3.75f), 0.25f);
  EXPECT_EQ(fraction(-4.0f), 0.0f);
  const auto scaled = [](float y, float x) {
    return lane<float>(Avx512::F32::times_pow2(_mm512_set1_ps(y), _mm512_set1_ps(x)), 15);
  };
  EXPECT_EQ(scaled(1.0f, -126.0f), 0x1p-126f);
  EXPECT_EQ(scaled(1.5f, -3.25f), 1.5f / 16);
  EXPECT_EQ(scaled(1.0f, 127.0f), 0x1p127f);
}

TEST(Avx512Semantics, ReductionsTakeEveryLaneOnce) {
  float f[16];
  double d[8];
  for (int i = 0; i < 16; ++i) f[i] = static_cast<float>(1 << i);
  for (int i = 0; i < 8; ++i) d[i] = 1 << i;
  EXPECT_EQ(Avx512::F32::sum(Avx512::F32::load(f)), 65535.0f);
  EXPECT_EQ(Avx512::F64::sum(Avx512::F64::load(d)), 255.0);
  f[5] = 1e6f;
  EXPECT_EQ(Avx512::F32::max_of(Avx512::F32::load(f)), 1e6f);
}

/// The two ends of the offset trick, at the largest count of steps between two sums.
TEST(Avx512Semantics, SignedBytesAreExactAtTheEndsOfTheRange) {
  using S8 = Avx512Vnni::S8;
  for (const int x : {-128, -127, 127})
    for (const int y : {-128, -127, 127}) {
      std::int8_t a[64], b[64];
      std::memset(a, x, sizeof a), std::memset(b, y, sizeof b);
      auto acc = S8::zero();
      for (int step = 0; step < S8::kMaxSteps; ++step) acc = S8::dot(acc, a, b);
      EXPECT_EQ(S8::sum(acc), std::int64_t{64} * S8::kMaxSteps * x * y) << x << " * " << y;
    }
}

}  // namespace
}  // namespace kernels
