// Forked workers: all pieces come back once, and a death costs one piece.
#include "simulator/sweep/workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <string>

namespace lockstep {
namespace {

std::map<std::size_t, WorkDone> work_off(Workers& workers, std::size_t pieces) {
  std::map<std::size_t, WorkDone> all;
  std::size_t next = 0;
  while (next < pieces || workers.busy()) {
    while (next < pieces && workers.idle()) EXPECT_TRUE(workers.give(next++));
    for (WorkDone& one : workers.wait(1000)) {
      const std::size_t piece = one.piece;
      EXPECT_TRUE(all.emplace(piece, std::move(one)).second) << piece << " came twice";
    }
  }
  return all;
}

TEST(Workers, hand_back_every_piece_once) {
  // Longer than a socket's buffer, so that a text arrives in parts.
  Workers workers(3, [](std::size_t piece) { return std::string(piece * 100'000, 'x') + std::to_string(piece); });
  const auto all = work_off(workers, 20);
  ASSERT_EQ(all.size(), 20u);
  for (const auto& [piece, done] : all) {
    EXPECT_FALSE(done.died.has_value());
    EXPECT_EQ(done.text.size(), piece * 100'000 + std::to_string(piece).size());
  }
}

TEST(Workers, that_die_cost_their_piece_only) {
  Workers workers(2, [](std::size_t piece) {
    if (piece % 5 == 3) raise(SIGKILL);
    if (piece == 6) _exit(7);
    return std::to_string(piece);
  });
  const auto all = work_off(workers, 12);
  ASSERT_EQ(all.size(), 12u);
  for (const auto& [piece, done] : all) EXPECT_EQ(done.died.has_value(), piece % 5 == 3 || piece == 6) << piece;
  EXPECT_EQ(*all.at(3).died, "its process died: Killed");
  EXPECT_EQ(*all.at(6).died, "its process ended with status 7");
}

TEST(Workers, that_still_work_are_ended_with_the_object) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Workers workers(2, [](std::size_t) {
      pause();
      return std::string();
    });
    EXPECT_TRUE(workers.give(0));
    EXPECT_TRUE(workers.give(1));
    EXPECT_TRUE(workers.wait(20).empty());
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // nobody holds the other end any more
  close(ends[0]);
}

}  // namespace
}  // namespace lockstep
