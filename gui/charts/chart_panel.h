// A Qt chart with what Qt Charts lacks: a heading and a legend that never cut words, an overlay in the chart's own
// coordinates (whiskers, hatching, labels), callouts under pointer and arrow keys, and painting into any picture.
#pragma once

#include <QChartView>
#include <QGraphicsObject>
#include <functional>
#include <vector>

namespace lockstep::gui {

class ChartOverlay;

struct LegendItem {
  enum class Mark { Line, Dashed, DashDotted, Thin, Dotted, Band, Box, Hatched, Hollow, Point, Whisker, Cross };
  Mark mark = Mark::Box;
  QColor colour;
  QString text;
  int marker = 0;  // of a Point: its shape
};

// A place that can be asked about: an area in values of a series.
struct HotSpot {
  QRectF area;  // of values; empty for a point
  QString text;
};

// The hatching of exposed communication: lines, because a pattern brush is lost in some SVG viewers.
void hatch(QPainter& painter, const QRectF& area, const QColor& colour);

// A measured point: diamond, square, triangle and circle for the first four sources, then again.
void draw_marker(QPainter& painter, const QPointF& centre, qreal radius, int source);
// The mark of a legend item at the left of its box, kLegendSwatch wide.
void draw_mark(QPainter& painter, const LegendItem& item, const QRectF& box);
inline constexpr qreal kLegendSwatch = 22;

class ChartPanel : public QChartView {
  Q_OBJECT

 public:
  explicit ChartPanel(QWidget* parent = nullptr);

  void set_heading(const QString& title, const QString& unit);
  void show_title(bool on);  // off where a frame around the chart names it; pictures always have it
  void set_legend(std::vector<LegendItem> items);
  // Drawn over the series at every repaint.
  void set_overlay(std::function<void(QPainter&)> draw);
  void set_hot_spots(std::vector<HotSpot> spots, QAbstractSeries* series);
  // Called before the chart is seen or painted: whoever fills it may wait until then.
  void set_filler(std::function<void()> fill) { fill_ = std::move(fill); }
  // Called with the hot spot that is clicked, or chosen by Enter.
  void set_activated(std::function<void(int)> activated) { activated_ = std::move(activated); }
  void set_faded(bool faded);                // stale: grey
  void set_empty_text(const QString& text);  // where there is nothing to show; empty: there is

  QPointF place_of(const QPointF& value) const;  // of the hot spots' series, in the chart
  void paint_into(QPainter& painter, const QRectF& target);
  int callout() const { return current_; }  // -1: none

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  friend class ChartOverlay;
  void lay_out(qreal width);
  void draw(QPainter& painter);
  void draw_legend(QPainter& painter) const;
  void draw_callout(QPainter& painter) const;
  QRectF area_of(const HotSpot& spot) const;
  void select(int spot);

  QString title_, unit_, empty_text_;
  std::vector<LegendItem> legend_;
  std::vector<QPointF> legend_places_;
  std::function<void(QPainter&)> overlay_draw_;
  std::function<void()> fill_;
  std::function<void(int)> activated_;
  std::vector<HotSpot> spots_;
  QAbstractSeries* series_ = nullptr;
  ChartOverlay* overlay_ = nullptr;
  int current_ = -1;
  bool show_title_ = true;
};

}  // namespace lockstep::gui
