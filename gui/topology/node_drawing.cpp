#include "gui/topology/node_drawing.h"

#include <fmt/format.h>

#include <QApplication>
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/base/format.h"
#include "topologies/rates.h"

namespace lockstep::gui {
namespace {

constexpr int kMostDrawn = 16;  // GPUs or cpu ranks of one node
constexpr int kMostNics = 8;    // more are drawn as one for each switch
constexpr qreal kPad = 16, kGap = 10, kSwitchGap = 22, kSocketGap = 34;

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Topology", text);
}
QString text(const std::string& t) {
  return QString::fromStdString(t);
}
qreal line_height() {
  return QFontMetricsF(QApplication::font()).height();
}
qreal text_width(const QString& t) {
  return QFontMetricsF(QApplication::font()).horizontalAdvance(t);
}
QPointF top_of(const QRectF& r) {
  return {r.center().x(), r.top()};
}
QPointF bottom_of(const QRectF& r) {
  return {r.center().x(), r.bottom()};
}

struct Nic {
  int first = 0, count = 1, pcie_switch = -1;
};

// One kind of node, placed from x = left on. Rows by their y, the same for all frames.
class NodePainter {
 public:
  NodePainter(MachineDrawing& out, const Topology& seen, const NodeKind& kind,
              const std::map<std::string, LinkLoad>& loads, const NodePlace& place)
      : out_(out),
        t_(seen),
        node_(seen.node),
        kind_(kind),
        loads_(loads),
        with_fabric_(place.with_fabric),
        compact_(place.compact) {
    is_cpu_ = node_.gpu.vendor == "cpu";
    unit_ = line_height();
    gpu_size_ = QSizeF(compact_ ? text_width(QStringLiteral("000")) + 14
                                : std::max(text_width(QStringLiteral("GPU 15")), text_width(word() + " 15")) + 12,
                       2.1 * unit_);
    for (int gpu = 0; gpu < node_.gpu_count; ++gpu)
      if (!is_cpu_ || is_used(gpu)) gpus_.push_back(gpu);
    hidden_ = std::max(0, static_cast<int>(gpus_.size()) - kMostDrawn);
    gpus_.resize(gpus_.size() - static_cast<std::size_t>(hidden_));
    has_switches_ = has_uplinks(node_) && !is_cpu_ && !node_.integrated;
    find_nics();
  }

  // Returns the right edge.
  qreal draw(qreal left, qreal fabric_bottom) {
    y_host_ = fabric_bottom + kLayerGap + 26;
    y_switch_ = y_host_ + host_height() + kLayerGap;
    y_gpu_ = has_switches_ ? y_switch_ + switch_height() + kLayerGap : y_switch_;
    const qreal inner = left + kPad + label_width() + 12;
    place_columns(inner);
    draw_hosts();
    draw_switches();
    draw_gpus();
    draw_nvlink();
    draw_nics(fabric_bottom);
    draw_labels(left + kPad, fabric_bottom);
    bottom_ += unit_ + 10;  // for the title
    const qreal right = right_ + kPad;
    out_.frames.push_back(
        {QRectF(QPointF(left, fabric_bottom + kLayerGap - 4), QPointF(right, bottom_ + kPad)), title()});
    const qreal wanted = left + 2 * kPad + text_width(title());
    out_.frames.back().area.setRight(std::max(right, wanted));
    return out_.frames.back().area.right();
  }

  qreal bottom() const { return bottom_ + kPad; }

 private:
  struct Column {  // of a socket
    int socket = 0;
    std::vector<std::vector<int>> groups;  // GPUs of each switch, or all of the socket's in one
    std::vector<int> switches;             // -1 where there is none
    std::vector<std::size_t> nics;         // indices into nics_
    qreal left = 0, width = 0;
  };

  QString word() const {
    return is_cpu_ ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "rank"))
                   : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "GPU"));
  }
  bool is_used(int gpu) const { return std::count(kind_.used.begin(), kind_.used.end(), gpu) > 0; }
  std::string id(const std::string& rest) const { return fmt::format("node{}.{}", kind_.first, rest); }
  LinkLoad load_of(const std::string& link) const {
    const auto found = loads_.find(link);
    return found == loads_.end() ? LinkLoad{} : found->second;
  }
  qreal host_height() const { return 2 * unit_ + 26; }
  qreal switch_height() const { return unit_ + 8; }
  qreal host_width() const { return std::max(text_width(host_model()), (compact_ ? 6 : 9) * unit_) + 18; }
  QSizeF nic_size() const { return {text_width(QStringLiteral("NIC 31")) + 14, unit_ + 8}; }
  QString host_model() const { return text(visible(node_.host.cpu_model)); }
  bool wide_area() const { return t_.fabric && t_.fabric->wide_area(); }

  void find_nics() {
    const Nics nics = nics_of(t_);
    if (!with_fabric_ || nics.count == 0) return;
    const std::vector<int> switches = nic_switches(t_);
    const bool apart = nics.count <= kMostNics && !wide_area();
    for (int nic = 0; nic < nics.count; ++nic) {
      const int on = wide_area() ? -1 : switches[static_cast<std::size_t>(nic)];
      if (!apart && !nics_.empty() && nics_.back().pcie_switch == on)
        ++nics_.back().count;
      else
        nics_.push_back({nic, 1, on});
    }
  }
  int socket_of_switch(int index) const {
    return index < 0 ? 0 : node_.pcie.switches[static_cast<std::size_t>(index)].socket;
  }

  void place_columns(qreal x) {
    std::map<int, Column> columns;
    std::map<int, std::vector<int>> by_switch;  // or by socket, where there is no switch to draw
    for (const int gpu : gpus_) {
      const int socket = is_cpu_ || node_.integrated ? 0 : socket_of(node_, gpu);
      columns[socket].socket = socket;
      by_switch[has_switches_ ? switch_of(node_, gpu) : -1 - socket].push_back(gpu);
    }
    for (auto& [key, gpus] : by_switch) {
      Column& column = columns[key >= 0 ? socket_of_switch(key) : socket_of(node_, gpus.front())];
      column.groups.push_back(gpus);
      column.switches.push_back(key >= 0 ? key : -1);
    }
    for (std::size_t n = 0; n < nics_.size(); ++n) {
      Column& column = columns[socket_of_switch(nics_[n].pcie_switch)];
      column.socket = socket_of_switch(nics_[n].pcie_switch);
      column.nics.push_back(n);
    }
    for (auto& [socket, column] : columns) {
      qreal gpus_width = 0;
      for (const auto& group : column.groups)
        gpus_width += static_cast<qreal>(group.size()) * (gpu_size_.width() + kGap) - kGap + kSwitchGap;
      gpus_width = std::max(0.0, gpus_width - kSwitchGap);
      const auto beside = static_cast<qreal>((column.nics.size() + 1) / 2);
      column.width = std::max(gpus_width, host_width() + 2 * beside * (nic_size().width() + kGap));
      column.left = x;
      place_gpus(column, x + (column.width - gpus_width) / 2);
      x += column.width + kSocketGap;
      columns_.push_back(column);
    }
    right_ = x - kSocketGap;
  }

  void place_gpus(const Column& column, qreal x) {
    for (const auto& group : column.groups) {
      for (const int gpu : group) {
        gpu_areas_[gpu] = QRectF(QPointF(x, y_gpu_), gpu_size_);
        x += gpu_size_.width() + kGap;
      }
      x += kSwitchGap - kGap;
    }
  }

  void draw_hosts() {
    const std::string link = id("host");
    for (const Column& column : columns_) {
      const QRectF area(column.left + (column.width - host_width()) / 2, y_host_, host_width(), host_height());
      const QString name = node_.host.numa_nodes > 0 ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "NUMA node %1"))
                                                     : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "CPU %1"));
      out_.boxes.push_back({MachineBox::Kind::Host, area, name.arg(column.socket), host_model(), true});
      host_areas_[column.socket] = area;
      MachineLink memory;
      memory.id = link;
      memory.link_class = LinkClass::Host;
      memory.rate = host_rate(t_);
      memory.load = load_of(link);
      memory.name = tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "memory of the host"));
      memory.bar = QRectF(area.left() + 8, area.bottom() - 12, area.width() - 16, 7);
      out_.links.push_back(std::move(memory));
    }
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      const QRectF& a = host_areas_[columns_[i - 1].socket];
      const QRectF& b = host_areas_[columns_[i].socket];
      const qreal y = y_host_ - 13;
      add_link("interconnect", LinkClass::Host, interconnect_rate(t_),
               tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "link between the CPUs")),
               {QPointF(a.right() - 20, a.top()), QPointF(a.right() - 20, y), QPointF(b.left() + 20, y),
                QPointF(b.left() + 20, b.top())});
    }
  }

  void draw_switches() {
    for (const Column& column : columns_)
      for (std::size_t g = 0; g < column.groups.size(); ++g) {
        const int index = column.switches[g];
        if (index < 0) continue;
        const QRectF first = gpu_areas_[column.groups[g].front()], last = gpu_areas_[column.groups[g].back()];
        const QRectF area(first.left(), y_switch_, last.right() - first.left(), switch_height());
        switch_areas_[index] = area;
        const bool named =
            area.width() > text_width(tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "PCIe switch"))) + 8;
        out_.boxes.push_back({MachineBox::Kind::Switch,
                              area,
                              named ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "PCIe switch"))
                                    : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "switch")),
                              {},
                              true});
        const QRectF& host = host_areas_[column.socket];
        add_link(fmt::format("switch{}.uplink", index), LinkClass::Uplink, pcie_uplink_rate(t_),
                 tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "uplink of PCIe switch %1")).arg(index),
                 up_to(host, top_of(area), y_switch_ - 14));
      }
  }

  // Up, across at `y`, up.
  static std::vector<QPointF> elbow(const QPointF& from, const QPointF& to, qreal y) {
    if (std::abs(from.x() - to.x()) < 1) return {from, to};
    return {from, {from.x(), y}, {to.x(), y}, to};
  }

  // Straight up where the host is above, else to its nearer edge.
  static std::vector<QPointF> up_to(const QRectF& host, const QPointF& from, qreal y) {
    return elbow(from, {std::clamp(from.x(), host.left() + 16, host.right() - 16), host.bottom()}, y);
  }

  void draw_gpus() {
    for (const Column& column : columns_)
      for (std::size_t g = 0; g < column.groups.size(); ++g)
        for (std::size_t i = 0; i < column.groups[g].size(); ++i) draw_gpu(column, g, i);
    bottom_ = y_gpu_ + gpu_size_.height();
    if (hidden_ == 0) return;
    out_.labels.push_back({QPointF(columns_.front().left, bottom_ + unit_ + 4),
                           tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "and %1 more of the same")).arg(hidden_),
                           {}});
    bottom_ += unit_ + 8;
  }

  void draw_gpu(const Column& column, std::size_t group, std::size_t i) {
    const int gpu = column.groups[group][i];
    const QRectF area = gpu_areas_[gpu];
    out_.boxes.push_back({MachineBox::Kind::Gpu,
                          area,
                          compact_ ? QString::number(gpu) : QStringLiteral("%1 %2").arg(word()).arg(gpu),
                          {},
                          is_used(gpu)});
    const int index = column.switches[group];
    const QRectF& host = host_areas_[column.socket];
    const std::vector<QPointF> points =
        index >= 0 ? std::vector<QPointF>{top_of(area), QPointF(area.center().x(), switch_areas_[index].bottom())}
                   : up_to(host, top_of(area), y_gpu_ - 14);
    if (is_cpu_)
      hang(points);
    else if (node_.integrated)
      add_link(fmt::format("gpu{}.copy", gpu), LinkClass::Host, host_rate(t_) / 2,
               tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "copies of GPU %1")).arg(gpu), points);
    else
      add_link(fmt::format("gpu{}.pcie", gpu), LinkClass::Pcie, pcie_slot_rate(t_),
               tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "PCIe slot of GPU %1")).arg(gpu), points);
  }

  void draw_nvlink() {
    if (node_.nvlink == NvLinkKind::NvSwitch) {
      const QRectF area(gpu_areas_[gpus_.front()].left(), bottom_ + kLayerGap,
                        gpu_areas_[gpus_.back()].right() - gpu_areas_[gpus_.front()].left(), switch_height());
      out_.boxes.push_back({MachineBox::Kind::NvSwitch, area, QStringLiteral("NVSwitch"), {}, true});
      for (const int gpu : gpus_) {
        const QRectF& from = gpu_areas_[gpu];
        add_link(fmt::format("gpu{}.nvlink", gpu), LinkClass::Nvlink, nvlink_rate(t_),
                 tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "NVLinks of GPU %1")).arg(gpu),
                 {bottom_of(from), QPointF(from.center().x(), area.top())});
      }
      bottom_ = area.bottom();
    } else if (node_.nvlink != NvLinkKind::None) {
      qreal deepest = 0;
      for (const NvLinkPair& pair : node_.nvlink_pairs) deepest = std::max(deepest, draw_pair(pair));
      bottom_ += std::max(kLayerGap, deepest);
    }
  }

  qreal draw_pair(const NvLinkPair& pair) {
    const int a = std::min(pair.a, pair.b), b = std::max(pair.a, pair.b);
    const QRectF from = gpu_areas_[a], to = gpu_areas_[b];
    const qreal distance = to.center().x() - from.center().x();
    const qreal depth = 18 + 0.26 * distance;
    const qreal shift = std::min(gpu_size_.width() * 0.32, 4 + distance * 0.02);
    const QPointF start = bottom_of(from) + QPointF(shift, 0), end = bottom_of(to) - QPointF(shift, 0);
    add_link(fmt::format("gpu{}.nvlink{}", a, b), LinkClass::Nvlink,
             nvlink_rate(t_) * pair.count / std::max(1, node_.gpu.nvlink_links),
             tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "%1 NVLinks between GPU %2 and %3"))
                 .arg(pair.count)
                 .arg(a)
                 .arg(b),
             {start, QPointF((start.x() + end.x()) / 2, start.y() + 2 * depth), end});
    out_.links.back().arc = true;
    return depth + 4;
  }

  void draw_nics(qreal fabric_bottom) {
    for (const Column& column : columns_) {
      const QRectF& host = host_areas_[column.socket];
      const std::size_t left = column.nics.size() / 2;  // the others stand to the right of the host
      for (std::size_t i = 0; i < column.nics.size(); ++i) {
        const Nic& nic = nics_[column.nics[i]];
        const qreal step = nic_size().width() + kGap;
        const qreal x = i < left ? host.left() - static_cast<qreal>(left - i) * step
                                 : host.right() + kGap + static_cast<qreal>(i - left) * step;
        draw_nic(nic, QRectF(QPointF(x, y_host_), nic_size()), column, fabric_bottom);
      }
    }
  }

  void draw_nic(const Nic& nic, const QRectF& area, const Column& column, qreal fabric_bottom) {
    const Nics nics = nics_of(t_);
    const QString name = wide_area()     ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "line"))
                         : nic.count > 1 ? QStringLiteral("%1 NICs").arg(nic.count)
                                         : QStringLiteral("NIC %1").arg(nic.first);
    out_.boxes.push_back({MachineBox::Kind::Nic, area, name, {}, true});
    const auto to_switch = switch_areas_.find(nic.pcie_switch);
    if (to_switch != switch_areas_.end()) {
      const QRectF& s = to_switch->second;
      const qreal x = std::clamp(area.center().x(), s.left() + 6, s.right() - 6);
      hang(elbow({x, s.top()}, {area.center().x(), area.bottom()}, y_host_ + host_height() + 10));
    } else {
      const QRectF& host = host_areas_[column.socket];
      const bool is_left = area.center().x() < host.center().x();
      hang({QPointF(is_left ? area.right() : area.left(), area.center().y()),
            QPointF(is_left ? host.left() : host.right(), area.center().y())});
    }
    const bool wan = wide_area();
    add_link(wan ? std::string("wan") : fmt::format("nic{}", nic.first), wan ? LinkClass::Wan : LinkClass::Nic,
             nics.rate * nic.count,
             wan ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "line to the other sites"))
             : nic.count > 1
                 ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "%1 NICs from %2 on")).arg(nic.count).arg(nic.first)
                 : QStringLiteral("NIC %1").arg(nic.first),
             {top_of(area), QPointF(area.center().x(), fabric_bottom)});
    if (nic.count > 1) {
      // Its load is that of all that it stands for.
      LinkLoad& load = out_.links.back().load;
      for (int i = nic.first + 1; i < nic.first + nic.count; ++i)
        load.bytes += load_of(id(fmt::format("nic{}", i))).bytes;
    }
  }

  void add_link(const std::string& rest, LinkClass link_class, double rate, const QString& name,
                std::vector<QPointF> points) {
    MachineLink link;
    link.id = id(rest);
    link.link_class = link_class;
    link.rate = rate;
    link.load = load_of(link.id);
    link.name = name;
    link.points = std::move(points);
    out_.links.push_back(std::move(link));
  }
  void hang(std::vector<QPointF> points) {
    MachineLink link;
    link.points = std::move(points);
    out_.links.push_back(std::move(link));
  }

  std::vector<std::pair<QString, double>> layer_names() const {
    const auto pcie = QStringLiteral("PCIe %1.0 ×%2").arg(node_.pcie.generation).arg(node_.pcie.lanes);
    return {{tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "NIC")), nics_of(t_).rate},
            {tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "host memory")), host_rate(t_)},
            {tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "switch uplink")), pcie_uplink_rate(t_)},
            {pcie, pcie_slot_rate(t_)},
            {QStringLiteral("NVLink"), nvlink_rate(t_)}};
  }
  qreal label_width() const {
    qreal width = 0;
    for (const auto& [name, rate] : layer_names())
      width = std::max({width, text_width(name), text_width(text(format_rate(rate)))});
    return width;
  }

  void draw_labels(qreal x, qreal fabric_bottom) {
    const auto names = layer_names();
    const auto add = [&](std::size_t which, qreal y) {
      out_.labels.push_back({QPointF(x, y), names[which].first, text(format_rate(names[which].second))});
    };
    if (with_fabric_ && !nics_.empty()) {
      out_.labels.push_back({QPointF(x, fabric_bottom + 16),
                             wide_area() ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "line")) : names[0].first,
                             text(format_rate(names[0].second))});
    }
    add(1, y_host_ + host_height() - unit_);
    if (compact_)
      out_.labels.push_back({QPointF(x, y_gpu_ + 1.35 * unit_),
                             is_cpu_ ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "ranks"))
                                     : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "GPUs")),
                             {}});
    if (is_cpu_) return;
    if (has_switches_) add(2, y_switch_ - unit_ - 6);
    if (node_.integrated) return;
    add(3, y_gpu_ - unit_ - 6);
    if (node_.nvlink != NvLinkKind::None) add(4, y_gpu_ + gpu_size_.height() + unit_ + 2);
  }

  QString title() const {
    const QString name = text(visible(node_.name));
    const auto count = static_cast<int>(kind_.nodes.size());
    QString out = count == 1 ? name
                             : (wide_area() ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "%1  × %2 sites"))
                                            : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "%1  × %2 nodes")))
                                   .arg(name)
                                   .arg(count);
    if (!is_cpu_ && static_cast<int>(kind_.used.size()) < node_.gpu_count)
      out += tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", ", %1 of %2 GPUs in use"))
                 .arg(kind_.used.size())
                 .arg(node_.gpu_count);
    return out;
  }

  MachineDrawing& out_;
  const Topology& t_;
  const Node& node_;
  const NodeKind& kind_;
  const std::map<std::string, LinkLoad>& loads_;
  bool with_fabric_, compact_, is_cpu_ = false, has_switches_ = false;
  qreal unit_ = 16, y_host_ = 0, y_switch_ = 0, y_gpu_ = 0, right_ = 0, bottom_ = 0;
  QSizeF gpu_size_;
  std::vector<int> gpus_;
  int hidden_ = 0;
  std::vector<Nic> nics_;
  std::vector<Column> columns_;
  std::map<int, QRectF> gpu_areas_, switch_areas_, host_areas_;
};

}  // namespace

NodeExtent draw_node(MachineDrawing& out, const Topology& seen, const NodeKind& kind,
                     const std::map<std::string, LinkLoad>& loads, const NodePlace& place) {
  NodePainter painter(out, seen, kind, loads, place);
  const qreal right = painter.draw(place.left, place.fabric_bottom);
  return {right, painter.bottom()};
}

}  // namespace lockstep::gui
