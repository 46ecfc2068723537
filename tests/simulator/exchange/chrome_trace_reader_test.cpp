#include "simulator/exchange/chrome_trace_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "simulator/result/chrome_trace.h"
#include "tests/simulator/result/sample_run.h"

namespace lockstep {
namespace {

std::string data(const std::string& name) {
  return std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/traces/" + name;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class TraceReader : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string written(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_);
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string compressed(const std::string& name, const std::string& text) {
    const std::string path = written(name, "");
    gzFile file = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    gzclose(file);
    return path;
  }

 private:
  const std::string folder_ = ::testing::TempDir() + "lockstep-traces-" + std::to_string(::getpid());
};

TraceFile must_read(const std::string& path) {
  auto read = read_chrome_trace(path);
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error().front()));
  return read ? *std::move(read) : TraceFile{};
}

double busy(const TracedRank& rank, Lane lane, Cause cause) {
  double sum = 0;
  for (const Span& span : rank.spans)
    if (span.lane == lane && span.cause == cause) sum += span.end_s - span.start_s;
  return sum;
}

int count(const TracedRank& rank, Lane lane) {
  return static_cast<int>(
      std::count_if(rank.spans.begin(), rank.spans.end(), [&](const Span& s) { return s.lane == lane; }));
}

// --- what lockstep predict writes ---

TEST_F(TraceReader, gives_back_the_spans_that_were_written) {
  const lockstep::Run run = testing::full_run();
  const TraceFile file = must_read(written("p.json", chrome_trace({&run}, testing::full_result())));
  EXPECT_TRUE(file.predicted);
  EXPECT_FALSE(file.cut);
  ASSERT_EQ(file.ranks.size(), 1U);
  const TracedRank& rank = file.ranks.front();
  ASSERT_EQ(rank.steps.size(), 1U);
  const double zero = rank.steps.front().start_s;
  EXPECT_NEAR(rank.steps.front().end_s - zero, run.step_time_s, 1e-9);
  ASSERT_EQ(rank.spans.size(), run.timeline.size());
  std::vector<Span> wanted = run.timeline;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Span& a, const Span& b) {
    return std::pair(a.start_s, a.lane) < std::pair(b.start_s, b.lane);
  });
  std::vector<Span> found = rank.spans;
  std::stable_sort(found.begin(), found.end(), [](const Span& a, const Span& b) {
    return std::pair(a.start_s, a.lane) < std::pair(b.start_s, b.lane);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].name, wanted[i].name);
    EXPECT_EQ(found[i].lane, wanted[i].lane) << wanted[i].name;
    EXPECT_EQ(found[i].cause, wanted[i].cause) << wanted[i].name;
    EXPECT_NEAR(found[i].start_s - zero, wanted[i].start_s, 1.1e-9) << wanted[i].name;
    EXPECT_NEAR(found[i].end_s - zero, wanted[i].end_s, 1.1e-9) << wanted[i].name;
    if (wanted[i].lane != Lane::Cpu) {
      EXPECT_EQ(found[i].bytes, wanted[i].bytes) << wanted[i].name;
    }
  }
}

TEST_F(TraceReader, keeps_several_runs_apart) {
  const lockstep::Run run = testing::full_run();
  const TraceFile file = must_read(written("two.json", chrome_trace({&run, &run}, testing::full_result())));
  ASSERT_EQ(file.ranks.size(), 2U);
  EXPECT_EQ(file.ranks[0].spans.size(), file.ranks[1].spans.size());
  EXPECT_NE(file.ranks[0].process.find("GPU"), std::string::npos);
}

// --- what PyTorch's profiler writes ---

TEST_F(TraceReader, sorts_kernels_collectives_and_copies_into_lanes) {
  const TraceFile file = must_read(data("ddp-two-gpus-rank1.json"));
  EXPECT_EQ(file.rank, 1);
  EXPECT_EQ(file.world_size, 2);
  EXPECT_EQ(file.backend, "nccl");
  ASSERT_EQ(file.ranks.size(), 1U);
  const TracedRank& rank = file.ranks.front();
  EXPECT_EQ(rank.device, 1);
  EXPECT_EQ(count(rank, Lane::Compute), 3 * 4);
  EXPECT_EQ(count(rank, Lane::Communication), 3 * 2);
  EXPECT_EQ(count(rank, Lane::Copy), 3);
  // Outermost ops, and the launch that stands in none.
  EXPECT_EQ(count(rank, Lane::Cpu), 3 * (6 + 1));
}

TEST_F(TraceReader, gives_kernels_the_pass_of_the_op_that_launched_them) {
  const TracedRank rank = must_read(data("ddp-two-gpus-rank0.json")).ranks.at(0);
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::Forward), 3 * 140e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::Backward), 3 * 200e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::Optimizer), 3 * 30e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Copy, Cause::CopyToDevice), 3 * 50e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Communication, Cause::ExposedCommunication), 3 * 340e-6, 1e-9);
}

TEST_F(TraceReader, knows_the_bytes_of_collectives_and_shortens_the_names_of_templates) {
  const TracedRank rank = must_read(data("ddp-two-gpus-rank0.json")).ranks.at(0);
  std::vector<std::int64_t> bytes;
  for (const Span& span : rank.spans) {
    if (span.lane == Lane::Communication) bytes.push_back(span.bytes);
    EXPECT_LE(span.name.size(), 160U);
  }
  ASSERT_EQ(bytes.size(), 6U);
  EXPECT_EQ(bytes[0], 4'000'000);  // fp32
  EXPECT_EQ(bytes[1], 1'000);      // bf16
  EXPECT_TRUE(std::any_of(rank.spans.begin(), rank.spans.end(),
                          [](const Span& s) { return s.name == "at::native::vectorized_elementwise_kernel"; }));
}

TEST_F(TraceReader, finds_the_steps_on_the_gpu_and_on_its_host) {
  const TracedRank rank = must_read(data("ddp-two-gpus-rank0.json")).ranks.at(0);
  ASSERT_EQ(rank.steps.size(), 3U);
  EXPECT_EQ(rank.steps[1].number, 8);
  EXPECT_NEAR(rank.steps[1].host_start_s, 2e-3, 1e-9);
  EXPECT_NEAR(rank.steps[1].start_s, 2.1e-3, 1e-9);
  EXPECT_NEAR(rank.steps[1].end_s, 3.1e-3, 1e-9);  // the later of its two streams
}

TEST_F(TraceReader, takes_the_ops_of_a_cpu_as_computing_where_there_is_no_gpu) {
  const TraceFile file = must_read(data("gloo-ddp-2.json"));
  EXPECT_FALSE(file.rank);
  const TracedRank& rank = file.ranks.at(0);
  EXPECT_EQ(rank.device, -1);
  EXPECT_EQ(count(rank, Lane::Cpu), 0);
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::Forward), 3 * 360e-6, 1e-9);  // without annotations as forward
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::Backward), 3 * 400e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Compute, Cause::BucketCopies), 3 * 20e-6, 1e-9);
  EXPECT_NEAR(busy(rank, Lane::Communication, Cause::ExposedCommunication), 3 * 200e-6, 1e-9);
}

TEST_F(TraceReader, reads_a_bare_list_with_the_categories_of_old_releases) {
  const TraceFile file = must_read(data("old-names-in-a-list.json"));
  ASSERT_EQ(file.ranks.size(), 1U);
  EXPECT_EQ(count(file.ranks[0], Lane::Compute), 2);
  EXPECT_NEAR(busy(file.ranks[0], Lane::Compute, Cause::Other), 60e-6, 1e-12);  // nobody says what it is for
  EXPECT_EQ(file.ranks[0].steps.size(), 0U);
}

TEST_F(TraceReader, takes_the_rank_from_the_name_where_the_trace_has_none) {
  const std::string text = text_of(data("old-names-in-a-list.json"));
  EXPECT_EQ(must_read(written("trace_Rank-12.json", text)).rank, 12);
  EXPECT_FALSE(must_read(written("frank.json", text)).rank);
}

// --- compressed, large, stopped ---

TEST_F(TraceReader, reads_compressed_files_the_same) {
  const std::string text = text_of(data("ddp-two-gpus-rank0.json"));
  const TraceFile plain = must_read(data("ddp-two-gpus-rank0.json"));
  const TraceFile packed = must_read(compressed("a.json.gz", text));
  EXPECT_EQ(packed.events, plain.events);
  EXPECT_EQ(packed.ranks.at(0).spans.size(), plain.ranks.at(0).spans.size());
}

std::string many_kernels(int count) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < count; ++i)
    text += (i > 0 ? "," : "") + std::string(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)") +
            std::to_string(10 * i) + R"(,"dur":5})";
  return text + "]}";
}

TEST_F(TraceReader, tells_how_far_it_is_and_stops_when_asked) {
  const std::string path = written("many.json", many_kernels(20'000));
  double last = 0;
  int calls = 0;
  ASSERT_TRUE(read_chrome_trace(path, [&](double share) {
    EXPECT_GE(share, last);
    last = share;
    ++calls;
    return true;
  }));
  EXPECT_GT(calls, 5);
  EXPECT_GT(last, 0.8);
  const auto stopped = read_chrome_trace(path, [](double) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().front().kind, ErrorKind::RunFailed);
}

// --- broken ---

TEST_F(TraceReader, keeps_what_a_cut_file_holds_and_says_where_it_ends) {
  const std::string text = text_of(data("ddp-two-gpus-rank0.json"));
  const TraceFile whole = must_read(data("ddp-two-gpus-rank0.json"));
  const TraceFile half = must_read(written("half.json", text.substr(0, text.size() / 2)));
  ASSERT_TRUE(half.cut);
  EXPECT_NE(half.cut->find("breaks off in line "), std::string::npos) << *half.cut;
  EXPECT_NE(half.cut->find(std::to_string(half.events) + " events were read"), std::string::npos) << *half.cut;
  EXPECT_GT(half.events, 10);
  EXPECT_LT(half.events, whole.events);
  EXPECT_FALSE(half.ranks.at(0).spans.empty());
}

TEST_F(TraceReader, keeps_what_a_cut_compressed_file_holds) {
  const std::string path = compressed("b.json.gz", many_kernels(50'000));
  const std::string bytes = text_of(path);
  const TraceFile half = must_read(written("c.json.gz", bytes.substr(0, bytes.size() / 2)));
  ASSERT_TRUE(half.cut);
  EXPECT_GT(half.events, 1000);
  EXPECT_LT(half.events, 50'000);
}

TEST_F(TraceReader, survives_a_cut_at_every_place) {
  const std::string text = text_of(data("old-names-in-a-list.json"));
  const std::string path = written("cut.json", "");
  for (std::size_t length = 0; length < text.size(); length += 5) {
    written("cut.json", text.substr(0, length));
    const auto read = read_chrome_trace(path);
    if (read) {
      EXPECT_TRUE(read->cut) << length;
    } else {
      EXPECT_FALSE(read.error().front().message.empty()) << length;
    }
  }
}

TEST_F(TraceReader, survives_damage_anywhere) {
  const std::string text = text_of(data("ddp-two-gpus-rank0.json"));
  std::mt19937 random(7);
  const std::string path = written("damaged.json", "");
  for (int i = 0; i < 300; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    written("damaged.json", damaged);
    const auto read = read_chrome_trace(path);
    if (!read) {
      EXPECT_FALSE(read.error().front().message.empty());
    }
  }
}

TEST_F(TraceReader, tells_what_else_a_file_is) {
  const auto error_of = [](const std::string& path) {
    const auto read = read_chrome_trace(path);
    EXPECT_FALSE(read);
    return read ? Error{} : read.error().front();
  };
  EXPECT_EQ(error_of(data("nowhere.json")).kind, ErrorKind::Io);
  EXPECT_EQ(error_of(written("text.json", "model: resnet50\n")).kind, ErrorKind::Syntax);
  EXPECT_EQ(error_of(written("text.json", "\n  {]")).line, 2);
  EXPECT_EQ(error_of(written("empty.json", "")).kind, ErrorKind::Syntax);
  EXPECT_NE(error_of(written("other.json", R"({"a": 1})")).message.find("no traceEvents"), std::string::npos);
  EXPECT_NE(error_of(written("none.json", R"({"traceEvents": []})")).message.find("0 events"), std::string::npos);
  EXPECT_NE(error_of(written("r.json", R"({"format": "lockstep-result"})")).message.find("result of lockstep"),
            std::string::npos);
}

TEST_F(TraceReader, is_not_fooled_by_odd_values) {
  const TraceFile file = must_read(written("odd.json", R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": 5, "pid": null, "tid": [1], "ts": "soon", "dur": 1},
    {"ph": "X", "cat": "kernel", "name": "far", "ts": 1e300, "dur": 1},
    {"ph": "X", "cat": "kernel", "name": "back", "pid": 0, "tid": 7, "ts": 5, "dur": -3},
    {"ph": "X", "cat": "kernel", "name": "ids", "pid": 0, "tid": 7, "ts": 6, "dur": 0,
     "args": {"correlation": 1e300, "bytes": -1e300}},
    {"ph": "X", "cat": 7, "name": "k"}, 17, [1, {"ph": "X"}],
    {"ph": "X", "cat": "kernel", "name": "good", "pid": 0, "tid": 7, "ts": 10, "dur": 2, "args": {"stream": {"a": 1}}}
  ], "distributedInfo": {"rank": -1e30, "world_size": 1e30}})"));
  ASSERT_EQ(file.ranks.size(), 1U);
  ASSERT_EQ(file.ranks[0].spans.size(), 3U);
  EXPECT_EQ(file.ranks[0].spans[0].start_s, file.ranks[0].spans[0].end_s);
  EXPECT_EQ(file.ranks[0].spans[1].bytes, 0);
  EXPECT_EQ(file.ranks[0].spans[2].name, "good");
  EXPECT_EQ(file.world_size, 0);
}

TEST_F(TraceReader, tells_a_trace_from_a_result_by_its_beginning) {
  EXPECT_TRUE(looks_like_trace(data("ddp-two-gpus-rank0.json")));
  EXPECT_TRUE(looks_like_trace(data("old-names-in-a-list.json")));
  EXPECT_TRUE(looks_like_trace(compressed("d.json.gz", many_kernels(10))));
  EXPECT_FALSE(looks_like_trace(written("r.json", R"({"format": "lockstep-result", "note": "traceEvents"})")));
  EXPECT_FALSE(looks_like_trace(data("nowhere.json")));
}

}  // namespace
}  // namespace lockstep
