#include "kernels/peers/blas.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>

#include "kernels/peers/aocl.hpp"
#include "kernels/peers/library.hpp"

namespace kernels::peers {
namespace {

/// `openblas_set_num_threads` and its like, behind one signature.
using SetThreads = void(int);

std::string label(const std::string& library, const std::string& config) {
  return "library=" + library + ";library_config=" + config + ";";
}

/// " (VARIABLE)" where the environment, not the library, chose; each is read once, when it loads.
std::string chosen_by(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::string(" (") + variable + ")" : "";
}

/// "VARIABLE=value"; empty without a value, or where the environment has one.
std::string setting(const char* variable, const std::string& value) {
  return value.empty() || !chosen_by(variable).empty() ? "" : variable + ("=" + value);
}

bool among(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void take_cblas(const Library& library, Blas& blas) {
  library.require(blas.sgemm, "cblas_sgemm");
  library.require(blas.dgemm, "cblas_dgemm");
  library.require(blas.sgemv, "cblas_sgemv");
  library.require(blas.dgemv, "cblas_dgemv");
  library.require(blas.sdot, "cblas_sdot");
  library.require(blas.ddot, "cblas_ddot");
}

Blas load_openblas() {
  const Search search = {.name = "OpenBLAS",
                         .variable = "ROOFLINE_OPENBLAS",
                         .package = "apt: libopenblas0-pthread",
                         .names = {"libopenblas.so.0", "libopenblas.so"},
                         .paths = {"/usr/lib/*/openblas-pthread/libopenblas.so.0",
                                   "/usr/lib/*/openblas-openmp/libopenblas.so.0"},
                         .wheels = {"scipy_openblas32/lib/libscipy_openblas.so"}};
  Blas found;
  found.missing = load(search, [&](const Library& library) {
    Blas blas;
    take_cblas(library, blas);
    library.require(blas.set_threads, "openblas_set_num_threads");
    library.optional(blas.bf16_gemm, "cblas_sbgemm");
    char* (*config)() = nullptr;
    char* (*core)() = nullptr;
    int (*parallel)() = nullptr;
    library.require(config, "openblas_get_config");
    library.require(core, "openblas_get_corename");
    library.require(parallel, "openblas_get_parallel");
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64"
    const std::string text = config();
    if (text.find("USE64BITINT") != std::string::npos)
      throw Unusable("is built for 64-bit integers; the 32-bit build is needed");
    const auto space = text.find(' ');
    const auto version = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
    const int kind = parallel();  // 0 serial, 1 its own threads, 2 OpenMP
    blas.threaded = kind != 0;
    blas.label =
        label("OpenBLAS " + version,
              "core " + std::string(core()) + chosen_by("OPENBLAS_CORETYPE") +
                  (kind == 0   ? ", serial"
                   : kind == 1 ? ", pthread"
                               : ", OpenMP") +
                  openblas_limit(text, static_cast<int>(std::thread::hardware_concurrency())));
    blas.tuned = setting("OPENBLAS_CORETYPE", better_openblas_core(core(), cpu_features()));
    found = std::move(blas);
  });
  return found;
}

/// What BLIS and AOCL-BLAS, which is made of it, tell of themselves.
struct BlisFacts {
  std::string version, arch;
};

/// `SetThreads` keeps the library's own function, which takes a dim_t: 64 bits on a 64-bit machine.
template <void (*&SetThreads)(std::int64_t)>
BlisFacts take_blis(const Library& library, Blas& blas) {
  take_cblas(library, blas);
  library.require(SetThreads, "bli_thread_set_num_threads");
  blas.set_threads = [](int threads) { SetThreads(threads); };
  const char* (*version)() = nullptr;
  std::int64_t (*int_bits)() = nullptr;
  int (*arch)() = nullptr;
  const char* (*arch_name)(int) = nullptr;
  std::int64_t (*threading)() = nullptr;
  int (*init)() = nullptr;
  library.require(init, "bli_init");
  library.require(version, "bli_info_get_version_str");
  library.require(int_bits, "bli_info_get_blas_int_type_size");
  library.require(arch, "bli_arch_query_id");
  library.require(arch_name, "bli_arch_string");
  library.require(threading, "bli_info_get_enable_threading");
  if (int_bits() != 32) throw Unusable("is built for 64-bit integers; the 32-bit build is needed");
  init();  // asked for its architecture before, it aborts if BLIS_ARCH_TYPE is set
  blas.threaded = threading() != 0;
  return {version(), arch_name(arch())};
}

void (*g_blis_set_threads)(std::int64_t) = nullptr;
void (*g_aocl_set_threads)(std::int64_t) = nullptr;

Blas load_blis() {
  const Search search = {
      .name = "BLIS",
      .variable = "ROOFLINE_BLIS",
      .package = "apt: libblis4-pthread",
      .names = {"libblis.so.4", "libblis.so.5", "libblis.so"},
      .paths = {"/usr/lib/*/blis-pthread/libblis.so.*", "/usr/lib/*/blis-openmp/libblis.so.*"},
      .wheels = {}};
  Blas found;
  found.missing = load(search, [&](const Library& library) {
    Blas blas;
    const auto [version, arch] = take_blis<g_blis_set_threads>(library, blas);
    blas.label = label("BLIS " + version, "arch " + arch + chosen_by("BLIS_ARCH_TYPE") +
                                              (blas.threaded ? "" : ", serial"));
    blas.tuned = setting("BLIS_ARCH_TYPE", better_blis_arch(arch, cpu_features()));
    found = std::move(blas);
  });
  return found;
}

Blas load_aocl_blas() {
  Blas found;
  found.missing = load(aocl_blas_search(), [&](const Library& library) {
    int (*of_aocl)() = nullptr;
    library.require(of_aocl, "bli_aocl_enable_instruction_query");
    init_aocl_blas(library);
    Blas blas;
    const auto [version, arch] = take_blis<g_aocl_set_threads>(library, blas);
    blas.label = label(
        "AOCL-BLAS " + aocl_version(version),
        "arch " + arch + chosen_by("AOCL_ENABLE_INSTRUCTIONS") + (blas.threaded ? "" : ", serial"));
    found = std::move(blas);
  });
  return found;
}

/// The part of MKL with the kernels for this CPU: "avx2" of libmkl_avx2.so.3. "def" holds those for
/// AMD's processors too.
std::string mkl_kernels() {
  std::string part;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string_view path = info->dlpi_name, prefix = "libmkl_";
        const auto at = path.rfind(prefix);
        if (at == path.npos) return 0;
        const auto name = path.substr(at + prefix.size(), path.find('.', at) - at - prefix.size());
        if (!name.starts_with("def") && !name.starts_with("avx") && !name.starts_with("mc"))
          return 0;
        *static_cast<std::string*>(out) = name;
        return 1;
      },
      &part);
  return part;
}

Blas load_mkl() {
  const Search search = {.name = "MKL",
                         .variable = "ROOFLINE_MKL",
                         .package = "PyPI: mkl, by scripts/setup.sh --peers",
                         .names = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"},
                         .paths = {"/opt/intel/oneapi/mkl/latest/lib*/libmkl_rt.so.?"},
                         .wheels = {}};
  Blas found;
  found.missing = load(search, [&](const Library& library) {
    Blas blas;
    take_cblas(library, blas);
    // By value: the lower-case names are Fortran's and take a pointer.
    library.require(blas.set_threads, "MKL_Set_Num_Threads");
    library.optional(blas.bf16_gemm, "cblas_gemm_bf16bf16f32");
    library.optional(blas.s8u8s32_gemm, "cblas_gemm_s8u8s32");
    int (*set_interface)(int) = nullptr;
    int (*set_threading)(int) = nullptr;
    void (*version)(char*, int) = nullptr;
    library.require(set_interface, "MKL_Set_Interface_Layer");
    library.require(set_threading, "MKL_Set_Threading_Layer");
    library.require(version, "MKL_Get_Version_String");
    constexpr int kLp64 = 0, kGnuThreads = 3;
    set_interface(kLp64);
    // Intel's OpenMP beside ours in one process is neither needed nor always there.
    const std::string layer = chosen_by("MKL_THREADING_LAYER");
    if (layer.empty()) set_threading(kGnuThreads);
    // "... Library Version 2026.2-Product Build 20260915 for Intel(R) 64 ..."
    char text[256] = {};
    version(text, sizeof text - 1);
    const char* begin = std::strstr(text, "Version ");
    if (begin == nullptr) throw Unusable("gives no version");
    begin += std::strlen("Version ");
    const std::string number(begin, std::strcspn(begin, "- "));
    const float one = 1;
    blas.sdot(1, &one, 1, &one, 1);  // MKL loads its kernels at the first call
    blas.threaded = true;
    blas.label = label("MKL " + number, "kernels " + mkl_kernels() +
                                            chosen_by("MKL_ENABLE_INSTRUCTIONS") + ", threads " +
                                            (layer.empty() ? "GNU" : "by MKL_THREADING_LAYER"));
    found = std::move(blas);
  });
  return found;
}

}  // namespace

std::string better_openblas_core(const std::string& core, const CpuFeatures& features) {
  if (features.avx512) {
    if (among(core, {"SkylakeX", "Cooperlake", "SapphireRapids", "Sapphirerapids"})) return {};
    return features.avx512_bf16 ? "Cooperlake" : "SkylakeX";
  }
  return features.avx2 && !among(core, {"Haswell", "Zen"}) ? "Haswell" : "";
}

std::string better_blis_arch(const std::string& arch, const CpuFeatures& features) {
  if (features.avx512) return among(arch, {"skx", "zen4", "zen5"}) ? "" : "skx";
  return features.avx2 && !among(arch, {"haswell", "zen", "zen2", "zen3"}) ? "haswell" : "";
}

std::string openblas_limit(const std::string& config, int cpus) {
  constexpr std::string_view kKey = "MAX_THREADS=";
  const auto at = config.find(kKey);
  if (at == std::string::npos) return {};
  const int most = std::atoi(config.c_str() + at + kKey.size());
  return most > 0 && most < cpus ? ", at most " + std::to_string(most) + " threads" : "";
}

const Blas& openblas() {
  static const Blas blas = load_openblas();
  return blas;
}

const Blas& blis() {
  static const Blas blas = load_blis();
  return blas;
}

const Blas& aocl_blas() {
  static const Blas blas = load_aocl_blas();
  return blas;
}

const Blas& mkl() {
  static const Blas blas = load_mkl();
  return blas;
}

}  // namespace kernels::peers
