// Finding libraries: what is said when there is none, or not a usable one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/op.hpp"
#include "kernels/peers/aocl.hpp"
#include "kernels/peers/blas.hpp"
#include "kernels/peers/ggml.hpp"
#include "kernels/peers/library.hpp"
#include "kernels/peers/onednn.hpp"
#include "kernels/peers/onednn_abi.hpp"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

namespace kernels::peers {
namespace {

constexpr const char* kVariable = "ROOFLINE_TEST_LIBRARY";

class Loading : public testing::Test {
 protected:
  void SetUp() override { unsetenv(kVariable); }
  void TearDown() override { unsetenv(kVariable); }
  static void name_file(const std::string& file) { setenv(kVariable, file.c_str(), 1); }

  /// Looks for a library with the symbol; `opened` becomes the file that was taken.
  std::string look(std::vector<const char*> names, const char* symbol) {
    opened.clear();
    return load({.name = "Lib", .variable = kVariable, .package = "apt: lib", .names = names},
                [&](const Library& library) {
                  void (*function)() = nullptr;
                  library.require(function, symbol);
                  opened = library.path();
                });
  }
  /// What is said of a named file that does not serve.
  std::string refusal(std::vector<const char*> names, const char* symbol) {
    try {
      look(names, symbol);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "accepted";
  }
  std::string opened;
};

TEST_F(Loading, TakesTheFirstLibraryThatServes) {
  EXPECT_EQ(look({"libnone.so.7", "libm.so.6"}, "cos"), "");
  EXPECT_EQ(opened, "libm.so.6");
  EXPECT_EQ(look({"libm.so.6", "libgomp.so.1"}, "omp_get_max_threads"), "");
  EXPECT_EQ(opened, "libgomp.so.1");
}

TEST_F(Loading, SaysWhatToInstallIfThereIsNone) {
  EXPECT_EQ(look({"libnone.so.7"}, "cos"),
            "Lib not found (apt: lib; or ROOFLINE_TEST_LIBRARY=<file>)");
}

TEST_F(Loading, NamesTheMissingSymbol) {
  EXPECT_EQ(look({"libnone.so.7", "libm.so.6"}, "cblas_sgemm"),
            "Lib: libm.so.6 has no symbol cblas_sgemm");
}

TEST_F(Loading, TakesNoOtherFileThanTheNamedOne) {
  name_file("libm.so.6");
  EXPECT_EQ(look({"libgomp.so.1"}, "cos"), "");
  EXPECT_EQ(opened, "libm.so.6");
  EXPECT_EQ(refusal({"libgomp.so.1"}, "omp_get_max_threads"),
            "ROOFLINE_TEST_LIBRARY: libm.so.6 has no symbol omp_get_max_threads");
  name_file("/nowhere/libm.so.6");
  EXPECT_EQ(refusal({"libm.so.6"}, "cos"),
            "ROOFLINE_TEST_LIBRARY: /nowhere/libm.so.6: cannot open shared object file: No such "
            "file or directory");
}

TEST_F(Loading, RefusesAFileThatIsNoLibrary) {
  const auto file =
      std::filesystem::temp_directory_path() / ("peers_test." + std::to_string(getpid()) + ".so");
  std::ofstream(file) << std::string(4096, 'x');
  name_file(file.string());
  const std::string why = refusal({"libm.so.6"}, "cos");
  std::filesystem::remove(file);
  EXPECT_EQ(why, "ROOFLINE_TEST_LIBRARY: " + file.string() + ": invalid ELF header");
}

TEST(Peers, AreThereOrSayWhyNot) {
  const auto holds = [](const std::string& name, const std::string& missing,
                        const std::string& label) {
    EXPECT_NE(missing.empty(), label.empty());
    EXPECT_EQ(missing.find('\n'), std::string::npos) << missing;
    EXPECT_TRUE(missing.empty() || missing.starts_with(name)) << missing;
    EXPECT_TRUE(label.empty() || label.starts_with("library=" + name + " ")) << label;
    EXPECT_TRUE(label.empty() || label.ends_with(';')) << label;
  };
  holds("OpenBLAS", openblas().missing, openblas().label);
  holds("BLIS", blis().missing, blis().label);
  holds("AOCL-BLAS", aocl_blas().missing, aocl_blas().label);
  holds("AOCL-DLP", aocl_dlp().missing, aocl_dlp().label);
  holds("MKL", mkl().missing, mkl().label);
  holds("oneDNN", onednn().missing, onednn().label);
  holds("ggml", ggml().missing, ggml().label);
}

/// Threads that this process gains by a product on `threads` threads.
std::int64_t threads_gained(int threads) {
  const auto count = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  constexpr std::int64_t kSide = 512;
  const std::vector<float> x(kSide * kSide, 1.0f);
  std::vector<float> z(kSide * kSide);
  const auto before = count();
  DnnlMatmul(kSide, kSide, kSide, DnnlType::f32, DnnlType::f32, DnnlType::f32, false, threads)
      .run(x.data(), x.data(), z.data());
  return count() - before;
}

// The OpenMP runtime that oneDNN runs on is not always the one that this program calls.
TEST(OneDnnDeathTest, RunsOnAsManyThreadsAsItIsTold) {
  if (!onednn().missing.empty()) GTEST_SKIP() << onednn().missing;
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // in a process without any threads yet
  EXPECT_EXIT(_exit(threads_gained(1) == 0 && threads_gained(3) == 2 ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

#ifdef DNNL_VERSION_MAJOR
TEST(OneDnn, IsDeclaredAsInItsHeader) {
  EXPECT_EQ(dnnl::kMaxDims, DNNL_MAX_NDIMS);
  EXPECT_EQ(dnnl::kSuccess, dnnl_success);
  EXPECT_EQ(dnnl::kUnimplemented, dnnl_unimplemented);
  EXPECT_EQ(dnnl::kCpu, dnnl_cpu);
  EXPECT_EQ(dnnl::kTagAny, dnnl_format_tag_any);
  EXPECT_EQ(dnnl::kQueryWeights, dnnl_query_weights_md);
  EXPECT_EQ(dnnl::kDefaultStream, static_cast<unsigned>(dnnl_stream_default_flags));
  EXPECT_EQ(dnnl::kOpenMp, DNNL_RUNTIME_OMP);
  EXPECT_EQ(dnnl::kArgSrc, DNNL_ARG_SRC);
  EXPECT_EQ(dnnl::kArgDst, DNNL_ARG_DST);
  EXPECT_EQ(dnnl::kArgWeights, DNNL_ARG_WEIGHTS);
  EXPECT_EQ(dnnl::kArgFrom, DNNL_ARG_FROM);
  EXPECT_EQ(dnnl::kArgTo, DNNL_ARG_TO);
  EXPECT_EQ(static_cast<int>(DnnlType::bf16), dnnl_bf16);
  EXPECT_EQ(static_cast<int>(DnnlType::f32), dnnl_f32);
  EXPECT_EQ(static_cast<int>(DnnlType::s32), dnnl_s32);
  EXPECT_EQ(static_cast<int>(DnnlType::s8), dnnl_s8);
  EXPECT_EQ(sizeof(dnnl::Argument), sizeof(dnnl_exec_arg_t));
  EXPECT_EQ(offsetof(dnnl::Argument, memory), offsetof(dnnl_exec_arg_t, memory));
  EXPECT_EQ(sizeof(dnnl::Version), sizeof(dnnl_version_t));
  EXPECT_EQ(offsetof(dnnl::Version, cpu_runtime), offsetof(dnnl_version_t, cpu_runtime));
#if DNNL_VERSION_MAJOR == 2
  EXPECT_EQ(dnnl::kDescBytesV2, sizeof(dnnl_memory_desc_t));
  EXPECT_EQ(dnnl::kMatmulDescBytesV2, sizeof(dnnl_matmul_desc_t));
#endif
}
#endif

TEST(AoclVersion, IsTheNumberInItsText) {
  EXPECT_EQ(aocl_version("AOCL-BLAS 5.2.2 Build 20260320"), "5.2.2");
  EXPECT_EQ(aocl_version("5.1"), "5.1");
  EXPECT_EQ(aocl_version("unknown"), "unknown");
}

TEST(Blas, TellsWhereOpenBlasHasFewerThreadsThanThereAreCpus) {
  const std::string config = "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64";
  EXPECT_EQ(openblas_limit(config, 64), "");
  EXPECT_EQ(openblas_limit(config, 65), ", at most 64 threads");
  EXPECT_EQ(openblas_limit("OpenBLAS 0.3.21 DYNAMIC_ARCH Haswell SINGLE_THREADED", 65), "");
}

TEST(BetterCore, IsWhatTheLibraryDoesNotSeeByItself) {
  const CpuFeatures old{}, avx2{.avx2 = true}, avx512{.avx2 = true, .avx512 = true},
      bf16{.avx2 = true, .avx512 = true, .avx512_bf16 = true};
  EXPECT_EQ(better_openblas_core("Zen", avx2), "");
  EXPECT_EQ(better_openblas_core("Prescott", avx2), "Haswell");
  EXPECT_EQ(better_openblas_core("Prescott", old), "");
  EXPECT_EQ(better_openblas_core("Haswell", avx512), "SkylakeX");
  EXPECT_EQ(better_openblas_core("SkylakeX", avx512), "");
  EXPECT_EQ(better_openblas_core("Haswell", bf16), "Cooperlake");
  EXPECT_EQ(better_blis_arch("zen3", avx2), "");
  EXPECT_EQ(better_blis_arch("generic", avx2), "haswell");
  EXPECT_EQ(better_blis_arch("generic", avx512), "skx");
  EXPECT_EQ(better_blis_arch("zen3", avx512), "skx");
  EXPECT_EQ(better_blis_arch("zen4", avx512), "");
}

}  // namespace
}  // namespace kernels::peers
