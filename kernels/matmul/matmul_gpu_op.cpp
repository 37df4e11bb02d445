// matmul on a GPU as an operation: its inputs, its calls, its checks.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/matmul_gpu_cases.hpp"
#include "kernels/matmul/matmul_gpu_traffic.hpp"
#include "kernels/matmul/matmul_gpu_verify.hpp"
#include "kernels/registry.hpp"

namespace kernels::matmul {
namespace {

using cuda::Layout;
using cuda::Memory;
using cuda::Type;
using cuda::Values;

GpuLaunch launch_of(const KernelInfo& info, const GpuTypes& types, bool transposed) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  if (types.x != types.y) return transposed ? kernel.bf16xs8 : nullptr;
  if (transposed) {
    switch (types.x) {
      case Type::tf32:
        return kernel.tf32_pre;
      case Type::e4m3:
        return kernel.e4m3;
      case Type::s8:
        return kernel.s8;
      default:
        return nullptr;
    }
  }
  if (types.z == Type::bf16) return kernel.bf16_out;
  if (types.z == Type::f16) return kernel.f16_out;
  switch (types.x) {
    case Type::f64:
      return kernel.f64;
    case Type::f32:
      return kernel.f32;
    case Type::tf32:
      return kernel.tf32;
    case Type::bf16:
      return kernel.bf16;
    case Type::f16:
      return kernel.f16;
    default:
      return nullptr;
  }
}

Shape shape_of(const Case& c) {
  for (const auto& [key, value] : c.keys)
    if (key != "M" && key != "N" && key != "K" && key != "batch" && key != "out" && key != "pack" &&
        key != "temp")
      throw BadInput("shape: matmul on a GPU has no key '" + key +
                     "' (M, N, K, batch, out, pack:pre, temp:warm, temp:cold)");
  const Shape s = {.m = c.size("M"),
                   .n = c.size("N"),
                   .k = c.size("K"),
                   .batch = c.text("batch").empty() ? 1 : c.size("batch")};
  for (const char* key : {"M", "N", "K"})
    if (c.size(key) > 1 << 21)
      throw BadInput(std::string("shape: ") + key + ":" + c.text(key) +
                     " is too large for a GPU kernel (at most 2097152)");
  if (s.batch > 65535)
    throw BadInput("shape: batch:" + c.text("batch") + " is too large (at most 65535)");
  if (c.dtype == "s8" && s.k > kMaxKS8)
    throw BadInput("shape: K:" + c.text("K") + " could overflow the 32-bit sums of s8 (at most " +
                   std::to_string(kMaxKS8) + ")");
  return s;
}

/// Throws BadInput. Z is as wide as the sums unless `out` says 16 bits.
GpuTypes types_of(const Case& c) {
  const std::string out = c.text("out");
  const bool pre = c.text("pack") == "pre";
  if (!out.empty() && (out != c.dtype || (out != "bf16" && out != "f16") || pre))
    throw BadInput("shape: out:" + out + " (bf16 for plain bf16, f16 for plain f16)");
  if (c.dtype == "bf16xs8") return {Type::bf16, Type::s8, Type::f32};
  const Type t = cuda::parse_type("matmul", c.dtype);
  if (!out.empty()) return {t, t, t};
  return {t, t, t == Type::f64 ? Type::f64 : t == Type::s8 ? Type::s32 : Type::f32};
}

ElementBytes element_bytes(const GpuTypes& t) {
  return {cuda::size_of(t.x), cuda::size_of(t.y), cuda::size_of(t.z),
          t.x != t.y ? static_cast<int>(sizeof(float)) : 0};
}

/// Elements from one row to the next: whole 16-byte chunks.
std::int64_t pitch_of(std::int64_t columns, int bytes) {
  const std::int64_t chunk = 16 / bytes;
  return (columns + chunk - 1) / chunk * chunk;
}

double bytes_of(const Case& c) {
  return matmul::cost(shape_of(c), element_bytes(types_of(c))).bytes;
}

/// Copies of the operands that calls rotate over.
std::int64_t slots_of(const Case& c, const Caches& caches) {
  return c.cold() ? cuda::cold_slots(bytes_of(c), caches) : 1;
}

class GpuMatmul final : public cuda::GpuProblem {
 public:
  GpuMatmul(const KernelInfo& info, const Case& c, const Caches& caches)
      : kernel_(*static_cast<const GpuKernel*>(info.table)),
        types_(types_of(c)),
        case_(c),
        caches_(caches),
        shape_(shape_of(c)),
        transposed_(c.text("pack") == "pre"),
        launch_(launch_of(info, types_, transposed_)) {
    const Shape& s = shape_;
    const ElementBytes e = element_bytes(types_);
    x_layout_ = {s.m, s.k, pitch_of(s.k, e.x)};
    y_layout_ = transposed_ ? Layout{s.n, s.k, pitch_of(s.k, e.y), true}
                            : Layout{s.k, s.n, pitch_of(s.n, e.y)};
    z_layout_ = {s.m, s.n, pitch_of(s.n, e.z)};
    slots_ = slots_of(c, caches);
    cuda::require_device_memory(
        static_cast<double>(slots_ * s.batch) *
            (elements(x_layout_) * e.x + elements(y_layout_) * e.y + elements(z_layout_) * e.z),
        caches);
    operands_ = shared_operands();
    for (const Memory& z : cuda::allocate_many(slots_, s.batch * elements(z_layout_) * e.z))
      slot_.push_back({z});
    if (kernel_.open == nullptr) return;
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      slot_[slot].state = slot_[0].state;
      if (slot == 0 || kernel_.open_each) slot_[slot].state = kernel_.open(arguments(slot), types_);
    }
    if (kernel_.tune == nullptr) return;
    std::vector<GpuArguments> copies;
    for (std::int64_t slot = 0; slot < slots_; ++slot) copies.push_back(arguments(slot));
    kernel_.tune(slot_[0].state.get(), copies);
  }

  std::int64_t enqueue(std::int64_t first, std::int64_t count, cudaStream_t stream) override {
    for (std::int64_t i = first; i < first + count; ++i) launch_(arguments(i % slots_), stream);
    return count;
  }

  std::string verify() override {
    const std::int64_t slot = slots_ - 1;
    const ElementBytes e = element_bytes(types_);
    cuda::poison(slot_[slot].z.get(), shape_.batch * elements(z_layout_) * e.z);
    if (kernel_.begins_early)
      run(0, std::max(slots_, kCallsInARow));
    else
      run(slot, 1);
    const double macs = static_cast<double>(shape_.m) * shape_.n * shape_.k * shape_.batch;
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      const auto z = cuda::to_host(this->z(slot, b), elements(z_layout_) * e.z);
      std::string wrong = check_padding(z);
      if (wrong.empty())
        wrong = macs <= kFullOracleMacs ? check_all(b, z) : check_sampled(slot, b, z);
      if (!wrong.empty())
        return "matmul " + case_.name() + " batch " + std::to_string(b) + ": " + wrong;
    }
    return {};
  }

  Cost cost() const override { return matmul::cost(shape_, element_bytes(types_)); }

  LevelBytes traffic() const override {
    LevelBytes bytes = gpu_tile_traffic(shape_, element_bytes(types_), tiles());
    bytes.l2 += part_traffic(kernel_, slot_[0].state.get());
    bytes.dram = cuda::streaming_traffic(cost().bytes, working_set_bytes(), caches_).dram;
    return bytes;
  }

  double working_set_bytes() const override { return cost().bytes * static_cast<double>(slots_); }
  double owned_bytes() const override {
    return static_cast<double>(slots_ * shape_.batch * elements(z_layout_) *
                               element_bytes(types_).z);
  }
  /// What is multiplied: int8 weights beside bf16 become bf16; fp8 on mma becomes fp16 in
  /// registers.
  std::pair<std::string, std::string> exec_unit() const override {
    std::string unit = kernel_.exec_unit;
    if (unit.empty() && in_tcgen05()) unit = "tcgen05";
    if (types_.x != types_.y) return {unit, "bf16"};
    return {unit, unit == "mma" && types_.x == Type::e4m3 ? "f16" : case_.dtype};
  }
  std::string label() const override {
    return kernel_.label != nullptr ? kernel_.label() : std::string();
  }

 private:
  /// Of a variant that begins early, which on its own cannot run into the call before.
  static constexpr std::int64_t kCallsInARow = 3;

  struct Slot {
    Memory z;
    std::shared_ptr<void> state;
  };
  /// Equal copies of what is multiplied, one a slot.
  struct Operands {
    std::vector<Memory> x, y, scales;
  };

  /// One set for all variants that are bound to a case at the same time: it may be gigabytes.
  std::shared_ptr<const Operands> shared_operands() const {
    static std::weak_ptr<const Operands> live;
    static std::string name;
    auto operands = live.lock();
    if (operands && name == case_.name() && static_cast<std::int64_t>(operands->x.size()) == slots_)
      return operands;
    operands.reset();  // another case's may be what leaves no room
    live = operands = make_operands();
    name = case_.name();
    return operands;
  }
  std::shared_ptr<const Operands> make_operands() const {
    const Shape& s = shape_;
    const ElementBytes e = element_bytes(types_);
    const std::int64_t x_bytes = s.batch * elements(x_layout_) * e.x,
                       y_bytes = s.batch * elements(y_layout_) * e.y,
                       scale_bytes = s.batch * s.n * e.scale;
    Operands made{cuda::allocate_many(slots_, x_bytes), cuda::allocate_many(slots_, y_bytes),
                  cuda::allocate_many(slots_, scale_bytes)};
    for (std::int64_t b = 0; b < s.batch; ++b) {
      cuda::fill(types_.x, part(made.x[0], x_layout_, e.x, b), x_layout_, seed_x(b),
                 Values::normal);
      cuda::fill(types_.y, part(made.y[0], y_layout_, e.y, b), y_layout_, seed_y(b),
                 Values::normal);
    }
    if (e.scale > 0)
      cuda::fill(Type::f32, made.scales[0].get(), {s.batch, s.n, s.n}, kSeedScales, Values::random);
    cuda::copy_first(made.x, x_bytes);
    cuda::copy_first(made.y, y_bytes);
    cuda::copy_first(made.scales, scale_bytes);
    CUDA_CHECK(cudaDeviceSynchronize());
    return std::make_shared<const Operands>(std::move(made));
  }

  /// Whether a library's product runs in instructions that no probe here issues.
  bool in_tcgen05() const {
    const int major = cuda::device().major;
    return (major == 10 || major == 11) && case_.dtype != "f64" && case_.dtype != "f32";
  }
  GpuTiles tiles() const {
    if (kernel_.tiles_of != nullptr) return kernel_.tiles_of(slot_[0].state.get());
    return types_.x == Type::e4m3 && kernel_.e4m3_tiles.block_m > 0 ? kernel_.e4m3_tiles
                                                                    : kernel_.tiles;
  }
  static std::int64_t elements(const Layout& l) { return l.rows * l.pitch; }
  static std::uint64_t seed_x(std::int64_t b) { return 2 * static_cast<std::uint64_t>(b) + 1; }
  static constexpr std::uint64_t kSeedScales = 1 << 20;  ///< beyond those of X and Y
  static std::uint64_t seed_y(std::int64_t b) { return 2 * static_cast<std::uint64_t>(b) + 2; }

  void* part(const Memory& memory, const Layout& l, int bytes, std::int64_t b) const {
    return cuda::as<std::byte>(memory) + b * elements(l) * bytes;
  }
  void* x(std::int64_t slot, std::int64_t b) const {
    return part(operands_->x[slot], x_layout_, element_bytes(types_).x, b);
  }
  void* y(std::int64_t slot, std::int64_t b) const {
    return part(operands_->y[slot], y_layout_, element_bytes(types_).y, b);
  }
  void* z(std::int64_t slot, std::int64_t b) const {
    return part(slot_[slot].z, z_layout_, element_bytes(types_).z, b);
  }

  GpuArguments arguments(std::int64_t slot) const {
    return {.x = operands_->x[slot].get(),
            .y = operands_->y[slot].get(),
            .scales = cuda::as<float>(operands_->scales[slot]),
            .z = slot_[slot].z.get(),
            .m = shape_.m,
            .n = shape_.n,
            .k = shape_.k,
            .batch = shape_.batch,
            .x_pitch = x_layout_.pitch,
            .y_pitch = y_layout_.pitch,
            .z_pitch = z_layout_.pitch,
            .x_stride = elements(x_layout_),
            .y_stride = elements(y_layout_),
            .z_stride = elements(z_layout_),
            .y_transposed = transposed_,
            .state = slot_[slot].state.get()};
  }

  double at(const std::vector<std::byte>& z, std::int64_t row, std::int64_t column) const {
    return cuda::load_as_double(types_.z, z.data(), row * z_layout_.pitch + column);
  }

  /// What lies between the rows of Z must still be poison.
  std::string check_padding(const std::vector<std::byte>& z) const {
    const std::size_t e = element_bytes(types_).z;
    for (std::int64_t r = 0; r < z_layout_.rows; ++r)
      for (std::size_t i = (r * z_layout_.pitch + z_layout_.columns) * e;
           i < (r + 1) * z_layout_.pitch * e; ++i)
        if (z[i] != std::byte{0xff}) return "wrote past the end of row " + std::to_string(r);
    return {};
  }

  std::string compare(double got, const cuda::Entry& want) const {
    const double tolerance = gpu_tolerance(types_.x, shape_.k, want.magnitude);
    if (std::abs(got - want.value) <=
        tolerance + stored_unit() * (std::abs(want.value) + tolerance))
      return {};
    return "entry (" + std::to_string(want.row) + ", " + std::to_string(want.column) + ") is " +
           std::to_string(got) + ", the oracle says " + std::to_string(want.value);
  }

  /// Half a unit in the last place of Z, where it is narrower than the sums.
  double stored_unit() const {
    return types_.z == Type::bf16 ? 0x1p-8 : types_.z == Type::f16 ? 0x1p-11 : 0;
  }

  double scale(std::int64_t b, std::int64_t column) const {
    if (types_.x == types_.y) return 1;
    return cuda::value_at(Type::f32, kSeedScales, b * shape_.n + column, Values::random);
  }
  cuda::Entry scaled(std::int64_t b, cuda::Entry e) const {
    e.value *= scale(b, e.column);
    e.magnitude *= std::abs(scale(b, e.column));
    return e;
  }

  /// Every entry on the host, from the values that the inputs must have.
  std::string check_all(std::int64_t b, const std::vector<std::byte>& z) const {
    const Shape& s = shape_;
    const auto values = [&](Type type, std::uint64_t seed, std::int64_t count) {
      std::vector<double> v(count);
      for (std::int64_t i = 0; i < count; ++i) v[i] = cuda::value_at(type, seed, i, Values::normal);
      return v;
    };
    const std::vector<double> xs = values(types_.x, seed_x(b), s.m * s.k),
                              ys = values(types_.y, seed_y(b), s.k * s.n);
    std::vector<double> sums(s.n), magnitudes(s.n);
    for (std::int64_t r = 0; r < s.m; ++r) {
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
      for (std::int64_t k = 0; k < s.k; ++k)
        for (std::int64_t c = 0; c < s.n; ++c) {
          const double p = xs[r * s.k + k] * ys[k * s.n + c];
          sums[c] += p;
          magnitudes[c] += std::abs(p);
        }
      for (std::int64_t c = 0; c < s.n; ++c)
        if (auto wrong = compare(at(z, r, c), scaled(b, {r, c, sums[c], magnitudes[c]}));
            !wrong.empty())
          return wrong;
    }
    return {};
  }

  std::string check_sampled(std::int64_t slot, std::int64_t b,
                            const std::vector<std::byte>& z) const {
    auto entries = sample_entries(shape_.m, shape_.n, tiles());
    cuda::product_entries(types_.x, x(slot, b), x_layout_, types_.y, y(slot, b), y_layout_,
                          entries);
    for (auto& entry : entries) entry = scaled(b, entry);
    for (const auto& entry : entries)
      if (auto wrong = compare(at(z, entry.row, entry.column), entry); !wrong.empty()) return wrong;

    // Freivalds: Z v = X (Y S v) for a random v in [-1, 1) and the scales S. The entries' errors,
    // each within four deviations, add up as a random walk whose steps are 1 / sqrt(3) as long; six
    // deviations of it.
    std::vector<double> v(shape_.n);
    for (std::int64_t i = 0; i < shape_.n; ++i)
      v[i] = cuda::value_at(Type::f64, 99, i, Values::random);
    const auto zv = cuda::times_vector(types_.z, this->z(slot, b), z_layout_, v);
    for (std::int64_t i = 0; i < shape_.n; ++i) v[i] *= scale(b, i);
    const auto yv = cuda::times_vector(types_.y, y(slot, b), y_layout_, v);
    const auto xyv = cuda::times_vector(types_.x, x(slot, b), x_layout_, yv);
    double magnitude = 0, value = 0;
    for (const auto& entry : entries) {
      magnitude = std::max(magnitude, entry.magnitude);
      value = std::max(value, std::abs(entry.value));
    }
    const double tolerance =
        1.5 * std::sqrt(static_cast<double>(shape_.n) / 3) *
            (gpu_tolerance(types_.x, shape_.k, magnitude) + stored_unit() * value) +
        1e-12 * magnitude * static_cast<double>(shape_.n);
    for (std::int64_t r = 0; r < shape_.m; ++r)
      if (!(std::abs(zv[r] - xyv[r]) <= tolerance))
        return "row " + std::to_string(r) + " fails Freivalds' check by " +
               std::to_string(zv[r] - xyv[r]);
    return {};
  }

  const GpuKernel& kernel_;
  GpuTypes types_;
  Case case_;
  Caches caches_;
  Shape shape_;
  bool transposed_;
  GpuLaunch launch_;
  Layout x_layout_{}, y_layout_{}, z_layout_{};
  std::int64_t slots_ = 1;
  std::shared_ptr<const Operands> operands_;
  std::vector<Slot> slot_;
};

bool supports(const KernelInfo& info, const Case& c) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  const GpuTypes types = types_of(c);
  const Shape s = shape_of(c);
  if (cuda::size_of(types.x) == 1 && (s.n % kernel.byte_grain || s.k % kernel.byte_grain))
    return false;
  if (kernel.max_flops > 0 && matmul::cost(s, {}).flops > kernel.max_flops) return false;
  if (kernel.max_m > 0 && s.m > kernel.max_m) return false;
  return launch_of(info, types, c.text("pack") == "pre") != nullptr;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuMatmul>(info, c, caches);
}

/// With what padding and a variant's own memory may take.
std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  const double copies = bytes_of(c) * static_cast<double>(slots_of(c, caches));
  return cuda::device_memory_missing(1.2 * copies, caches);
}

}  // namespace

extern const Operation gpu_operation = {gpu_cases, gpu_test_cases, supports, bind, unfit};

}  // namespace kernels::matmul
