#include "gui/export/report.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDir>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QPageLayout>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <algorithm>

#include "gui/app/headline.h"
#include "gui/export/export_view.h"

namespace lockstep::gui {
namespace {

QString escaped(const QString& text) {
  return text.toHtmlEscaped();
}

QString paragraph(const QString& text) {
  return text.isEmpty() ? QString() : QStringLiteral("<p>%1</p>\n").arg(escaped(text));
}

// pictures: what stands for each view.
QString body_of(const ReportSource& source, const QStringList& pictures) {
  const Headline head = headline(*source.result);
  QString body =
      QStringLiteral("<h1>%1</h1>\n").arg(escaped(source.question.isEmpty() ? source.name : source.question));
  body += QStringLiteral("<p><b>%1</b></p>\n").arg(escaped(head.main)) + paragraph(head.why);
  for (const QString& picture : pictures) body += picture + '\n';
  if (!source.result->answer.levers.empty()) {
    body += QStringLiteral("<h2>%1</h2>\n<ul>\n")
                .arg(QCoreApplication::translate("lockstep::gui::Report", "What would help"));
    for (const Lever& lever : source.result->answer.levers)
      body += QStringLiteral("<li><code>%1</code>: %2</li>\n")
                  .arg(escaped(QString::fromStdString(lever.set)), escaped(lever_effect(lever)));
    body += QStringLiteral("</ul>\n");
  }
  if (const QStringList more = source.warnings + head.more; !more.isEmpty()) {
    body +=
        QStringLiteral("<h2>%1</h2>\n").arg(QCoreApplication::translate("lockstep::gui::Report", "To know as well"));
    for (const QString& sentence : more) body += paragraph(sentence);
  }
  body += QStringLiteral("<h2>%1</h2>\n<pre>%2</pre>\n<pre>%3</pre>\n")
              .arg(QCoreApplication::translate("lockstep::gui::Report", "The scenario"), escaped(source.settings),
                   escaped(source.command));
  return body + QStringLiteral("<p><small>lockstep %1</small></p>\n").arg(QString::fromLatin1(lockstep_version()));
}

constexpr int kPageDpi = 96;

struct PagePicture {
  View* view = nullptr;
  bool wide = false;  // as the page; else half of it
};

// What the one page shows, in this order; a view that has nothing to show, or none of these ids, is in the HTML only.
std::vector<PagePicture> on_the_page(const std::vector<View*>& views) {
  constexpr std::pair<const char*, bool> kPlaces[] = {
      {"efficiency", false}, {"breakdown", false}, {"timeline", true}, {"throughput", false}, {"topology", false}};
  std::vector<PagePicture> pictures;
  for (const auto& [id, wide] : kPlaces)
    for (View* view : views)
      if (view->id() == QLatin1String(id) && !view->table().rows.empty()) pictures.push_back({view, wide});
  return pictures;
}

// Blocks one below the other on one page, in units of 1/96 inch.
class PageWriter {
 public:
  PageWriter(QPainter& painter, const QSizeF& size) : painter_(painter), size_(size) {}

  void text(const QString& text, qreal points, QFont::Weight weight) {
    if (text.isEmpty()) return;
    put(text, font_of(points, weight), size_.height() - y_);
    y_ += 6;
  }

  // Drawn as vectors: two a line, or one across; lower than usual where `after` needs the room below.
  void pictures(const std::vector<PagePicture>& all, qreal after) {
    const qreal natural = place(all, 1, [](const PagePicture&, const QRectF&, const QSizeF&) {}) - y_;
    const qreal flatter = std::clamp((size_.height() - y_ - after) / std::max(natural, 1.0), kFlattest, 1.0);
    y_ = place(all, flatter, [&](const PagePicture& one, const QRectF& area, const QSizeF& size) {
      painter_.save();
      painter_.translate(area.topLeft());
      painter_.scale(area.width() / size.width(), area.width() / size.width());
      one.view->paint(painter_, QRectF(QPointF(0, 0), size));
      painter_.restore();
    });
  }

  void part(const QString& title, const QString& words) {
    if (words.isEmpty()) return;
    text(title, kTitle, QFont::Bold);
    text(words, kWords, QFont::Normal);
  }
  qreal height_of_part(const QString& title, const QString& words) const {
    if (words.isEmpty()) return 0;
    return height_of(title, font_of(kTitle, QFont::Bold)) + height_of(words, font_of(kWords, QFont::Normal)) + 12;
  }
  qreal height_of_rest(const QString& title, const QString& words) const {
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPointSizeF(kReadable);
    return height_of(title, font_of(kTitle, QFont::Bold)) + height_of(words, font) + 12;
  }

  // The last part: in letters as small as it takes.
  void rest(const QString& title, const QString& words) {
    text(title, kTitle, QFont::Bold);
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    for (qreal points = 8; points >= 4; points -= 0.5) {
      font.setPointSizeF(points);
      if (height_of(words, font) <= size_.height() - y_) break;
    }
    put(words, font, size_.height() - y_);
  }

 private:
  static constexpr QSizeF kHalf{560, 330}, kWide{1060, 400};
  static constexpr qreal kGap = 14, kFlattest = 0.62;
  static constexpr qreal kTitle = 10, kWords = 8.5, kReadable = 6.5;  // points

  static QFont font_of(qreal points, QFont::Weight weight) {
    QFont font = QGuiApplication::font();
    font.setPointSizeF(points);
    font.setWeight(weight);
    return font;
  }
  // Calls `draw` with the place of each picture and the size it is drawn at; the lower end of the last.
  template <class Draw>
  qreal place(const std::vector<PagePicture>& all, qreal flatter, Draw draw) const {
    bool left = true;
    qreal y = y_, below = y_;
    for (const PagePicture& one : all) {
      if (one.wide || left) y = below;
      const QSizeF natural(one.wide ? kWide.width() : kHalf.width(),
                           (one.wide ? kWide.height() : kHalf.height()) * flatter);
      const qreal width = one.wide ? size_.width() : (size_.width() - kGap) / 2;
      const QRectF area(one.wide || left ? 0 : width + kGap, y, width, natural.height() * width / natural.width());
      draw(one, area, natural);
      below = area.bottom() + 6;
      left = one.wide || !left;
    }
    return below;
  }

  qreal height_of(const QString& text, const QFont& font) const {
    return QFontMetricsF(font, painter_.device())
        .boundingRect(QRectF(0, 0, size_.width(), 1e5), Qt::TextWordWrap, text)
        .height();
  }
  void put(const QString& text, const QFont& font, qreal height) {
    painter_.setFont(font);
    painter_.setPen(QColor(QStringLiteral("#18212d")));
    QRectF used;
    painter_.drawText(QRectF(0, y_, size_.width(), height), Qt::TextWordWrap, text, &used);
    y_ = used.bottom();
  }

  QPainter& painter_;
  QSizeF size_;
  qreal y_ = 0;
};

// The settings without what the page has room for elsewhere: comments, and the question, which is its heading.
QString bare_settings(const QString& text) {
  QStringList lines;
  for (const QString& line : text.split('\n'))
    if (!line.trimmed().startsWith('#') && !line.startsWith(QLatin1String("question:")) && !line.trimmed().isEmpty())
      lines << line;
  return lines.join('\n');
}

bool write(const QByteArray& bytes, const QString& path, QString* why) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return true;
  if (why != nullptr) *why = QCoreApplication::translate("lockstep::gui::Report", "%1 cannot be written").arg(path);
  return false;
}

}  // namespace

QByteArray html_report(const ReportSource& source) {
  QStringList pictures;
  for (View* view : source.views) {
    QString svg = QString::fromUtf8(picture_bytes(*view, ExportFormat::Svg));
    svg.remove(0, svg.indexOf(QStringLiteral("<svg")));  // without the XML declaration
    pictures
        << QStringLiteral("<figure role=\"img\" aria-label=\"%1\">%2</figure>").arg(escaped(view->description()), svg);
  }
  const QString page =
      QStringLiteral(
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%1</title>\n<style>body "
          "{font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #18212d} "
          "figure {margin: 1.5rem 0} svg {width: 100%; height: auto} pre {background: #f4f6f9; padding: "
          "1rem; white-space: pre-wrap; border-radius: 8px}</style></head><body>\n%2</body></html>\n")
          .arg(escaped(source.name), body_of(source, pictures));
  return page.toUtf8();
}

QByteArray pdf_report(const ReportSource& source) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setTitle(source.name);
  writer.setCreator(QStringLiteral("lockstep"));
  writer.setPageSize(QPageSize(QPageSize::A4));
  writer.setPageMargins(QMarginsF(15, 14, 15, 12), QPageLayout::Millimeter);
  writer.setResolution(kPageDpi);
  QPainter painter(&writer);
  PageWriter page(painter, QSizeF(writer.width(), writer.height()));
  const Headline head = headline(*source.result);
  page.text(source.question.isEmpty() ? source.name : source.question, 14, QFont::Bold);
  page.text(head.main, 10, QFont::Bold);
  page.text(head.why, 9.5, QFont::Normal);
  const QString more = (source.warnings + head.more).join('\n');
  QStringList levers;
  for (const Lever& lever : source.result->answer.levers)
    levers << QStringLiteral("%1:  %2").arg(QString::fromStdString(lever.set), lever_effect(lever));
  const QString help = QCoreApplication::translate("lockstep::gui::Report", "What would help"),
                as_well = QCoreApplication::translate("lockstep::gui::Report", "To know as well"),
                scenario = QCoreApplication::translate("lockstep::gui::Report", "The scenario");
  const QString settings = bare_settings(source.settings) + QStringLiteral("\n\n") + source.command +
                           QStringLiteral("    # lockstep %1").arg(QString::fromLatin1(lockstep_version()));
  page.pictures(on_the_page(source.views), page.height_of_part(help, levers.join('\n')) +
                                               page.height_of_part(as_well, more) +
                                               page.height_of_rest(scenario, settings));
  page.part(help, levers.join('\n'));
  page.part(as_well, more);
  page.rest(scenario, settings);
  painter.end();
  return bytes;
}

QStringList export_report(const ReportSource& source, const QString& folder, const QString& prefix, QString* why) {
  QStringList files;
  if (source.result == nullptr) return files;
  for (const bool pdf : {false, true}) {
    const QString path =
        QDir(folder).filePath(prefix + (pdf ? QStringLiteral("-report.pdf") : QStringLiteral("-report.html")));
    if (!write(pdf ? pdf_report(source) : html_report(source), path, why)) return files;
    files << path;
  }
  return files;
}

}  // namespace lockstep::gui
