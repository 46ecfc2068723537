// A machine as boxes and links in a plane: the fabric on top, then hosts with their NICs, PCIe switches, GPUs, and
// NVLink below them. Nodes that do the same are drawn once. Lengths are pixels at the natural size; whoever draws it
// scales it.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <string>
#include <vector>

#include "gui/topology/machine_loads.h"
#include "topologies/routes.h"

namespace lockstep::gui {

struct MachineBox {
  enum class Kind { Gpu, Host, Switch, NvSwitch, Nic, Fabric };
  Kind kind = Kind::Gpu;
  QRectF area;
  QString label, second;  // second line
  bool used = true;
};

struct MachineLink {
  std::string id;  // of topologies/routes.h; empty: only shows what hangs where
  LinkClass link_class = LinkClass::Pcie;
  double rate = 0;  // bytes/s and direction
  LinkLoad load;
  QString name;                 // for people: "PCIe slot of GPU 3"
  std::vector<QPointF> points;  // a line through them; of three points, when `arc`, the middle one is a control point
  bool arc = false;
  QRectF bar;  // host memory is a bar in its host's box instead
};

struct NodeFrame {
  QRectF area;
  QString title;  // "dgx-a100-80gb, × 2 nodes"
};

// What stands beside a layer: "NVLink 300 GB/s".
struct LayerLabel {
  QPointF at;  // left end of the first line's baseline
  QString name, rate;
};

struct MachineDrawing {
  std::vector<NodeFrame> frames;
  std::vector<MachineBox> boxes;
  std::vector<MachineLink> links;
  std::vector<LayerLabel> labels;
  QSizeF size;
  bool empty() const { return boxes.empty(); }
};

// `run`: whose loads; nullptr: none. `gpus`: that are in use.
MachineDrawing machine_drawing(const Topology& topology, int gpus, const Run* run);

// The link within `reach` of a point; -1: none. Links that only show what hangs where are not found.
int link_at(const MachineDrawing& drawing, const QPointF& point, qreal reach = 6);

// Line width by rate: a step for each factor of ten.
qreal link_width(double rate);

}  // namespace lockstep::gui
