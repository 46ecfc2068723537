// What can be wrong with a machine that its files alone do not show: overrides of links it lacks, GPUs that it has not,
// nodes that do not go together.
#pragma once

#include <string>

#include "simulator/base/error.h"
#include "topologies/reader.h"
#include "topologies/topology.h"

namespace lockstep {

// An error in the request: it has a key and no place.
Error request_error(ErrorKind kind, std::string key, std::string found, std::string message, std::string allowed = "",
                    std::string hint = "");

// `topology` is what `request` asked for, its overrides not yet in it.
Errors check_machine(const TopologyRequest& request, const Topology& topology);

}  // namespace lockstep
