// A view that shows a sweep and can change what is swept.
#pragma once

#include <QEvent>
#include <QObject>
#include <functional>

namespace lockstep::gui {

class SweepRuns;

class SweepUser {
 public:
  virtual ~SweepUser() = default;
  virtual void use(SweepRuns& runs) = 0;  // which outlive the view's widget
};

// Tells when a widget comes into sight and when it goes.
class SightWatch : public QObject {
 public:
  SightWatch(QObject* watched, std::function<void(bool)> tell) : QObject(watched), tell_(std::move(tell)) {
    watched->installEventFilter(this);
  }
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Show || event->type() == QEvent::Hide) tell_(event->type() == QEvent::Show);
    return false;
  }

 private:
  std::function<void(bool)> tell_;
};

}  // namespace lockstep::gui
