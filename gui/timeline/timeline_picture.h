// A timeline as a picture: where its rows are, what is under a point, and the painting of it, on a widget or into a
// file.
#pragma once

#include <QFont>
#include <QRectF>
#include <vector>

#include "gui/timeline/timeline_model.h"

class QPainter;

namespace lockstep::gui {

// A span of a timeline; group -1: none.
struct SpanPlace {
  int group = -1, lane = -1, span = -1;
  bool valid() const { return group >= 0; }
  bool operator==(const SpanPlace&) const = default;
};

struct TimelineRow {
  QRectF area;  // of its spans
  int group = 0, lane = 0;
};

class TimelinePicture {
 public:
  // Keeps the visible part, but the whole step where that is what was visible.
  void show(Timeline timeline);
  const Timeline& timeline() const { return timeline_; }
  TimeWindow& window() { return window_; }
  const TimeWindow& window() const { return window_; }
  // From a little before the step on the GPU to a little after it; what the CPU launched earlier lies to the left.
  void fit();

  // Places everything in `area`, its rows moved up by `scroll`.
  void lay_out(const QRectF& area, qreal scroll = 0);
  qreal rows_height() const { return rows_height_; }  // of all rows, seen or not
  const QRectF& rows_area() const { return rows_area_; }
  const QRectF& minimap() const { return minimap_; }
  const std::vector<TimelineRow>& rows() const { return rows_; }
  qreal minimum_height() const;
  qreal minimum_width() const { return 420; }

  // Fraction of the axis, 0 at its left edge.
  double fraction_at(qreal x) const { return (x - rows_area_.left()) / rows_area_.width(); }
  SpanPlace place_at(const QPointF& point) const;
  QRectF area_of(const SpanPlace& place) const;  // empty where it is not laid out
  const LaneSpan* span(const SpanPlace& place) const;
  // The next or previous span of the same lane, from the first of the compute lane where nothing is selected.
  SpanPlace neighbour(const SpanPlace& place, int by) const;
  // The lane above or below, at the same time.
  SpanPlace other_lane(const SpanPlace& place, int by) const;
  // The collective of the next or previous bucket; goes round.
  SpanPlace bucket(const SpanPlace& place, int by) const;
  // Makes it visible: moves the window, and zooms in until it is wide enough to see.
  void reveal(const SpanPlace& place);
  QString text_of(const SpanPlace& place, const QString& separator) const;  // name, cause, times, bytes

  struct Marks {
    SpanPlace selected, hovered;
    bool faded = false;
    std::optional<Focus> lit;  // all other spans are dim
  };
  // What a focus lights: how many spans, for how long in all, and the first of them.
  struct Lit {
    int spans = 0;
    double seconds = 0;
    SpanPlace first;
  };
  Lit lit_by(const Focus& focus) const;
  void paint(QPainter& painter, const Marks& marks) const;

 private:
  qreal row_height(TimelineLane::Kind kind) const;
  qreal title_height() const;
  qreal legend_height(qreal width) const;
  void paint_axis(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_title(QPainter& painter, int group, qreal y) const;
  void paint_row(QPainter& painter, const TimelineRow& row, double density, const std::optional<Focus>& lit) const;
  bool means(const Focus& focus, const TimelineGroup& group) const;
  void paint_span_text(QPainter& painter, const QRectF& box, const QString& text, const QColor& fill) const;
  void paint_steps(QPainter& painter) const;
  void paint_minimap(QPainter& painter, double density) const;
  void paint_mark(QPainter& painter, const SpanPlace& place, qreal width) const;
  int first_compute_lane(int group) const;
  qreal stretch_for(qreal height) const;
  void paint_exposed(QPainter& painter, const TimelineGroup& group, const QRectF& box, double density) const;

  Timeline timeline_;
  TimeWindow window_, fitted_;  // fitted_: as fit() left it
  struct LegendWord {
    Cause cause;
    QString word;
    TimelineLane::Kind lane = TimelineLane::Kind::Compute;
    bool hatched = false;
    bool looks_like(const LegendWord& other) const { return word == other.word && hatched == other.hatched; }
  };
  std::vector<LegendWord> words_;  // of the legend
  std::vector<TimelineRow> rows_;
  std::vector<qreal> titles_;  // y of the title of each group
  QRectF area_, legend_, axis_, rows_area_, minimap_;
  qreal rows_height_ = 0, stretch_ = 1;
};

// What the title of a group says besides its name: ranks, how many are folded, step, difference to what it stands
// below.
QStringList group_words(const Timeline& timeline, int group);

}  // namespace lockstep::gui
