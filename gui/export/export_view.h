// Views as files: PNG at twice the size of a screen, SVG and PDF with text as text, the numbers as CSV.
#pragma once

#include <QByteArray>
#include <QSize>
#include <QString>
#include <QStringList>
#include <vector>

#include "gui/charts/view.h"

namespace lockstep::gui {

inline constexpr QSize kExportSize{900, 520};  // logical pixels; PNG has twice as many

enum class ExportFormat { Png, Svg, Pdf, Csv };
std::vector<ExportFormat> all_formats();
QString suffix_of(ExportFormat format);  // "png"

// What the file of a view would hold.
QByteArray picture_bytes(View& view, ExportFormat format);

// One file. False, with the reason, when it cannot be written.
bool export_view(View& view, ExportFormat format, const QString& path, QString* why);

// Those that have something to show: without a measurement nothing is compared with one.
std::vector<View*> views_with_numbers(const std::vector<View*>& views);

// FOLDER/<prefix>-<view>.<suffix> for each view and format. Returns the files; stops at the first that fails.
QStringList export_views(const std::vector<View*>& views, const std::vector<ExportFormat>& formats,
                         const QString& folder, const QString& prefix, QString* why);

}  // namespace lockstep::gui
