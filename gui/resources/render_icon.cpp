// At build time: draws an SVG as square PNGs. Arguments: the SVG, then files DIR/WxW/apps/NAME.png, W being the size.
#include <QDir>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <cstdio>

namespace {

int size_in(const QString& path) {
  return path.section(QLatin1Char('/'), -3, -3).section(QLatin1Char('x'), 0, 0).toInt();
}

bool draw(QSvgRenderer& drawing, const QString& path) {
  const int size = size_in(path);
  if (size <= 0 || !QDir().mkpath(QFileInfo(path).path())) return false;
  QImage image(size, size, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  drawing.render(&painter, QRectF(0, 0, size, size));
  painter.end();
  return image.save(path);
}

}  // namespace

int main(int argc, char** argv) {
  QSvgRenderer drawing;
  if (argc < 3 || !drawing.load(QString::fromLocal8Bit(argv[1]))) {
    std::fprintf(stderr, "render_icon: an SVG to read and the files to write are needed\n");
    return 1;
  }
  for (int i = 2; i < argc; ++i) {
    if (!draw(drawing, QString::fromLocal8Bit(argv[i]))) {
      std::fprintf(stderr, "render_icon: %s cannot be written\n", argv[i]);
      return 1;
    }
  }
  return 0;
}
