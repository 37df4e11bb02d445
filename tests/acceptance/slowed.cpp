// A bench program of the suite in which one kernel does 5 % more work than it says: one further
// call after every twenty. Linked in place of operation_of() (--wrap), so that the programs that
// people get know nothing of it. ROOFLINE_SLOWED names the benchmark.
#include <cstdlib>
#include <map>

#include "bench/main.hpp"
#include "kernels/registry.hpp"

namespace {

constexpr std::int64_t kOneIn = 20;

class Slowed final : public kernels::Problem {
 public:
  explicit Slowed(std::unique_ptr<kernels::Problem> real) : real_(std::move(real)) {}
  void run(std::int64_t first, std::int64_t count) override {
    calls_ += count;
    real_->run(first, count + calls_ / kOneIn);
    calls_ %= kOneIn;
  }
  std::string verify() override { return real_->verify(); }
  kernels::Cost cost() const override { return real_->cost(); }
  kernels::LevelBytes traffic() const override { return real_->traffic(); }
  double working_set_bytes() const override { return real_->working_set_bytes(); }
  double owned_bytes() const override { return real_->owned_bytes(); }
  std::pair<std::string, std::string> exec_unit() const override { return real_->exec_unit(); }
  std::string label() const override { return real_->label(); }

 private:
  std::unique_ptr<kernels::Problem> real_;
  std::int64_t calls_ = 0;
};

}  // namespace

extern "C" {
// kernels::operation_of(const KernelInfo&), as the linker's --wrap names it.
const kernels::Operation& __real__ZN7kernels12operation_ofERKNS_10KernelInfoE(
    const kernels::KernelInfo& kernel);

const kernels::Operation& __wrap__ZN7kernels12operation_ofERKNS_10KernelInfoE(
    const kernels::KernelInfo& kernel) {
  static std::map<const kernels::Operation*, kernels::Operation> wrapped;
  const auto& real = __real__ZN7kernels12operation_ofERKNS_10KernelInfoE(kernel);
  kernels::Operation& out = wrapped.try_emplace(&real, real).first->second;
  out.bind = [](const kernels::KernelInfo& info, const kernels::Case& c,
                const kernels::Caches& caches) -> std::unique_ptr<kernels::Problem> {
    auto problem = __real__ZN7kernels12operation_ofERKNS_10KernelInfoE(info).bind(info, c, caches);
    const std::string name =
        std::string(info.op) + "/" + std::string(info.variant) + "/" + c.name();
    const char* slowed = std::getenv("ROOFLINE_SLOWED");
    if (!slowed || name != slowed) return problem;
    return std::make_unique<Slowed>(std::move(problem));
  };
  return out;
}
}

int main(int argc, char** argv) { return bench::run_main(argc, argv, BENCH_OPERATIONS); }
