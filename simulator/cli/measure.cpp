#include "hwrunner/measure/measure.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ostream>

#include "hwrunner/launch/environment.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/measure_bench.h"
#include "simulator/cli/measure_text.h"
#include "simulator/result/csv.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;
extern "C" void ask_to_stop(int) {
  asked_to_stop = 1;
}

// While it lives, Ctrl-C and the end of a batch job's time stop the ranks and keep what is measured.
class StopOnSignals {
 public:
  StopOnSignals() {
    asked_to_stop = 0;
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~StopOnSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_{};
};

Error on_command_line(ErrorKind kind, std::string key, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = std::move(key);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

// What is to be measured, and with what.
struct Job {
  Inputs inputs;
  MeasureRequest request;
};

// Started by torchrun, mpirun or srun as one of several: each of them would start all ranks.
std::optional<Error> under_a_launcher() {
  const auto place = place_from_environment(environment_of_process());
  if (!place) return place.error().front();
  if (!*place || (*place)->world_size == 1) return std::nullopt;
  return on_command_line(ErrorKind::NotSupported, "",
                         fmt::format("{} started this as rank {} of {}: `lockstep measure` starts its ranks itself",
                                     (*place)->launcher, (*place)->rank, (*place)->world_size),
                         "start it once, without a launcher");
}

// Ranks of a paced run wait for each other for real: an expected wait on top would be a second one.
void real_waits(ScenarioText& text, MeasureRequest& request) {
  const auto read = read_scenario_with_origins(text.text, text.file, text.sets);
  if (!read || read->scenario.noise.jitter || read->scenario.noise.none) return;
  text.sets.emplace_back("noise=none");
  request.notes.emplace_back("noise is none: ranks wait for each other for real, nothing is added for it");
}

tl::expected<void, Errors> load(const MeasureArguments& arguments, Output& output, Job& job) {
  auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return tl::unexpected(std::move(text.error()));
  job.request.machine = this_machine();
  job.request.nodes_here = std::getenv("LOCKSTEP_NODES_HERE") != nullptr;
  if (arguments.paced) real_waits(*text, job.request);
  if (arguments.here) {
    auto here = resolve_here(*text, job.request.machine);
    if (!here) return tl::unexpected(std::move(here.error()));
    text = std::move(here->text);
    job.request.held_back = std::move(here->held_back);
    job.request.notes = std::move(here->notes);
  }
  auto inputs = arguments.paced ? load_inputs(*text) : load_inputs(*text, Accept::Measured);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  job.inputs = *std::move(inputs);
  return {};
}

std::optional<Error> wrong_together(const MeasureArguments& arguments) {
  const auto no = [](const char* option, const char* why, const char* hint) {
    return on_command_line(ErrorKind::Conflict, option, why, hint);
  };
  if (!arguments.paced) return std::nullopt;
  if (!arguments.bench.empty()) return no("--bench", "a bench computes for real", "leave --bench or --paced out");
  if (arguments.here) return no("--here", "a paced run has the scenario's machine", "leave --here or --paced out");
  if (arguments.backend == "nccl") return no("--backend", "a paced run needs no GPU and has none", "--backend gloo");
  return std::nullopt;
}

tl::expected<void, Errors> choose_runner(const MeasureArguments& arguments, Job& job) {
  if (arguments.paced) {
    job.request.backend = Backend::Gloo;
    job.request.dilate = arguments.dilate;
    auto probe = probe_runner(job.request.backend);
    if (!probe) return tl::unexpected(std::move(probe.error()));
    job.request.runner = *std::move(probe);
    return {};
  }
  const bool on_cores = job.inputs.topology.node.gpu.vendor == "cpu";
  const bool nccl = arguments.backend.empty() ? !on_cores : arguments.backend == "nccl";
  job.request.backend = nccl ? Backend::Nccl : Backend::Gloo;
  if (nccl && on_cores)
    return tl::unexpected(
        Errors{on_command_line(ErrorKind::Conflict, "--backend", "NCCL needs GPUs, and these are CPU cores",
                               arguments.here ? "leave --here out, or --backend gloo" : "--backend gloo")});
  if (auto wrong = not_this_machine(job.inputs, job.request.machine, nullptr)) return tl::unexpected(Errors{*wrong});
  const bool python = job.inputs.scenario().front_end == FrontEnd::Python && arguments.bench.empty();
  auto probe = python ? probe_python_runner(job.request.backend) : probe_runner(job.request.backend);
  if (!probe) return tl::unexpected(std::move(probe.error()));
  job.request.runner = *std::move(probe);
  if (on_cores) return {};
  if (auto wrong = not_this_machine(job.inputs, job.request.machine, &job.request.runner))
    return tl::unexpected(Errors{*wrong});
  return {};
}

std::string step_line(const StepEvent& event) {
  return fmt::format(
      R"({{"type":"step","strategy":"{}","gpus":{},"repeat":{},"step":{},"warm_up":{},"step_time_s":{}}})",
      name_of(event.strategy), event.gpus, event.repeat, event.step, event.warm_up, event.step_time_s);
}

void report_to(const MeasureArguments& arguments, Output& output, MeasureRequest& request) {
  if (arguments.common.form == Form::JsonLines && arguments.common.output_file.empty()) {
    request.progress = [&output](int done, int total, const std::string& text) {
      output.out << fmt::format(R"({{"type":"progress","done":{},"total":{},"text":"{}"}})", done, total, text) << '\n'
                 << std::flush;
    };
    request.each_step = [&output](const StepEvent& event) { output.out << step_line(event) << '\n' << std::flush; };
    request.each_run = [&output](const Run& run) {
      output.out << R"({"type":"run",)" << run_to_json(run).substr(1) << '\n' << std::flush;
    };
  } else if (!arguments.common.quiet) {
    request.progress = [&output](int done, int total, const std::string& text) {
      show_progress(fmt::format("{}/{} {}", done, total, text), output);
    };
  }
}

std::string in_form(const MeasureArguments& arguments, const Result& result, const Inputs& inputs,
                    const Output& output) {
  switch (arguments.common.form) {
    case Form::Json:
      return result_to_json(result);
    case Form::Csv:
      return result_to_csv(result);
    case Form::JsonLines:
      return R"({"type":"result",)" + result_to_json(result, JsonLayout::OneLine).substr(1);
    case Form::Text:
      break;
  }
  return measurement_text(result, inputs, output, arguments.common.quiet);
}

bool nothing_measured(const Result& result) {
  for (const Run& run : result.runs)
    if (!run.not_run) return false;
  return true;
}

}  // namespace

int run_measure(const MeasureArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (auto wrong = under_a_launcher()) return report_errors({*wrong}, form, output);
  if (auto wrong = wrong_together(arguments)) return report_errors({*wrong}, form, output);
  Job job;
  if (auto done = load(arguments, output, job); !done) return report_errors(done.error(), form, output);
  if (auto done = choose_runner(arguments, job); !done) return report_errors(done.error(), form, output);
  report_to(arguments, output, job.request);
  job.request.stop = &asked_to_stop;
  const StopOnSignals signals;
  if (!arguments.bench.empty()) return run_bench(arguments, job.inputs, job.request, output);
  const Measurement measurement = measure(job.inputs, job.request);
  clear_progress(output);
  const Result& result = measurement.result;
  if (!write_result(in_form(arguments, result, job.inputs, output), arguments.common, output)) return kRunFailed;
  if (result.partial && (form != Form::Text || !arguments.common.output_file.empty()))
    output.err << "lockstep: partial result: " << *result.partial << '\n';
  if (measurement.interrupted) return kInterrupted;
  return result.partial || nothing_measured(result) ? kRunFailed : kGood;
}

}  // namespace lockstep
