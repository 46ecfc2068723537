// Topologies as text for people: `lockstep show topology NAME` and the lines of `lockstep list`.
#pragma once

#include <string>

#include "topologies/topology.h"

namespace lockstep {

// A tree of the node with the rate of every link class (overrides applied, marked), the fabric, and the rings NCCL
// finds on 2, 4, 8 ... GPUs. Ends with a newline.
std::string describe_topology(const Topology& topology);

std::string summary_of(const GpuType& gpu);
std::string summary_of(const Node& node);
std::string summary_of(const Fabric& fabric);

}  // namespace lockstep
