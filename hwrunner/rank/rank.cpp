#include "hwrunner/rank/rank.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <ctime>
#include <exception>
#include <new>

#include "hwrunner/launch/pinning.h"
#include "simulator/base/document.h"

namespace lockstep {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Words {
  std::string plan;
  int records = -1;
};

Words words_of(const std::vector<std::string>& words) {
  Words result;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--plan") result.plan = words[i + 1];
    if (words[i] == "--records") {
      const std::string& text = words[i + 1];
      std::from_chars(text.data(), text.data() + text.size(), result.records);
    }
  }
  return result;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

class RankLife {
 public:
  RankLife(RunPlan plan, RankPlace place, RecordWriter& writer)
      : plan_(std::move(plan)), place_(std::move(place)), writer_(writer) {}

  void run(const MakeRankTrainer& make) {
    trainer_ = make(plan_, place_);
    hello();
    trainer_->build();
    tell(JoiningRecord{});
    trainer_->join();
    tell(ReadyRecord{});
    trainer_->barrier();
    tell(StartRecord{rank_clock_s()});
    plan_.benches() ? bench() : train();
    tell(FactsRecord{trainer_->peak_memory_bytes(), trainer_->logging()});
    tell(DoneRecord{});
  }

 private:
  void bench() const {
    while (const auto point = trainer_->bench_point()) tell(*point);
  }

  void train() const {
    double cpu_s = process_cpu_s();
    for (int step = 0; step < plan_.all_steps(); ++step) {
      const TrainedStep done = trainer_->step();
      const double now_cpu_s = process_cpu_s();
      tell_step(step, done, now_cpu_s - cpu_s);
      cpu_s = now_cpu_s;
    }
  }

  // The launcher is gone, and so is the reason to go on.
  void tell(const Record& record) const {
    if (!writer_.write(record)) ::_exit(1);
  }

  void hello() const {
    HelloRecord record;
    record.protocol = kRunnerProtocol;
    record.pid = ::getpid();
    record.host = host_name();
    record.implementation = trainer_->implementation();
    record.software = trainer_->software();
    record.threads = plan_.threads_per_rank;
    record.cores = allowed_cores();
    record.network_interface = trainer_->network_interface();
    tell(record);
  }

  void tell_step(int step, const TrainedStep& done, double cpu_s) const {
    for (const TrainedStep::Bucket& one : done.buckets)
      tell(BucketRecord{step, one.index, one.bytes, one.ready_s, one.launch_s, one.end_s});
    tell(RankStepRecord{step, done.end_s, cpu_s, done.parts, done.idle_from_s, done.idle_to_s});
  }

  RunPlan plan_;
  RankPlace place_;
  RecordWriter& writer_;
  std::unique_ptr<RankTrainer> trainer_;
};

// Every exception becomes a record: none crosses run_rank.
template <class Work>
std::optional<ErrorRecord> failure_of(Work work) {
  try {
    work();
    return std::nullopt;
  } catch (const TrainerFailure& failure) {
    return ErrorRecord{failure.kind, failure.message, failure.ranks};
  } catch (const std::bad_alloc&) {
    return ErrorRecord{"out_of_memory", "out of memory", {}};
  } catch (const std::exception& failure) {
    return sorted_failure(failure.what());
  } catch (...) {
    return ErrorRecord{"exception", "an exception without a text", {}};
  }
}

ErrorRecord setup_failure(const Errors& errors) {
  return {"setup", to_text(errors.front()), {}};
}

std::optional<ErrorRecord> work(const Words& words, const Environment& environment, const MakeRankTrainer& make,
                                RecordWriter& writer) {
  const auto text = read_text_file(words.plan);
  if (!text) return setup_failure(text.error());
  auto plan = plan_from_json(*text);
  if (!plan) return setup_failure(plan.error());
  auto place = place_from_environment(environment);
  if (!place) return setup_failure(place.error());
  RankPlace alone;
  alone.launcher = "nobody else";
  RankPlace mine = place->value_or(alone);
  if (auto wrong = wrong_world_size(mine, plan->processes())) return setup_failure({*wrong});
  return failure_of([&] { RankLife(*std::move(plan), std::move(mine), writer).run(make); });
}

bool contains(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (text.find(part) != std::string::npos) return true;
  return false;
}

// "Ranks 1, 3 failed to pass monitoredBarrier", "keys: /0/1": what Gloo and the store name.
std::vector<int> missing_ranks(const std::string& text) {
  std::vector<int> ranks;
  const auto numbers_from = [&](std::size_t at) {
    const char* const end = text.data() + text.size();
    for (const char* c = text.data() + at; c < end;) {
      int rank = 0;
      const auto [after, code] = std::from_chars(c, end, rank);
      if (code != std::errc{}) break;
      ranks.push_back(rank);
      for (c = after; c < end && (*c == ',' || *c == ' '); ++c) {
      }
    }
  };
  if (const std::size_t barrier = text.find("failed to pass monitoredBarrier"); barrier != std::string::npos) {
    const std::size_t word = text.rfind("Rank", barrier);
    if (word != std::string::npos) numbers_from(text.find_first_of("0123456789", word));
  } else if (const std::size_t keys = text.find("keys: /"); keys != std::string::npos) {
    const std::size_t end = text.find_first_of(" \n.]", keys + 6);
    numbers_from(text.rfind('/', end == std::string::npos ? text.size() : end) + 1);
  }
  return ranks;
}

}  // namespace

double rank_clock_s() {
  return seconds_of(CLOCK_MONOTONIC);
}

double process_cpu_s() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

ErrorRecord sorted_failure(const std::string& what) {
  ErrorRecord record;
  record.message = what.substr(0, what.find("\nException raised"));
  record.message.erase(std::min(record.message.find('\n'), record.message.size()));
  if (contains(what, {"out of memory", "can't allocate memory", "bad_alloc", "OutOfMemoryError"}))
    record.kind = "out_of_memory";
  else if (contains(what, {"Timed out", "timed out", "wait timeout", "timeout caused", "monitoredBarrier"}))
    record.kind = "timeout";
  else if (contains(what, {"Connection closed", "Connection reset", "Connection refused", "Broken pipe", "Read error",
                           "Write error", "remote process exited", "ncclRemoteError"}))
    record.kind = "network";
  else
    record.kind = "exception";
  if (record.kind == "timeout") record.ranks = missing_ranks(what);
  return record;
}

int run_rank(const std::vector<std::string>& words, const Environment& environment, const MakeRankTrainer& make) {
  std::signal(SIGPIPE, SIG_IGN);  // a launcher that is gone is seen by the failed write
  const Words given = words_of(words);
  RecordWriter writer(given.records);
  const auto error = work(given, environment, make, writer);
  if (error) writer.write(*error);
  return error ? 1 : 0;
}

}  // namespace lockstep
