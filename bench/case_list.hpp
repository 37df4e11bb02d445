// Which benchmarks a program offers: every kernel of its operations times every case it supports.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace bench {

enum class Suite { quick, full };

struct Options {
  Suite suite = Suite::full;
  bool cpu = true, gpu = true;
  std::string shape, dtype;  ///< one case of the user's own instead of the suite
  int threads = 0;           ///< of that case; 0: all cores
};

struct Entry {
  const kernels::KernelInfo* kernel;
  kernels::Case instance;
  std::string name;     ///< `<op>/<variant>/<dtype>/…/threads:<n>`
  std::string missing;  ///< why it cannot run here; empty if it can
};

/// `ops` are operation names; `cpu` and `gpu` describe the two devices. Throws kernels::BadInput.
std::vector<Entry> list_entries(const std::vector<std::string>& ops, const Options& options,
                                const kernels::Caches& cpu, const kernels::Caches& gpu);

/// The list as a JSON array for `--list`.
std::string to_json(const std::vector<Entry>& entries);

}  // namespace bench
