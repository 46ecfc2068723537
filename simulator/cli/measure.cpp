#include "hwrunner/measure/measure.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ostream>

#include "hwrunner/crew/crew.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/measure_bench.h"
#include "simulator/cli/measure_crew.h"
#include "simulator/cli/measure_plan.h"
#include "simulator/cli/measure_text.h"
#include "simulator/cli/result_form.h"
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

// Ranks of a paced run wait for each other for real: an expected wait on top would be a second one.
void real_waits(ScenarioText& text, MeasureRequest& request) {
  const auto read = read_scenario_with_origins(text.text, text.file, text.sets);
  if (!read || read->scenario.noise.jitter || read->scenario.noise.none) return;
  text.sets.emplace_back("noise=none");
  request.notes.emplace_back("noise is none: ranks wait for each other for real, nothing is added for it");
}

// What is asked for, before it is brought to a machine.
Expected<ScenarioText> read(const MeasureArguments& arguments, Output& output, MeasureRequest& request) {
  auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (text && arguments.paced) real_waits(*text, request);
  return text;
}

Expected<Inputs> inputs_of(const MeasureArguments& arguments, const ScenarioText& text) {
  return arguments.paced ? load_inputs(text) : load_inputs(text, Accept::Measured);
}

tl::expected<void, Errors> load(const MeasureArguments& arguments, ScenarioText text, const Crew* crew, Job& job) {
  job.request.machine = this_machine();
  if (crew != nullptr) join_world(crew->world(), job.request);
  job.request.nodes_here = std::getenv("LOCKSTEP_NODES_HERE") != nullptr;
  if (arguments.here) {
    if (crew != nullptr && crew->world().hosts.size() > 1)
      return tl::unexpected(Errors{on_command_line(ErrorKind::Conflict, "--here", "the ranks are on several hosts",
                                                   "describe them in the scenario: topology.node, .gpus_per_node, "
                                                   ".fabric")});
    auto here = resolve_here(text, job.request.machine);
    if (!here) return tl::unexpected(std::move(here.error()));
    text = std::move(here->text);
    job.request.held_back = std::move(here->held_back);
    job.request.notes = std::move(here->notes);
  }
  auto inputs = inputs_of(arguments, text);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  job.inputs = *std::move(inputs);
  return {};
}

std::optional<Error> wrong_together(const MeasureArguments& arguments) {
  const auto no = [](const char* option, const char* why, const char* hint) {
    return on_command_line(ErrorKind::Conflict, option, why, hint);
  };
  const bool profile = arguments.profile || !arguments.trace_file.empty();
  if (arguments.dry_run && !arguments.bench.empty())
    return no("--dry-run", "a bench has no rows to tell of", "leave --bench or --dry-run out");
  if (profile && !arguments.bench.empty()) return no("--profile", "a bench has no steps", "leave --profile out");
  if (profile && arguments.paced) return no("--profile", "a paced run's ops wait", "leave --profile or --paced out");
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
    auto probe = probe_runner(job.request.backend, false);
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
  job.request.on_gpus = !on_cores;
  // Who asks for NCCL by name wants to know what of it is missing: the runner says that.
  if (arguments.backend != "nccl")
    if (auto wrong = not_this_machine(job.inputs, job.request.machine, nullptr)) return tl::unexpected(Errors{*wrong});
  job.request.profile = arguments.profile || !arguments.trace_file.empty();
  job.request.trace_file = arguments.trace_file;
  if (job.request.profile && job.inputs.scenario().front_end == FrontEnd::Python)
    return tl::unexpected(
        Errors{on_command_line(ErrorKind::NotSupported, "--profile", "the Python front end does not profile its steps",
                               "--set front_end=cpp")});
  const bool python = job.inputs.scenario().front_end == FrontEnd::Python && arguments.bench.empty();
  if (python && !nccl && !on_cores)
    return tl::unexpected(Errors{on_command_line(
        ErrorKind::Conflict, "--backend", "`front_end: python` computes on the CPU with Gloo, and these are GPUs",
        "--backend nccl, or --set front_end=cpp")});
  auto probe =
      python ? probe_python_runner(job.request.backend) : probe_runner(job.request.backend, job.request.on_gpus);
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

bool nothing_measured(const Result& result) {
  for (const Run& run : result.runs)
    if (!run.not_run) return false;
  return true;
}

// This process and, where there is one, the crew that it leads.
int measure_with(const MeasureArguments& arguments, ScenarioText text, Crew* crew, Job& job, Output& output) {
  const Form form = arguments.common.form;
  if (auto done = load(arguments, std::move(text), crew, job); !done) return report_errors(done.error(), form, output);
  if (auto done = choose_runner(arguments, job); !done) return report_errors(done.error(), form, output);
  if (arguments.dry_run) return write_measure_plan(arguments, job.inputs, job.request, output);
  report_to(arguments, output, job.request);
  job.request.stop = &asked_to_stop;
  if (crew != nullptr)
    job.request.launch = [crew](const RunPlan& plan, const LaunchOptions& options) {
      return crew->launch(plan, options);
    };
  if (!arguments.bench.empty()) return run_bench(arguments, job.inputs, job.request, output);
  Measurement measurement = measure(job.inputs, job.request);
  if (crew != nullptr) describe_crew(*crew, measurement.result);
  clear_progress(output);
  const Result& result = measurement.result;
  const std::string answer = result_in_form(
      result, form, [&] { return measurement_text(result, job.inputs, output, arguments.common.quiet); });
  if (!write_result(answer, arguments.common, output)) {
    CommonArguments here = arguments.common;  // long work is not lost with a disk that is full
    here.output_file.clear();
    if (!arguments.common.output_file.empty()) write_result(answer, here, output);
    return kRunFailed;
  }
  if (result.partial && (form != Form::Text || !arguments.common.output_file.empty()))
    output.err << "lockstep: partial result: " << *result.partial << '\n';
  if (measurement.interrupted) return kInterrupted;
  return result.partial || nothing_measured(result) ? kRunFailed : kGood;
}

// One of several processes that measure as one.
int measure_in_crew(const MeasureArguments& arguments, const CrewPlace& place, Output& output) {
  const Form form = arguments.common.form;
  Job job;
  auto text = read(arguments, output, job.request);
  auto inputs = text ? inputs_of(arguments, *text) : Expected<Inputs>(tl::unexpected(text.error()));
  CrewFacts mine = crew_facts(arguments, place, inputs);
  CrewOptions options = crew_options(inputs, &asked_to_stop);
  if (place.number > 0) {
    if (inputs && mine.problem.empty()) find_runner(arguments, *inputs, options, mine);
    const auto code = serve_crew(place, mine, options);
    if (code) return *code;
    return report_errors(inputs ? code.error() : inputs.error(), form, output);
  }
  auto crew = Crew::assemble(place, mine, options);
  if (!inputs) {
    const int code = report_errors(inputs.error(), form, output);
    if (crew) (*crew)->end(code);
    return code;
  }
  if (!crew && asked_to_stop != 0) return kInterrupted;
  if (!crew) return report_errors(crew.error(), form, output);
  const int code = measure_with(arguments, *std::move(text), crew->get(), job, output);
  (*crew)->end(code);
  return code;
}

}  // namespace

int run_measure(const MeasureArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (auto wrong = wrong_together(arguments)) return report_errors({*wrong}, form, output);
  for (const std::string& file : {arguments.common.output_file, arguments.trace_file})
    if (auto wrong = cannot_write_to(file)) return report_errors({*wrong}, form, output);
  const auto place = crew_place(arguments);
  if (!place) return report_errors(place.error(), form, output);
  const StopOnSignals signals;
  if (*place) return measure_in_crew(arguments, **place, output);
  Job job;
  auto text = read(arguments, output, job.request);
  if (!text) return report_errors(text.error(), form, output);
  return measure_with(arguments, *std::move(text), nullptr, job, output);
}

}  // namespace lockstep
