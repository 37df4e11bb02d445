#include "bench/turns.hpp"

#include <unistd.h>

namespace bench {
namespace {

int g_file = -1;

}  // namespace

void take_turns(int file) { g_file = file; }

void await_turn() {
  if (g_file < 0) return;
  char word = 0;
  if (::write(g_file, &word, 1) != 1 || ::read(g_file, &word, 1) != 1) g_file = -1;
}

}  // namespace bench
