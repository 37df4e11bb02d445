// The emulator's own Hopper parts: what they do, and the faults that they must find, as a kernel
// that passes in an emulator that forgives everything proves nothing.
#include "hopper.hpp"

#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace {

namespace ptx = kernels::cuda::ptx;
using kernels::bf16;
using kernels::cuda::Type;

constexpr std::size_t kShared = 64 << 10;

template <class Kernel>
std::string fault_of(int threads, Kernel kernel, unsigned cluster = 1) {
  try {
    emulation::run(dim3(cluster), dim3(threads), kShared, cluster, kernel);
  } catch (const emulation::Fault& e) {
    return e.what();
  }
  return "none";
}

struct alignas(1024) Shared {
  unsigned char tile[16384];
  unsigned char other[16384];
  ptx::Mbarrier barrier;
};

/// 40 rows of 72 bf16 (80 apart), in a box of 64 x 64: element (r, c) is 100 r + c, which bf16 may
/// round, as the tests do too.
struct Matrix {
  static constexpr int kRows = 40, kColumns = 72, kPitch = 80;
  std::vector<bf16> data = std::vector<bf16>(kRows * kPitch + 8);
  bf16* start = data.data() + (16 - reinterpret_cast<std::uintptr_t>(data.data()) % 16) % 16 / 2;
  Matrix() {
    for (int i = 0; i < kRows * kPitch; ++i)
      start[i] = bf16(static_cast<float>(i / kPitch * 100 + i % kPitch));
  }
  CUtensorMap map(int columns = kColumns) const {
    return kernels::cuda::tensor_map({Type::bf16, start, columns, kRows, 1, kPitch, kRows * kPitch},
                                     64);
  }
};

TEST(Mbarrier, FindsAWaitThatNobodyEnds) {
  EXPECT_EQ(fault_of(32,
                     [] {
                       auto& s = ptx::dynamic_shared<Shared>();
                       if (threadIdx.x == 0) ptx::mbarrier_init(s.barrier, 2);
                       __syncthreads();
                       if (threadIdx.x == 0) ptx::mbarrier_arrive(s.barrier);
                       ptx::mbarrier_wait(s.barrier, 0);
                     }),
            "every thread waits");
}

TEST(Mbarrier, CountsArrivalsAndPhases) {
  const auto kernel = [](int arrivals) {
    return [=] {
      auto& s = ptx::dynamic_shared<Shared>();
      ptx::mbarrier_init(s.barrier, 1);
      ptx::mbarrier_wait(s.barrier, 1);  // fresh: past parity 1
      for (int i = 0; i < arrivals; ++i) {
        ptx::mbarrier_arrive(s.barrier);
        ptx::mbarrier_wait(s.barrier, i % 2);
      }
      ptx::mbarrier_wait(s.barrier, 1);
    };
  };
  EXPECT_EQ(fault_of(1, kernel(2)), "none");
  EXPECT_EQ(fault_of(1, kernel(1)), "every thread waits") << "phase 1 has not ended";
  EXPECT_EQ(fault_of(1,
                     [] {
                       auto& s = ptx::dynamic_shared<Shared>();
                       ptx::mbarrier_init(s.barrier, 1);
                       ptx::mbarrier_arrive_expect(s.barrier, 64);
                       ptx::mbarrier_arrive(s.barrier);
                     }),
            "mbarrier: more arrivals than it counts");
  EXPECT_EQ(fault_of(1, [] { ptx::mbarrier_arrive(ptx::dynamic_shared<Shared>().barrier); }),
            "mbarrier: not initialised");
}

TEST(LoadBox, SwizzlesFillsWithZerosAndIsNotThereBeforeTheWait) {
  const Matrix m;
  const CUtensorMap map = m.map();
  int wrong = 0, early = 0;
  const auto kernel = [&] {
    auto& s = ptx::dynamic_shared<Shared>();
    ptx::mbarrier_init(s.barrier, 1);
    ptx::mbarrier_arrive_expect(s.barrier, 64 * 128);
    ptx::load_box(s.tile, map, 32, 8, 0, s.barrier);
    early = s.tile[0] != 0xff || s.tile[8191] != 0xff;
    ptx::mbarrier_wait(s.barrier, 0);
    for (int r = 0; r < 64; ++r)
      for (int c = 0; c < 64; ++c) {
        // Chunk c / 8 of row r lies at chunk (c / 8) ^ (r % 8).
        bf16 got;
        std::memcpy(&got, s.tile + r * 128 + ((c / 8) ^ (r % 8)) * 16 + c % 8 * 2, 2);
        const bool inside = 8 + r < 40 && 32 + c < 72;
        const bf16 want(inside ? static_cast<float>((8 + r) * 100 + 32 + c) : 0.0f);
        wrong += got.bits != want.bits;
      }
  };
  EXPECT_EQ(fault_of(1, kernel), "none");
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(early, 0);
}

TEST(LoadBox, FindsWrongBytesAddressesAndAnEndTooEarly) {
  const Matrix m;
  const CUtensorMap map = m.map();
  const auto load = [&](unsigned bytes, int offset, bool waits) {
    return fault_of(1, [&, bytes, offset, waits] {
      auto& s = ptx::dynamic_shared<Shared>();
      ptx::mbarrier_init(s.barrier, 1);
      ptx::mbarrier_arrive_expect(s.barrier, bytes);
      ptx::load_box(s.tile + offset, map, 0, 0, 0, s.barrier);
      if (waits) ptx::mbarrier_wait(s.barrier, 0);
    });
  };
  EXPECT_EQ(load(8192, 0, true), "none");
  EXPECT_EQ(load(8190, 0, true), "every thread waits");
  EXPECT_EQ(load(8192, 128, true), "TMA: shared address not aligned");
  EXPECT_EQ(load(8192, 60 << 10, true), "TMA: box outside shared memory");
  EXPECT_NE(load(8192, 0, false), "none");
}

TEST(LoadBox, ReachesBothBlocksOfAClusterThatStillRun) {
  const Matrix m;
  const CUtensorMap map = m.map();
  const auto kernel = [&](bool stays) {
    return [&, stays] {
      auto& s = ptx::dynamic_shared<Shared>();
      ptx::mbarrier_init(s.barrier, 1);
      ptx::mbarrier_arrive_expect(s.barrier, 8192);
      ptx::cluster_sync();
      if (ptx::cluster_rank() == 0) {
        ptx::load_box_multicast(s.tile, map, 0, 0, 0, s.barrier, 0b11);
        ptx::mbarrier_wait(s.barrier, 0);
      } else if (stays) {
        ptx::mbarrier_wait(s.barrier, 0);
        bf16 got;
        std::memcpy(&got, s.tile + 128 + 16, 2);  // row 1, column 0
        if (got.bits != bf16(100.0f).bits) emulation::fail("wrong value");
      }
    };
  };
  EXPECT_EQ(fault_of(1, kernel(true), 2), "none");
  EXPECT_NE(fault_of(1, kernel(false), 2), "none");
}

TEST(StoreBox, CutsOffAtTheTensorAndReadsWhenWaitedFor) {
  Matrix m;
  const CUtensorMap map = m.map();
  const auto kernel = [&](bool waits) {
    return [&, waits] {
      auto& s = ptx::dynamic_shared<Shared>();
      std::memset(s.tile, 0, 8192);
      ptx::store_box(map, 64, 39, 0, s.tile);
      ptx::store_commit();
      if (waits) ptx::store_wait();
    };
  };
  EXPECT_EQ(fault_of(1, kernel(true)), "none");
  EXPECT_EQ(m.start[39 * 80 + 63].bits, bf16(3963.0f).bits) << "left of the box";
  EXPECT_EQ(m.start[39 * 80 + 64].bits, 0);
  EXPECT_EQ(m.start[39 * 80 + 71].bits, 0);
  EXPECT_EQ(m.start[39 * 80 + 72].bits, bf16(3972.0f).bits) << "the row's padding";
  EXPECT_EQ(fault_of(1, kernel(false)), "TMA: a thread ended without waiting for its stores");
}

TEST(StoreBox, WritesWhole16BytesAlsoWhereARowEndsWithin) {
  Matrix m;
  const CUtensorMap map = m.map(65);
  EXPECT_EQ(fault_of(1,
                     [&] {
                       auto& s = ptx::dynamic_shared<Shared>();
                       std::memset(s.tile, 0, 8192);
                       ptx::store_box(map, 64, 39, 0, s.tile);
                       ptx::store_commit();
                       ptx::store_wait();
                     }),
            "none");
  EXPECT_EQ(m.start[39 * 80 + 71].bits, 0);
  EXPECT_EQ(m.start[39 * 80 + 72].bits, bf16(3972.0f).bits);
}

/// Small whole numbers, so that sums are exact.
float a_at(int row, int k) { return static_cast<float>((row * 3 + k * 5) % 7 - 3); }
float b_at(int k, int column) { return static_cast<float>((k * 2 + column) % 5 - 2); }

/// Writes A [64][16] with K contiguous, B [16][128] with K or N contiguous, by the layouts in
/// words.
void fill_tiles(Shared& s, bool b_mn_major) {
  const auto put = [](unsigned char* tile, int offset, float v) {
    const bf16 b(v);
    std::memcpy(tile + (offset ^ (offset / 128 % 8 * 16)), &b, 2);
  };
  for (int r = 0; r < 64; ++r)
    for (int k = 0; k < 16; ++k) put(s.tile, r * 128 + k * 2, a_at(r, k));
  for (int k = 0; k < 16; ++k)
    for (int c = 0; c < 128; ++c)
      put(s.other, b_mn_major ? c / 64 * 8192 + k * 128 + c % 64 * 2 : c * 128 + k * 2, b_at(k, c));
}

struct Options {
  bool b_mn_major = false, fences = true, waits = true, overwrites = false;
};

/// One product of 128 threads; how many entries were wrong before and after the wait.
std::string product(const Options& o, int& wrong_before, int& wrong_after) {
  wrong_before = wrong_after = 0;
  return fault_of(128, [&] {
    auto& s = ptx::dynamic_shared<Shared>();
    const int t = threadIdx.x;
    if (t == 0) fill_tiles(s, o.b_mn_major);
    __syncthreads();
    float d[64];
    for (float& x : d) x = 1;
    const auto count = [&](int& wrong) {
      for (int r = 0; r < 64; ++r) {
        const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (r / 2 % 2);
        const int column = 8 * (r / 4) + 2 * (t % 4) + r % 2;
        float want = 1;
        for (int k = 0; k < 16; ++k) want += a_at(row, k) * b_at(k, column);
        wrong += d[r] != want;
      }
    };
    const auto a = ptx::descriptor_k_major_128(ptx::shared_address(s.tile));
    const auto shared_b = ptx::shared_address(s.other);
    if (o.fences) ptx::wgmma_fence();
    if (o.b_mn_major)
      ptx::wgmma_bf16_b_mn_major(d, a, ptx::descriptor_mn_major_128(shared_b, 8192), 1);
    else
      ptx::wgmma_bf16(d, a, ptx::descriptor_k_major_128(shared_b), 1);
    ptx::wgmma_commit();
    count(wrong_before);
    __syncthreads();
    if (o.overwrites && t == 0) s.tile[0] ^= 0x80;
    __syncthreads();
    if (!o.waits) return;
    ptx::wgmma_wait<0>();
    count(wrong_after);
  });
}

TEST(Wgmma, MultipliesBothLayoutsAndHidesDUntilTheWait) {
  for (const bool mn_major : {false, true}) {
    int before, after;
    EXPECT_EQ(product({.b_mn_major = mn_major}, before, after), "none");
    EXPECT_EQ(before, 64 * 128);
    EXPECT_EQ(after, 0);
  }
}

TEST(Wgmma, FindsMissingFencesWaitsAndTilesGivenBackEarly) {
  int before, after;
  EXPECT_EQ(product({.fences = false}, before, after), "wgmma: no fence in the batch");
  EXPECT_EQ(product({.waits = false}, before, after),
            "wgmma: a thread ended without waiting for it");
  EXPECT_EQ(product({.overwrites = true}, before, after), "none");
  EXPECT_GT(after, 0);
  EXPECT_EQ(fault_of(128,
                     [] {
                       float d[64] = {};
                       const auto past = ptx::descriptor_k_major_128(
                           ptx::shared_address(emulation::dynamic_shared() + kShared - 1024));
                       ptx::wgmma_fence();
                       ptx::wgmma_bf16(d, past, past, 0);
                       ptx::wgmma_commit();
                       ptx::wgmma_wait<0>();
                     }),
            "wgmma: operand outside shared memory");
}

/// A [64][32] and B [64][32] in e4m3, A by way of ldmatrix; how many entries were wrong.
int product_from_registers(bool overwrites) {
  int wrong = 0;
  const auto kernel = [&] {
    auto& s = ptx::dynamic_shared<Shared>();
    const int t = threadIdx.x, lane = t % 32;
    const auto put = [](unsigned char* tile, int row, int k, float v) {
      const __nv_fp8_e4m3 e(v);
      std::memcpy(tile + ptx::swizzle_128(row * 128 + k), &e, 1);
    };
    for (int k = 0; t < 64 && k < 32; ++k) {
      put(s.tile, t, k, a_at(t, k));
      put(s.other, t, k, b_at(k, t));
    }
    __syncthreads();
    std::uint32_t a[4];
    ptx::load_matrix_x4(
        a, s.tile + ptx::swizzle_128((16 * (t / 32) + lane % 16) * 128 + 16 * (lane / 16)));
    float d[32];
    ptx::wgmma_fence();
    ptx::wgmma_e4m3_a_registers(d, a, ptx::descriptor_k_major_128(ptx::shared_address(s.other)), 0);
    ptx::wgmma_commit();
    if (overwrites) a[3] ^= 0x80;
    __syncthreads();
    ptx::wgmma_wait<0>();
    for (int r = 0; r < 32; ++r) {
      const int row = 16 * (t / 32) + lane / 4 + 8 * (r / 2 % 2);
      const int column = 8 * (r / 4) + 2 * (lane % 4) + r % 2;
      float want = 0;
      for (int k = 0; k < 32; ++k) want += a_at(row, k) * b_at(k, column);
      wrong += d[r] != want;
    }
  };
  EXPECT_EQ(fault_of(128, kernel), "none");
  return wrong;
}

TEST(Wgmma, ReadsTheFirstOperandFromRegistersUntilTheWait) {
  EXPECT_EQ(product_from_registers(false), 0);
  EXPECT_GT(product_from_registers(true), 0);
}

TEST(SetRegisters, RefusesMoreThanAnSmHas) {
  const auto sum = [](int producers) {
    return fault_of(384, [=] {
      if (threadIdx.x < 128)
        emulation::set_registers(producers);
      else
        ptx::registers_up_to<232>();
    });
  };
  EXPECT_EQ(sum(40), "none");
  EXPECT_EQ(sum(56), "setmaxnreg: more registers than an SM has");
  EXPECT_EQ(sum(44), "setmaxnreg: no such count");
}

TEST(TensorMap, RefusesWhatTheDriverWould) {
  alignas(16) static bf16 data[64];
  const auto map = [&](std::int64_t pitch, int offset, int rows) {
    kernels::cuda::tensor_map({Type::bf16, data + offset, 8, 1, 1, pitch, pitch}, rows);
  };
  EXPECT_NO_THROW(map(8, 0, 64));
  EXPECT_THROW(map(7, 0, 64), kernels::cuda::Error);
  EXPECT_THROW(map(8, 1, 64), kernels::cuda::Error);
  EXPECT_THROW(map(8, 0, 257), kernels::cuda::Error);
}

}  // namespace
