// The commands as functions: arguments in, text on the streams of Output, exit code out (docs/interface.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/cli/output.h"

namespace lockstep {

// lockstep predict FILE ...
struct PredictArguments {
  CommonArguments common;
  std::vector<std::string> files;
  std::string trace_file;  // --trace: empty = none
  std::string spans_file;  // --spans: empty = none
  bool estimate = false;
  bool reference = false;  // collectives message by message
};
int run_predict(const PredictArguments& arguments, Output& output);

// lockstep sweep FILE; common.output_file names the folder that keeps the points
struct SweepArguments {
  CommonArguments common;
  std::string file;  // empty: only what the folder keeps is written
  bool estimate = false;
  int workers = 0;  // 0: one for each core
};
int run_sweep(const SweepArguments& arguments, Output& output);

// lockstep list models|topologies|fabrics|gpus|scenarios
struct ListArguments {
  CommonArguments common;
  std::string kind;
};
int run_list(const ListArguments& arguments, Output& output);

// lockstep show scenario|model|topology|fabric|gpu NAME
struct ShowArguments {
  CommonArguments common;
  std::string kind;
  std::string name;
};
int run_show(const ShowArguments& arguments, Output& output);

// lockstep validate claims|DIR ...
struct ValidateArguments {
  CommonArguments common;
  std::vector<std::string> what;
  std::optional<double> fail_above;  // a fraction
};
int run_validate(const ValidateArguments& arguments, Output& output);

// lockstep explain FILE ...
struct ExplainArguments {
  CommonArguments common;
  std::vector<std::string> files;
  bool estimate = false;
};
int run_explain(const ExplainArguments& arguments, Output& output);

// lockstep solve FILE --for KEY --given [KEY=VALUE:]GOAL=VALUE ...
struct SolveArguments {
  CommonArguments common;
  std::string file, key;
  std::vector<std::string> givens;  // of several: does one value explain them all
  bool estimate = false;
};
int run_solve(const SolveArguments& arguments, Output& output);

// lockstep compare A B ...
struct CompareArguments {
  CommonArguments common;
  std::vector<std::string> files;
  std::optional<double> fail_above;  // a fraction
  bool force = false;                // compares implementations of different families too
};
int run_compare(const CompareArguments& arguments, Output& output);

// lockstep completions bash|zsh|fish
struct CompletionsArguments {
  CommonArguments common;
  std::string shell;
};
int run_completions(const CompletionsArguments& arguments, Output& output);

// lockstep measure FILE
struct MeasureArguments {
  CommonArguments common;
  std::string file;
  std::string backend;                       // gloo, nccl; empty: by the scenario's devices
  bool here = false;                         // on this machine's cores, whatever the scenario's machine is
  bool dry_run = false;                      // say what would run, and run nothing
  bool paced = false;                        // computing waits for its modelled time
  double dilate = 1;                         // paced: so many times as long
  bool profile = false;                      // a pass with a profiler
  std::string trace_file;                    // its Chrome traces; names them, and asks for the pass
  std::string bench;                         // collectives, ops, copies: in place of training
  std::string min_bytes, max_bytes, budget;  // of a bench; empty: its default, as 0 and -1 below
  int step_factor = 0, iterations = 0, warm_up = -1;
  std::string rendezvous;               // HOST:PORT of node 0, where every host starts one of these
  std::optional<int> nodes, node_rank;  // with it: how many hosts, and which this is
};
int run_measure(const MeasureArguments& arguments, Output& output);

// A command that a later version brings: says so. Exit code 1.
int refuse_later(const std::string& command, Form form, Output& output);

}  // namespace lockstep
