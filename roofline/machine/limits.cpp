#include "roofline/machine/limits.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "roofline/machine/files.hpp"

namespace roofline::machine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

template <class T>
std::optional<T> number(std::string_view text) {
  const auto trimmed = trim(std::string(text));
  T value{};
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  if (error != std::errc{} || end != trimmed.data() + trimmed.size()) return std::nullopt;
  return value;
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other) limit = limit ? std::min(*limit, *other) : *other;
}

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The process's group and all above it, as far as the mount shows them. A container may see its
// own group as the mount point while /proc/self/cgroup still tells the host's path.
std::vector<fs::path> groups(const fs::path& root, const CgroupMount& mount, std::string path) {
  if (mount.root != "/" && path.starts_with(mount.root)) path = path.substr(mount.root.size());
  const fs::path top = root / fs::path(mount.mount_point).relative_path();
  fs::path group = top / fs::path(path).relative_path();
  std::error_code error;
  if (path.find("..") != std::string::npos || !fs::is_directory(group, error)) group = top;
  std::vector<fs::path> chain{group};
  while (group != top && group.has_relative_path()) chain.push_back(group = group.parent_path());
  return chain;
}

void read_cpu_v1(const fs::path& group, Limits& limits) {
  const auto quota = read_line(group / "cpu.cfs_quota_us");
  const auto period = read_line(group / "cpu.cfs_period_us");
  if (quota && period) tighten(limits.cpu_quota, parse_cfs_quota(*quota, *period));
}

void read_memory(const fs::path& group, const char* limit_file, const char* usage_file,
                 const char* cache_field, Limits& limits) {
  const auto text = read_line(group / limit_file);
  const auto limit = text ? parse_memory_limit(*text) : std::nullopt;
  if (!limit) return;
  tighten(limits.memory_limit, limit);
  const auto usage_text = read_line(group / usage_file);
  const auto usage = usage_text ? number<std::int64_t>(*usage_text) : std::nullopt;
  if (!usage) return;
  const auto stat = read_text(group / "memory.stat");
  const auto cache = stat ? parse_field(*stat, cache_field).value_or(0) : 0;
  const auto held = std::max<std::int64_t>(0, *usage - cache);
  tighten<std::int64_t>(limits.memory_left, std::max<std::int64_t>(0, *limit - held));
}

void read_cpuset(const fs::path& group, std::initializer_list<const char*> files, Limits& limits) {
  if (!limits.cpuset.empty()) return;
  for (const char* file : files) {
    const auto text = read_line(group / file);
    if (text) limits.cpuset = parse_cpu_list(*text);
    if (!limits.cpuset.empty()) return;
  }
}

void note_version(Limits& limits, const char* version) {
  if (limits.cgroup_version.find(version) != std::string::npos) return;
  if (!limits.cgroup_version.empty()) limits.cgroup_version += '+';
  limits.cgroup_version += version;
}

}  // namespace

std::vector<CgroupMount> parse_mountinfo(std::string_view text) {
  std::vector<CgroupMount> mounts;
  for (const auto& line : split(text, '\n')) {
    // 36 35 98:0 /root /mount/point options… - type source super-options (proc(5))
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string skip, type, source, options;
    CgroupMount mount;
    left >> skip >> skip >> skip >> mount.root >> mount.mount_point;
    right >> type >> source >> options;
    if (!left || (type != "cgroup" && type != "cgroup2")) continue;
    mount.version = type == "cgroup2" ? 2 : 1;
    if (mount.version == 1) mount.controllers = split(options, ',');
    mounts.push_back(mount);
  }
  return mounts;
}

std::vector<CgroupPath> parse_cgroup_paths(std::string_view text) {
  std::vector<CgroupPath> paths;
  for (const auto& line : split(text, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    paths.push_back({split(std::string_view(line).substr(first + 1, second - first - 1), ','),
                     line.substr(second + 1)});
  }
  return paths;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMostCpus = 1 << 16;
  std::vector<int> cpus;
  for (const auto& part : split(trim(std::string(text)), ',')) {
    const auto dash = part.find('-');
    const auto first = number<int>(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto parts = split(trim(std::string(text)), ' ');
  if (parts.size() != 2) return std::nullopt;
  return parse_cfs_quota(parts[0], parts[1]);
}

std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period) {
  const auto q = number<std::int64_t>(quota), p = number<std::int64_t>(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
  return static_cast<double>(*q) / static_cast<double>(*p);
}

std::optional<std::int64_t> parse_memory_limit(std::string_view text) {
  const auto bytes = number<std::int64_t>(text);
  if (!bytes || *bytes < 0 || *bytes >= (std::int64_t{1} << 62)) return std::nullopt;
  return bytes;
}

std::optional<std::int64_t> parse_field(std::string_view text, std::string_view name) {
  for (const auto& line : split(text, '\n')) {
    std::istringstream words(line);
    std::string key, value, unit;
    words >> key >> value >> unit;
    if (!key.empty() && key.back() == ':') key.pop_back();
    if (key != name) continue;
    const auto amount = number<std::int64_t>(value);
    if (!amount) return std::nullopt;
    return unit == "kB" ? *amount * 1024 : *amount;
  }
  return std::nullopt;
}

Limits read_limits(const fs::path& root) {
  Limits limits;
  const auto mounts = read_text(root / "proc/self/mountinfo");
  const auto paths = read_text(root / "proc/self/cgroup");
  if (mounts && paths) {
    const auto all_paths = parse_cgroup_paths(*paths);
    for (const auto& mount : parse_mountinfo(*mounts)) {
      for (const auto& own : all_paths) {
        const bool v2 = mount.version == 2 && own.controllers.empty();
        const auto holds = [&](const char* controller) {
          return has(mount.controllers, controller) && has(own.controllers, controller);
        };
        for (const auto& group : groups(root, mount, own.path)) {
          if (v2) {
            if (const auto text = read_line(group / "cpu.max")) {
              tighten(limits.cpu_quota, parse_cpu_max(*text));
            }
            read_memory(group, "memory.max", "memory.current", "inactive_file", limits);
            read_cpuset(group, {"cpuset.cpus.effective"}, limits);
            std::error_code error;
            if (fs::exists(group / "cpu.max", error) || fs::exists(group / "memory.max", error)) {
              note_version(limits, "2");
            }
          }
          if (holds("cpu")) read_cpu_v1(group, limits);
          if (holds("memory")) {
            read_memory(group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                        "total_inactive_file", limits);
          }
          if (holds("cpuset")) {
            read_cpuset(group, {"cpuset.effective_cpus", "cpuset.cpus"}, limits);
          }
          if (holds("cpu") || holds("memory") || holds("cpuset")) note_version(limits, "1");
        }
      }
    }
  }
  if (const auto meminfo = read_text(root / "proc/meminfo")) {
    limits.memory_total = parse_field(*meminfo, "MemTotal");
    limits.memory_free = parse_field(*meminfo, "MemAvailable");
  }
  return limits;
}

std::int64_t usable_memory(const Limits& limits) {
  auto least = limits.memory_free;
  tighten(least, limits.memory_left);
  return least.value_or(0);
}

}  // namespace roofline::machine
