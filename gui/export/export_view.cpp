#include "gui/export/export_view.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDir>
#include <QGuiApplication>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QPixmap>
#include <QSaveFile>
#include <QScreen>
#include <QSvgGenerator>

#include "gui/app/theme.h"

namespace lockstep::gui {
namespace {

// As on the screen, so that letters have the size that they were laid out with.
int resolution() {
  return qRound(QGuiApplication::primaryScreen()->logicalDotsPerInchX());
}

QByteArray png_of(View& view) {
  QImage image(kExportSize * 2, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(2);
  image.fill(theme().surface);
  QPainter painter(&image);
  view.paint(painter, QRectF(QPointF(0, 0), QSizeF(kExportSize)));
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  image.save(&buffer, "PNG");
  return bytes;
}

QByteArray svg_of(View& view) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setResolution(resolution());
  generator.setSize(kExportSize);
  generator.setViewBox(QRect(QPoint(0, 0), kExportSize));
  generator.setTitle(view.title());
  generator.setDescription(view.description());
  QPainter painter(&generator);
  view.paint(painter, QRectF(QPointF(0, 0), QSizeF(kExportSize)));
  painter.end();
  return bytes;
}

QByteArray pdf_of(View& view) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setTitle(view.title());
  writer.setCreator(QStringLiteral("lockstep"));
  writer.setPageSize(
      QPageSize(QSizeF(kExportSize) * 72 / resolution(), QPageSize::Point, QString(), QPageSize::ExactMatch));
  writer.setPageMargins(QMarginsF(0, 0, 0, 0));
  writer.setResolution(resolution());
  QPainter painter(&writer);
  view.paint(painter, QRectF(QPointF(0, 0), QSizeF(kExportSize)));
  painter.end();
  return bytes;
}

}  // namespace

QByteArray picture_bytes(View& view, ExportFormat format) {
  switch (format) {
    case ExportFormat::Png:
      return png_of(view);
    case ExportFormat::Svg:
      return svg_of(view);
    case ExportFormat::Pdf:
      return pdf_of(view);
    case ExportFormat::Csv:
      break;
  }
  return view.table().csv().toUtf8();
}

std::vector<ExportFormat> all_formats() {
  return {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf, ExportFormat::Csv};
}

QString suffix_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::Png:
      return QStringLiteral("png");
    case ExportFormat::Svg:
      return QStringLiteral("svg");
    case ExportFormat::Pdf:
      return QStringLiteral("pdf");
    case ExportFormat::Csv:
      break;
  }
  return QStringLiteral("csv");
}

bool export_view(View& view, ExportFormat format, const QString& path, QString* why) {
  const QByteArray bytes = picture_bytes(view, format);
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return true;
  if (why != nullptr)
    *why =
        QCoreApplication::translate("lockstep::gui::Export", "%1 cannot be written: %2").arg(path, file.errorString());
  return false;
}

std::vector<View*> views_with_numbers(const std::vector<View*>& views) {
  std::vector<View*> some;
  for (View* view : views)
    if (!view->table().rows.empty()) some.push_back(view);
  return some;
}

QStringList export_views(const std::vector<View*>& views, const std::vector<ExportFormat>& formats,
                         const QString& folder, const QString& prefix, QString* why) {
  QStringList files;
  if (!QDir().mkpath(folder)) {
    if (why != nullptr)
      *why = QCoreApplication::translate("lockstep::gui::Export", "the folder %1 cannot be made").arg(folder);
    return files;
  }
  for (View* view : views)
    for (const ExportFormat format : formats) {
      const QString path = QDir(folder).filePath(QStringLiteral("%1-%2.%3").arg(prefix, view->id(), suffix_of(format)));
      if (!export_view(*view, format, path, why)) return files;
      files << path;
    }
  return files;
}

}  // namespace lockstep::gui
