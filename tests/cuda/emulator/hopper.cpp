#include "hopper.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace emulation {
namespace {

using Address = std::uintptr_t;

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }

/// The swizzle XORs absolute address bits: 128 bytes a ^= (a >> 7 & 7) << 4, 64 & 3, 32 & 1.
Address swizzled(Address a, unsigned mask) { return a ^ ((a >> 7 & mask) << 4); }

// ---- mbarrier ----

struct Mbarrier {
  unsigned count = 0, pending = 0, phase = 0;
  long bytes = 0;
  void complete_if_full() {
    if (pending > 0 || bytes != 0) return;
    pending = count;
    ++phase;
  }
};
std::map<Address, Mbarrier> mbarriers;

Mbarrier& mbarrier(const void* p) {
  const auto at = mbarriers.find(address_of(p));
  if (at == mbarriers.end()) fail("mbarrier: not initialised");
  return at->second;
}

void arrive(Mbarrier& b) {
  if (b.pending == 0) fail("mbarrier: more arrivals than it counts");
  --b.pending;
  b.complete_if_full();
}

const void* at_same_offset(const void* p, int rank) {
  return dynamic_shared_of(rank) + (static_cast<const unsigned char*>(p) - dynamic_shared());
}

// ---- TMA ----

/// What this emulator keeps in the 128 opaque bytes of a CUtensorMap.
struct Map {
  static constexpr std::uint64_t kMagic = 0x70616d20726f736e;
  std::uint64_t magic, base;
  std::uint64_t stride[2];  ///< bytes, of dimensions 1 and 2
  std::uint32_t size[3], box[3];
  std::uint32_t element, swizzle_mask;
};
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

Map decode(const CUtensorMap& map) {
  Map m;
  std::memcpy(&m, &map, sizeof m);
  if (m.magic != Map::kMagic) fail("TMA: no tensor map");
  return m;
}

/// Calls `move(shared address, global address, bytes)` for every element of the box; global address
/// 0 where it is out of bounds.
template <class Move>
void walk(const Map& m, const int (&at)[3], Address shared, Move move) {
  for (std::uint32_t z = 0; z < m.box[2]; ++z)
    for (std::uint32_t y = 0; y < m.box[1]; ++y)
      for (std::uint32_t x = 0; x < m.box[0]; ++x, shared += m.element) {
        const std::int64_t i[3] = {std::int64_t{at[0]} + x, std::int64_t{at[1]} + y,
                                   std::int64_t{at[2]} + z};
        bool inside = true;
        for (int d = 0; d < 3; ++d) inside &= i[d] >= 0 && i[d] < std::int64_t{m.size[d]};
        const Address global =
            inside ? m.base + i[0] * m.element + i[1] * m.stride[0] + i[2] * m.stride[1] : 0;
        move(swizzled(shared, m.swizzle_mask), global);
      }
}

unsigned box_bytes(const Map& m) { return m.box[0] * m.box[1] * m.box[2] * m.element; }

void check_shared(const Map& m, const void* p) {
  const Address offset = address_of(p) - address_of(dynamic_shared());
  if (offset % (m.swizzle_mask == 7 ? 1024 : 128) != 0) fail("TMA: shared address not aligned");
  if (offset + box_bytes(m) > dynamic_shared_bytes()) fail("TMA: box outside shared memory");
}

struct Later {
  int rounds;
  std::function<void()> action;
};
std::vector<Later> under_way;
unsigned delay_state = 1;

int some_rounds() {
  delay_state = delay_state * 1664525u + 1013904223u;
  return static_cast<int>(delay_state >> 30);
}

// ---- wgmma ----

constexpr int kGroup = 128;  ///< threads

/// One instruction of a warpgroup.
struct Instruction {
  Element type;
  int n;
  Operand a, b;
  bool from_registers, accumulate;
  std::array<const std::uint32_t*, kGroup> registers{};
  int issued = 0, applied = 0;
  std::vector<double> product;  ///< [64][n], once it is there
};
using Shared = std::shared_ptr<Instruction>;

struct Issued {
  Shared instruction;
  std::uint32_t* d;
};

/// A thread's accumulators while they are in flight, by their address.
using Saved = std::map<std::uint32_t*, std::vector<std::uint32_t>>;

struct ThreadState {
  bool fenced = false;
  std::int64_t issued = 0;
  std::vector<Issued> open;
  std::deque<std::vector<Issued>> groups;
  Saved saved;
  std::vector<std::function<void()>> open_stores;
  std::deque<std::vector<std::function<void()>>> stores;
};

struct Warpgroup {
  std::deque<Shared> instructions;
  std::int64_t first = 0;  ///< number of instructions.front()
  int registers = 0;       ///< by setmaxnreg, 0: none
};

std::map<std::pair<int, int>, ThreadState> thread_states;
std::map<std::pair<int, int>, Warpgroup> warpgroups;

int thread_number() { return current->warp * 32 + current->lane; }
ThreadState& mine() { return thread_states[{current->rank, thread_number()}]; }
Warpgroup& my_warpgroup() { return warpgroups[{current->rank, current->warp / 4}]; }

int bytes_of(Element e) {
  return e == Element::tf32 ? 4 : e == Element::bf16 || e == Element::f16 ? 2 : 1;
}

double widen(Element type, const void* p) {
  switch (type) {
    case Element::bf16: {
      __nv_bfloat16 v;
      std::memcpy(&v, p, 2);
      return __bfloat162float(v);
    }
    case Element::f16: {
      __half v;
      std::memcpy(&v, p, 2);
      return __half2float(v);
    }
    case Element::tf32: {  // the upper 19 bits
      std::uint32_t u;
      std::memcpy(&u, p, 4);
      u &= 0xffffe000u;
      float v;
      std::memcpy(&v, &u, 4);
      return v;
    }
    case Element::e4m3: {
      __nv_fp8_e4m3 v;
      std::memcpy(&v, p, 1);
      return static_cast<float>(v);
    }
    case Element::s8:
      return *static_cast<const std::int8_t*>(p);
  }
  return 0;
}

/// Shared memory at a descriptor's 18 bits: this block's dynamic part, or, where a kernel has only
/// static memory, what lies nearest to the address that was last turned into a shared one.
const unsigned char* shared_at(std::uint64_t bits) {
  if (dynamic_shared_bytes() > 0) {
    if (bits >= dynamic_shared_bytes()) fail("wgmma: operand outside shared memory");
    return dynamic_shared() + bits;
  }
  constexpr Address kSpan = 1 << 18;
  const Address known = last_shared_address;
  Address a = known / kSpan * kSpan + bits;
  if (a > known + kSpan / 2) a -= kSpan;
  if (a + kSpan / 2 < known) a += kSpan;
  return reinterpret_cast<const unsigned char*>(a);
}

/// The operand as [rows][k], rows along M or N, by the canonical layouts of PTX ISA 9.7.15.5.
std::vector<double> read_operand(Element type, const Operand& o, int rows, int k) {
  const auto field = [&](int from) { return (o.descriptor >> from & 0x3fff) << 4; };
  const std::uint64_t start = field(0), leading = field(16), stride = field(32);
  const unsigned mode = static_cast<unsigned>(o.descriptor >> 62);
  if (o.descriptor >> 49 & 7) fail("wgmma: base offset is not emulated");
  const std::uint64_t width = mode == 0 ? 16 : mode == 1 ? 128 : mode == 2 ? 64 : 32;
  const unsigned mask = mode == 0 ? 0 : mode == 1 ? 7 : mode == 2 ? 3 : 1;
  const std::uint64_t size = bytes_of(type);
  if (o.mn_major && size != 2) fail("wgmma: only 16-bit operands can be MN-major");
  if (o.mn_major && mode == 0) fail("wgmma: MN-major without a swizzle is not emulated");
  std::vector<double> out(static_cast<std::size_t>(rows) * k);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < k; ++i) {
      std::uint64_t offset;
      if (o.mn_major) {
        const std::uint64_t byte = r * size;
        offset = byte / width * leading + i / 8 * stride + i % 8 * width + byte % width;
      } else {
        const std::uint64_t byte = i * size;
        offset = mode == 0 ? r / 8 * stride + byte / 16 * leading + r % 8 * 16 + byte % 16
                           : r / 8 * stride + r % 8 * width + byte;
      }
      out[static_cast<std::size_t>(r) * k + i] =
          widen(type, shared_at(swizzled(start + offset, mask)));
    }
  return out;
}

/// A from registers, by the map of PTX ISA 9.7.15.5: [64][k].
std::vector<double> gather_registers(const Instruction& op, int k) {
  const int size = bytes_of(op.type), per = 4 / size;
  std::vector<double> out(64 * static_cast<std::size_t>(k));
  for (int t = 0; t < kGroup; ++t)
    for (int reg = 0; reg < 4; ++reg)
      for (int e = 0; e < per; ++e) {
        const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (reg & 1);
        const int column = per * (t % 4) + e + 4 * per * (reg >> 1);
        unsigned char bytes[4];
        std::memcpy(bytes, &op.registers[t][reg], 4);
        out[row * k + column] = widen(op.type, bytes + e * size);
      }
  return out;
}

void compute(Instruction& op) {
  const int k = 32 / bytes_of(op.type);
  const std::vector<double> a =
      op.from_registers ? gather_registers(op, k) : read_operand(op.type, op.a, 64, k);
  const std::vector<double> b = read_operand(op.type, op.b, op.n, k);
  op.product.resize(64 * static_cast<std::size_t>(op.n));
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < op.n; ++c) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[c * k + i];
      op.product[r * op.n + c] = sum;
    }
}

/// fp8 products are summed in registers of some 14 bits (DeepSeek-V3's report, section 3.3.2).
float rounded(Element type, double sum) {
  float f = static_cast<float>(sum);
  if (type != Element::e4m3) return f;
  std::uint32_t u;
  std::memcpy(&u, &f, 4);
  u &= 0xfffffc00u;
  std::memcpy(&f, &u, 4);
  return f;
}

void add_product(const Instruction& op, std::vector<std::uint32_t>& d) {
  const int t = thread_number() % kGroup;
  for (int r = 0; r < op.n / 2; ++r) {
    const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (r >> 1 & 1);
    const int column = 8 * (r >> 2) + 2 * (t % 4) + (r & 1);
    const double p = op.product[row * op.n + column];
    if (op.type == Element::s8) {
      d[r] = (op.accumulate ? d[r] : 0) + static_cast<std::uint32_t>(static_cast<std::int64_t>(p));
    } else {
      float f = 0;
      if (op.accumulate) std::memcpy(&f, &d[r], 4);
      f = rounded(op.type, static_cast<double>(f) + p);
      std::memcpy(&d[r], &f, 4);
    }
  }
}

void finish(Issued& i) {
  Instruction& op = *i.instruction;
  wait_until([&] { return op.issued == kGroup; });
  if (op.product.empty()) compute(op);
  add_product(op, mine().saved[i.d]);
  Warpgroup& group = my_warpgroup();
  ++op.applied;
  while (!group.instructions.empty() && group.instructions.front()->applied == kGroup) {
    group.instructions.pop_front();
    ++group.first;
  }
}

}  // namespace

Address last_shared_address = 0;

// ---- for the scheduler ----

void begin_cluster() {
  mbarriers.clear();
  under_way.clear();
  thread_states.clear();
  warpgroups.clear();
}

bool advance() {
  if (under_way.empty()) return false;
  std::vector<Later> due;
  for (auto& l : under_way)
    if (--l.rounds < 0) due.push_back(std::move(l));
  std::erase_if(under_way, [](const Later& l) { return l.rounds < 0; });
  for (auto& l : due) l.action();
  return true;
}

void end_of_thread() {
  const auto at = thread_states.find({current->rank, thread_number()});
  if (at == thread_states.end()) return;
  const ThreadState& s = at->second;
  if (!s.open.empty() || !s.groups.empty()) fail("wgmma: a thread ended without waiting for it");
  if (!s.open_stores.empty() || !s.stores.empty())
    fail("TMA: a thread ended without waiting for its stores");
}

void end_of_cluster() {
  if (!under_way.empty()) throw Fault("TMA: a copy was under way when the block ended");
}

// ---- mbarrier ----

void mbarrier_init(const void* p, unsigned count) {
  if (address_of(p) % 8 != 0) fail("mbarrier: not on 8 bytes");
  if (!mbarriers.emplace(address_of(p), Mbarrier{count, count, 0, 0}).second)
    fail("mbarrier: initialised twice");
}
void mbarrier_expect(const void* p, unsigned bytes) {
  mbarrier(p).bytes += bytes;
  arrive(mbarrier(p));
}
void mbarrier_arrive(const void* p) { arrive(mbarrier(p)); }
void mbarrier_arrive_at(const void* p, int rank) { arrive(mbarrier(at_same_offset(p, rank))); }
void mbarrier_wait(const void* p, unsigned parity) {
  const Mbarrier& b = mbarrier(p);
  wait_until([&] { return (b.phase & 1) != parity; });
}

// ---- TMA ----

void load_box(void* to, const CUtensorMap& map, const int (&at)[3], const void* barrier,
              unsigned mask) {
  const Map m = decode(map);
  check_shared(m, to);
  for (int rank = 0; mask >> rank != 0; ++rank) {
    if (!(mask >> rank & 1)) continue;
    const Address target = address_of(at_same_offset(to, rank));
    const void* signal = at_same_offset(barrier, rank);
    std::memset(reinterpret_cast<void*>(target), 0xff, box_bytes(m));
    under_way.push_back({some_rounds(), [=, from = std::array<int, 3>{at[0], at[1], at[2]}] {
                           const int start[3] = {from[0], from[1], from[2]};
                           walk(m, start, target, [&](Address shared, Address global) {
                             auto* s = reinterpret_cast<void*>(shared);
                             if (global == 0)
                               std::memset(s, 0, m.element);
                             else
                               std::memcpy(s, reinterpret_cast<const void*>(global), m.element);
                           });
                           const auto b = mbarriers.find(address_of(signal));
                           if (!block_runs(rank) || b == mbarriers.end())
                             throw Fault("TMA: a copy into a block that has ended");
                           b->second.bytes -= box_bytes(m);
                           b->second.complete_if_full();
                         }});
  }
}

/// Writes 16 bytes or nothing, as an H200 does: also where a row ends within them.
void store_box(const CUtensorMap& map, const int (&at)[3], const void* from) {
  Map m = decode(map);
  const std::uint32_t granule = 16 / m.element;
  m.size[0] = (m.size[0] + granule - 1) / granule * granule;
  check_shared(m, from);
  mine().open_stores.push_back([=, to = std::array<int, 3>{at[0], at[1], at[2]}] {
    const int start[3] = {to[0], to[1], to[2]};
    walk(m, start, address_of(from), [&](Address shared, Address global) {
      if (global != 0)
        std::memcpy(reinterpret_cast<void*>(global), reinterpret_cast<const void*>(shared),
                    m.element);
    });
  });
}
void commit_stores() { mine().stores.push_back(std::exchange(mine().open_stores, {})); }
void wait_stores(int groups_left) {
  auto& stores = mine().stores;
  while (static_cast<int>(stores.size()) > groups_left) {
    for (const auto& store : stores.front()) store();
    stores.pop_front();
  }
}

// ---- wgmma ----

void wgmma_fence() { mine().fenced = true; }

void wgmma(Element type, int n, void* d, Operand a, const std::uint32_t* registers, Operand b,
           bool accumulate) {
  ThreadState& thread = mine();
  Warpgroup& group = my_warpgroup();
  if (!thread.fenced) fail("wgmma: no fence in the batch");
  const std::size_t index = static_cast<std::size_t>(thread.issued++ - group.first);
  if (index == group.instructions.size())
    group.instructions.push_back(std::make_shared<Instruction>(
        Instruction{type, n, a, b, registers != nullptr, accumulate}));
  const Shared op = group.instructions[index];
  if (op->type != type || op->n != n || op->a.descriptor != a.descriptor ||
      op->b.descriptor != b.descriptor || op->accumulate != accumulate)
    fail("wgmma: the threads of a warpgroup disagree");
  op->registers[thread_number() % kGroup] = registers;
  ++op->issued;
  auto* words = static_cast<std::uint32_t*>(d);
  if (!thread.saved.count(words)) {
    thread.saved[words].assign(words, words + n / 2);
    std::memset(words, 0xff, n / 2 * sizeof *words);
  }
  thread.open.push_back({op, words});
}

void wgmma_commit() {
  mine().groups.push_back(std::exchange(mine().open, {}));
  mine().fenced = false;
}

void wgmma_wait(int groups_left) {
  ThreadState& thread = mine();
  while (static_cast<int>(thread.groups.size()) > groups_left) {
    for (Issued& i : thread.groups.front()) finish(i);
    thread.groups.pop_front();
  }
  // D that no group in flight writes to is readable again.
  std::erase_if(thread.saved, [&](auto& entry) {
    for (const auto& g : thread.groups)
      for (const Issued& i : g)
        if (i.d == entry.first) return false;
    for (const Issued& i : thread.open)
      if (i.d == entry.first) return false;
    std::copy(entry.second.begin(), entry.second.end(), entry.first);
    return true;
  });
}

/// All warpgroups together may not ask for more than the 512 x 128 registers of an SM.
void set_registers(int count) {
  if (count % 8 != 0 || count < 24 || count > 256) fail("setmaxnreg: no such count");
  my_warpgroup().registers = count;
  int sum = 0;
  for (const auto& [key, group] : warpgroups)
    if (key.first == current->rank) sum += group.registers;
  if (sum > 512) fail("setmaxnreg: more registers than an SM has");
}

}  // namespace emulation

// ---- the driver's one function ----

namespace {

/// The limits of the CUDA driver's documentation, as far as the project's maps could break them.
CUresult encode(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* base,
                const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                const cuuint32_t* step, CUtensorMapInterleave interleave,
                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using emulation::Map;
  std::uint32_t element = 0;
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      element = 1;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      element = 2;
      break;
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
      element = 4;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  Map m{.magic = Map::kMagic, .base = reinterpret_cast<std::uint64_t>(base), .element = element};
  bool fits = rank == 3 && m.base % 16 == 0 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  const std::uint32_t span = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                             : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                             : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32
                                                                    : 256 * element;
  m.swizzle_mask = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 7
                   : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 3
                   : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 1
                                                          : 0;
  for (int d = 0; fits && d < 3; ++d) {
    fits = size[d] >= 1 && size[d] <= (std::uint64_t{1} << 32) && box[d] >= 1 && box[d] <= 256 &&
           step[d] == 1;
    m.size[d] = static_cast<std::uint32_t>(size[d]);
    m.box[d] = box[d];
    if (d > 0) {
      fits = fits && stride[d - 1] % 16 == 0 && stride[d - 1] < (std::uint64_t{1} << 40);
      m.stride[d - 1] = stride[d - 1];
    }
  }
  fits = fits && box[0] * element % 16 == 0 && box[0] * element <= span;
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, &m, sizeof m);
  return CUDA_SUCCESS;
}

}  // namespace

#undef cudaGetDriverEntryPointByVersion
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** f, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *f = known ? reinterpret_cast<void*>(&encode) : nullptr;
  *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
