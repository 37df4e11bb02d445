// What a prediction is made for: a chip as advertised or a machine as measured, and the two roofs
// that it gives one kind of work.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"

namespace roofline::predict {

struct Hardware {
  std::string name;
  bool measured = false;
  std::string device;  ///< of a machine: cpu or gpu
  int threads = 0;     ///< of a machine's CPU: all its cores
  /// Compute peaks, and reads of the main memory, of one device and all its cores.
  std::vector<Ceiling> ceilings;
  double launch_s = 0;                   ///< of a machine's GPU: one launch; 0: not known
  double memory_bytes = kUnknownNumber;  ///< of one chip, or what the machine had to give
  /// bytes/s of one link in one direction: what a ring over the chips uses.
  double link_one_way = kUnknownNumber;
  /// bytes/s of all links along one axis of the slice: both directions of a torus, one way
  /// into a switch.
  double link_axis = kUnknownNumber;
};

/// By name or alias. Throws BadInput that lists near names.
Hardware chip_hardware(std::string_view name);

/// From a results folder or its ceilings.csv; the memory's size from machine.json beside it, where
/// there is one. Of a ceiling that comes quiet and as lived, the quiet one. `device` is cpu or gpu;
/// empty: gpu where the folder has its peaks, else cpu. Throws BadInput naming the file: not
/// readable, broken, or without rows of that device.
Hardware machine_hardware(const std::filesystem::path& path, std::string_view device = "");

/// Which compute peak the work runs at.
struct ComputeChoice {
  std::string dtype;          ///< that the arithmetic is done in
  std::string mixed;          ///< operands of two types as they are, bf16xs8; empty: of one
  bool dtype_chosen = false;  ///< by the user: no wider type serves in its place
  std::string exec_unit;      ///< empty: the fastest
  bool vector_unit = false;   ///< work that matrix units cannot do
};

/// The roofs of one kind of work.
struct Roofs {
  double peak = kUnknownNumber;       ///< FLOP/s
  double bandwidth = kUnknownNumber;  ///< bytes/s of the main memory
  std::string level = "HBM";          ///< HBM or DRAM
  std::string dtype;                  ///< of the peak
  std::string exec_unit;              ///< of the peak; empty if it was given
  double launch_s = 0;                ///< see Hardware
  std::vector<std::string> notes;     ///< what to know of them, a line each
};

/// `peak` and `bandwidth` above NaN replace the hardware's own. Where the hardware has no peak for
/// a dtype that the user did not choose, the next wider type that it has and that holds every
/// value serves (s4 s8 bf16 f16 f32), as kernels do it. Where only matrix units are known, they
/// serve vector work too, with a note. Throws BadInput that lists the dtypes and units it has.
Roofs roofs(const Hardware& hardware, const ComputeChoice& choice, double peak = kUnknownNumber,
            double bandwidth = kUnknownNumber);

}  // namespace roofline::predict
