// Hopper's asynchronous parts: mbarriers, TMA copies, wgmma. They are as late as the rules allow:
// a copy's target is poisoned when it is issued and written some rounds later; a wgmma reads its
// operands and writes D when its group is waited for, and D is poison until then. So a kernel that
// does not wait, or gives a stage back too early, computes garbage here too.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "emulator.hpp"

namespace emulation {

// For the scheduler.
void begin_cluster();
/// Completes copies that are due. False if none is under way.
bool advance();
void end_of_thread();   ///< a Fault if it leaves groups behind
void end_of_cluster();  ///< a Fault if copies are under way

// mbarrier. Objects are known by their address.
void mbarrier_init(const void* barrier, unsigned count);
void mbarrier_expect(const void* barrier, unsigned bytes);
void mbarrier_arrive(const void* barrier);
/// At the same offset in block `rank` of the cluster.
void mbarrier_arrive_at(const void* barrier, int rank);
void mbarrier_wait(const void* barrier, unsigned parity);

// TMA. `blocks`: mask of the blocks that get the box, at the same offset as `to`.
void load_box(void* to, const CUtensorMap& map, const int (&at)[3], const void* barrier,
              unsigned blocks);
void store_box(const CUtensorMap& map, const int (&at)[3], const void* from);
void commit_stores();
void wait_stores(int groups_left);

/// One operand in shared memory, by its descriptor; `mn_major` as in the instruction.
struct Operand {
  std::uint64_t descriptor;
  bool mn_major;
};
enum class Element { bf16, f16, tf32, e4m3, s8 };

void wgmma_fence();
/// D[64, n] (+)= A . B. `registers`: A in registers, 4 a thread; else null and `a` holds.
void wgmma(Element type, int n, void* d, Operand a, const std::uint32_t* registers, Operand b,
           bool accumulate);
void wgmma_commit();
void wgmma_wait(int groups_left);

/// setmaxnreg
void set_registers(int count);

}  // namespace emulation
