// The contract that every operation meets, on CPU and GPU alike. Plain C++, free of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernels {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A request that cannot be met: a size of 0, a key that the operation does not have, more memory
/// than there is. The text is one line that names the field.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Who made a core: how its hardware asks for memory ahead, which no size tells.
enum class Maker { unknown, amd };

/// What kernels may know of the memory system; bytes. 0 = unknown.
struct Caches {
  std::int64_t l1d = 0;     ///< per core
  std::int64_t l2 = 0;      ///< per core
  std::int64_t l2_all = 0;  ///< all that the process's cores reach; 0: each core its own
  std::int64_t l3 = 0;      ///< all that the process's cores share
  std::int64_t memory = 0;  ///< what the process may use (container limit counted), of a GPU free
  /// A GPU's, whoever uses it: what cases follow from, whose names must not change from one start
  /// to the next; 0: as `memory`.
  std::int64_t installed = 0;
  int cores = 1;  ///< cores that the process may use
  Maker maker = Maker::unknown;
};

/// How kernels go through what comes from memory: what a core's hardware does not find by itself.
enum class Reading {
  streams,  ///< several streams side by side, asked for into L1, or into L2 and then into L1
            ///< (Intel)
  into_l2,  ///< mostly asked for into L2: an L1 of eight ways, 32 KB, drops what it was asked for
            ///< (Zen 4)
  in_order  ///< in the order of memory, which the hardware follows farther than requests reach:
            ///< one core of Zen 5 reads 42 GB/s so, beside some work, and 27 in four streams
};

constexpr Reading reading_of(const Caches& caches) {
  if (caches.l1d <= 32 << 10) return Reading::into_l2;
  return caches.maker == Maker::amd ? Reading::in_order : Reading::streams;
}

/// A core can count on no more L3 than so many times its L2. Larger ones are shared by dies or
/// virtual machines: four cores with 2 MB of L2 each that were told of 480 MB had 100 MB.
inline constexpr std::int64_t kSureL3PerL2 = 16;

/// Bytes that cross each level's upper edge in one call: `l1` is what the core loads and stores,
/// `l2` what L1 fetches from L2, and so on; `dram` is what crosses the memory bus (HBM on a GPU,
/// where l1 stands for shared memory and L1). NaN: nothing is known to cross, the field is empty.
struct LevelBytes {
  double l1 = kUnknown, l2 = kUnknown, l3 = kUnknown, dram = kUnknown;
};

/// Work of one call, from the operation's formula (shared by all variants).
struct Cost {
  double flops = 0;  ///< a multiply and an add count as two; integer operations likewise
  double bytes = 0;  ///< compulsory: every operand once, by its own element size
};

/// One benchmark case: everything that changes the work. Written as
/// `<op>/<variant>/<dtype>/<key:value>/…/threads:<n>`.
struct Case {
  std::string dtype;
  std::vector<std::pair<std::string, std::string>> keys;  ///< in the order of the name
  int threads = 1;
  bool quick = false;  ///< part of the quick suite

  /// The value of a numeric key. Throws BadInput naming the key if it is missing, not a number,
  /// below 1 or too large for the product of sizes to be trusted (2^40).
  std::int64_t size(std::string_view key) const;
  /// The value of a text key, or `otherwise`.
  std::string text(std::string_view key, std::string_view otherwise = "") const;
  bool cold() const { return text("temp", "warm") == "cold"; }
  /// `<dtype>/<key:value>/…/threads:<n>`
  std::string name() const;
};

/// A stretch of a program's call that is also timed by itself: one of its kernels. Where a call
/// comes by it several times, cost and traffic are those of all of them.
struct Part {
  std::string name;
  std::string op, variant, dtype;  ///< of the registered kernel; what is none has no variant
  std::pair<std::string, std::string> exec_unit;
  Cost cost;
  LevelBytes traffic;
};

/// One variant bound to one case, inputs allocated, filled and (on a CPU) first touched by the
/// threads that will use them. Outputs are poisoned.
class Problem {
 public:
  virtual ~Problem() = default;
  /// Does `count` consecutive calls; call number i uses input copy i % slots. Nothing is allocated,
  /// but by a library in its first call on a copy.
  virtual void run(std::int64_t first, std::int64_t count) = 0;
  /// Runs once on poisoned outputs and compares with the double-precision oracle (beyond 512^3 by
  /// Freivalds' check and sampled entries). Empty when right, else what is wrong.
  virtual std::string verify() = 0;
  virtual Cost cost() const = 0;
  /// Model bytes per level for this variant's own tiles.
  virtual LevelBytes traffic() const = 0;
  /// Bytes touched by the calls over all slots: what must fit or not fit a cache. NaN if none is.
  virtual double working_set_bytes() const = 0;
  /// What it holds on a CPU, what it shares with others included.
  virtual double owned_bytes() const { return working_set_bytes(); }
  /// Of these what all problems of the same operation and case hold together: freed by the last.
  virtual double shared_bytes() const { return 0; }
  /// Reads main memory that calls read, as fast as it comes, and returns its bytes: what is placed
  /// far from the cores is slower than what a probe was given. By a probe's loop, of which there
  /// are several; 0: `loop` is beyond the last, or calls read from caches. `next` is the call after
  /// the last one: what that will read is left alone.
  virtual double read_own_memory(int /*loop*/, std::int64_t /*next*/) { return 0; }
  /// Reads all of a set of which a call brings no more than a line to each thread, every thread its
  /// own: a cache takes it up sooner in order. Nothing where a call reads more.
  virtual void read_in_order() {}
  /// The unit it issues to and the roof it is held against, e.g. {"simd-avx2", "f32"}.
  virtual std::pair<std::string, std::string> exec_unit() const = 0;
  /// Further `key=value;` text for the label, such as a library's version.
  virtual std::string label() const { return {}; }
  /// What a program consists of; an operation is one piece.
  virtual std::vector<Part> parts() const { return {}; }
  /// From now on run() calls `done(i)` at the end of every stretch of parts()[i]; the first one
  /// begins with the call. An empty function ends that.
  virtual void watch(std::function<void(std::size_t)> /*done*/) {}
};

struct KernelInfo;

/// An operation on one device: its cases and how to bind a variant to one of them. On a GPU
/// `Caches` means: l1d = L1 and shared memory of an SM, l2 = the chip's, cores = SMs, memory = free
/// HBM.
struct Operation {
  /// Cases that `bench_<op>` offers on a machine with these caches.
  std::vector<Case> (*cases)(const Caches&);
  /// Small, odd and tile-edge cases for the tests.
  std::vector<Case> (*test_cases)();
  /// Whether the variant does this dtype, option and size (a naive rung leaves the large ones out).
  bool (*supports)(const KernelInfo&, const Case&);
  /// Binds a variant to a case that it supports. Throws BadInput.
  std::unique_ptr<Problem> (*bind)(const KernelInfo&, const Case&, const Caches&);
  /// Why a case that cases() lists cannot run on this machine (it does not fit), in words; empty if
  /// it can. Null: only bind() tells.
  std::string (*unfit)(const KernelInfo&, const Case&, const Caches&) = nullptr;
};

}  // namespace kernels
