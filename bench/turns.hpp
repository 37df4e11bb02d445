// Taking turns with the other programs of a comparison, so that what is compared are neighbours in
// time and nobody else works meanwhile.
#pragma once

namespace bench {

/// From now on await_turn() waits; `file` is a socket to the one who gives the turns.
void take_turns(int file);

/// Before every pass over all benchmarks: asks for a turn, which ends with the next call, and waits
/// for it. Returns at once without take_turns().
void await_turn();

}  // namespace bench
