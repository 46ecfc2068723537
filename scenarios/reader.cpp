#include "scenarios/reader.h"

#include <utility>

#include "scenarios/checks.h"
#include "scenarios/fields.h"
#include "simulator/base/document.h"

namespace lockstep {
namespace {

// `errors`: of `sets`, those of --set.
Expected<ReadScenario> read_checked(const Document& document, Errors errors, const std::vector<std::string>& sets,
                                    const ReadOptions& options) {
  ReadScenario out;
  out.scenario.file = document.file;
  out.reading.errors = std::move(errors);
  scenario_fields().read_into(document, out.scenario, out.reading);
  complete_and_check(out.scenario, out.reading, options);
  if (out.reading.errors.empty() && options.check) {
    for (Error& error : options.check(out.scenario)) {
      if (error.file.empty()) place_error(error, out.reading);  // else it is about another file
      out.reading.errors.push_back(std::move(error));
    }
  }
  if (!out.reading.errors.empty()) return tl::make_unexpected(in_file_order(std::move(out.reading.errors), sets));
  out.notes = keys_without_effect(out.scenario, out.reading);
  return out;
}

}  // namespace

Expected<ReadScenario> read_scenario_with_origins(std::string_view text, const std::string& file_name,
                                                  const std::vector<std::string>& sets, const ReadOptions& options) {
  Expected<Document> document = parse_document(text, file_name);
  if (!document) return tl::make_unexpected(std::move(document.error()));
  Errors errors;
  for (const std::string& set : sets) {
    const auto applied = apply_set(*document, set);
    if (!applied) errors.insert(errors.end(), applied.error().begin(), applied.error().end());
  }
  return read_checked(*document, std::move(errors), sets, options);
}

Expected<ReadScenario> read_scenario_document(const Document& document, const ReadOptions& options) {
  return read_checked(document, {}, {}, options);
}

Expected<Scenario> read_scenario(std::string_view text, std::string file_name, const std::vector<std::string>& sets,
                                 const ReadOptions& options) {
  Expected<ReadScenario> read = read_scenario_with_origins(text, file_name, sets, options);
  if (!read) return tl::make_unexpected(std::move(read.error()));
  return std::move(read->scenario);
}

Expected<ReadScenario> read_scenario_file(const std::string& path, const std::vector<std::string>& sets,
                                          const ReadOptions& options) {
  const Expected<std::string> text = read_text_file(path);
  if (!text) return tl::make_unexpected(text.error());
  return read_scenario_with_origins(*text, path, sets, options);
}

std::string scenario_yaml(const ReadScenario& read) {
  return resolved_yaml(scenario_fields().resolved(read.scenario, read.reading));
}

std::string scenario_yaml(const Scenario& scenario) {
  return resolved_yaml(scenario_fields().resolved(scenario, Reading{}));
}

}  // namespace lockstep
