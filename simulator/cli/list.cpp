#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/zoo/zoo.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/table.h"
#include "simulator/result/csv.h"
#include "topologies/presets.h"

namespace lockstep {
namespace {

struct Listed {
  std::string name, summary;
};

Expected<std::vector<Listed>> presets(PresetKind kind) {
  const auto found = list_presets(kind);
  if (!found) return tl::unexpected(found.error());
  std::vector<Listed> listed;
  for (const PresetSummary& one : *found) listed.push_back({one.name, one.summary});
  return listed;
}

Expected<std::vector<Listed>> listed(const std::string& kind) {
  std::vector<Listed> all;
  if (kind == "topologies") return presets(PresetKind::Node);
  if (kind == "fabrics") return presets(PresetKind::Fabric);
  if (kind == "gpus") return presets(PresetKind::Gpu);
  if (kind == "models")
    for (const ZooEntry& entry : zoo()) all.push_back({entry.name, entry.summary});
  else
    for (const ScenarioFile& scenario : shipped_scenarios()) all.push_back({scenario.name, scenario.question});
  return all;
}

nlohmann::ordered_json to_json(const Listed& one) {
  return {{"name", one.name}, {"summary", one.summary}};
}

std::string in_form(const std::vector<Listed>& all, const std::string& kind, Form form, bool names_only) {
  std::string text;
  switch (form) {
    case Form::Json: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const Listed& one : all) list.push_back(to_json(one));
      return nlohmann::ordered_json{{kind, list}}.dump(2) + '\n';
    }
    case Form::JsonLines:
      for (const Listed& one : all) text += to_json(one).dump() + '\n';
      return text;
    case Form::Csv:
      text = "name,summary\n";
      for (const Listed& one : all) text += csv_field(one.name) + ',' + csv_field(one.summary) + '\n';
      return text;
    case Form::Text:
      break;
  }
  if (names_only) {
    for (const Listed& one : all) text += one.name + '\n';
    return text;
  }
  TextTable table;
  table.column("", "", Align::Left);
  table.column("", "", Align::Left);
  for (const Listed& one : all) table.row({one.name, one.summary});
  for (const std::string& line : table.lines()) text += line + '\n';
  return text;
}

}  // namespace

int run_list(const ListArguments& arguments, Output& output) {
  const auto all = listed(arguments.kind);
  if (!all) return report_errors(all.error(), arguments.common.form, output);
  const std::string text = in_form(*all, arguments.kind, arguments.common.form, arguments.common.quiet);
  return write_result(text, arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
