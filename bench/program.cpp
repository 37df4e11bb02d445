// The main of every bench program; BENCH_OPERATIONS comes from CMake.
#include "bench/main.hpp"

int main(int argc, char** argv) { return bench::run_main(argc, argv, BENCH_OPERATIONS); }
