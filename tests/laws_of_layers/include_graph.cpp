#include "tests/laws_of_layers/include_graph.h"

#include <cctype>
#include <deque>
#include <fstream>
#include <optional>

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (text.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

// The name in `#include <name>` or `#include "name"`; nothing for any other line.
std::optional<std::string> included_name(std::string_view line) {
  const auto skip_spaces = [&line] {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) {
      line.remove_prefix(1);
    }
  };
  for (const std::string_view word : {std::string_view("#"), std::string_view("include")}) {
    skip_spaces();
    if (!line.starts_with(word)) {
      return std::nullopt;
    }
    line.remove_prefix(word.size());
  }
  skip_spaces();
  if (line.empty() || (line.front() != '<' && line.front() != '"')) {
    return std::nullopt;
  }
  const std::size_t end = line.find(line.front() == '<' ? '>' : '"', 1);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(line.substr(1, end - 1));
}

}  // namespace

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool is_torch_header(std::string_view header) {
  return starts_with_any(header, {"torch/", "ATen/", "c10/", "caffe2/", "c10d/"});
}

bool is_qt_header(std::string_view header) {
  return header.size() > 1 && header[0] == 'Q' && (header[1] == 't' || std::isupper(header[1]) != 0);
}

bool is_simgrid_header(std::string_view header) {
  return starts_with_any(header, {"simgrid/", "xbt/", "smpi/", "simgrid.h", "xbt.h"});
}

IncludeGraph::IncludeGraph(const fs::path& root, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) {
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cpp") {
        read(root, entry.path());
      }
    }
  }
}

void IncludeGraph::read(const fs::path& root, const fs::path& file) {
  std::vector<std::string>& found = includes_[file.lexically_relative(root).generic_string()];
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::optional<std::string> name = included_name(line);
    if (!name) {
      continue;
    }
    const fs::path beside = file.parent_path() / *name;
    if (!fs::exists(root / *name) && fs::exists(beside)) {
      name = beside.lexically_normal().lexically_relative(root).generic_string();
    }
    found.push_back(*name);
  }
}

std::vector<std::string> IncludeGraph::chains(std::string_view folder,
                                              const std::function<bool(std::string_view)>& forbidden) const {
  std::vector<std::string> found;
  for (const auto& [file, unused] : includes_) {
    if (is_below(file, folder)) {
      std::string chain = shortest_chain(file, forbidden);
      if (!chain.empty()) {
        found.push_back(std::move(chain));
      }
    }
  }
  return found;
}

std::string IncludeGraph::shortest_chain(const std::string& from,
                                         const std::function<bool(std::string_view)>& forbidden) const {
  std::map<std::string, std::string> reached_by = {{from, ""}};
  for (std::deque<std::string> open = {from}; !open.empty(); open.pop_front()) {
    const auto node = includes_.find(open.front());
    if (node == includes_.end()) {
      continue;
    }
    for (const std::string& header : node->second) {
      if (!reached_by.emplace(header, open.front()).second) {
        continue;
      }
      if (forbidden(header)) {
        std::string chain = header;
        for (std::string step = open.front(); !step.empty(); step = reached_by.at(step)) {
          chain.insert(0, step + " > ");
        }
        return chain;
      }
      open.push_back(header);
    }
  }
  return "";
}

}  // namespace lockstep::testing
