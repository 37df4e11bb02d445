#include "roofline/base/at_once.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace roofline {
namespace {

std::vector<std::string> shell(const char* script) { return {"/bin/sh", "-c", script}; }

/// What each of the commands says, and the exit codes.
struct Heard {
  std::map<std::size_t, std::vector<std::string>> lines;
  std::vector<int> codes;
};
Heard heard(const std::vector<std::vector<std::string>>& commands) {
  Heard out;
  out.codes = run_at_once(
      commands, [&](std::size_t i, std::string_view line) { out.lines[i].emplace_back(line); });
  return out;
}

TEST(AtOnce, EveryLineComesWithWhoSaidIt) {
  const Heard out = heard({shell("echo a >&2; echo b >&2; echo nobody hears"),
                           shell("printf 'half ' >&2; sleep 0.05; printf 'line\\nrest' >&2")});
  EXPECT_EQ(out.lines.at(0), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(out.lines.at(1), (std::vector<std::string>{"half line", "rest"}));
}

TEST(AtOnce, CodesAreInTheOrderOfTheCommands) {
  EXPECT_EQ(heard({shell("sleep 0.1; exit 3"),
                   shell("exit 0"),
                   shell("kill -9 $$"),
                   {"/nonexistent/program"}})
                .codes,
            (std::vector<int>{3, 0, 128 + SIGKILL, 127}));
}

TEST(AtOnce, TheyWorkAtTheSameTime) {
  // Each waits for the other's word: one after the other they would wait for ever.
  const std::string folder = testing::TempDir() + "at_once." + std::to_string(::getpid());
  const std::string meet = "touch " + folder + ".$0; until [ -e " + folder + ".a ] && [ -e " +
                           folder + ".b ]; do sleep 0.01; done";
  EXPECT_EQ(heard({{"/bin/sh", "-c", meet, "a"}, {"/bin/sh", "-c", meet, "b"}}).codes,
            (std::vector<int>{0, 0}));
  for (const char* name : {".a", ".b"}) ::unlink((folder + name).c_str());
}

TEST(AtOnce, AnInterruptEndsAllInTheirOwnTime) {
  const char* polite =
      "trap 'echo done >&2; exit 5' TERM; echo ready >&2; while :; do sleep 0.01; done";
  std::map<std::size_t, std::vector<std::string>> lines;
  std::size_t ready = 0;
  const auto codes =
      run_at_once({shell(polite), shell(polite)}, [&](std::size_t i, std::string_view line) {
        lines[i].emplace_back(line);
        if (line == "ready" && ++ready == 2) ::kill(::getpid(), SIGINT);
      });
  EXPECT_EQ(codes, (std::vector<int>{5, 5}));
  EXPECT_EQ(lines.at(0), (std::vector<std::string>{"ready", "done"}));
  EXPECT_EQ(lines.at(1), (std::vector<std::string>{"ready", "done"}));
}

TEST(AtOnce, ASecondInterruptDoesNotWaitForThem) {
  const char* stubborn = "trap 'echo no >&2' TERM; echo ready >&2; while :; do sleep 0.01; done";
  const auto codes = run_at_once({shell(stubborn)}, [&](std::size_t, std::string_view line) {
    if (line == "no") ::usleep(1'100'000);
    ::kill(::getpid(), SIGINT);  // once it is ready, and once it has refused
  });
  EXPECT_EQ(codes, std::vector<int>{128 + SIGKILL});
}

}  // namespace
}  // namespace roofline
