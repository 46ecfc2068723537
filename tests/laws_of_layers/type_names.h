// Which types a source file defines at the top of namespace `lockstep`, by a scan of its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::testing {

// Names of the classes, structs, unions and enums whose bodies stand directly in `namespace lockstep` (other namespaces
// are named before them, as in testing::Pids): not those of anonymous namespaces, functions or other types, no forward
// declarations, no specialisations of templates.
std::vector<std::string> types_defined_in(std::string_view source);

}  // namespace lockstep::testing
