#include "bench/case_list.hpp"

#include <gtest/gtest.h>

#include <set>

namespace bench {
namespace {

kernels::Caches of_cores(int cores) {
  return {.l1d = 32 << 10,
          .l2 = 512 << 10,
          .l3 = 32 << 20,
          .memory = std::int64_t{64} << 30,
          .cores = cores};
}

const std::vector<std::string> kAll = {"fma_peak", "stream", "pages",    "chase",
                                       "dot",      "matmul", "attention"};

TEST(CaseList, OneCoreHasEveryNameOnceAndTheTypesThatTwoHave) {
  for (const std::string& op : kAll) {
    std::set<std::string> dtypes[2], quick[2], names;
    for (const int cores : {1, 2}) {
      names.clear();
      for (const Entry& entry : list_entries({op}, {.gpu = false}, of_cores(cores), {})) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " on " << cores;
        dtypes[cores - 1].insert(entry.instance.dtype);
        if (entry.instance.quick) quick[cores - 1].insert(entry.instance.text("temp"));
      }
      EXPECT_FALSE(names.empty()) << op;
    }
    EXPECT_EQ(dtypes[0], dtypes[1]) << op;
    EXPECT_EQ(quick[0], quick[1]) << op << ": temperatures of the quick suite";
  }
}

std::set<std::string> ops_of(const Options& options) {
  std::set<std::string> ops;
  for (const Entry& entry :
       list_entries({"fma_peak", "stream", "pages", "chase"}, options, of_cores(2), {.cores = 0}))
    ops.insert(std::string(entry.kernel->op));
  return ops;
}

TEST(CaseList, ACaseOfOnesOwnIsThatOfTheOperationsThatDoIt) {
  using Ops = std::set<std::string>;
  EXPECT_EQ(ops_of({.shape = "size:65536", .dtype = "u64"}), Ops{"chase"});
  EXPECT_EQ(ops_of({.shape = "access:read/size:65536"}), Ops{"stream"});
  EXPECT_EQ(ops_of({.shape = "page_bytes:4096/size:65536"}), Ops{"pages"});
  EXPECT_THROW(ops_of({.shape = "page_bytes:4000/size:65536"}), kernels::BadInput);
  EXPECT_THROW(ops_of({.shape = "access:read/size:65536", .dtype = "f99"}), kernels::BadInput);
  EXPECT_THROW(ops_of({.shape = "access:read/sice:65536"}), kernels::BadInput);
  EXPECT_THROW(ops_of({.shape = "size:65536/level:shared", .dtype = "u64"}), kernels::BadInput)
      << "of a GPU's";
}

TEST(CaseList, ARegionThatIsNoneIsRefused) {
  const auto list = [](const char* shape) {
    return list_entries({"dot"}, {.shape = shape, .threads = 2}, of_cores(2), {.cores = 0}).size();
  };
  EXPECT_GT(list("N:1000/region:shared"), 0u);
  EXPECT_THROW(list("N:1000/region:Shared"), kernels::BadInput);
}

}  // namespace
}  // namespace bench
