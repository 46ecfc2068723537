// The spans of a simulated step: `lockstep predict --spans FILE` in a process of its own, and its file read in a
// thread, because a step may have a hundred thousand spans. The file goes with whatever end the run takes.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QString>
#include <QThread>
#include <atomic>
#include <memory>
#include <vector>

#include "simulator/result/result.h"

class QProcess;
class QTemporaryDir;

namespace lockstep::gui {

class SpansRun : public QObject {
  Q_OBJECT

 public:
  explicit SpansRun(QObject* parent = nullptr);
  ~SpansRun() override;

  // `scenario`: its text; `folder`: where files that it names are looked for. What still runs is stopped without a
  // word.
  void start(const QString& program, const QByteArray& scenario, const QString& folder);
  void stop();  // neither `known` nor `failed` follows
  bool running() const { return running_; }

 signals:
  // The runs that have a timeline.
  void known(std::shared_ptr<const std::vector<lockstep::Run>> runs);
  void failed(const QString& why);

 private:
  void ended(const std::shared_ptr<QTemporaryDir>& folder);
  void fail(const QString& why);

  QThread thread_;
  QObject worker_;  // lives in the thread
  std::atomic<quint64> newest_{0};
  QProcess* process_ = nullptr;
  bool running_ = false;  // process or reading
};

}  // namespace lockstep::gui
