// Values around zero, a row each: a bar from zero or a dot, with a band, a whisker, a number and a word. Painted as a
// whole, so that a picture of any size is the same drawing.
#pragma once

#include <QRectF>
#include <QStringList>
#include <optional>
#include <utility>
#include <vector>

#include "gui/charts/axis.h"
#include "gui/charts/chart_panel.h"

namespace lockstep::gui {

struct DivergingRow {
  enum class Kind { Heading, Bar, Dot };
  Kind kind = Kind::Bar;
  QString label;
  double value = 0;                                  // in the unit of the axis, as all numbers here
  std::optional<std::pair<double, double>> band;     // what is uncertain, pale
  std::optional<std::pair<double, double>> whisker;  // what varies, around zero
  bool hatched = false;
  QColor colour, number_colour;
  QString number, note;  // "+3.4 %", "within the measured spread"
  QString detail;        // more of it, where the picture is wide: "backward −20.9 ms"
  QString callout;       // under pointer or arrow keys; empty: none
};

struct DivergingPicture {
  QString title, unit;
  QStringList words;            // paragraphs above
  QStringList warnings;         // the same in the colour of warnings
  QString less, more;           // what the two sides mean
  std::optional<double> guide;  // lines at plus and minus this much
  std::vector<LegendItem> legend;
  std::vector<DivergingRow> rows;
  QString empty;  // in place of all of it
};

class DivergingChart {
 public:
  void show(DivergingPicture picture) { picture_ = std::move(picture); }
  const DivergingPicture& picture() const { return picture_; }

  // As high as it likes to be at this width, the title left out where a frame names it.
  qreal height_for(qreal width, bool titled) const;
  // Everything into the area; rows get closer where it is low, and what does not fit is told. `current`: a row with its
  // callout, -1: none.
  void paint(QPainter& painter, const QRectF& area, bool titled, int current = -1);
  int row_at(const QPointF& at) const;  // of the last painting; -1: none with a callout
  int next(int row, int step) const;    // the next row with a callout, around the ends

 private:
  struct Columns {
    qreal label = 0, number = 0, note = 0, detail = 0;
  };
  Columns columns(const QRectF& area) const;
  qreal head_height(qreal width, bool titled) const;
  qreal paint_head(QPainter& painter, const QRectF& area, bool titled) const;
  void paint_axis(QPainter& painter, const QRectF& plot, const Ticks& ticks) const;
  void paint_row(QPainter& painter, const DivergingRow& row, const QRectF& line, const QRectF& plot) const;
  void paint_callout(QPainter& painter, const QRectF& area, int row) const;
  Ticks ticks(qreal width) const;
  qreal x_of(double value, const QRectF& plot) const;

  DivergingPicture picture_;
  Ticks ticks_;
  Columns columns_;
  std::vector<QRectF> lines_;  // of the rows, as painted
};

}  // namespace lockstep::gui
