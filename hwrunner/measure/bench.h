// `lockstep measure --bench`: one kind of work over sizes, by the ranks that training would have. From the scenario:
// the machine, the numbers of ranks, threads, backend, gloo.threads, precision and optimizer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/record.h"
#include "hwrunner/measure/measure.h"

namespace lockstep {

// A point of all ranks together.
struct BenchRow {
  int ranks = 1;
  BenchRecord point;     // time_s: the mean over ranks (as nccl-tests' default), wrong: their sum
  double slowest_s = 0;  // the mean of the slowest rank
  double algbw = 0;      // bytes / time_s, in bytes/s
  double busbw = 0;      // collectives
};

struct BenchResult {
  BenchPlan plan;
  Backend backend = Backend::Gloo;
  std::string scenario_yaml;
  std::map<std::string, std::string> machine, software;
  std::vector<BenchRow> rows;          // in the order in which they were measured
  std::vector<std::string> notes;      // sentences; also why a number of ranks did not run
  std::optional<std::string> partial;  // why some of what was asked for is missing
  bool interrupted = false;
};

// What the rate of a collective is multiplied by so that it can be held against that of a link, whatever the number of
// ranks: 2 (n-1) / n of an all-reduce, 1 of broadcast and reduce. From doc/PERFORMANCE.md of nccl-tests: each of n
// ranks sends and receives S (n-1)/n bytes twice in an all-reduce; in the other two S bytes leave or enter the root.
double bus_factor(const std::string& collective, int ranks);

// The records of one launch; points that only some ranks reached are left out.
std::vector<BenchRow> bench_rows(const std::vector<RankLog>& ranks, BenchKind kind);

// Collectives: one launch for each of the scenario's `gpus` above 1 that this machine holds; the others: one rank.
BenchResult bench(const Inputs& inputs, const MeasureRequest& request, BenchPlan plan);

// The table of nccl-tests for each collective, number of ranks and in flight: what reads its output reads this. Ops and
// copies have tables of their own.
std::string bench_to_text(const BenchResult& result);
std::string bench_to_json(const BenchResult& result, bool one_line = false);  // `lockstep-bench`, format_version 1
std::string bench_to_csv(const BenchResult& result);

}  // namespace lockstep
