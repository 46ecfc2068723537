#include "simulator/cli/predict_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/fields.h"
#include "simulator/answers/levers.h"
#include "simulator/base/format.h"
#include "simulator/cli/prediction_table.h"

namespace lockstep {
namespace {

void add_sentences(const Result& result, std::string& text) {
  for (const Sentence& sentence : result.answer.sentences)
    if (sentence.id != "note" && sentence.id != "best_lever") text += wrapped(sentence.text, kColumns, 0) + '\n';
}

std::string with_note(const std::string& set) {
  const std::string note = lever_note(set);
  return note.empty() ? set : fmt::format("{} ({})", set, note);
}

void add_levers(const Result& result, const Output& output, std::string& text) {
  if (result.answer.levers.empty()) return;
  text += '\n';
  for (const Sentence& sentence : result.answer.sentences)
    if (sentence.id == "best_lever") text += wrapped(sentence.text, kColumns, 0) + '\n';
  TextTable table;
  table.column("what would help", "as --set", Align::Left);
  double longest_s = 0;
  for (const Lever& lever : result.answer.levers) longest_s = std::max(longest_s, lever.step_time_s);
  const TimeUnit step = step_unit_for(longest_s);
  table.column("step", step.name, Align::Right);
  table.column("throughput", "%", Align::Right);
  for (const Lever& lever : result.answer.levers)
    table.row(
        {with_note(lever.set), format_column(lever.step_time_s / step.seconds), "+" + format_column(lever.gain * 100)});
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
}

void add_notes(const Result& result, std::string& text) {
  bool first = true;
  for (const Sentence& sentence : result.answer.sentences) {
    if (sentence.id != "note") continue;
    if (first) text += '\n';
    first = false;
    text += wrapped("Note: " + sentence.text, kColumns, 6) + '\n';
  }
}

bool on_cores(const Inputs& inputs) {
  return inputs.topology.node.gpu.vendor == "cpu";
}

}  // namespace

std::string prediction_title(const Inputs& inputs) {
  const Scenario& s = inputs.scenario();
  std::vector<std::string> options;
  const ModelOptions& o = s.model_options;
  if (o.image) options.push_back(fmt::format("image {}", *o.image));
  if (o.classes) options.push_back(fmt::format("{} classes", *o.classes));
  if (o.stem) options.push_back(*o.stem + " stem");
  if (o.sequence) options.push_back(fmt::format("sequence {}", *o.sequence));
  std::string title = is_model_path(s.model_name) ? inputs.model.name : s.model_name;
  if (!options.empty()) title += fmt::format(" ({})", fmt::join(options, ", "));
  title += fmt::format(" on {}, {}, ", inputs.topology.name, name_of(s.precision));
  const char* device = on_cores(inputs) ? "core" : "GPU";
  title += s.per_gpu_batch ? fmt::format("{} {} per {}", *s.per_gpu_batch, inputs.model.sample_unit, device)
                           : fmt::format("{} {} in all", *s.global_batch, inputs.model.sample_unit);
  if (s.accumulate_steps > 1) title += fmt::format(", {} micro-steps", s.accumulate_steps);
  return title;
}

std::string prediction_text(const Result& result, const Inputs& inputs, const Output& output, bool table_only) {
  std::string text;
  const Scenario& s = inputs.scenario();
  if (!table_only) {
    if (!s.question.empty()) text += wrapped(s.question, kColumns, 0) + '\n';
    const auto network = result.fidelity.find("network");
    const bool estimated = network != result.fidelity.end() && network->second == "estimated";
    text +=
        wrapped(fmt::format("{}: {}", estimated ? "Estimated" : "Predicted", prediction_title(inputs)), kColumns, 0);
    text += "\n\n";
  }
  text += table_text(prediction_table(result, on_cores(inputs)), output);
  if (const auto costs = cost_table(result, on_cores(inputs))) text += '\n' + table_text(*costs, output);
  if (table_only) return text;
  text += '\n';
  add_sentences(result, text);
  add_levers(result, output, text);
  add_notes(result, text);
  return text;
}

}  // namespace lockstep
