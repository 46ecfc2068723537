#include "simulator/cli/several.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "simulator/cli/files.h"
#include "simulator/result/csv.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

Error standard_input_twice() {
  Error error;
  error.kind = ErrorKind::Conflict;
  error.file = "command line";
  error.found = "-";
  error.message = "standard input can be read once only";
  error.hint = "give `-` once";
  return error;
}

// What is wrong with --set in every scenario is said once; in some of them, with the scenario.
void name_scenarios(Errors& errors, const std::vector<std::string>& names, std::size_t scenarios) {
  std::map<std::string, std::size_t> times;
  for (const Error& error : errors) ++times[to_text(error)];
  std::vector<std::string> said;
  Errors kept;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    Error& error = errors[i];
    const std::string text = to_text(error);
    const bool of_set = error.file == "--set";
    if (of_set && times[text] == scenarios) {
      if (std::find(said.begin(), said.end(), text) != said.end()) continue;
      said.push_back(text);
    } else if (of_set) {
      error.message += fmt::format(" (in {})", names[i]);
    }
    kept.push_back(std::move(error));
  }
  errors = std::move(kept);
}

// `{` and `}` of a document, its lines two levels further in.
std::string indented(const std::string& document) {
  std::string out;
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find('\n', at), document.size());
    out += (at == 0 ? "" : "\n    ") + document.substr(at, end - at);
    at = end + 1;
  }
  return out;
}

}  // namespace

Expected<std::vector<NamedInputs>> load_scenarios(const std::vector<std::string>& files,
                                                  const std::vector<std::string>& sets, Output& output) {
  if (std::count(files.begin(), files.end(), "-") > 1) return tl::unexpected(Errors{standard_input_twice()});
  std::vector<NamedInputs> scenarios;
  Errors errors;
  std::vector<std::string> names;  // of the scenario of each error
  const auto keep = [&](const Errors& found, const std::string& name) {
    errors.insert(errors.end(), found.begin(), found.end());
    names.resize(errors.size(), name);
  };
  for (const std::string& file : files) {
    const std::string name = file == "-" ? "standard input" : file;
    const auto text = read_scenario_text(file, sets, output);
    if (!text) {
      keep(text.error(), name);
      continue;
    }
    auto inputs = load_inputs(*text);
    if (inputs)
      scenarios.push_back({name, *std::move(inputs)});
    else
      keep(inputs.error(), name);
  }
  if (errors.empty()) return scenarios;
  if (files.size() > 1) name_scenarios(errors, names, files.size());
  return tl::unexpected(std::move(errors));
}

std::string line_with_file(const std::string& line, const std::string& name) {
  const std::size_t after_type = line.find(',');
  return fmt::format("{},\"file\":{}{}", line.substr(0, after_type), json_text(name), line.substr(after_type));
}

std::string csv_with_file(const std::string& csv, const std::string& name, bool with_header) {
  std::string out;
  bool quoted = false, header = true;
  for (std::size_t at = 0, start = 0; at < csv.size(); ++at) {
    if (csv[at] == '"') quoted = !quoted;
    if (csv[at] != '\n' || quoted) continue;
    if (!header || with_header) out += (header ? "file" : csv_field(name)) + ',' + csv.substr(start, at + 1 - start);
    header = false;
    start = at + 1;
  }
  return out;
}

std::string ResultWriter::in_row(const std::string& name, const std::string& document) const {
  switch (common_.form) {
    case Form::Json:
      // The name stands before the first key.
      return fmt::format("{}    {{\n      \"file\": {},{}", count_ == 0 ? "" : ",\n", json_text(name),
                         indented(document).substr(1));
    case Form::JsonLines:
      return line_with_file(document, name);
    case Form::Csv:
      return csv_with_file(document, name, count_ == 0);
    case Form::Text:
      break;
  }
  return fmt::format("{}{}\n{}", count_ == 0 ? "" : "\n", heading(fmt::format("==> {} <==", name), output_), document);
}

bool ResultWriter::add(const std::string& name, std::string document) {
  if (several_) document = in_row(name, document);
  ++count_;
  if (!several_ || (common_.form != Form::Json && common_.output_file.empty()))
    return write_result(document, common_, output_);
  kept_ += document;
  return true;
}

bool ResultWriter::finish() {
  if (kept_.empty()) return true;
  if (common_.form == Form::Json) kept_ = "{\n  \"results\": [\n" + kept_ + "\n  ]\n}\n";
  return write_result(kept_, common_, output_);
}

void ResultWriter::add_line(const std::string& name, const std::string& line) {
  output_.out << (several_ ? line_with_file(line, name) : line) << '\n' << std::flush;
}

}  // namespace lockstep
