// How a rank sorts what its libraries throw. Texts: Gloo and the store of LibTorch 2.11, as they were seen.
#include "hwrunner/rank/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Failure, of_a_peer_is_told_from_one_of_its_own) {
  EXPECT_EQ(sorted_failure("[../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:3").kind,
            "network");
  EXPECT_EQ(sorted_failure("[pair.cc:538] Read error [127.0.0.1]:3: Connection reset by peer").kind, "network");
  EXPECT_EQ(sorted_failure("Application timeout caused pair closure").kind, "timeout");
  EXPECT_EQ(sorted_failure("Timed out waiting 5000ms for recv operation to complete").kind, "timeout");
  EXPECT_EQ(sorted_failure("CUDA out of memory. Tried to allocate 2 GiB").kind, "out_of_memory");
  EXPECT_EQ(sorted_failure("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes").kind,
            "out_of_memory");
  EXPECT_EQ(sorted_failure("mat1 and mat2 shapes cannot be multiplied").kind, "exception");
}

TEST(Failure, of_a_peer_names_the_ranks_that_are_missing) {
  EXPECT_THAT(sorted_failure("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 3000 ms").ranks,
              ElementsAre(1, 3));
  EXPECT_THAT(sorted_failure("wait timeout after 5000ms, keys: /0/2").ranks, ElementsAre(2));
  EXPECT_THAT(sorted_failure("Timed out after 6 seconds waiting for clients. 2/3 clients joined.").ranks, IsEmpty());
}

TEST(Failure, is_shown_without_the_backtrace) {
  EXPECT_EQ(sorted_failure("shapes differ\nException raised from f at x.cpp:1\nframe #0").message, "shapes differ");
}

}  // namespace
}  // namespace lockstep
