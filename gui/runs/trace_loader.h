// Chrome traces read in a thread of its own, one after another: progress, Stop, and what is wrong with them.
#pragma once

#include <QObject>
#include <QString>
#include <QThread>
#include <atomic>
#include <memory>

#include "simulator/exchange/chrome_trace_reader.h"

namespace lockstep::gui {

class TraceLoader : public QObject {
  Q_OBJECT

 public:
  explicit TraceLoader(QObject* parent = nullptr);
  ~TraceLoader() override;

  void read(const QString& path);  // after those that are being read
  void stop();                     // all of them; nothing follows
  bool running() const { return waiting_ > 0; }

 signals:
  void progress(const QString& name, double share);
  void loaded(std::shared_ptr<const lockstep::TraceFile> file);
  void failed(const QString& path, const lockstep::Errors& errors);

 private:
  void take(const QString& path, quint64 id);  // in the thread

  QThread thread_;
  QObject worker_;  // lives in the thread
  std::atomic<quint64> newest_{0};
  int waiting_ = 0;
};

}  // namespace lockstep::gui
