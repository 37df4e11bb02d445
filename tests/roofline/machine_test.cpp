// The machine probe's parsers on made-up systems, and the probe on this one.
#include "roofline/machine/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "roofline/machine/gpu.hpp"
#include "roofline/machine/limits.hpp"
#include "roofline/machine/package_power.hpp"
#include "roofline/machine/processor.hpp"
#include "roofline/machine/state.hpp"
#include "roofline/machine/topology.hpp"
#include "roofline/specs/specs.hpp"

namespace roofline::machine {
namespace {

namespace fs = std::filesystem;

// A made-up / with files in it, gone at the end.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (fs::temp_directory_path() / "roofline-root-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~FakeRoot() { fs::remove_all(path_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(CpuList, Forms) {
  EXPECT_EQ(parse_cpu_list("0-3"), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(parse_cpu_list("8,0-1,1\n"), (std::vector<int>{0, 1, 8}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("a").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999").empty());
}

TEST(Quota, Forms) {
  EXPECT_DOUBLE_EQ(parse_cpu_max("150000 100000\n").value(), 1.5);
  EXPECT_FALSE(parse_cpu_max("max 100000").has_value());
  EXPECT_FALSE(parse_cpu_max("").has_value());
  EXPECT_FALSE(parse_cpu_max("100000 0").has_value());
  EXPECT_DOUBLE_EQ(parse_cfs_quota("400000", "100000").value(), 4);
  EXPECT_FALSE(parse_cfs_quota("-1", "100000").has_value());
}

TEST(MemoryLimit, Forms) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824);
  EXPECT_FALSE(parse_memory_limit("max").has_value());
  EXPECT_FALSE(parse_memory_limit("9223372036854771712").has_value());
  EXPECT_FALSE(parse_memory_limit("12x").has_value());
}

TEST(Field, KilobytesAndBytes) {
  EXPECT_EQ(parse_field("MemTotal:  24 kB\nMemFree: 1 kB\n", "MemTotal"), 24576);
  EXPECT_EQ(parse_field("anon 5\ninactive_file 4096\n", "inactive_file"), 4096);
  EXPECT_FALSE(parse_field("MemTotal: x kB\n", "MemTotal").has_value());
  EXPECT_FALSE(parse_field("MemTotal: 1 kB\n", "Mem").has_value());
}

TEST(Cgroups, Mounts) {
  const auto mounts = parse_mountinfo(
      "22 1 0:21 / /proc rw - proc proc rw\n"
      "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
      "33 23 0:30 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].version, 2);
  EXPECT_EQ(mounts[0].mount_point, "/sys/fs/cgroup");
  EXPECT_EQ(mounts[1].version, 1);
  EXPECT_EQ(mounts[1].root, "/docker/ab");
  EXPECT_EQ(mounts[1].controllers, (std::vector<std::string>{"rw", "cpu", "cpuacct"}));
}

TEST(Limits, Version2TakesTheTightestOfAllGroupsAbove) {
  FakeRoot root;
  root.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/pod/box\n");
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  root.write("sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/pod/memory.max", "2147483648\n");
  root.write("sys/fs/cgroup/pod/memory.current", "1610612736\n");
  root.write("sys/fs/cgroup/pod/memory.stat", "anon 1\ninactive_file 536870912\n");
  root.write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/pod/box/memory.max", "3221225472\n");
  root.write("sys/fs/cgroup/pod/box/memory.current", "0\n");
  root.write("sys/fs/cgroup/pod/box/cpuset.cpus.effective", "2-3\n");
  const Limits limits = read_limits(root.path());
  EXPECT_EQ(limits.cgroup_version, "2");
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 2);
  EXPECT_EQ(limits.memory_limit, 2147483648);
  EXPECT_EQ(limits.memory_left, 1073741824);  // 2 GiB - (1.5 GiB - 0.5 GiB of file cache)
  EXPECT_EQ(limits.cpuset, (std::vector<int>{2, 3}));
  EXPECT_EQ(usable_memory(limits), 1073741824);
}

TEST(Limits, Version1InAContainerThatSeesTheHostsPath) {
  FakeRoot root;
  root.write("proc/self/mountinfo",
             "33 31 0:30 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
             "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  root.write("proc/self/cgroup", "4:memory:/docker/ab\n1:cpu:/docker/ab\n");
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 524288 kB\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "268435456\n");
  const Limits limits = read_limits(root.path());
  EXPECT_EQ(limits.cgroup_version, "1");
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 3.5);
  EXPECT_EQ(limits.memory_left, 805306368);
  EXPECT_EQ(usable_memory(limits), 536870912);  // MemAvailable is less
}

TEST(Limits, NothingThere) {
  FakeRoot root;
  const Limits limits = read_limits(root.path());
  EXPECT_FALSE(limits.cpu_quota.has_value());
  EXPECT_TRUE(limits.cpuset.empty());
  EXPECT_EQ(usable_memory(limits), 0);
}

TEST(Topology, TwoSocketsWithSmt) {
  const auto t =
      read_topology({},
                    "package:2 [numa(memory=1073741824)] l3:1(size=33554432) l2:4(size=524288) "
                    "l1d:1(size=32768) core:1 pu:2");
  EXPECT_EQ(t.sockets, 2);
  EXPECT_EQ(t.physical_cores, 8);
  EXPECT_EQ(t.logical_cpus, 16);
  EXPECT_EQ(t.threads_per_core, 2);
  EXPECT_EQ(t.cpus, (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
  ASSERT_EQ(t.caches.size(), 3u);
  EXPECT_EQ(t.caches[0].bytes, 32768);
  EXPECT_EQ(t.caches[0].total_bytes, 8 * 32768);
  EXPECT_EQ(t.caches[1].cores_sharing, 1);
  EXPECT_EQ(t.caches[2].cores_sharing, 4);
  EXPECT_EQ(t.caches[2].total_bytes, 2 * 33554432);
  EXPECT_EQ(t.caches[2].reached_bytes[0], 33554432);
  EXPECT_EQ(t.caches[2].reached_bytes[3], 33554432);
  EXPECT_EQ(t.caches[2].reached_bytes[4], 2 * 33554432);
  ASSERT_EQ(t.memory_nodes.size(), 2u);
  EXPECT_EQ(t.memory_nodes[1].cores, 4);
  EXPECT_EQ(t.memory_nodes[1].bytes, 1073741824);
}

TEST(Topology, OnlyAllowedCoresCount) {
  const auto t =
      read_topology({3, 4, 5}, "package:2 l3:1(size=33554432) l2:4(size=524288) core:1 pu:2");
  EXPECT_EQ(t.physical_cores, 8);
  EXPECT_EQ(t.cpus, (std::vector<int>{3, 4}));  // 3: the second thread of core 1; core 2 is 4, 5
  EXPECT_EQ(t.usable_logical_cpus, 3);
  EXPECT_EQ(t.caches[0].total_bytes, 2 * 524288);
  EXPECT_EQ(t.caches[1].cores_sharing, 2);
  EXPECT_EQ(t.caches[1].total_bytes, 33554432);
  EXPECT_EQ(t.caches[0].reached_bytes, (std::vector<std::int64_t>{524288, 2 * 524288}));
}

Processor x86(const char* vendor, int family, int model, int stepping = 0) {
  Processor p;
  p.vendor = vendor;
  p.family = family;
  p.model = model;
  p.stepping = stepping;
  return p;
}

TEST(Microarchitecture, ByFamilyModelAndStepping) {
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 25, 1)), "zen3");
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 25, 17)), "zen4");
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 23, 49)), "zen2");
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 26, 2)), "zen5");
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 26, 36)), "zen5-256");
  EXPECT_EQ(microarchitecture(x86("GenuineIntel", 6, 85, 4)), "skylake-sp");
  EXPECT_EQ(microarchitecture(x86("GenuineIntel", 6, 85, 7)), "cascade-lake");
  EXPECT_EQ(microarchitecture(x86("GenuineIntel", 6, 143)), "sapphire-rapids");
  EXPECT_EQ(microarchitecture(x86("GenuineIntel", 6, 1)), "");
  // A hypervisor may show another model; AMX still tells the core.
  Processor hidden = x86("GenuineIntel", 6, 167);
  EXPECT_EQ(microarchitecture(hidden), "");
  hidden.amx = true;
  EXPECT_EQ(microarchitecture(hidden), "amx");
  hidden.model = 143;
  EXPECT_EQ(microarchitecture(hidden), "sapphire-rapids");
  EXPECT_EQ(microarchitecture(x86("AuthenticAMD", 6, 143)), "");
  EXPECT_EQ(microarchitecture(Processor{}), "");
}

TEST(Microarchitecture, ArmByMidr) {
  Processor p;
  read_cpuinfo("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", p);
  EXPECT_EQ(p.vendor, "Arm");
  EXPECT_EQ(microarchitecture(p), "neoverse-n1");
  EXPECT_EQ(machine_name(p, "neoverse-n1", 16), "neoverse-n1-16c");
}

TEST(MachineName, Slugs) {
  const auto name = [](const char* model, const char* architecture, int cores) {
    Processor p;
    p.model_name = model;
    return machine_name(p, architecture, cores);
  };
  EXPECT_EQ(name("AMD EPYC", "zen3", 4), "amd-epyc-zen3-4c");
  EXPECT_EQ(name("AMD EPYC 7763 64-Core Processor", "zen3", 64), "amd-epyc-7763-64c");
  EXPECT_EQ(name("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "ice-lake-sp", 8),
            "intel-xeon-platinum-8375c-8c");
  EXPECT_EQ(name("Intel Xeon Processor (Skylake, IBRS)", "skylake-sp", 2),
            "intel-xeon-skylake-sp-2c");
  EXPECT_EQ(name("AMD Ryzen 7 7840U with Radeon 780M Graphics", "zen4", 8), "amd-ryzen-7-7840u-8c");
  EXPECT_EQ(name("", "", 1), "unknown-cpu-1c");
}

TEST(Clock, FromTheName) {
  EXPECT_DOUBLE_EQ(clock_in_name("Intel(R) Xeon(R) CPU @ 2.90GHz"), 2.9e9);
  EXPECT_DOUBLE_EQ(clock_in_name("AMD EPYC"), 0);
}

TEST(State, Parsers) {
  EXPECT_EQ(bracketed("always [madvise] never"), "madvise");
  EXPECT_EQ(bracketed("always"), "");
  EXPECT_EQ(bracketed("]x["), "");
  EXPECT_DOUBLE_EQ(steal_fraction("cpu 10 0 10 60 0 0 0 20 5 0"), 0.2);
  EXPECT_TRUE(std::isnan(steal_fraction("cpu 10 0")));
  EXPECT_TRUE(std::isnan(steal_fraction("")));
}

TEST(Processor, TheKernelsBaseClockWhereTheProcessorNamesNone) {
  FakeRoot root;
  const double own = read_processor(root.path()).base_clock_hz;
  root.write("sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq", "2450\n");
  EXPECT_EQ(read_processor(root.path()).base_clock_hz, own > 0 ? own : 2.45e9);
  root.write("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2600000\n");
  EXPECT_EQ(read_processor(root.path()).base_clock_hz, own > 0 ? own : 2.6e9);
}

TEST(State, BusyShareOfTwoLooks) {
  // 200 ticks on: 30 user, 10 nice, 5 system, 100 idle, 20 waiting, 3 + 2 interrupts, 30 stolen.
  const char* before = "cpu 100 0 50 1000 10 1 1 5 0 0";
  const char* after = "cpu 130 10 55 1100 30 4 3 35 0 0";
  EXPECT_DOUBLE_EQ(busy_share(before, after), 50.0 / 200);
  EXPECT_TRUE(std::isnan(busy_share(before, before)));
  EXPECT_TRUE(std::isnan(busy_share("", after)));
  EXPECT_TRUE(std::isnan(busy_share(before, "cpu 1 2 3")));
}

TEST(PackagePower, AddsUpPackagesAndFollowsACounterThatBeginsAnew) {
  FakeRoot root;
  PackagePower power(root.path());
  EXPECT_TRUE(std::isnan(power.since_last(1)));  // a virtual machine: no counters
  const auto zone = [&](const std::string& name, const char* kind, const char* micro) {
    root.write("sys/class/powercap/" + name + "/name", std::string(kind) + "\n");
    root.write("sys/class/powercap/" + name + "/energy_uj", std::string(micro) + "\n");
    root.write("sys/class/powercap/" + name + "/max_energy_range_uj", "1000000000\n");
  };
  zone("intel-rapl:0", "package-0", "400000000");
  zone("intel-rapl:1", "package-1", "900000000");
  zone("intel-rapl:0:0", "core", "1000000");
  zone("intel-rapl-mmio:0", "package-0", "1000000");
  EXPECT_TRUE(std::isnan(power.since_last(2)));
  // In two seconds 200 J of the one, and 100 to its range and 50 beyond of the other.
  zone("intel-rapl:0", "package-0", "600000000");
  zone("intel-rapl:1", "package-1", "50000000");
  zone("intel-rapl:0:0", "core", "99000000");
  zone("intel-rapl-mmio:0", "package-0", "99000000");
  EXPECT_DOUBLE_EQ(power.since_last(4), (200 + 150) / 2.0);
  EXPECT_TRUE(std::isnan(power.since_last(4)));  // no time has passed
  root.write("sys/class/powercap/intel-rapl:1/energy_uj", "\n");
  EXPECT_TRUE(std::isnan(power.since_last(5)));  // a part is not the whole
}

TEST(State, OfAMadeUpSystem) {
  FakeRoot root;
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  root.write("sys/devices/system/cpu/smt/active", "1\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  root.write("proc/loadavg", "1.50 1.00 0.50 1/200 4242\n");
  root.write("proc/1/environ", std::string("A=1\0container=lxc\0", 18));
  root.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3000000");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/bios_limit", "2000000");
  const auto state = read_state(Processor{}, root.path());
  EXPECT_EQ(state.at("governor"), "powersave");
  EXPECT_EQ(state.at("boost"), false);
  EXPECT_EQ(state.at("clock_max_hz"), 3.5e9);
  EXPECT_EQ(state.at("clock_limit_hz"), 2e9);
  // A driver whose table ends below the boost clock limits nothing by that.
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies",
             "2000000 1500000");
  EXPECT_EQ(read_state(Processor{}, root.path()).at("clock_limit_hz"), 3.5e9);
  root.write("sys/devices/system/cpu/cpu0/cpufreq/bios_limit", "1500000");
  EXPECT_EQ(read_state(Processor{}, root.path()).at("clock_limit_hz"), 1.5e9);
  EXPECT_EQ(state.at("smt_active"), true);
  EXPECT_EQ(state.at("transparent_huge_pages"), "always");
  EXPECT_EQ(state.at("load_average").at(0), 1.5);
  EXPECT_EQ(state.at("container"), "lxc");
  EXPECT_TRUE(state.at("steal_fraction_since_boot").is_null());
  EXPECT_TRUE(state.at("clock_source").is_null());
}

TEST(Gpu, NoDriver) {
  FakeRoot root;
  const auto gpus = read_gpus("libnvidia-ml-absent.so.1", root.path());
  EXPECT_EQ(gpus.at("status"), "none");
  EXPECT_EQ(gpus.at("reason"), "no NVIDIA driver");
  EXPECT_TRUE(gpus.at("devices").empty());
}

TEST(Gpu, KernelModuleWithoutLibrary) {
  FakeRoot root;
  root.write("proc/driver/nvidia/version", "NVRM");
  const auto gpus = read_gpus("libnvidia-ml-absent.so.1", root.path());
  EXPECT_EQ(gpus.at("status"), "unusable");
  EXPECT_EQ(gpus.at("reason"),
            "NVIDIA driver in the kernel, but libnvidia-ml-absent.so.1 is not found");
}

TEST(Gpu, FactsThroughNvml) {
  unsetenv("FAKE_NVML_FAULT");
  const auto gpus = read_gpus(TEST_BINARY_DIR "/libfake_nvml.so");
  ASSERT_EQ(gpus.at("status"), "ok");
  EXPECT_EQ(gpus.at("driver_version"), "550.54.15");
  EXPECT_EQ(gpus.at("cuda_driver_version"), "12.4");
  ASSERT_EQ(gpus.at("devices").size(), 1u);
  const auto& gpu = gpus.at("devices").at(0);
  EXPECT_EQ(gpu.at("name"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.at("compute_capability"), "9.0");
  EXPECT_EQ(gpu.at("memory_bytes"), 85520809984);
  EXPECT_EQ(gpu.at("sm_clock_max_hz"), 1.98e9);
  EXPECT_EQ(gpu.at("memory_clock_max_hz"), 2.619e9);
  EXPECT_EQ(gpu.at("power_limit_w"), 700.0);
  EXPECT_EQ(gpu.at("ecc"), true);
  EXPECT_EQ(gpu.at("mig"), false);
  EXPECT_EQ(gpu.at("pcie_width"), 16);
  EXPECT_EQ(gpu.at("application_clock_hz"), 1.41e9);
  EXPECT_TRUE(gpu.at("application_clock_default_hz").is_null());
  EXPECT_EQ(gpu.at("remapped_rows_uncorrectable"), 2);
  EXPECT_EQ(gpu.at("remapping_failed"), true);
  EXPECT_EQ(gpu.at("processes"), 3);               // 2 compute, 1 graphics
  EXPECT_TRUE(gpu.at("temperature_c").is_null());  // this driver lacks the query
  EXPECT_EQ(specs::chip_of_device(gpu.at("name").get<std::string>())->name, "h100-sxm");
}

TEST(GpuWatch, LooksAtEveryGpu) {
  setenv("FAKE_NVML_COUNT", "2", 1);
  const GpuWatch watch(TEST_BINARY_DIR "/libfake_nvml.so");
  unsetenv("FAKE_NVML_COUNT");
  const auto gpus = watch.look();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[1].index, 1u);
  EXPECT_EQ(gpus[1].sm_clock_hz, 1.755e9);
  EXPECT_EQ(gpus[1].memory_clock_hz, 2.6e9);
  EXPECT_EQ(gpus[1].power_w, 512.5);
  EXPECT_EQ(gpus[1].throttle, 0x44u);
  EXPECT_TRUE(std::isnan(gpus[1].temperature_c));  // this driver lacks the query
}

TEST(GpuWatch, SeesNothingWithoutADriver) {
  EXPECT_TRUE(GpuWatch("libnvidia-ml-absent.so.1").look().empty());
  setenv("FAKE_NVML_FAULT", "18", 1);
  const GpuWatch broken(TEST_BINARY_DIR "/libfake_nvml.so");
  unsetenv("FAKE_NVML_FAULT");
  EXPECT_TRUE(broken.look().empty());
}

TEST(GpuWatch, TellsOfTheRoomOnOneGpu) {
  const GpuWatch watch(TEST_BINARY_DIR "/libfake_nvml.so");
  EXPECT_EQ(watch.room("0").free_bytes, 85e9);
  EXPECT_FALSE(watch.room("0").one_process);
  EXPECT_EQ(watch.room("MIG-12ab").free_bytes, 9e9);
  EXPECT_TRUE(std::isnan(watch.room("1").free_bytes));
  EXPECT_TRUE(std::isnan(watch.room("").free_bytes));
  setenv("FAKE_NVML_MIG", "1", 1);
  EXPECT_TRUE(std::isnan(watch.room("0").free_bytes));  // whichever slice CUDA takes
  EXPECT_EQ(watch.room("MIG-12ab").free_bytes, 9e9);
  unsetenv("FAKE_NVML_MIG");
  setenv("FAKE_NVML_MODE", "3", 1);
  EXPECT_TRUE(watch.room("0").one_process);
  unsetenv("FAKE_NVML_MODE");
}

// --gpu counts those that are seen, as CUDA does.
TEST(GpuWatch, TellsOfTheRoomOnAGpuBehindHiddenOnes) {
  setenv("FAKE_NVML_COUNT", "2", 1);
  setenv("FAKE_NVML_HIDDEN", "1", 1);
  const GpuWatch watch(TEST_BINARY_DIR "/libfake_nvml.so");
  unsetenv("FAKE_NVML_COUNT");
  unsetenv("FAKE_NVML_HIDDEN");
  ASSERT_EQ(watch.look().size(), 1u);
  EXPECT_EQ(watch.look()[0].index, 1u);
  EXPECT_EQ(watch.room("0").free_bytes, 85e9);
  EXPECT_TRUE(std::isnan(watch.room("1").free_bytes));
}

TEST(Gpu, DriverPresentButUnusable) {
  setenv("FAKE_NVML_FAULT", "18", 1);
  const auto gpus = read_gpus(TEST_BINARY_DIR "/libfake_nvml.so");
  unsetenv("FAKE_NVML_FAULT");
  EXPECT_EQ(gpus.at("status"), "unusable");
  EXPECT_EQ(gpus.at("reason"),
            "NVIDIA driver present but unusable: Driver/library version mismatch");
}

TEST(Probe, ThisMachine) {
  const Machine m = probe();
  EXPECT_FALSE(m.name.empty());
  ASSERT_FALSE(m.cpus.empty());
  EXPECT_GE(m.usable_threads, 1);
  EXPECT_LE(m.usable_threads, static_cast<int>(m.cpus.size()));
  EXPECT_GE(m.physical_cores, static_cast<int>(m.cpus.size()));
  EXPECT_GE(m.logical_cpus, m.physical_cores);
  EXPECT_GT(m.memory_limit_bytes, 0);
  EXPECT_LE(m.memory_limit_bytes, m.memory_bytes);
  for (std::size_t i = 1; i < m.caches.size(); ++i) {
    EXPECT_GT(m.caches[i].bytes, m.caches[i - 1].bytes);
    EXPECT_GE(m.caches[i].total_bytes, m.caches[i].bytes);
  }
  for (const char* key :
       {"name", "cpu", "caches", "memory", "usable", "limits", "state", "disagreements", "gpu"}) {
    EXPECT_TRUE(m.facts.contains(key)) << key;
  }
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  if (std::string(host).size() > 3) {
    EXPECT_EQ(m.facts.dump().find('"' + std::string(host) + '"'), std::string::npos);
  }
}

}  // namespace
}  // namespace roofline::machine
