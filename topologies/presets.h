// Preset files: where they lie, how a name finds one. A root holds gpus/, nodes/ and fabrics/ with one YAML file a
// preset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

// Earlier roots win.
struct PresetPaths {
  std::vector<std::string> roots;
};
// The installed share/lockstep/topologies beside the running program, then the source tree it was built from; those
// that exist.
PresetPaths default_preset_paths();

enum class PresetKind { Gpu, Node, Fabric };
const char* name_of(PresetKind kind);  // GPU, topology, fabric

struct PresetSummary {
  std::string name, path, summary;  // summary: one line
};
// For `lockstep list gpus|topologies|fabrics`, by name. Files that cannot be read are left out of the list and reported
// as errors only when nothing is left.
Expected<std::vector<PresetSummary>> list_presets(PresetKind kind, const PresetPaths& paths = default_preset_paths());

// Names of all presets of a kind, sorted.
std::vector<std::string> preset_names(PresetKind kind, const PresetPaths& paths = default_preset_paths());

// The file of a preset name (case and underscores don't matter) or of a path: text with a slash or ending in .yaml or
// .yml. Relative paths start at `folder` when the file is there, else at the working folder.
// Errors: Range (no such preset, with the list and the nearest name), Io (no such file); `key` is put into them.
Expected<std::string> find_preset(PresetKind kind, const std::string& name, const PresetPaths& paths,
                                  const std::string& folder, const std::string& key);

}  // namespace lockstep
