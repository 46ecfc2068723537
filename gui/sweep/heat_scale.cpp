#include "gui/sweep/heat_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::gui {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Linear {
  double r, g, b;
  bool in_gamut() const { return std::min({r, g, b}) >= -1e-6 && std::max({r, g, b}) <= 1 + 1e-6; }
};

// OKLab to linear sRGB; the matrices are those of the definition.
Linear linear_of(double lightness, double chroma, double hue_degrees) {
  const double a = chroma * std::cos(hue_degrees * kPi / 180), b = chroma * std::sin(hue_degrees * kPi / 180);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

double encoded(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  return x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
}

double decoded(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& colour) {
  return 0.2126 * decoded(colour.redF()) + 0.7152 * decoded(colour.greenF()) + 0.0722 * decoded(colour.blueF());
}

}  // namespace

QColor scale_colour(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const double lightness = 0.30 + 0.63 * t, hue = 292 - 190 * t;
  double chroma = 0.125;
  while (chroma > 0 && !linear_of(lightness, chroma, hue).in_gamut()) chroma -= 0.002;
  const Linear colour = linear_of(lightness, std::max(0.0, chroma), hue);
  return QColor::fromRgbF(static_cast<float>(encoded(colour.r)), static_cast<float>(encoded(colour.g)),
                          static_cast<float>(encoded(colour.b)));
}

double contrast(const QColor& a, const QColor& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor ink_on(const QColor& fill) {
  return contrast(fill, Qt::white) >= contrast(fill, Qt::black) ? QColor(Qt::white) : QColor(Qt::black);
}

}  // namespace lockstep::gui
