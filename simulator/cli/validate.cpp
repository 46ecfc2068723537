#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "simulator/answers/claims.h"
#include "simulator/base/nearest.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/validate_text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

Error on_command_line(ErrorKind kind, std::string found, std::string message, std::string allowed, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.found = std::move(found);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

// The claims that came with lockstep: the folder `claims` beside its scenarios, by name.
std::vector<std::string> shipped_claims() {
  std::vector<std::string> files;
  for (const ScenarioFile& scenario : shipped_scenarios()) {
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(fs::path(scenario.path).parent_path() / "claims", failure))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// The files of claims that the words name, or what is wrong with a word.
Expected<std::vector<std::string>> files_of(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  Errors errors;
  for (const std::string& word : words) {
    std::error_code failure;
    if (word == "claims") {
      const auto shipped = shipped_claims();
      files.insert(files.end(), shipped.begin(), shipped.end());
      if (shipped.empty())
        errors.push_back(on_command_line(ErrorKind::Io, word, "the claims that come with lockstep are not there", "",
                                         "give a file of claims"));
    } else if (word == "networks" || word == "steps" || fs::is_directory(word, failure)) {
      errors.push_back(on_command_line(ErrorKind::NotSupported, word,
                                       fmt::format("`lockstep validate {}` comes with a later version", word),
                                       "claims, a file of claims", ""));
    } else if (fs::exists(word, failure)) {
      files.push_back(word);
    } else {
      errors.push_back(on_command_line(ErrorKind::Range, word, "there is nothing of this name to validate",
                                       "claims, a file of claims",
                                       did_you_mean(word, {"claims", "networks", "steps"})));
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return files;
}

std::optional<Error> wrong_options(const ValidateArguments& arguments) {
  if (!arguments.fail_above) return std::nullopt;
  Error error = on_command_line(ErrorKind::Conflict, "",
                                "claims are what somebody states, not measurements: a distance "
                                "from them is no error of the prediction",
                                "", "leave --fail-above out");
  error.key = "--fail-above";
  return error;
}

ClaimsOptions options_for(const ValidateArguments& arguments, Output& output) {
  ClaimsOptions options;
  options.sets = arguments.common.sets;
  if (arguments.common.form == Form::JsonLines && arguments.common.output_file.empty())
    options.progress = [&output](int done, int total, const std::string& text) {
      output.out << fmt::format(R"({{"type":"progress","done":{},"total":{},"text":"{}"}})", done, total, text) << '\n'
                 << std::flush;
    };
  else if (!arguments.common.quiet)
    options.progress = [&output](int done, int total, const std::string& text) {
      show_progress(fmt::format("{}/{} {}", done, total, text), output);
    };
  return options;
}

std::string in_form(const ValidateArguments& arguments, const std::vector<ClaimsResult>& results,
                    const Output& output) {
  std::string text;
  switch (arguments.common.form) {
    case Form::Json:
      return claims_json(results);
    case Form::Csv:
      return claims_csv(results);
    case Form::JsonLines:
      for (const ClaimsResult& one : results) text += claims_json_lines(one);
      return text;
    case Form::Text:
      break;
  }
  for (const ClaimsResult& one : results) {
    if (!text.empty()) text += '\n';
    text += claims_text(one, output, arguments.common.quiet);
  }
  return text;
}

}  // namespace

int run_validate(const ValidateArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  const auto files = files_of(arguments.what);
  if (!files) return report_errors(files.error(), form, output);
  if (auto wrong = wrong_options(arguments)) return report_errors({*wrong}, form, output);
  std::vector<ClaimsResult> results;
  for (const std::string& path : *files) {
    const auto claims = read_claims_file(path);
    if (!claims) return report_errors(claims.error(), form, output);
    auto result = try_claims(*claims, options_for(arguments, output));
    clear_progress(output);
    if (!result) return report_errors(result.error(), form, output);
    results.push_back(*std::move(result));
  }
  return write_result(in_form(arguments, results, output), arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
