// Finding and opening a library at run time.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernels::peers {

/// Where to look for a library and how to name it to a reader.
struct Search {
  const char* name;                 ///< "OpenBLAS"
  const char* variable;             ///< names one file and ends the search: "ROOFLINE_OPENBLAS"
  const char* package;              ///< what to install: "apt: libopenblas0-pthread"
  std::vector<const char*> names;   ///< file names, tried in this order
  std::vector<const char*> paths;   ///< glob patterns of places that the loader does not know
  std::vector<const char*> wheels;  ///< glob patterns below a site-packages folder: of the build's
                                    ///< own environment first, of others last
};

/// Thrown where an opened library cannot be used; the text goes behind its path.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An open library. It stays open: libraries that made threads cannot be closed safely.
class Library {
 public:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  /// The address of a symbol, also under the prefix that SciPy's wheels give theirs (`scipy_`).
  /// Null if there is none.
  void* find(const char* symbol) const;

  /// Sets `function` to the symbol; null if there is none.
  template <class F>
  void optional(F*& function, const char* symbol) const {
    function = reinterpret_cast<F*>(find(symbol));
  }
  /// Throws Unusable naming the symbol if there is none.
  template <class F>
  void require(F*& function, const char* symbol) const {
    optional(function, symbol);
    if (function == nullptr) throw Unusable(std::string("has no symbol ") + symbol);
  }

  /// What the library itself gets for a symbol that it uses: the program's, if it exports one, else
  /// that of the libraries it needs. Throws Unusable if there is none.
  template <class F>
  void require_used(F*& function, const char* symbol) const {
    function = reinterpret_cast<F*>(find_used(symbol));
    if (function == nullptr) throw Unusable(std::string("finds no ") + symbol);
  }

  const std::string& path() const { return path_; }

 private:
  void* find_used(const char* symbol) const;

  void* handle_;
  std::string path_;
};

/// Opens the first library that is found and that `use` accepts (`use` throws Unusable if it does
/// not): the file that the environment variable names, and no other; else lib/ and the Python
/// environment venv/ beside the executable's folder, the loader's own search, `paths`, and the
/// Python packages of $VIRTUAL_ENV, $CONDA_PREFIX, the user and the system.
/// Returns an empty text, or in one line why there is none. Throws BadInput, naming the variable,
/// if the named file cannot be used.
std::string load(const Search& search, const std::function<void(const Library&)>& use);

}  // namespace kernels::peers
