#include "gui/runs/trace_loader.h"

#include <QElapsedTimer>
#include <QFileInfo>

namespace lockstep::gui {
namespace {

constexpr int kTellEveryMs = 100;

}  // namespace

TraceLoader::TraceLoader(QObject* parent) : QObject(parent) {
  thread_.setObjectName(QStringLiteral("traces"));
  worker_.moveToThread(&thread_);
  thread_.start();
}

TraceLoader::~TraceLoader() {
  stop();
  thread_.quit();
  thread_.wait();
}

void TraceLoader::stop() {
  ++newest_;
  waiting_ = 0;
}

void TraceLoader::read(const QString& path) {
  ++waiting_;
  const quint64 id = newest_;
  QMetaObject::invokeMethod(
      &worker_, [this, path, id] { take(path, id); }, Qt::QueuedConnection);
}

void TraceLoader::take(const QString& path, quint64 id) {
  if (newest_ != id) return;
  const QString name = QFileInfo(path).fileName();
  QElapsedTimer since;
  since.start();
  auto read = read_chrome_trace(path.toStdString(), [&](double share) {
    if (since.elapsed() >= kTellEveryMs) {
      since.restart();
      QMetaObject::invokeMethod(
          this,
          [this, name, share, id] {
            if (newest_ == id) emit progress(name, share);
          },
          Qt::QueuedConnection);
    }
    return newest_ == id;
  });
  auto file = read ? std::make_shared<const TraceFile>(*std::move(read)) : nullptr;
  const Errors errors = file ? Errors{} : read.error();
  QMetaObject::invokeMethod(
      this,
      [this, path, file, errors, id] {
        if (newest_ != id) return;
        --waiting_;
        if (file)
          emit loaded(file);
        else
          emit failed(path, errors);
      },
      Qt::QueuedConnection);
}

}  // namespace lockstep::gui
