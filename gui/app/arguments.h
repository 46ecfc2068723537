// The command line of the window, read before there is any display.
#pragma once

#include <string>
#include <vector>

namespace lockstep::gui {

struct GuiArguments {
  enum class Do { Open, Export, Help, Version, Wrong };
  Do what = Do::Open;
  std::vector<std::string> files;  // a scenario, measured results
  std::string export_folder;
  std::string theme = "system";  // system | light | dark
  std::string error;             // of Wrong
};

GuiArguments read_arguments(const std::vector<std::string>& arguments);
std::string help_text();

}  // namespace lockstep::gui
