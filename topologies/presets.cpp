#include "topologies/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "simulator/base/nearest.h"
#include "topologies/describe.h"
#include "topologies/reader.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const char* folder_of(PresetKind kind) {
  switch (kind) {
    case PresetKind::Gpu:
      return "gpus";
    case PresetKind::Node:
      return "nodes";
    case PresetKind::Fabric:
      return "fabrics";
  }
  return "";
}

// Canonical name -> file, earlier roots first.
std::map<std::string, std::string> preset_files(PresetKind kind, const PresetPaths& paths) {
  std::map<std::string, std::string> files;
  for (const std::string& root : paths.roots) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / folder_of(kind), ignored))
      if (entry.path().extension() == ".yaml")
        files.emplace(canonical_name(entry.path().stem().string()), entry.path().string());
  }
  return files;
}

bool is_path(const std::string& name) {
  const std::string extension = fs::path(name).extension().string();
  return name.find('/') != std::string::npos || extension == ".yaml" || extension == ".yml";
}

tl::unexpected<Errors> failure(ErrorKind kind, const std::string& key, const std::string& found, std::string message) {
  Error error;
  error.kind = kind;
  error.key = key;
  error.found = found;
  error.message = std::move(message);
  return tl::make_unexpected(Errors{error});
}

template <class T>
Expected<std::string> summary_from(const Expected<T>& loaded) {
  if (!loaded) return tl::make_unexpected(loaded.error());
  return summary_of(*loaded);
}

Expected<std::string> summary_of_file(PresetKind kind, const std::string& path, const PresetPaths& paths) {
  switch (kind) {
    case PresetKind::Gpu:
      return summary_from(load_gpu(path, paths));
    case PresetKind::Node:
      return summary_from(load_node(path, paths));
    case PresetKind::Fabric:
      return summary_from(load_fabric(path, paths));
  }
  return std::string();
}

}  // namespace

PresetPaths default_preset_paths() {
  PresetPaths paths;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  std::vector<fs::path> candidates;
  if (!failed) candidates.push_back(program.parent_path() / ".." / "share" / "lockstep" / "topologies");
  candidates.emplace_back(LOCKSTEP_SOURCE_TOPOLOGIES);
  for (const fs::path& one : candidates)
    if (fs::is_directory(one / "nodes", failed)) paths.roots.push_back(one.lexically_normal().string());
  return paths;
}

const char* name_of(PresetKind kind) {
  switch (kind) {
    case PresetKind::Gpu:
      return "GPU";
    case PresetKind::Node:
      return "topology";
    case PresetKind::Fabric:
      return "fabric";
  }
  return "?";
}

std::vector<std::string> preset_names(PresetKind kind, const PresetPaths& paths) {
  std::vector<std::string> names;
  for (const auto& [name, file] : preset_files(kind, paths)) names.push_back(name);
  return names;
}

Expected<std::vector<PresetSummary>> list_presets(PresetKind kind, const PresetPaths& paths) {
  std::vector<PresetSummary> list;
  Errors errors;
  for (const auto& [name, file] : preset_files(kind, paths)) {
    Expected<std::string> summary = summary_of_file(kind, file, paths);
    if (summary)
      list.push_back({name, file, *summary});
    else
      errors.insert(errors.end(), summary.error().begin(), summary.error().end());
  }
  if (list.empty() && errors.empty())
    return failure(ErrorKind::Io, "", fmt::format("{}", fmt::join(paths.roots, ", ")),
                   fmt::format("no {} presets found", name_of(kind)));
  if (list.empty()) return tl::make_unexpected(std::move(errors));
  return list;
}

Expected<std::string> find_preset(PresetKind kind, const std::string& name, const PresetPaths& paths,
                                  const std::string& folder, const std::string& key) {
  if (is_path(name)) {
    std::error_code ignored;
    const fs::path beside = fs::path(folder) / name;
    if (!folder.empty() && fs::is_regular_file(beside, ignored)) return beside.string();
    if (fs::is_regular_file(name, ignored)) return name;
    return failure(ErrorKind::Io, key, name, fmt::format("there is no {} file `{}`", name_of(kind), name));
  }
  const std::map<std::string, std::string> files = preset_files(kind, paths);
  const auto found = files.find(canonical_name(name));
  if (found != files.end()) return found->second;
  const std::vector<std::string> names = preset_names(kind, paths);
  auto error = failure(ErrorKind::Range, key, name, fmt::format("there is no {} preset `{}`", name_of(kind), name));
  error.value().front().allowed = fmt::format("{}, or the path of a YAML file", fmt::join(names, ", "));
  error.value().front().hint = did_you_mean(name, names);
  return error;
}

}  // namespace lockstep
