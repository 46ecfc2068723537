#include "simulator/answers/explain.h"

#include "simulator/cli/commands.h"
#include "simulator/cli/explain_text.h"
#include "simulator/cli/files.h"

namespace lockstep {
namespace {

std::string in_form(const ExplainArguments& arguments, const Explanation& explanation, const Inputs& inputs,
                    const Output& output) {
  switch (arguments.common.form) {
    case Form::Json:
      return explanation_json(explanation, false);
    case Form::JsonLines:
      return explanation_json(explanation, true);
    case Form::Csv:
      return explanation_csv(explanation);
    case Form::Text:
      break;
  }
  return explanation_text(explanation, inputs, output, arguments.common.quiet);
}

}  // namespace

int run_explain(const ExplainArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  const auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return report_errors(text.error(), form, output);
  const auto inputs = load_inputs(*text);
  if (!inputs) return report_errors(inputs.error(), form, output);
  const auto explanation = explain(*inputs, arguments.estimate ? Method::Estimate : Method::Simulate);
  if (!explanation) return report_errors(explanation.error(), form, output);
  const std::string shown = in_form(arguments, *explanation, *inputs, output);
  return write_result(shown, arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
