#include "kernels/peers/library.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/op.hpp"

namespace kernels::peers {
namespace {

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t result{};
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
    found.assign(result.gl_pathv, result.gl_pathv + result.gl_pathc);
  globfree(&result);
  return found;
}

std::vector<std::string> python_prefixes() {
  std::vector<std::string> all;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* root = std::getenv(variable)) all.emplace_back(root);
  if (const char* home = std::getenv("HOME")) all.push_back(std::string(home) + "/.local");
  all.insert(all.end(), {"/usr/local", "/usr"});
  return all;
}

std::vector<std::string> candidates(const Search& search) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& pattern) {
    for (auto& file : matches(pattern)) files.push_back(std::move(file));
  };
  std::error_code unreadable;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (!unreadable) {
    const std::string build = executable.parent_path().parent_path().string();
    for (const char* folder : {"/lib/", "/venv/lib/"})
      for (const char* name : search.names) add(build + folder + name);
    for (const char* pattern : search.wheels)
      add(build + "/venv/lib/python3*/site-packages/" + pattern);
  }
  for (const char* name : search.names) files.emplace_back(name);
  for (const char* pattern : search.paths) add(pattern);
  for (const std::string& prefix : python_prefixes())
    for (const char* packages : {"site-packages/", "dist-packages/"})
      for (const char* pattern : search.wheels) add(prefix + "/lib/python3*/" + packages + pattern);
  return files;
}

/// Empty if `file` was opened and accepted, else why not; `absent` is set if there is no such file.
std::string attempt(const std::string& file, const std::function<void(const Library&)>& use,
                    bool& absent) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string error = dlerror();
    // The loader's text begins with the file that it could not open: this one, or one it needs.
    absent = error.starts_with(file + ": cannot open shared object file: No such file");
    return error.starts_with(file) ? error : file + ": " + error;
  }
  absent = false;
  try {
    use(Library(handle, file));
    return {};
  } catch (const Unusable& e) {
    return file + " " + e.what();
  }
}

}  // namespace

void* Library::find(const char* symbol) const {
  if (void* address = dlsym(handle_, symbol)) return address;
  return dlsym(handle_, (std::string("scipy_") + symbol).c_str());
}

void* Library::find_used(const char* symbol) const {
  if (void* address = dlsym(RTLD_DEFAULT, symbol)) return address;
  return dlsym(handle_, symbol);
}

std::string load(const Search& search, const std::function<void(const Library&)>& use) {
  const std::string name = search.name;
  bool absent = false;
  if (const char* file = std::getenv(search.variable); file != nullptr && *file != '\0') {
    const std::string why = attempt(file, use, absent);
    if (!why.empty()) throw BadInput(std::string(search.variable) + ": " + why);
    return {};
  }
  std::string reason;
  for (const std::string& file : candidates(search)) {
    const std::string why = attempt(file, use, absent);
    if (why.empty()) return {};
    if (reason.empty() && !absent) reason = why;
  }
  if (!reason.empty()) return name + ": " + reason;
  return name + " not found (" + search.package + "; or " + search.variable + "=<file>)";
}

}  // namespace kernels::peers
