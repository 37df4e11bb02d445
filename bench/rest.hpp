// Waiting for threads that are not ours to tell.
#pragma once

namespace bench {

/// Waits until this process's threads rest, at most 250 ms. A library's spin after a call for what
/// may come next, on the CPUs that a look at them is about: MKL's for 200 ms, OpenBLAS's for 20.
void wait_for_rest();

}  // namespace bench
