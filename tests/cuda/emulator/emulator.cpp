// The scheduler of the emulator and the part of the CUDA runtime that the project calls.
#include "emulator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
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

std::vector<Fiber> fibers;
std::vector<Warp> warps;
Barrier block_barrier;
Fiber* fiber = nullptr;
void* scheduler = nullptr;  ///< its stack pointer while a fiber runs
const std::function<void()>* body = nullptr;

void yield() { emulator_switch(&fiber->stack_pointer, scheduler); }

void wait(Barrier& barrier) {
  const long generation = barrier.generation;
  ++barrier.arrived;
  barrier.release_if_full();
  while (barrier.generation == generation) yield();
}

void entry() {
  (*body)();
  Fiber* mine = fiber;
  mine->ended = true;
  for (Barrier* b : {&block_barrier, &warps[mine->thread.warp].barrier}) {
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

void run_block(dim3 block_index, dim3 block) {
  const int threads = static_cast<int>(block.x * block.y * block.z);
  if (threads > static_cast<int>(fibers.size())) fibers.resize(threads);
  warps.assign((threads + 31) / 32, {});
  block_barrier = {threads, 0, 0};
  for (int t = 0; t < threads; ++t) {
    Fiber& f = fibers[t];
    const auto i = static_cast<unsigned>(t);
    f.thread = {dim3(i % block.x, i / block.x % block.y, i / block.x / block.y), block_index,
                t % 32, t / 32};
    f.ended = false;
    f.groups.clear();
    f.open_group.clear();
    ++warps[t / 32].barrier.members;
    prepare(f);
  }
  int running = threads;
  while (running > 0) {
    running = 0;
    for (int t = 0; t < threads; ++t) {
      if (fibers[t].ended) continue;
      fiber = &fibers[t];
      current = &fiber->thread;
      emulator_switch(&scheduler, fiber->stack_pointer);
      running += !fibers[t].ended;
    }
  }
}

std::vector<std::function<void()>>* capturing = nullptr;

}  // namespace

void synchronise_block() { wait(block_barrier); }

void exchange(const void* input, std::size_t bytes) {
  if (bytes > kSlot) throw std::logic_error("emulation: operand too large");
  Warp& warp = warps[current->warp];
  int& parity = warp.lane_parity[current->lane];
  parity ^= 1;
  std::memcpy(warp.slots[parity][current->lane].data(), input, bytes);
  wait(warp.barrier);
}

const void* lane_input(int lane) {
  Warp& warp = warps[current->warp];
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

void run(dim3 grid, dim3 block, std::function<void()> kernel) {
  auto launch = [=] {
    grid_size = grid;
    block_size = block;
    body = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) run_block({x, y, z}, block);
    body = nullptr;
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
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "error"; }
const char* cudaGetErrorString(cudaError_t) { return "error"; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return *free_bytes = *total_bytes = std::size_t{4} << 30, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strcpy(p->name, "emulator");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int, int) {
  *id = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrComputeCapabilityMajor             ? 8
           : which == cudaDevAttrMultiProcessorCount              ? 3
           : which == cudaDevAttrL2CacheSize                      ? 4 << 20
           : which == cudaDevAttrMaxSharedMemoryPerMultiprocessor ? 164 << 10
                                                                  : 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  return *s = nullptr, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
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
