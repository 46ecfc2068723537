#include "gui/runs/spans_run.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

#include "gui/runs/child_run.h"
#include "simulator/base/document.h"
#include "simulator/result/json.h"

namespace lockstep::gui {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

QString spans_file(const QTemporaryDir& folder) {
  return folder.filePath(QStringLiteral("spans.jsonl"));
}

Expected<std::vector<Run>> read_spans(const QString& path) {
  const auto text = read_text_file(path.toStdString(), kMostBytes);
  if (!text) return tl::unexpected(text.error());
  std::vector<Run> runs;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    auto run = run_from_message(rest.substr(0, end));
    if (!run) return tl::unexpected(run.error());
    runs.push_back(*std::move(run));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return runs;
}

}  // namespace

SpansRun::SpansRun(QObject* parent) : QObject(parent) {
  thread_.setObjectName(QStringLiteral("spans"));
  worker_.moveToThread(&thread_);
  thread_.start();
}

SpansRun::~SpansRun() {
  if (QProcess* process = std::exchange(process_, nullptr)) {
    process->disconnect(this);
    end_now(process);
  }
  stop();
  thread_.quit();
  thread_.wait();
}

void SpansRun::start(const QString& program, const QByteArray& scenario, const QString& folder) {
  stop();
  auto files = std::make_shared<QTemporaryDir>();
  if (!files->isValid()) return fail(tr("No temporary folder: %1").arg(files->errorString()));
  running_ = true;
  process_ = new QProcess(this);
  process_->setWorkingDirectory(folder);
  process_->setStandardOutputFile(QProcess::nullDevice());
  // The folder stays as long as the process may write into it, whoever has lost interest meanwhile.
  connect(process_, &QProcess::finished, process_, [files] {});
  connect(process_, &QProcess::finished, this, [this, files] { ended(files); });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) fail(tr("%1 could not be started").arg(process_->program()));
  });
  // Neither levers nor bands are worked out for a bare table.
  process_->start(program, {QStringLiteral("predict"), QStringLiteral("-"), QStringLiteral("--csv"),
                            QStringLiteral("--quiet"), QStringLiteral("--spans"), spans_file(*files)});
  process_->write(scenario);
  process_->closeWriteChannel();
}

void SpansRun::stop() {
  ++newest_;
  running_ = false;
  if (process_ == nullptr) return;
  process_->disconnect(this);
  let_go(process_);
  process_ = nullptr;
}

void SpansRun::fail(const QString& why) {
  stop();
  emit failed(why);
}

void SpansRun::ended(const std::shared_ptr<QTemporaryDir>& folder) {
  const bool good = process_->exitStatus() == QProcess::NormalExit && process_->exitCode() == 0;
  const QString last = QString::fromLocal8Bit(process_->readAllStandardError().trimmed().left(400));
  process_->deleteLater();
  process_ = nullptr;
  if (!good) return fail(tr("The spans of the simulation are missing: %1").arg(last));
  const quint64 id = newest_;
  QMetaObject::invokeMethod(
      &worker_,
      [this, folder, id] {
        if (newest_ != id) return;
        auto read = std::make_shared<Expected<std::vector<Run>>>(read_spans(spans_file(*folder)));
        QMetaObject::invokeMethod(
            this,
            [this, read, id] {
              if (newest_ != id) return;
              if (!*read) return fail(QString::fromStdString(to_text(read->error().front())));
              running_ = false;
              emit known(std::make_shared<const std::vector<Run>>(*std::move(*read)));
            },
            Qt::QueuedConnection);
      },
      Qt::QueuedConnection);
}

}  // namespace lockstep::gui
