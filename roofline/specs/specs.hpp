// Spec data: advertised chips (specs/chips.json) and what a core does per cycle (specs/cpu.json).
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::specs {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One advertised peak of a chip. FLOP/s; integer operations count as FLOP.
struct Peak {
  std::string dtype;
  std::string exec_unit;         ///< cuda-core, tensor, mxu
  double advertised = kUnknown;  ///< as the sheet says, dense
  double flops_per_cycle_per_sm = kUnknown;
  double clock_hz = kUnknown;  ///< the clock that the sheet's figure assumes
  double computed = kUnknown;  ///< SMs x FLOP per cycle and SM x clock
  std::string confidence;      ///< empty: as the source says; else unconfirmed or derived
  std::string note;
};

/// A connection to other chips or the host; bytes per second.
struct Link {
  std::string kind;  ///< nvlink, nvlink-c2c, pcie, ici
  double both_ways = kUnknown;
  double one_way = kUnknown;
  double one_way_per_link = kUnknown;
  std::string confidence, note;
};

/// A chip as advertised. An unknown number is NaN (SMs: 0), an unknown text empty.
struct Chip {
  std::string name, vendor, kind, architecture, compute_capability;
  std::vector<std::string> aliases, device_names;
  int sms = 0;
  double vector_clock_hz = kUnknown, tensor_clock_hz = kUnknown;
  std::vector<Peak> peaks;
  double memory_bytes = kUnknown;
  double bandwidth = kUnknown;  ///< of the main memory, bytes/s
  double memory_clock_hz = kUnknown;
  int memory_bus_bits = 0;
  std::string memory_note;
  double l2_bytes = kUnknown, shared_memory_per_sm_bytes = kUnknown;
  std::vector<Link> links;
  std::string source, note;
  nlohmann::json confidence;  ///< by the name of the JSON field; an object, empty if all is sure

  /// The peak for a dtype on a unit; nullptr if none is advertised. mma, wgmma and tcgen05 are
  /// held against the tensor peak. An empty unit means the fastest one.
  const Peak* peak(std::string_view dtype, std::string_view exec_unit = "") const;
  /// Of its PCIe link, bytes/s; NaN where none is stated.
  double pcie_one_way() const;
};

/// What one SM of a compute capability does, whatever the product.
struct GpuArchitecture {
  std::string compute_capability;  ///< "8.6"
  std::vector<Peak> rates;         ///< FLOP per cycle and SM alone
  std::string source;

  /// NaN where it is not stated, or differs between products.
  double flops_per_cycle_per_sm(std::string_view dtype, std::string_view exec_unit) const;
};

/// FLOP per cycle of one core.
struct ComputeRate {
  std::string dtype, exec_unit;
  double flops_per_cycle = kUnknown;
  std::string source, note;
};

/// Bytes per cycle between one core and a level.
struct LevelRate {
  std::string level;      ///< L1, L2, L3
  std::string operation;  ///< read or write
  std::string
      exec_unit;  ///< whose registers it is for; empty for all that have no rate of their own
  double bytes_per_cycle = kUnknown;
  std::string source, note;
};

struct Microarchitecture {
  std::string key, name, note;
  bool loads_and_stores_together = false;
  std::vector<ComputeRate> compute;
  std::vector<LevelRate> levels;

  /// FLOP per cycle and core; NaN if the table does not say.
  double flops_per_cycle(std::string_view dtype, std::string_view exec_unit) const;
  /// Bytes per cycle and core for read, write, copy (1 read, 1 write) or triad (2 reads, 1 write);
  /// copy and triad at L1 only, where no write-allocate traffic muddles them. NaN if unknown.
  double bytes_per_cycle(std::string_view level, std::string_view operation,
                         std::string_view exec_unit) const;
};

/// What the memory channels of one CPU carry.
struct SocketMemory {
  std::string model;  ///< regular expression for the CPU's name
  double bytes_per_s = kUnknown;
  std::string source;
};

/// They throw nlohmann::json::exception for a text that is no such table.
std::vector<Chip> parse_chips(std::string_view text);
std::vector<GpuArchitecture> parse_gpu_architectures(std::string_view text);
std::vector<Microarchitecture> parse_microarchitectures(std::string_view text);
std::vector<SocketMemory> parse_socket_memory(std::string_view text);

/// All chips, in the order of their names.
const std::vector<Chip>& chips();
/// By name or alias. Throws BadInput that lists near names.
const Chip& chip(std::string_view name);
/// The chip that a driver's device name stands for; nullptr if it is none that is known.
const Chip* chip_of_device(std::string_view device_name);
/// nullptr for a compute capability that is not in the table.
const GpuArchitecture* gpu_architecture(std::string_view compute_capability);
const std::vector<GpuArchitecture>& gpu_architectures();

/// nullptr if the key (see machine::Machine::microarchitecture) is not in the table.
const Microarchitecture* microarchitecture(std::string_view key);
const std::vector<Microarchitecture>& microarchitectures();

/// By the name that the CPU gives itself; nullptr if it is not in the table.
const SocketMemory* socket_memory(std::string_view cpu_model);

}  // namespace roofline::specs
