include(CMakeFindDependencyMacro)
find_dependency(benchmark)
include(${CMAKE_CURRENT_LIST_DIR}/roofline-targets.cmake)
