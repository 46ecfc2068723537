#include "simulator/answers/predict.h"

#include <fmt/format.h>

#include <ostream>

#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/predict_text.h"
#include "simulator/result/chrome_trace.h"
#include "simulator/result/csv.h"
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
  return std::nullopt;
}

std::optional<Error> wrong_scale(const PredictArguments& arguments, const Inputs& inputs) {
  if (!arguments.reference) return std::nullopt;
  for (const int gpus : inputs.scenario().gpus)
    if (gpus > kMostReferenceRanks)
      return on_command_line(
          ErrorKind::Range, "--reference",
          fmt::format("--reference goes up to {} GPUs, the scenario has {}", kMostReferenceRanks, gpus),
          "leave --reference out, or --set gpus=8");
  return std::nullopt;
}

PredictOptions options_for(const PredictArguments& arguments, Output& output) {
  PredictOptions options;
  options.method = arguments.estimate ? Method::Estimate : arguments.reference ? Method::Messages : Method::Simulate;
  options.timeline = !arguments.trace_file.empty();
  // What is not shown is not worked out.
  const Form form = arguments.common.form;
  const bool runs_alone = form == Form::Csv || (form == Form::Text && arguments.common.quiet);
  options.levers = options.uncertainty = !runs_alone;
  options.uncertainty_of_all = form != Form::Text;
  if (arguments.common.form == Form::JsonLines && arguments.common.output_file.empty()) {
    options.progress = [&output](int done, int total, const std::string& text) {
      output.out << fmt::format(R"({{"type":"progress","done":{},"total":{},"text":"{}"}})", done, total, text) << '\n'
                 << std::flush;
    };
    options.each_run = [&output](const Run& run) {
      output.out << R"({"type":"run",)" << run_to_json(run).substr(1) << '\n' << std::flush;
    };
  } else if (!arguments.common.quiet) {
    options.progress = [&output](int done, int total, const std::string& text) {
      show_progress(fmt::format("{}/{} {}", done, total, text), output);
    };
  }
  return options;
}

std::string in_form(const PredictArguments& arguments, const Result& result, const Inputs& inputs,
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
  return prediction_text(result, inputs, output, arguments.common.quiet);
}

bool write_trace(const PredictArguments& arguments, const Result& result, Output& output) {
  if (arguments.trace_file.empty()) return true;
  std::vector<const Run*> runs;
  for (const Run& run : result.runs) runs.push_back(&run);
  CommonArguments to_file;
  to_file.output_file = arguments.trace_file;
  to_file.form = arguments.common.form;
  if (!write_result(chrome_trace(runs, result), to_file, output)) return false;
  if (!arguments.common.quiet && arguments.common.form == Form::Text)
    output.err << "Trace in " << arguments.trace_file << " (open it at ui.perfetto.dev)\n";
  return true;
}

}  // namespace

int run_predict(const PredictArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (auto wrong = wrong_options(arguments)) return report_errors({*wrong}, form, output);
  const auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return report_errors(text.error(), form, output);
  const auto inputs = load_inputs(*text);
  if (!inputs) return report_errors(inputs.error(), form, output);
  if (auto wrong = wrong_scale(arguments, *inputs)) return report_errors({*wrong}, form, output);
  const auto result = predict(*inputs, options_for(arguments, output));
  clear_progress(output);
  if (!result) return report_errors(result.error(), form, output);
  if (!write_trace(arguments, *result, output)) return kRunFailed;
  if (!write_result(in_form(arguments, *result, *inputs, output), arguments.common, output)) return kRunFailed;
  return nothing_ran(*result) ? kRunFailed : kGood;
}

}  // namespace lockstep
