#include "roofline/results/run_folder.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"

namespace roofline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H%M%SZ}", fmt::gmtime(std::time(nullptr)));
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw BadInput(fmt::format("cannot create {}: {}", path.string(), error.message()));
}

constexpr std::string_view kStart = ".start.";  // the process id, and a number where that is taken

/// A folder for a start, of this process alone: one of another container may have its id.
fs::path make_start(const fs::path& machine) {
  const std::string start = fmt::format("{}{}", kStart, ::getpid());
  for (int i = 0;; ++i) {
    const fs::path path = machine / (i == 0 ? start : fmt::format("{}.{}", start, i));
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw BadInput(fmt::format("cannot create {}: {}", path.string(), error.message()));
  }
}

/// What runs left that were killed before their folder had its name. One at work holds its lock.
void remove_dead_starts(const fs::path& machine) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(machine, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStart)) continue;
    const int pid = std::atoi(name.c_str() + kStart.size());
    if (pid <= 0 || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    // Its process may be one of another container, whose ids are not ours.
    const int lock = ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) continue;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    ::close(lock);
  }
}

/// Refuses a folder whose samples are elsewhere: its tables would be made anew, of none.
void check_samples(const fs::path& folder, std::size_t groups_measured) {
  std::error_code none;
  const fs::path bench = folder / "bench";
  if (fs::is_directory(bench, none) && !bench_files(folder).empty()) return;
  const fs::path packed = folder / "bench.tar.xz";
  if (fs::exists(packed, none)) {
    throw BadInput(fmt::format("{0}: its samples are packed: unpack them first: tar -C {1} -xf {0}",
                               packed.string(), folder.string()));
  }
  if (groups_measured > 0) {
    throw BadInput(
        fmt::format("{}: the samples of {} groups are gone", bench.string(), groups_measured));
  }
}

}  // namespace

RunFolder::RunFolder(fs::path path, RunSettings settings)
    : path_(std::move(path)), settings_(std::move(settings)) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : builds(std::move(other.builds)),
      skipped(std::move(other.skipped)),
      path_(std::move(other.path_)),
      settings_(std::move(other.settings_)),
      started_(std::move(other.started_)),
      failures_(std::move(other.failures_)),
      done_(std::move(other.done_)),
      status_(std::move(other.status_)),
      groups_total_(other.groups_total_),
      ended_(other.ended_),
      lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ < 0) return;
  std::error_code error;
  fs::remove_all(scratch(), error);
  ::close(lock_);
}

void RunFolder::lock() {
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
    throw BadInput(error == EWOULDBLOCK
                       ? fmt::format("{}: another run is at work in it", path_.string())
                       : fmt::format("cannot open {}: {}", path_.string(), std::strerror(error)));
  }
}

void RunFolder::make_ready() const {
  std::error_code ignored;
  fs::remove_all(scratch(), ignored);
  for (const fs::path& folder : {path_, path_ / "bench"}) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const fs::path end = entry.path().extension();
      if (end == ".tmp" || end == ".part") fs::remove(entry.path(), ignored);
    }
  }
  make_folders(scratch());
  make_folders(path_ / "bench");
}

RunFolder RunFolder::create(const fs::path& root, const std::string& machine,
                            const RunSettings& settings, std::string_view machine_json) {
  make_folders(root / machine);
  // Made whole under a name that nobody looks at: a killed start leaves no half results folder.
  remove_dead_starts(root / machine);
  const fs::path early = make_start(root / machine);
  RunFolder folder(early, settings);
  const auto started = [&] {
    folder.started_ = utc_now();
    folder.write_state("running", 0);
  };
  try {
    folder.lock();
    folder.make_ready();
    write_atomically(early / "machine.json", machine_json);
    // Tables without rows: what is killed at any moment from here on can be read.
    CsvTable(kCeilingsColumns).write(early / "ceilings.csv");
    CsvTable(kSweepColumns).write(early / "sweep.csv");
    CsvTable(kRooflineColumns).write(early / "roofline.csv");
    CsvTable(kTraceColumns).write(early / "trace.csv");
    started();
  } catch (const BadInput&) {
    std::error_code ignored;
    fs::remove_all(early, ignored);
    throw;
  }
  for (;; started()) {
    const fs::path path = root / machine / folder.started_;
    if (::renameat2(AT_FDCWD, early.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ||
        (errno == EINVAL && !fs::exists(path) && ::rename(early.c_str(), path.c_str()) == 0)) {
      folder.path_ = path;
      return folder;
    }
    if (errno != EEXIST) {
      throw BadInput(fmt::format("cannot create {}: {}", path.string(), std::strerror(errno)));
    }
    ::usleep(100'000);  // another run began in this second
  }
}

RunFolder RunFolder::resume(const fs::path& path) {
  const fs::path state_file = path / "run.json";
  if (!fs::is_regular_file(state_file)) {
    throw BadInput(fmt::format("--resume {}: not a results folder (no run.json)", path.string()));
  }
  RunFolder folder(path, {});
  folder.lock();
  const json state = parse_json(read_text(state_file), state_file.string());
  std::size_t measured = 0;
  try {
    if (state.at("format").get<int>() != kFormat) {
      throw BadInput(fmt::format("{}: field 'format' is not {}", state_file.string(), kFormat));
    }
    state.at("started_utc").get_to(folder.started_);
    folder.settings_.full = state.at("suite").get<std::string>() == "full";
    state.at("device").get_to(folder.settings_.device);
    state.at("gpu").get_to(folder.settings_.gpu);
    state.at("filter").get_to(folder.settings_.filter);
    folder.settings_.own = state.value("own_programs", folder.settings_.own);
    folder.builds = state.value("builds", folder.builds);
    measured = state.value("groups_measured", measured);
    const std::string status = state.value("status", "");
    folder.ended_ = status == "complete" || status == "failed";
    for (const json& item : state.at("failures")) {
      folder.failures_.push_back({item.at("group").get<std::string>(),
                                  item.at("benchmark").get<std::string>(),
                                  item.at("reason").get<std::string>()});
    }
    for (const json& item : state.value("skipped", json::array())) {
      folder.skipped.push_back(
          {item.at("benchmark").get<std::string>(), item.at("reason").get<std::string>()});
    }
  } catch (const json::exception& error) {
    throw BadInput(fmt::format("{}: {}", state_file.string(), error.what()));
  }
  check_samples(path, measured);
  folder.make_ready();
  for (const fs::path& file : bench_files(path)) folder.done_.insert(file.stem().string());
  return folder;
}

bool RunFolder::done(const std::string& group) const {
  return done_.contains(group) &&
         std::none_of(failures_.begin(), failures_.end(),
                      [&](const RunFailure& failure) { return failure.group == group; });
}

void RunFolder::check_space() const {
  // More than a file system keeps in reserve for a file's metadata.
  write_atomically(scratch() / "space", std::string(std::size_t{64} << 10, ' '));
  fs::remove(scratch() / "space");
}

void RunFolder::finish_group(const std::string& group, const std::string& json_text,
                             const std::vector<RunFailure>& failures) {
  std::erase_if(failures_, [&](const RunFailure& failure) { return failure.group == group; });
  failures_.insert(failures_.end(), failures.begin(), failures.end());
  if (!json_text.empty()) {
    // The failures first: a crash between the two leaves a group to be measured again.
    if (!failures.empty()) write_state(status_, groups_total_);
    write_atomically(path_ / "bench" / (group + ".json"), json_text);
    done_.insert(group);
  }
  write_state(status_, groups_total_);
}

void RunFolder::write_state(const std::string& status, std::size_t groups_total) {
  status_ = status;
  groups_total_ = groups_total;
  const auto measured = std::count_if(done_.begin(), done_.end(), [](const std::string& group) {
    return !group.starts_with(kAgain);
  });
  json state = {{"format", kFormat},
                {"started_utc", started_},
                {"suite", settings_.full ? "full" : "quick"},
                {"device", settings_.device},
                {"gpu", settings_.gpu},
                {"filter", settings_.filter},
                {"own_programs", settings_.own},
                {"builds", builds},
                {"status", status},
                {"groups_total", groups_total},
                {"groups_measured", measured},
                {"failures", json::array()},
                {"skipped", json::array()}};
  for (const RunFailure& failure : failures_) {
    state["failures"].push_back(
        {{"group", failure.group}, {"benchmark", failure.benchmark}, {"reason", failure.reason}});
  }
  for (const SkippedRow& row : skipped) {
    state["skipped"].push_back({{"benchmark", row.name}, {"reason", row.reason}});
  }
  write_atomically(path_ / "run.json",
                   state.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::vector<fs::path> bench_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  fs::directory_iterator files(folder / "bench", error);
  if (error) {
    throw BadInput(fmt::format("cannot read {}: {}", (folder / "bench").string(), error.message()));
  }
  for (const auto& entry : files) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace roofline
