// The scheduler of the emulator and the part of the CUDA runtime that the project calls.
#include "emulator.hpp"

#include "hopper.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

// Saves the callee-saved registers and the stack pointer, goes on where another stack stopped. A
// tenth of the cost of swapcontext, which asks the kernel for the signal mask each time.
extern "C" void emulator_switch(void** save_stack, void* load_stack);
asm(R"(
.text
.globl emulator_switch
emulator_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

namespace emulation {

Thread* current = nullptr;
dim3 grid_size, block_size;
bool backwards = false;

namespace {

constexpr std::size_t kStack = 64 << 10, kSlot = 64;

struct Copy {
  void* to;
  const void* from;
  int valid;
};

struct Fiber {
  Thread thread;
  void* stack_pointer = nullptr;
  std::unique_ptr<unsigned char[]> stack{new unsigned char[kStack]};
  bool ended = false;
  std::vector<std::vector<Copy>> groups;
  std::vector<Copy> open_group;
};

/// A barrier over the threads of a block or a warp that have not ended.
struct Barrier {
  int members = 0, arrived = 0;
  long generation = 0;
  void release_if_full() {
    if (arrived < members) return;
    arrived = 0;
    ++generation;
  }
};

struct Warp {
  Barrier barrier;
  int parity = 0;
  std::array<std::array<std::array<unsigned char, kSlot>, 32>, 2> slots;
  std::array<int, 32> lane_parity{};
};

struct Block {
  Barrier barrier;
  std::array<Barrier, 16> named;
  std::vector<Warp> warps;
  int running = 0;
};

/// Where the blocks of a cluster have their dynamic shared memory: block r at r * kWindow, so that
/// the low 18 bits, which descriptors hold, are an offset into it.
constexpr std::size_t kWindow = 256 << 10, kMostShared = 227 << 10;
constexpr int kMostBlocks = 16;

unsigned char* arena() {
  static unsigned char* const start = [] {
    void* p = mmap(nullptr, (kMostBlocks + 1) * kWindow, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(p) + kWindow - 1) /
                                            kWindow * kWindow);
  }();
  return start;
}

std::deque<Fiber> fibers;  // growing must not move them
std::vector<Block> blocks;
Barrier cluster_barrier;
std::size_t shared_bytes = 0;
std::string fault;
bool progress = false;
Fiber* fiber = nullptr;
void* scheduler = nullptr;  ///< its stack pointer while a fiber runs
const std::function<void()>* body = nullptr;

Block& block() { return blocks[current->rank]; }

void yield() { emulator_switch(&fiber->stack_pointer, scheduler); }

void wait(Barrier& barrier) {
  const long generation = barrier.generation;
  ++barrier.arrived;
  barrier.release_if_full();
  wait_until([&] { return barrier.generation != generation; });
}

void entry() {
  (*body)();
  end_of_thread();
  Fiber* mine = fiber;
  mine->ended = true;
  progress = true;
  --block().running;
  for (Barrier* b :
       {&block().barrier, &block().warps[mine->thread.warp].barrier, &cluster_barrier}) {
    --b->members;
    if (b->arrived > 0) b->release_if_full();
  }
  yield();
}

/// A fresh stack on which emulator_switch finds six registers and then entry() to return to, at the
/// alignment that a call would leave.
void prepare(Fiber& f) {
  auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + kStack) / 16 * 16;
  auto* words = reinterpret_cast<void**>(top) - 8;
  std::memset(words, 0, 8 * sizeof(void*));
  words[6] = reinterpret_cast<void*>(&entry);
  f.stack_pointer = words;
}

/// The blocks from `first` on along x, at once.
void run_cluster(dim3 first, dim3 block_size, unsigned cluster) {
  const int threads = static_cast<int>(block_size.x * block_size.y * block_size.z);
  const int all = threads * static_cast<int>(cluster);
  while (all > static_cast<int>(fibers.size())) fibers.emplace_back();
  blocks.assign(cluster, {});
  cluster_barrier = {all, 0, 0};
  fault.clear();
  begin_cluster();
  std::memset(arena(), 0xff, cluster * kWindow);
  for (Block& b : blocks) {
    b.warps.assign((threads + 31) / 32, {});
    b.barrier = {threads, 0, 0};
    b.running = threads;
  }
  for (int f = 0; f < all; ++f) {
    const int t = f % threads, rank = f / threads;
    const auto i = static_cast<unsigned>(t);
    fibers[f].thread = {
        dim3(i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y),
        {first.x + static_cast<unsigned>(rank), first.y, first.z},
        t % 32,
        t / 32,
        rank};
    fibers[f].ended = false;
    fibers[f].groups.clear();
    fibers[f].open_group.clear();
    ++blocks[rank].warps[t / 32].barrier.members;
    prepare(fibers[f]);
  }
  for (int running = all; running > 0;) {
    running = 0;
    progress = false;
    for (int f = 0; f < all; ++f) {
      if (fibers[f].ended) continue;
      fiber = &fibers[f];
      current = &fiber->thread;
      emulator_switch(&scheduler, fiber->stack_pointer);
      if (!fault.empty()) throw Fault(fault);
      running += !fibers[f].ended;
    }
    if (!advance() && !progress && running > 0) throw Fault("every thread waits");
    if (!fault.empty()) throw Fault(fault);
  }
  end_of_cluster();
}

std::vector<std::function<void()>>* capturing = nullptr;
int launches = 0;  ///< that have run: the clock of events

}  // namespace

void fail(const std::string& what) {
  fault = what;
  for (;;) yield();  // the scheduler does not come back
}

void wait_until(const std::function<bool()>& ready) {
  progress = true;
  while (!ready()) yield();
}

void synchronise_block() { wait(block().barrier); }

void synchronise_named(int id, int threads) {
  if (id < 0 || id > 15 || threads % 32 != 0) fail("bar.sync: no such barrier or count");
  Barrier& b = block().named[id];
  if (b.arrived > 0 && b.members != threads) fail("bar.sync: threads disagree on the count");
  b.members = threads;
  wait(b);
}

void synchronise_cluster() { wait(cluster_barrier); }

unsigned char* dynamic_shared() { return arena() + current->rank * kWindow; }
unsigned char* dynamic_shared_of(int rank) {
  if (rank < 0 || rank >= static_cast<int>(blocks.size())) fail("no such block in the cluster");
  if (blocks[rank].running == 0) fail("a block of the cluster had ended before it was written to");
  return arena() + rank * kWindow;
}
bool block_runs(int rank) { return blocks[rank].running > 0; }
std::size_t dynamic_shared_bytes() { return shared_bytes; }

void exchange(const void* input, std::size_t bytes) {
  if (bytes > kSlot) throw std::logic_error("emulation: operand too large");
  Warp& warp = block().warps[current->warp];
  int& parity = warp.lane_parity[current->lane];
  parity ^= 1;
  std::memcpy(warp.slots[parity][current->lane].data(), input, bytes);
  wait(warp.barrier);
}

const void* lane_input(int lane) {
  Warp& warp = block().warps[current->warp];
  return warp.slots[warp.lane_parity[current->lane]][lane].data();
}

void copy_later(void* to, const void* from, int valid) {
  fiber->open_group.push_back({to, from, valid});
}
void commit_copies() { fiber->groups.push_back(std::exchange(fiber->open_group, {})); }
void wait_copies(int groups_left) {
  while (static_cast<int>(fiber->groups.size()) > groups_left) {
    for (const Copy& c : fiber->groups.front()) {
      unsigned char bytes[16] = {};
      std::memcpy(bytes, c.from, c.valid);
      std::memcpy(c.to, bytes, 16);
    }
    fiber->groups.erase(fiber->groups.begin());
  }
}

std::size_t& shared_limit(const void* kernel) {
  static std::map<const void*, std::size_t> limits;
  return limits.try_emplace(kernel, 48 << 10).first->second;
}

void run(dim3 grid, dim3 block, std::size_t dynamic_shared, unsigned cluster,
         std::function<void()> kernel) {
  if (cluster == 0 || cluster > kMostBlocks || grid.x % cluster != 0)
    throw Fault("the grid is no multiple of the cluster");
  if (dynamic_shared > kMostShared) throw Fault("more shared memory than a block can have");
  auto launch = [=] {
    grid_size = grid;
    block_size = block;
    shared_bytes = dynamic_shared;
    body = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; x += cluster)
          run_cluster({backwards ? grid.x - cluster - x : x, y, z}, block, cluster);
    body = nullptr;
    ++launches;
  };
  if (capturing != nullptr)
    capturing->push_back(launch);
  else
    launch();
}

}  // namespace emulation

// ---- the runtime ----

namespace {

std::map<void*, std::size_t> mappings;

using Graph = std::vector<std::function<void()>>;

}  // namespace

/// Ends at an unmapped page, but for what 256-byte alignment leaves: a kernel that runs past the
/// end of a buffer faults. Filled with a pattern that is NaN in every floating format.
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  const std::size_t page = 4096, rounded = (bytes + 255) / 256 * 256;
  const std::size_t mapped = (rounded + page - 1) / page * page + page;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* end = static_cast<unsigned char*>(base) + mapped - page;
  mprotect(end, page, PROT_NONE);
  *p = end - rounded;
  std::memset(*p, 0xff, rounded);
  mappings[*p] = mapped;
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  const auto at = mappings.find(p);
  if (at == mappings.end()) return cudaErrorInvalidValue;
  const auto address = reinterpret_cast<std::uintptr_t>(p) / 4096 * 4096;
  munmap(reinterpret_cast<void*>(address), at->second);
  mappings.erase(at);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) { return cudaMalloc(p, bytes); }
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  ++emulation::launches;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* p, int value, std::size_t bytes) {
  std::memset(p, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t) {
  return cudaMemset(p, value, bytes);
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "error"; }
const char* cudaGetErrorString(cudaError_t) { return "error"; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
/// A property of the emulated chip, which the environment may set.
std::size_t property(const char* name, std::size_t usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return *free_bytes = *total_bytes = property("EMULATED_MEMORY_BYTES", std::size_t{4} << 30),
         cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strcpy(p->name, "emulator");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int, int) {
  std::strcpy(id, "0000:01:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = property("EMULATED_COMPUTE_CAPABILITY", 8);
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 3;
      break;
    case cudaDevAttrL2CacheSize:
      *value = property("EMULATED_L2_BYTES", 4 << 20);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 164 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = property("EMULATED_SHARED_BYTES", 0);  // 0: not told
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  return *s = nullptr, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
/// An event holds how many launches had run: each of them takes as long as another.
#undef cudaEventRecord
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return *event = reinterpret_cast<cudaEvent_t>(new int(0)), cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return *reinterpret_cast<int*>(event) = emulation::launches, cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
  const int launches = *reinterpret_cast<int*>(stop) - *reinterpret_cast<int*>(start);
  *ms = static_cast<float>(launches * property("EMULATED_LAUNCH_MS", 1));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<int*>(event);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  emulation::capturing = new Graph;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(std::exchange(emulation::capturing, nullptr));
  return cudaSuccess;
}
#undef cudaGraphInstantiate
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  for (const auto& launch : *reinterpret_cast<Graph*>(executable)) launch();
  return cudaSuccess;
}
