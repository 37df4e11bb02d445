// A small machine that the other half of a reader's input stands for.
#pragma once

namespace fuzz {

inline constexpr const char* kCeilingsCsv =
    "machine,device,resource,level,operation,dtype,exec_unit,threads,condition,working_set_bytes,"
    "measured,measured_low,measured_high,samples,samples_rejected,clock_hz,theory_at_clock,"
    "fraction_of_theory,advertised,advertised_source,fraction_of_advertised,verdict,cause\n"
    "box,cpu,compute,,fma,f32,simd-avx2,4,quiet,,4e11,3.9e11,4.1e11,15,0,3.5e9,4.2e11,0.95,,,,ok,\n"
    "box,cpu,bandwidth,L1,read,f32,simd-avx2,4,quiet,24576,8e11,,,15,0,3.5e9,,,,,,ok,\n"
    "box,cpu,bandwidth,DRAM,read,f32,simd-avx2,4,quiet,268435456,4e10,3.9e10,4.1e10,15,0,,,,,,,"
    "no-plateau,scattered\n"
    "box,gpu,latency,launch,stream,,,1,as-lived,,5e-6,,,15,0,,,,,,,ok,\n";

inline constexpr const char* kBenchJson = R"({"context": {"machine": "box"}, "benchmarks": [
{"name": "dot/avx2/f32/N:1000/temp:warm/threads:4/real_time", "run_type": "iteration",
 "real_time": 90.0, "time_unit": "ns", "flops": 2000, "bytes": 8000, "bytes_L1": 8000,
 "label": "device=cpu;exec_unit=simd-avx2;roof_dtype=f32;"},
{"name": "mine", "real_time": 2.0, "time_unit": "us", "flops": 1e6, "bytes": 1e3,
 "label": "device=gpu;dtype=bf16;"}]})";

}  // namespace fuzz
