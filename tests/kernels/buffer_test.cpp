#include "kernels/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace kernels {
namespace {

constexpr std::size_t kPage = 4096, kHuge = std::size_t{2} << 20;

bool on(std::size_t boundary, const std::shared_ptr<std::byte>& p) {
  return reinterpret_cast<std::uintptr_t>(p.get()) % boundary == 0;
}

TEST(Allocate, KeepsToItsBoundaries) {
  EXPECT_TRUE(on(kPage, allocate(1)));
  EXPECT_TRUE(on(kPage, allocate(0)));
  EXPECT_TRUE(on(kPage, allocate(kHuge - 2 * kPage)));
  EXPECT_TRUE(on(kHuge, allocate(kHuge)));
  EXPECT_TRUE(on(kHuge, allocate(3 * kHuge + 1)));
}

// More than one block of them, some of which are given back while others are in use.
TEST(Allocate, SmallBuffersDoNotMeet) {
  struct Piece {
    std::shared_ptr<std::byte> at;
    std::size_t bytes;
    int fill;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < 120; ++i) {
    const std::size_t bytes = 1 + std::size_t(i) * 7919 % 200000;
    pieces.push_back({allocate(bytes), bytes, i + 1});
    EXPECT_TRUE(on(kPage, pieces.back().at));
    std::memset(pieces.back().at.get(), i + 1, bytes);
    if (i % 3 == 0) pieces.erase(pieces.begin() + i / 3);
  }
  for (const Piece& piece : pieces) {
    const auto* const begin = piece.at.get();
    EXPECT_EQ(std::count(begin, begin + piece.bytes, static_cast<std::byte>(piece.fill)),
              static_cast<std::ptrdiff_t>(piece.bytes))
        << "of " << piece.fill;
  }
}

TEST(Allocate, ABufferOutlivesThoseBesideIt) {
  auto last = allocate(kPage);
  {
    const auto first = allocate(100), second = allocate(kHuge / 2);
    last = allocate(5);
    std::memset(second.get(), 1, kHuge / 2);
  }
  std::memset(last.get(), 2, 5);
  const auto next = allocate(kHuge / 2);
  std::memset(next.get(), 3, kHuge / 2);
  EXPECT_EQ(static_cast<int>(last.get()[4]), 2);
}

// Or a process that goes through many small problems would soon lie where L2 cannot hold them.
TEST(Allocate, WhatAllHaveGivenBackIsTakenAgain) {
  if (kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer keeps what is freed";
  std::set<const std::byte*> places;
  for (int i = 0; i < 100; ++i) {
    const auto first = allocate(kHuge / 2), second = allocate(kHuge / 2);
    places.insert({first.get(), second.get()});
  }
  EXPECT_LE(places.size(), 6U);
}

}  // namespace
}  // namespace kernels
