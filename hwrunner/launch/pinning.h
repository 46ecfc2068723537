// Which cores each process of a launch runs on.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// The cores that this process may run on, by number.
std::vector<int> allowed_cores();

// `cores_each` of `allowed` for each of `processes`, none shared, in order. Empty where there are not enough: then
// nobody is pinned, and the scheduler shares them out.
std::vector<std::vector<int>> cores_for(int processes, int cores_each, const std::vector<int>& allowed);

// "0-3,8": cores as the kernel writes them.
std::string core_list(const std::vector<int>& cores);

}  // namespace lockstep
