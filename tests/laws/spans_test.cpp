// Laws of the spans of every rank: all shipped scenarios predicted with timelines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "simulator/answers/predict.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kRounding = 1e-9;  // relative; spans are differences of dates

struct Timed {
  std::string file;
  std::vector<Run> runs;  // those with a timeline
};

std::string text_in(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

const std::vector<Timed>& shipped() {
  static const std::vector<Timed> all = [] {
    std::vector<Timed> made;
    std::vector<fs::path> files;
    for (const char* folder : {"scenarios", "scenarios/gallery"})
      for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / folder))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    PredictOptions options;
    options.timeline = true;
    options.levers = options.uncertainty = false;
    for (const fs::path& file : files) {
      const auto inputs = load_inputs({text_in(file), file.string(), {}});
      const auto result = inputs ? predict(*inputs, options) : tl::make_unexpected(inputs.error());
      if (!result) {
        ADD_FAILURE() << to_text(result.error().front());
        continue;
      }
      Timed one{file.stem().string(), {}};
      for (const lockstep::Run& run : result->runs)
        if (!run.timeline.empty()) one.runs.push_back(run);
      made.push_back(std::move(one));
    }
    return made;
  }();
  return all;
}

std::vector<RankTimeline> ranks_of(const lockstep::Run& run) {
  std::vector<RankTimeline> all = run.other_timelines;
  all.insert(all.begin(), {run.timeline_ranks, run.timeline});
  return all;
}

// Calls with every span of every rank of every run.
template <class Check>
void for_each_span(Check check) {
  int spans = 0;
  for (const Timed& timed : shipped())
    for (const lockstep::Run& run : timed.runs)
      for (const RankTimeline& rank : ranks_of(run))
        for (const Span& span : rank.spans) {
          SCOPED_TRACE(fmt::format("{} {}{} ranks {}: {} of {} from {} to {}", timed.file, name_of(run.strategy),
                                   run.gpus, rank.ranks, span.name, name_of(span.cause), span.start_s, span.end_s));
          check(run, rank, span);
          ++spans;
        }
  EXPECT_GT(spans, 1000);
}

// The fastest of the links that the run's transfers cross; 0: none.
double fastest_rate(const lockstep::Run& run) {
  double rate = 0;
  for (const LinkUse& link : run.links) rate = std::max(rate, link.peak_rate);
  return rate;
}

TEST(Spans, start_before_they_end) {
  for_each_span(
      [](const lockstep::Run&, const RankTimeline&, const Span& span) { EXPECT_LE(span.start_s, span.end_s); });
}

TEST(Spans, of_copies_are_copies_and_take_what_their_bytes_take_at_least) {
  for_each_span([](const lockstep::Run& run, const RankTimeline&, const Span& span) {
    if (span.lane != Lane::Copy) return;
    EXPECT_NE(span.cause, Cause::HostBound);
    EXPECT_NE(span.cause, Cause::WaitForPeers);
    EXPECT_GT(span.bytes, 0);
    const double seconds = span.end_s - span.start_s;
    EXPECT_GE(seconds, static_cast<double>(span.bytes) / fastest_rate(run) * (1 - kRounding));
    EXPECT_LE(seconds, run.step_time_s * (1 + kRounding));
  });
}

// A scatter, the batch on its way to GPU 0, an all-reduce: ranks that show the same transfer agree about it. What a
// rank copies for itself alone (DDP's batches) is another transfer on each; a collective's kernel begins with its rank.
TEST(Spans, of_one_transfer_are_the_same_on_every_rank) {
  int shared = 0;
  for (const Timed& timed : shipped())
    for (const lockstep::Run& run : timed.runs) {
      std::map<std::pair<std::string, int>, Span> first;
      for (const RankTimeline& rank : ranks_of(run)) {
        std::map<std::string, int> seen;  // so many of the name on this rank
        for (const Span& span : rank.spans) {
          const bool copy = span.lane == Lane::Copy;
          if (span.lane != Lane::Communication && !(copy && run.strategy == Strategy::Dp)) continue;
          if (span.name == "batch to GPU") continue;
          const auto [at, is_new] = first.try_emplace({span.name, seen[span.name]++}, span);
          if (is_new) continue;
          SCOPED_TRACE(
              fmt::format("{} {}{} ranks {}: {}", timed.file, name_of(run.strategy), run.gpus, rank.ranks, span.name));
          EXPECT_DOUBLE_EQ(span.end_s, at->second.end_s);
          if (copy) {
            EXPECT_DOUBLE_EQ(span.start_s, at->second.start_s);
          }
          ++shared;
        }
      }
    }
  EXPECT_GT(shared, 10);
}

// DataParallel's batch goes to GPU 0 first: no other GPU has that copy, and each has the pieces that come after.
TEST(Spans, show_the_copy_of_a_batch_with_the_rank_that_receives_it) {
  int found = 0;
  for (const Timed& timed : shipped())
    for (const lockstep::Run& run : timed.runs)
      for (const RankTimeline& rank : ranks_of(run))
        for (const Span& span : rank.spans) {
          if (span.lane != Lane::Copy || span.name != "batch to GPU 0") continue;
          EXPECT_EQ(rank.ranks, "0") << timed.file;
          EXPECT_GE(span.start_s, 0) << timed.file;
          ++found;
        }
  EXPECT_GT(found, 0);
}

// The one thread of DataParallel launches the same things for every rank at the same time.
TEST(Spans, of_the_one_thread_lie_at_the_same_time_for_every_rank) {
  int compared = 0;
  for (const Timed& timed : shipped())
    for (const lockstep::Run& run : timed.runs) {
      if (run.strategy != Strategy::Dp || run.gpus < 2) continue;
      std::vector<double> starts;
      for (const RankTimeline& rank : ranks_of(run))
        for (const Span& span : rank.spans)
          if (span.lane == Lane::Cpu && span.name == "batch to GPU 0") starts.push_back(span.start_s);
      for (const double start : starts) EXPECT_DOUBLE_EQ(start, starts.front()) << timed.file;
      compared += static_cast<int>(starts.size());
    }
  EXPECT_GT(compared, 1);
}

}  // namespace
}  // namespace lockstep::testing
