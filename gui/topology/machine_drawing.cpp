#include "gui/topology/machine_drawing.h"

#include <QApplication>
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <map>

#include "gui/topology/node_drawing.h"
#include "topologies/rates.h"

namespace lockstep::gui {
namespace {

constexpr qreal kFrameGap = 36;

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Topology", text);
}
QString text(const std::string& t) {
  return QString::fromStdString(t);
}
qreal line_height() {
  return QFontMetricsF(QApplication::font()).height();
}

QString fabric_text(const Fabric& fabric) {
  return fabric.wide_area()
             ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "wide-area link %1")).arg(text(fabric.name))
             : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "network %1")).arg(text(fabric.name));
}

double distance_to(const QPointF& p, const QPointF& a, const QPointF& b) {
  const QPointF along = b - a, off = p - a;
  const double length = along.x() * along.x() + along.y() * along.y();
  const double t = length > 0 ? std::clamp((off.x() * along.x() + off.y() * along.y()) / length, 0.0, 1.0) : 0;
  const QPointF away = off - t * along;
  return std::hypot(away.x(), away.y());
}

std::vector<QPointF> flattened(const MachineLink& link) {
  if (!link.arc) return link.points;
  std::vector<QPointF> out;
  constexpr int kPieces = 24;
  for (int i = 0; i <= kPieces; ++i) {
    const double t = static_cast<double>(i) / kPieces;
    out.push_back((1 - t) * (1 - t) * link.points[0] + 2 * t * (1 - t) * link.points[1] + t * t * link.points[2]);
  }
  return out;
}

}  // namespace

MachineDrawing machine_drawing(const Topology& topology, int gpus, const Run* run) {
  MachineDrawing out;
  const std::map<std::string, LinkLoad> loads =
      run != nullptr ? link_loads(topology, *run) : std::map<std::string, LinkLoad>{};
  const std::vector<NodeKind> kinds = node_kinds(topology, gpus);
  const bool with_fabric = topology.fabric.has_value();
  const qreal fabric_height = with_fabric ? line_height() + 12 : 0;
  const qreal fabric_bottom = with_fabric ? 4 + fabric_height : -kLayerGap + 8;
  qreal x = 0, bottom = 0;
  for (const NodeKind& kind : kinds) {
    const Topology seen = seen_from(topology, kind.first);
    const std::size_t drawn =
        seen.node.gpu.vendor == "cpu" ? kind.used.size() : static_cast<std::size_t>(seen.node.gpu_count);
    const bool compact = kinds.size() > 1 || drawn > 8;  // GPUs by their numbers alone
    const NodeExtent extent = draw_node(out, seen, kind, loads, {x, fabric_bottom, with_fabric, compact});
    x = extent.right + kFrameGap;
    bottom = std::max(bottom, extent.bottom);
  }
  for (NodeFrame& frame : out.frames) frame.area.setBottom(bottom);
  out.size = QSizeF(std::max(0.0, x - kFrameGap), bottom);
  if (with_fabric)
    out.boxes.push_back({MachineBox::Kind::Fabric,
                         QRectF(0, 4, out.size.width(), fabric_height),
                         fabric_text(*topology.fabric),
                         {},
                         topology.nodes_for(gpus) > 1});
  return out;
}

int link_at(const MachineDrawing& drawing, const QPointF& point, qreal reach) {
  int best = -1;
  double nearest = reach;
  for (std::size_t i = 0; i < drawing.links.size(); ++i) {
    const MachineLink& link = drawing.links[i];
    if (link.id.empty()) continue;
    double away = nearest;
    if (!link.bar.isNull()) {
      away = link.bar.adjusted(-2, -4, 2, 4).contains(point) ? 0 : reach;
    } else {
      const std::vector<QPointF> points = flattened(link);
      for (std::size_t p = 1; p < points.size(); ++p)
        away = std::min(away, distance_to(point, points[p - 1], points[p]));
    }
    if (away >= nearest) continue;
    nearest = away;
    best = static_cast<int>(i);
  }
  return best;
}

qreal link_width(double rate) {
  return std::clamp(1.2 + 1.6 * (std::log10(std::max(rate, 1.0)) - 8), 1.2, 8.0);
}

}  // namespace lockstep::gui
