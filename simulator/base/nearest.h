// Names as people type them: equality without case and underscores, and the nearest of a list for "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Lower case, `_` as `-`: `ResNet_50` and `resnet-50` are one name. (A missing hyphen is a near miss, not the same
// name.)
std::string canonical_name(std::string_view name);

// Number of single-character edits (insert, delete, replace, swap of neighbours) between two canonical names.
int edit_distance(std::string_view a, std::string_view b);

// The candidate that is nearest to `name`, as it stands in the list; nothing when none is near: more than a third of
// the longer name's letters wrong (at least one edit is always allowed). Ties go to the first.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

// "did you mean `x`?" or, when nothing is near, an empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace lockstep
