#include "bench/rest.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace bench {
namespace {

/// Whether a thread of this process but the calling one runs, or would if it had a CPU.
bool others_run() {
  const std::string own = std::to_string(::gettid());
  std::error_code fault;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", fault)) {
    if (task.path().filename() == own) continue;
    std::string stat;
    std::getline(std::ifstream(task.path() / "stat"), stat);
    const std::size_t name_end = stat.rfind(')');  // "tid (name) state …"
    if (name_end != std::string::npos && stat.compare(name_end, 3, ") R") == 0) return true;
  }
  return false;
}

}  // namespace

void wait_for_rest() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
  while (others_run() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace bench
