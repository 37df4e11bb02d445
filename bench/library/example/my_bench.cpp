// y = a x + y over a size in L1, one in L2 and one in memory.
#include <benchmark/benchmark.h>

#include <roofline/bench.hpp>
#include <vector>

namespace {

void saxpy(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> x(n, 1), y(n, 2);
  for (auto _ : state) {
    for (std::size_t i = 0; i < n; ++i) y[i] += 3 * x[i];
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  roofline::Work work;
  work.flops = 2.0 * static_cast<double>(n);
  work.bytes = 3.0 * sizeof(float) * static_cast<double>(n);  // x and y read, y written
  work.working_set_bytes = 2.0 * sizeof(float) * static_cast<double>(n);
  work.dtype = "f32";
  roofline::report(state, work);
}
BENCHMARK(saxpy)->Arg(1 << 11)->Arg(1 << 14)->Arg(1 << 24)->UseRealTime();

}  // namespace
