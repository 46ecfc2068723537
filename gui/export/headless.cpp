#include "gui/export/headless.h"

#include <QEventLoop>
#include <QFileInfo>
#include <cstdio>

#include "gui/app/all_views.h"
#include "gui/compare/error_rows.h"
#include "gui/document/gallery.h"
#include "gui/export/export_view.h"
#include "gui/export/report.h"
#include "gui/runs/session.h"
#include "gui/sweep/sweep_runs.h"

namespace lockstep::gui {
namespace {

void complain(const Errors& errors) {
  for (const Error& error : errors) std::fprintf(stderr, "lockstep-gui: %s\n", to_text(error).c_str());
}

// Opens a path, or an example by name.
Errors open(ScenarioDocument& document, const QString& file) {
  if (!QFileInfo::exists(file))
    for (const GalleryCard& card : gallery_cards())
      if (card.name == file) return document.open_example(card.path, card.name);
  return document.open(file);
}

bool is_result(const QString& file) {
  return file.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
}

// A result alone: its scenario is what is open, and what was measured stands beside its prediction.
Errors open_result(ScenarioDocument& document, Session& session, const QString& file) {
  if (Errors errors = session.add_measured(file); !errors.empty()) return errors;
  document.open_text(session.shown().measured.front().result->scenario_yaml, QFileInfo(file).fileName());
  if (session.shown().measured.front().result->kind == "predicted") session.remove_measured();  // it is predicted again
  return {};
}

}  // namespace

int run_export(const GuiArguments& arguments) {
  ScenarioDocument document;
  const QString file = QString::fromStdString(arguments.files.front());
  Session session(document);
  QString trouble;
  QEventLoop loop;
  Errors errors = is_result(file) ? open_result(document, session, file) : open(document, file);
  if (errors.empty()) errors = document.errors();
  for (std::size_t i = 1; i < arguments.files.size() && errors.empty(); ++i)
    if (looks_like_trace(arguments.files[i]))
      session.add_trace(QString::fromStdString(arguments.files[i]));
    else
      errors = session.add_measured(QString::fromStdString(arguments.files[i]));
  if (!errors.empty()) {
    complain(errors);
    return 1;
  }
  QObject::connect(&session, &Session::trace_ended, &loop, [&](const QString& path, bool good, const QString& words) {
    const bool named = path.isEmpty() || words.contains(path);
    const QString line = named ? words : path + QStringLiteral(": ") + words;
    if (!words.isEmpty()) std::fprintf(stderr, "lockstep-gui: %s\n", line.toLocal8Bit().constData());
    if (!good) trouble = words;
    if (!session.reading_traces()) loop.quit();
  });
  if (session.reading_traces()) loop.exec();
  if (!trouble.isEmpty()) return 1;
  QObject::connect(&session, &Session::failed, &loop, [&](const QString& why, const QString& last) {
    trouble = last.isEmpty() ? why : last;
    loop.quit();
  });
  QObject::connect(&session, &Session::shown_changed, &loop, [&] {
    if (session.state() == RunState::Done) loop.quit();
  });
  session.run_now();
  if (session.state() == RunState::Simulating) loop.exec();
  if (!trouble.isEmpty() || !session.shown().result) {
    std::fprintf(stderr, "lockstep-gui: %s\n", trouble.toLocal8Bit().constData());
    return 2;
  }
  QObject::connect(&session, &Session::spans_ended, &loop, &QEventLoop::quit);
  if (session.request_spans()) loop.exec();
  session.add_details_now();
  SweepRuns sweeps(document, session);
  bool swept = false;
  sweeps.finish([&] {
    swept = true;
    loop.quit();
  });
  if (!swept) loop.exec();
  const std::vector<ViewTab> tabs = all_views();
  for (View* view : views_in(tabs)) view->show_result(session.shown());
  const std::vector<View*> views = views_with_numbers(views_in(tabs));
  for (const QString& warning : mismatch_warnings(session.shown()))
    std::fprintf(stderr, "lockstep-gui: warning: %s\n", warning.toLocal8Bit().constData());
  const QString prefix = QFileInfo(document.name()).completeBaseName();
  const QString folder = QString::fromStdString(arguments.export_folder);
  QStringList files = export_views(views, all_formats(), folder, prefix, &trouble);
  if (trouble.isEmpty())
    files += export_report({QString::fromStdString(document.read()->scenario.question), document.name(),
                            document.command(), QString::fromStdString(document.text()), session.shown().result.get(),
                            views, mismatch_warnings(session.shown())},
                           folder, prefix, &trouble);
  for (const QString& path : files) std::printf("%s\n", path.toLocal8Bit().constData());
  if (trouble.isEmpty()) return 0;
  std::fprintf(stderr, "lockstep-gui: %s\n", trouble.toLocal8Bit().constData());
  return 2;
}

}  // namespace lockstep::gui
