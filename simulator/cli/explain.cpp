#include "simulator/answers/explain.h"

#include "simulator/cli/commands.h"
#include "simulator/cli/explain_text.h"
#include "simulator/cli/several.h"

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
  const auto scenarios = load_scenarios(arguments.files, arguments.common.sets, output);
  if (!scenarios) return report_errors(scenarios.error(), form, output);
  ResultWriter writer(arguments.common, scenarios->size() > 1, output);
  for (const NamedInputs& one : *scenarios) {
    const auto explanation = explain(one.inputs, arguments.estimate ? Method::Estimate : Method::Simulate);
    if (!explanation) return report_errors(explanation.error(), form, output);
    if (!writer.add(one.name, in_form(arguments, *explanation, one.inputs, output))) return kRunFailed;
  }
  return writer.finish() ? kGood : kRunFailed;
}

}  // namespace lockstep
