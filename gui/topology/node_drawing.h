// One kind of node of a machine: hosts with their NICs, PCIe switches, GPUs and NVLink, placed in rows.
#pragma once

#include <map>
#include <string>

#include "gui/topology/machine_drawing.h"

namespace lockstep::gui {

inline constexpr qreal kLayerGap = 46;  // between rows

struct NodePlace {
  qreal left = 0, fabric_bottom = 0;
  bool with_fabric = false;
  bool compact = false;  // GPUs by their numbers alone
};
struct NodeExtent {
  qreal right = 0, bottom = 0;
};

// Adds the node to `out`. `seen`: the machine as that node knows it (seen_from in topologies/rates.h).
NodeExtent draw_node(MachineDrawing& out, const Topology& seen, const NodeKind& kind,
                     const std::map<std::string, LinkLoad>& loads, const NodePlace& place);

}  // namespace lockstep::gui
