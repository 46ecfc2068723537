#include "simulator/sweep/sweep.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>

#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/interrupt.h"
#include "simulator/cli/sweep_text.h"
#include "simulator/result/csv.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

volatile std::sig_atomic_t stopped_by = 0;  // the signal, or 0

extern "C" void note_signal(int signal) {
  stopped_by = signal;
}

// While it lives, Ctrl-C and SIGTERM are noted instead of ending the program.
class SignalsNoted {
 public:
  SignalsNoted() {
    stopped_by = 0;
    struct sigaction action = {};
    action.sa_handler = note_signal;  // without SA_RESTART: waiting ends
    ::sigaction(SIGINT, &action, &old_interrupt_);
    ::sigaction(SIGTERM, &action, &old_terminate_);
  }
  ~SignalsNoted() {
    ::sigaction(SIGINT, &old_interrupt_, nullptr);
    ::sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  struct sigaction old_interrupt_ = {}, old_terminate_ = {};
};

// Cores that this process may use.
int core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Keys with a column of their own in front.
std::vector<std::string> leading_keys(const std::vector<std::string>& swept) {
  std::vector<std::string> keys;
  for (const std::string& key : swept)
    if (key != "gpus" && key != "strategy") keys.push_back(key);
  return keys;
}

// What the table shows of a run; ranks, links and buckets of thousands of points would not stay small.
Run slim(Run run) {
  run.buckets.clear();
  run.ranks.clear();
  run.links.clear();
  run.samples.clear();
  run.notes.clear();
  return run;
}

// Writes points in the order given. CSV and JSON lines leave at once; the table and the document are written at the
// end.
class SweepWriter {
 public:
  SweepWriter(const SweepIdentity& sweep, std::string scenario_yaml, const SweepArguments& arguments, Output& output)
      : points_(sweep.points), form_(arguments.common.form), output_(output), keys_(leading_keys(sweep.keys)) {
    result_.scenario_yaml = std::move(scenario_yaml);
    if (form_ == Form::Csv) output_.out << csv_header(keys_);
  }

  tl::expected<void, Errors> write(const StoredPoint& point) {
    auto run = run_from_json(point.run);
    if (!run) return tl::unexpected(std::move(run.error()));
    ran_ += point.state == "run" ? 1 : 0;
    not_run_ += point.state == "not_run" ? 1 : 0;
    failed_ += point.state == "failed" ? 1 : 0;
    if (form_ == Form::Csv)
      output_.out << csv_line(*run, keys_);
    else if (form_ == Form::JsonLines)
      output_.out << R"({"type":"run",)" << point.run.substr(1) << '\n';
    else
      result_.runs.push_back(form_ == Form::Json ? *std::move(run) : slim(*std::move(run)));
    return flush();
  }

  // All points are written.
  tl::expected<void, Errors> finish() {
    clear_progress(output_);
    if (form_ == Form::Text) output_.out << harmless(sweep_table(result_.runs, keys_, output_), output_);
    if (form_ == Form::Json) output_.out << result_to_json(result_);
    if (form_ == Form::JsonLines)
      output_.out << fmt::format(R"({{"type":"summary","points":{},"run":{},"not_run":{},"failed":{}}})", points_, ran_,
                                 not_run_, failed_)
                  << '\n';
    return flush();
  }

  void report(std::size_t done) const {
    if (form_ == Form::JsonLines)
      output_.out << fmt::format(R"({{"type":"progress","done":{},"total":{},"text":"points"}})", done, points_)
                  << '\n';
  }
  int exit_code() const { return ran_ == 0 || failed_ > 0 ? kRunFailed : kGood; }

 private:
  tl::expected<void, Errors> flush() {
    output_.out << std::flush;
    if (output_.out.good()) return {};
    Error error;
    error.kind = ErrorKind::RunFailed;
    error.message = "the result cannot be written";
    return tl::make_unexpected(Errors{error});
  }

  std::size_t points_;
  Form form_;
  Output& output_;
  std::vector<std::string> keys_;
  std::size_t ran_ = 0, not_run_ = 0, failed_ = 0;
  Result result_;
};

SweepOptions options_for(const SweepArguments& arguments) {
  SweepOptions options;
  options.method = arguments.estimate ? Method::Estimate : Method::Simulate;
  options.workers = arguments.workers > 0 ? arguments.workers : core_count();
  options.stop = [] { return stopped_by != 0; };
  return options;
}

int say_stopped(const SweepArguments& arguments, std::size_t done, std::size_t total, Output& output) {
  clear_progress(output);
  if (arguments.common.form == Form::Json) report_errors({interrupted_error()}, Form::Json, output);
  const std::string& folder = arguments.common.output_file;
  if (folder.empty())
    output.err << fmt::format("lockstep: stopped after {} of {} points; with `-o DIR` they would have been kept\n",
                              done, total);
  else
    output.err << fmt::format(
        "lockstep: stopped; {} of {} points are kept in {}: the same command goes on from there\n", done, total,
        folder);
  return 128 + stopped_by;
}

int fill_and_write(const SweepArguments& arguments, const SweepAxes& axes, const SweepIdentity& identity,
                   SweepStore& store, Output& output) {
  const Form form = arguments.common.form;
  SweepWriter writer(identity, axes.yaml(), arguments, output);
  std::size_t next = 0;
  // In the order of the axes: each point as soon as it and all before it are stored.
  const auto write_stored = [&]() -> tl::expected<void, Errors> {
    for (; next < axes.combinations(); ++next) {
      if (axes.left_out(next)) continue;
      const auto point = store.get(next);
      if (!point) return {};
      if (auto written = writer.write(*point); !written) return written;
    }
    return {};
  };
  SweepOptions options = options_for(arguments);
  options.stored = [&]() -> tl::expected<void, Errors> {
    writer.report(store.size());
    return write_stored();
  };
  const std::size_t begun = store.size();
  const auto start = std::chrono::steady_clock::now();
  if (!arguments.common.quiet && form != Form::JsonLines)
    options.progress = [&, start](std::size_t done) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      show_progress(progress_bar(done, axes.points(), begun, elapsed.count()), output);
    };
  const auto filled = fill_sweep(axes, store, options);
  if (!filled) return report_errors(filled.error(), form, output);
  if (!*filled) return say_stopped(arguments, store.size(), axes.points(), output);
  auto written = write_stored();
  if (written) written = writer.finish();
  if (!written) return report_errors(written.error(), form, output);
  return writer.exit_code();
}

// `lockstep sweep -o DIR`: what the folder keeps, also while another process adds to it.
int write_kept(const SweepArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  const std::string& folder = arguments.common.output_file;
  const auto store = SweepStore::open_to_read(folder);
  if (!store) return report_errors(store.error(), form, output);
  const SweepIdentity identity = store->identity();
  SweepWriter writer(identity, identity.scenario, arguments, output);
  tl::expected<void, Errors> written;
  std::size_t count = 0;
  for (auto point = store->get_from(0); point && written; point = store->get_from(point->combination + 1)) {
    written = writer.write(*point);
    ++count;
  }
  if (written) written = writer.finish();
  if (!written) return report_errors(written.error(), form, output);
  if (count < identity.points && !arguments.common.quiet)
    output.err << fmt::format("lockstep: {} of {} points are kept in {}; `lockstep sweep FILE -o {}` goes on\n", count,
                              identity.points, folder, folder);
  return writer.exit_code();
}

// Without a scenario nothing can be changed or computed.
Errors wrong_without_file(const SweepArguments& arguments) {
  Error error;
  error.file = "command line";
  if (arguments.common.output_file.empty()) {
    error.kind = ErrorKind::Missing;
    error.message = "FILE is required";
    error.hint = "give a scenario, or `-o DIR` alone for what a folder keeps";
    return {error};
  }
  if (arguments.common.sets.empty() && !arguments.estimate && arguments.workers == 0) return {};
  error.kind = ErrorKind::Conflict;
  error.message =
      "without FILE only what the folder keeps is written: --set, --seed, --estimate and --workers need FILE";
  return {error};
}

}  // namespace

int run_sweep(const SweepArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (arguments.file.empty()) {
    const Errors wrong = wrong_without_file(arguments);
    return wrong.empty() ? write_kept(arguments, output) : report_errors(wrong, form, output);
  }
  const auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return report_errors(text.error(), form, output);
  const auto axes = read_sweep_axes(text->text, text->file, text->sets);
  if (!axes) return report_errors(axes.error(), form, output);
  const auto identity = sweep_identity(*axes, arguments.estimate ? Method::Estimate : Method::Simulate);
  if (!identity) return report_errors(identity.error(), form, output);
  const SignalsNoted signals;
  auto store = SweepStore::open(arguments.common.output_file, *identity);
  if (!store) return report_errors(store.error(), form, output);
  return fill_and_write(arguments, *axes, *identity, *store, output);
}

}  // namespace lockstep
