// The machine of the scenario as a view of the window: the drawing, above it whose step its links show and what limits
// the collectives, below it the selected link.
#pragma once

#include <QPointer>
#include <QWidget>

#include "gui/charts/view.h"
#include "gui/topology/topology_widget.h"

class QComboBox;
class QLabel;
class QToolButton;

namespace lockstep::gui {

class TopologyView : public View {
 public:
  TopologyView();
  ~TopologyView() override;

  QString id() const override { return QStringLiteral("topology"); }
  QString title() const override;
  QWidget* widget() override { return page_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;
  bool shows_details() const override { return true; }

  TopologyWidget& topology() { return *topology_; }
  QComboBox& runs() { return *runs_; }
  QString details() const;

 private:
  const Run* chosen() const;
  void fill_runs();
  void draw();
  void refresh_details();
  QString limit_text() const;
  double whole_rate(const Run& run) const;  // of all that limits the ring, in bytes/s; 0: not known
  void ask_for_link() const;                // where in the timeline it is busy
  QString limit_name(const RingLimit& limit) const;

  QPointer<QWidget> page_;
  TopologyWidget* topology_ = nullptr;
  QComboBox* runs_ = nullptr;
  QLabel *limit_ = nullptr, *details_ = nullptr;
  QToolButton* find_ = nullptr;
  Shown shown_;
};

}  // namespace lockstep::gui
