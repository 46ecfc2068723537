// A sweep map as a picture: where its cells lie and how they are painted. For the screen and for files.
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "gui/sweep/sweep_grid.h"

class QPainter;

namespace lockstep::gui {

struct HeatCell {
  enum class Kind { Pending, Value, NotRun };
  Kind kind = Kind::Pending;
  bool estimated = false;
  bool fits = true;  // in memory
  double share = 0;  // of the scale
  QString text;      // "94.9"
};

// All that is painted, as words and shares.
struct HeatPicture {
  QString title, subtitle;  // "Efficiency (%)", "DDP on 8 GPUs"
  QString across_title, up_title;
  QStringList across, up;       // labels
  std::vector<HeatCell> cells;  // x + y * across
  QString worst, best;          // ends of the scale
  std::optional<std::size_t> best_cell, present, selected;
  bool faded = false, focused = false;
  QString empty;  // in place of a map
  bool is_empty() const { return cells.empty() || across.isEmpty(); }
};
HeatPicture heat_picture(const SweepGrid& grid, SweepMetric metric);

// Rows are counted from below.
struct HeatLayout {
  QRectF cells;  // all of them
  std::size_t across = 0, up = 0;
  qreal legend_y = 0, up_labels_x = 0;
  int label_lines = 1;
  QRectF cell(std::size_t index) const;
  std::optional<std::size_t> at(const QPointF& point) const;
};
HeatLayout heat_layout(const HeatPicture& picture, const QRectF& target, const QFont& font, bool titled);

// From a cell by arrow keys: -1, 0 or 1 in each direction; stays inside.
std::size_t moved(const HeatLayout& layout, std::size_t from, int right, int up);

// `titled`: with the title above the subtitle.
void paint_heat(QPainter& painter, const QRectF& target, const HeatPicture& picture, bool titled);

}  // namespace lockstep::gui
