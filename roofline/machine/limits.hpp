// What the container allows: control groups version 1 and 2, and the memory that is free.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::machine {

/// One mounted control group hierarchy.
struct CgroupMount {
  int version = 0;                       ///< 1 or 2
  std::vector<std::string> controllers;  ///< version 1: those of this hierarchy
  std::string root;                      ///< the group that is visible as the mount point
  std::string mount_point;
};

/// One line of /proc/self/cgroup.
struct CgroupPath {
  std::vector<std::string> controllers;  ///< empty: the version 2 hierarchy
  std::string path;
};

/// The limits in force: the tightest of the process's group and all groups above it.
struct Limits {
  std::vector<int> cpuset;                   ///< empty: none set
  std::optional<double> cpu_quota;           ///< cores' worth of time (cpu.max)
  std::optional<std::int64_t> memory_limit;  ///< bytes (memory.max)
  std::optional<std::int64_t> memory_left;   ///< limit - usage, reclaimable file cache not counted
  std::optional<std::int64_t> memory_total;  ///< MemTotal, bytes
  std::optional<std::int64_t> memory_free;   ///< MemAvailable, bytes
  std::string cgroup_version;                ///< "", "1", "2" or "1+2": where limits are read
};

/// The cgroup lines of a mountinfo text.
std::vector<CgroupMount> parse_mountinfo(std::string_view text);
/// The lines of /proc/<pid>/cgroup.
std::vector<CgroupPath> parse_cgroup_paths(std::string_view text);
/// "0-3,8" as numbers in ascending order; empty if the text is malformed or empty.
std::vector<int> parse_cpu_list(std::string_view text);
/// Version 2's cpu.max, "200000 100000" or "max 100000", as cores; nothing if unlimited.
std::optional<double> parse_cpu_max(std::string_view text);
/// Version 1's quota and period in microseconds, as cores; nothing if unlimited (-1).
std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period);
/// Bytes of memory.max or memory.limit_in_bytes; nothing for "max" and for version 1's "no limit"
/// (the largest multiple of the page size below 2^63).
std::optional<std::int64_t> parse_memory_limit(std::string_view text);
/// A field of a "name value [kB]" text such as meminfo or memory.stat, in bytes.
std::optional<std::int64_t> parse_field(std::string_view text, std::string_view name);

/// Reads the limits of this process. `root` is put before /proc and /sys (tests).
Limits read_limits(const std::filesystem::path& root = "/");

/// The fewest of MemAvailable and what is left in the group; 0 if neither is known.
std::int64_t usable_memory(const Limits& limits);

}  // namespace roofline::machine
