#include "simulator/answers/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "simulator/base/format.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/predict_text.h"
#include "simulator/cli/result_form.h"
#include "simulator/cli/several.h"
#include "simulator/result/chrome_trace.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

// The reference mode moves every message of a ring; beyond this it takes minutes.
constexpr int kMostReferenceRanks = 64;

Error on_command_line(ErrorKind kind, std::string key, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = std::move(key);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

std::optional<Error> wrong_options(const PredictArguments& arguments) {
  if (arguments.estimate && arguments.reference)
    return on_command_line(ErrorKind::Conflict, "--reference", "--estimate and --reference are two ways to predict",
                           "give one of them");
  for (const auto& [option, file] : {std::pair{"--trace", &arguments.trace_file}, {"--spans", &arguments.spans_file}}) {
    if (*file == "-")
      return on_command_line(ErrorKind::Conflict, option, "a trace on standard output would run into the result",
                             "give it a file");
    if (!file->empty() && arguments.files.size() > 1)
      return on_command_line(ErrorKind::Conflict, option, "a trace shows one scenario",
                             "one command for each scenario");
  }
  return std::nullopt;
}

Errors wrong_scale(const PredictArguments& arguments, const std::vector<NamedInputs>& scenarios) {
  Errors errors;
  if (!arguments.reference) return errors;
  for (const NamedInputs& one : scenarios) {
    const auto& gpus = one.inputs.scenario().gpus;
    const int most = *std::max_element(gpus.begin(), gpus.end());
    if (most <= kMostReferenceRanks) continue;
    errors.push_back(
        on_command_line(ErrorKind::Range, "--reference",
                        fmt::format("--reference goes up to {} GPUs, {} has {}", kMostReferenceRanks, one.name, most),
                        "leave --reference out, or --set gpus=8"));
  }
  return errors;
}

PredictOptions options_for(const PredictArguments& arguments, const std::string& name, ResultWriter& writer,
                           Output& output) {
  PredictOptions options;
  options.method = arguments.estimate ? Method::Estimate : arguments.reference ? Method::Messages : Method::Simulate;
  options.timeline = !arguments.trace_file.empty() || !arguments.spans_file.empty();
  options.parts = !arguments.spans_file.empty();
  // What is not shown is not worked out.
  const Form form = arguments.common.form;
  const bool runs_alone = form == Form::Csv || (form == Form::Text && arguments.common.quiet);
  options.levers = options.uncertainty = !runs_alone;
  options.uncertainty_of_all = form != Form::Text;
  if (arguments.common.form == Form::JsonLines && arguments.common.output_file.empty()) {
    options.progress = [&writer, name](int done, int total, const std::string& text) {
      writer.add_line(name,
                      fmt::format(R"({{"type":"progress","done":{},"total":{},"text":"{}"}})", done, total, text));
    };
    options.each_run = [&writer, name](const Run& run) {
      writer.add_line(name, R"({"type":"run",)" + run_to_json(run).substr(1));
    };
  } else if (!arguments.common.quiet) {
    const std::string before = arguments.files.size() > 1 ? name + ": " : "";
    options.progress = [&output, before](int done, int total, const std::string& text) {
      show_progress(fmt::format("{}{}/{} {}", before, done, total, text), output);
    };
  }
  return options;
}

bool write_trace(const PredictArguments& arguments, const Result& result, Output& output) {
  if (arguments.trace_file.empty()) return true;
  std::vector<const Run*> runs;
  for (const Run& run : result.runs) runs.push_back(&run);
  CommonArguments to_file;
  to_file.output_file = arguments.trace_file;
  to_file.form = arguments.common.form;
  if (!write_data(chrome_trace(runs, result), to_file, output)) return false;
  if (!arguments.common.quiet && arguments.common.form == Form::Text)
    output.err << "Trace in " << visible(arguments.trace_file) << " (open it at ui.perfetto.dev)\n";
  return true;
}

bool write_spans(const PredictArguments& arguments, const Result& result, Output& output) {
  if (arguments.spans_file.empty()) return true;
  std::string lines;
  for (const Run& run : result.runs)
    if (!run.timeline.empty()) lines += run_to_message(run) + '\n';
  CommonArguments to_file;
  to_file.output_file = arguments.spans_file;
  to_file.form = arguments.common.form;
  return write_data(lines, to_file, output);
}

}  // namespace

int run_predict(const PredictArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (auto wrong = wrong_options(arguments)) return report_errors({*wrong}, form, output);
  const auto scenarios = load_scenarios(arguments.files, arguments.common.sets, output);
  if (!scenarios) return report_errors(scenarios.error(), form, output);
  if (const Errors wrong = wrong_scale(arguments, *scenarios); !wrong.empty())
    return report_errors(wrong, form, output);
  ResultWriter writer(arguments.common, scenarios->size() > 1, output);
  bool all_ran = true;
  for (const NamedInputs& one : *scenarios) {
    const auto result = predict(one.inputs, options_for(arguments, one.name, writer, output));
    clear_progress(output);
    if (!result) return report_errors(result.error(), form, output);
    if (!write_trace(arguments, *result, output) || !write_spans(arguments, *result, output)) return kRunFailed;
    const auto as_text = [&] { return prediction_text(*result, one.inputs, output, arguments.common.quiet); };
    if (!writer.add(one.name, result_in_form(*result, form, as_text))) return kRunFailed;
    all_ran &= !nothing_ran(*result);
  }
  if (!writer.finish()) return kRunFailed;
  return all_ran ? kGood : kRunFailed;
}

}  // namespace lockstep
