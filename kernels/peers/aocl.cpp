#include "kernels/peers/aocl.hpp"

#include <cstdlib>
#include <optional>

namespace kernels::peers {
namespace {

constexpr const char* kBlasFolders[] = {"/opt/AMD/aocl/*/*/lib_LP64/libblis-mt.so",
                                        "/opt/AMD/aocl/*/*/lib/libblis-mt.so"};
constexpr const char* kDlpFolder = "/opt/AMD/aocl/*/*/lib/libaocl-dlp.so";

template <class X, class Y, class Z>
void take(const Library& library, const std::string& types, AoclGemm<X, Y, Z>& gemm) {
  library.require(gemm.run, ("aocl_gemm_" + types).c_str());
  library.require(gemm.packed_bytes, ("aocl_get_reorder_buf_size_" + types).c_str());
  library.require(gemm.pack, ("aocl_reorder_" + types).c_str());
}

class Hidden {
 public:
  explicit Hidden(const char* variable) : variable_(variable) {
    const char* value = std::getenv(variable);
    if (value != nullptr) value_ = value;
    unsetenv(variable);
  }
  ~Hidden() {
    if (value_) setenv(variable_, value_->c_str(), 1);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  const char* variable_;
  std::optional<std::string> value_;
};

/// Version, threads and what it is part of.
void take_itself(const Library& library, AoclDlp& dlp) {
  void (*version)(int*, int*, int*) = nullptr;
  library.optional(version, "dlp_version_query");
  if (version != nullptr) {
    int major = 0, minor = 0, patch = 0;
    version(&major, &minor, &patch);
    library.require(dlp.set_threads, "dlp_thread_set_num_threads_local");
    const bool told = std::getenv("AOCL_DLP_ENABLE_INSTRUCTIONS") != nullptr;
    dlp.label = "library=AOCL-DLP " + std::to_string(major) + "." + std::to_string(minor) + "." +
                std::to_string(patch) +
                ";library_config=" + (told ? "by AOCL_DLP_ENABLE_INSTRUCTIONS" : "by itself") + ";";
    return;
  }
  const char* (*blas_version)() = nullptr;
  library.require(blas_version, "bli_info_get_version_str");
  library.require(dlp.set_threads, "bli_thread_set_num_threads");
  init_aocl_blas(library);
  dlp.label = "library=AOCL-DLP " + aocl_version(blas_version()) +
              ";library_config=aocl_gemm of AOCL-BLAS;";
}

AoclDlp load_aocl_dlp() {
  const Search search = {.name = "AOCL-DLP",
                         .variable = "ROOFLINE_AOCL_DLP",
                         .package = "AMD's AOCL",
                         .names = {"libaocl-dlp.so", "libblis-mt.so.5", "libblis-mt.so"},
                         .paths = {kDlpFolder, kBlasFolders[0], kBlasFolders[1]},
                         .wheels = {}};
  AoclDlp found;
  found.missing = load(search, [&](const Library& library) {
    AoclDlp dlp;
    take(library, "f32f32f32of32", dlp.f32);
    take(library, "bf16bf16f32of32", dlp.bf16_f32);
    take(library, "s8s8s32os32", dlp.s8_s32);
    take(library, "u8s8s32os32", dlp.u8_s8);
    take_itself(library, dlp);
    found = std::move(dlp);
  });
  return found;
}

}  // namespace

Search aocl_blas_search() {
  return {.name = "AOCL-BLAS",
          .variable = "ROOFLINE_AOCL_BLAS",
          .package = "AMD's AOCL",
          .names = {"libblis-mt.so.5", "libblis-mt.so"},
          .paths = {kBlasFolders[0], kBlasFolders[1]},
          .wheels = {}};
}

void init_aocl_blas(const Library& library) {
  const Hidden hidden("BLIS_ARCH_TYPE");
  void (*init)() = nullptr;
  int (*arch)() = nullptr;
  library.require(init, "bli_init");
  library.require(arch, "bli_arch_query_id");
  init();
  arch();
}

std::string aocl_version(const std::string& text) {
  const auto begin = text.find_first_of("0123456789");
  if (begin == text.npos) return text;
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

const AoclDlp& aocl_dlp() {
  static const AoclDlp dlp = load_aocl_dlp();
  return dlp;
}

}  // namespace kernels::peers
