#include "simulator/cli/measure_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/base/format.h"
#include "simulator/cli/predict_text.h"
#include "simulator/cli/prediction_table.h"

namespace lockstep {
namespace {

std::string fact(const Result& result, const char* key) {
  const auto at = result.machine.find(key);
  return at == result.machine.end() ? "" : at->second;
}

std::string machine_line(const Result& result) {
  std::string text = fmt::format("Machine: {}, {} core{}", fact(result, "cpu"), fact(result, "cores"),
                                 fact(result, "cores") == "1" ? "" : "s");
  for (int i = 0; !fact(result, fmt::format("gpu{}", i).c_str()).empty(); ++i)
    text += ", " + fact(result, fmt::format("gpu{}", i).c_str());
  const auto torch = result.software.find("torch");
  if (torch != result.software.end()) text += ", LibTorch " + torch->second;
  return text + ", load " + fact(result, "load");
}

std::string name_of_row(const Run& run) {
  return fmt::format("{} on {}", name_of(run.strategy), run.gpus);
}

// Notes with the rows that they hold for; what holds for several rows is said once.
void add_notes(const Result& result, std::string& text) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const Run& run : result.runs)
    for (const std::string& note : run.notes) {
      auto at = std::find_if(notes.begin(), notes.end(), [&](const auto& one) { return one.first == note; });
      if (at == notes.end()) at = notes.insert(notes.end(), {note, {}});
      at->second.push_back(name_of_row(run));
    }
  for (const auto& [note, rows] : notes)
    text += wrapped(fmt::format("{}: {}", fmt::join(rows, ", "), note), kColumns, 2) + '\n';
}

// By class of op what the profiled pass says, of the row with the most GPUs of each strategy.
void add_profiles(const Result& result, std::string& text) {
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const Run& run = result.runs[i];
    const bool last = i + 1 == result.runs.size() || result.runs[i + 1].strategy != run.strategy;
    if (run.profile.empty() || !last) continue;
    TextTable table;
    table.column("profile of " + name_of_row(run), "", Align::Left);
    for (const char* pass : {"forward", "backward", "step"}) table.column(pass, "ms", Align::Right);
    for (const OpClassTimes& one : run.profile) {
      const auto ms = [](double seconds) { return seconds > 0 ? format_column(1e3 * seconds) : std::string("-"); };
      table.row({one.op_class, ms(one.forward_s), ms(one.backward_s), ms(one.step_s)});
    }
    for (const std::string& line : table.header_lines()) text += line + '\n';
    for (const std::string& line : table.lines()) text += line + '\n';
    text += '\n';
  }
}

void add_implementations(const Result& result, std::string& text) {
  std::vector<std::string> said;
  for (const Run& run : result.runs) {
    const std::string one = fmt::format("{} is {}", name_of(run.strategy), run.implementation);
    if (!run.not_run && !run.implementation.empty() && std::find(said.begin(), said.end(), one) == said.end())
      said.push_back(one);
  }
  if (!said.empty()) text += wrapped(fmt::format("Here {}.", fmt::join(said, ", ")), kColumns, 0) + '\n';
}

}  // namespace

std::string measurement_text(const Result& result, const Inputs& inputs, const Output& output, bool table_only) {
  std::string text;
  if (!table_only) {
    if (!inputs.scenario().question.empty()) text += wrapped(inputs.scenario().question, kColumns, 0) + '\n';
    const bool paced = result.fidelity.contains("compute") && result.fidelity.at("compute") == "paced";
    text += wrapped((paced ? "Paced: " : "Measured: ") + prediction_title(inputs), kColumns, 0) + '\n';
    text += wrapped(machine_line(result), kColumns, 0) + "\n\n";
  }
  const TextTable table = prediction_table(result, inputs.topology.node.gpu.vendor == "cpu");
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
  if (table_only) return text;
  text += '\n';
  add_profiles(result, text);
  if (result.partial) text += wrapped("Partial result: " + *result.partial, kColumns, 0) + '\n';
  add_implementations(result, text);
  add_notes(result, text);
  return text;
}

}  // namespace lockstep
