#include "simulator/cli/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <istream>
#include <iterator>

#include "simulator/base/document.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{8} << 20;

std::vector<fs::path> scenario_folders() {
  std::vector<fs::path> folders;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) folders.push_back(program.parent_path().parent_path() / "share/lockstep/scenarios");
  folders.emplace_back(LOCKSTEP_SOURCE_SCENARIOS);
  std::vector<fs::path> all;
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder, failure)) continue;
    all.push_back(folder);
    all.push_back(folder / "gallery");
  }
  return all;
}

std::string question_of(const fs::path& path) {
  const auto document = read_document(path.string());
  if (!document) return "";
  const Value* question = document->root.find("question");
  return question == nullptr ? "" : question->text;
}

Error cannot_read(const std::string& file, std::string message) {
  Error error;
  error.kind = ErrorKind::Io;
  error.file = file;
  error.message = std::move(message);
  return error;
}

Expected<std::string> read_standard_input(std::istream& in) {
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return tl::unexpected(Errors{cannot_read("standard input", "standard input cannot be read")});
  if (text.size() > kMostBytes)
    return tl::unexpected(Errors{cannot_read("standard input", "standard input is larger than 8 MiB")});
  return text;
}

}  // namespace

std::vector<ScenarioFile> shipped_scenarios() {
  std::vector<ScenarioFile> found;
  for (const fs::path& folder : scenario_folders()) {
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure)) {
      if (!entry.is_regular_file() || entry.path().extension() != ".yaml") continue;
      const std::string name = entry.path().stem().string();
      const bool known = std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.name == name; });
      if (!known) found.push_back({name, entry.path().string(), question_of(entry.path())});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

Expected<ScenarioText> read_scenario_text(const std::string& file, const std::vector<std::string>& sets,
                                          Output& output) {
  if (file == "-") {
    auto text = read_standard_input(output.in);
    if (!text) return tl::unexpected(std::move(text.error()));
    return ScenarioText{*std::move(text), "standard input", sets};
  }
  std::error_code ignored;
  std::string path = file;
  std::vector<std::string> names;
  if (!fs::exists(file, ignored)) {
    for (const ScenarioFile& one : shipped_scenarios()) {
      names.push_back(one.name);
      if (canonical_name(one.name) == canonical_name(file)) path = one.path;
    }
  }
  auto text = read_text_file(path);
  if (!text) {
    for (Error& error : text.error())
      if (error.hint.empty()) {
        error.hint = did_you_mean(fs::path(file).stem().string(), names);
        if (error.hint.empty()) error.hint = "`lockstep list scenarios` names those that came with lockstep";
      }
    return tl::unexpected(std::move(text.error()));
  }
  return ScenarioText{*std::move(text), path, sets};
}

}  // namespace lockstep
