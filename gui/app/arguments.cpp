#include "gui/app/arguments.h"

namespace lockstep::gui {
namespace {

GuiArguments wrong(std::string error) {
  GuiArguments out;
  out.what = GuiArguments::Do::Wrong;
  out.error = std::move(error);
  return out;
}

// A result or a trace, by its name.
bool is_json(std::string file) {
  for (char& c : file)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto ends_in = [&](const std::string& end) {
    return file.size() >= end.size() && file.compare(file.size() - end.size(), end.size(), end) == 0;
  };
  return ends_in(".json") || ends_in(".json.gz");
}

}  // namespace

GuiArguments read_arguments(const std::vector<std::string>& arguments) {
  GuiArguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& one = arguments[i];
    const auto value = [&]() -> const std::string* { return i + 1 < arguments.size() ? &arguments[++i] : nullptr; };
    if (one == "--help" || one == "-h") {
      out.what = GuiArguments::Do::Help;
      return out;
    }
    if (one == "--version") {
      out.what = GuiArguments::Do::Version;
      return out;
    }
    if (one == "--export") {
      const std::string* folder = value();
      if (folder == nullptr) return wrong("--export needs a folder");
      out.what = GuiArguments::Do::Export;
      out.export_folder = *folder;
    } else if (one == "--theme") {
      const std::string* theme = value();
      if (theme == nullptr || (*theme != "system" && *theme != "light" && *theme != "dark"))
        return wrong("--theme is system, light or dark");
      out.theme = *theme;
    } else if (one.size() > 1 && one.front() == '-') {
      return wrong("unknown option '" + one + "'");
    } else {
      out.files.push_back(one);
    }
  }
  if (out.what == GuiArguments::Do::Export && out.files.empty())
    return wrong("--export needs a scenario: lockstep-gui --export DIR FILE");
  if (out.what == GuiArguments::Do::Export)
    for (std::size_t i = 1; i < out.files.size(); ++i)
      if (!is_json(out.files[i]))
        return wrong("--export takes one scenario, then results and traces (.json, .json.gz); found '" + out.files[i] +
                     "'");
  return out;
}

std::string help_text() {
  return R"(usage: lockstep-gui [OPTIONS] [FILE ...]

The window of lockstep: how long a data-parallel training step takes, why, and what would make it faster.

FILE is a scenario (.yaml) or the name of one that came along; results of `lockstep measure --json` (.json) are drawn
beside the prediction, Chrome traces of PyTorch's profiler (.json, .json.gz; one for each rank) below its timeline.

  --export DIR      no window: predict FILE, and write each view as PNG, SVG, PDF and CSV and a report
                    (HTML, PDF) into DIR; needs no display. A result alone brings its scenario with it
  --theme THEME     light, dark, or system
  --help, --version

LOCKSTEP_PROGRAM names the `lockstep` that simulates; otherwise it is the one beside this program, or in PATH.
Exit codes: 0 good, 1 wrong input, 2 the prediction failed, a file could not be written, or a window has no display.
)";
}

}  // namespace lockstep::gui
