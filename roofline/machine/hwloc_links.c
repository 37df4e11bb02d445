/* Built at configure time to see whether the static libhwloc links here. */
#include <hwloc.h>

int main(void) {
  hwloc_topology_t topology;
  return hwloc_topology_init(&topology) || hwloc_topology_load(topology);
}
