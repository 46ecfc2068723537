// The #include lines of a source tree as a graph, for tests that say who may reach whom.
// Used by header_reach_test.cpp. Paths are relative to the root of the tree, with forward slashes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::testing {

class IncludeGraph {
 public:
  // Reads every .h and .cpp file below the given folders; a folder that does not exist adds nothing.
  IncludeGraph(const std::filesystem::path& root, const std::vector<std::string>& folders);

  // What each file includes, as written between quotes or angle brackets; a header of the tree named relative to its
  // includer stands with its path from the root.
  const std::map<std::string, std::vector<std::string>>& includes() const { return includes_; }

  // "a.h > b.h > torch/torch.h" for each file below `folder` from which a header that `forbidden` accepts is reached
  // (the shortest such chain), empty when none is.
  std::vector<std::string> chains(std::string_view folder,
                                  const std::function<bool(std::string_view)>& forbidden) const;

 private:
  void read(const std::filesystem::path& root, const std::filesystem::path& file);
  std::string shortest_chain(const std::string& from, const std::function<bool(std::string_view)>& forbidden) const;

  std::map<std::string, std::vector<std::string>> includes_;
};

bool is_below(std::string_view path, std::string_view folder);
bool is_torch_header(std::string_view header);
bool is_qt_header(std::string_view header);
bool is_simgrid_header(std::string_view header);

}  // namespace lockstep::testing
