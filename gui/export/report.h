// One page about the open scenario: question, answer, charts, timeline, machine, what would help, settings and the
// command that predicts the same. As HTML with every view as SVG inside, or as PDF with those that a page has room for.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "gui/charts/view.h"

namespace lockstep::gui {

struct ReportSource {
  QString question, name, command;
  QString settings;  // the scenario as text
  const Result* result = nullptr;
  std::vector<View*> views;   // those with a picture
  QStringList warnings = {};  // of measurements that are of another scenario
};

QByteArray html_report(const ReportSource& source);
QByteArray pdf_report(const ReportSource& source);

// FOLDER/<prefix>-report.html and .pdf; the files written, or the reason.
QStringList export_report(const ReportSource& source, const QString& folder, const QString& prefix, QString* why);

}  // namespace lockstep::gui
