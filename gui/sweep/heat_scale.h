// Colours for values on a map, the same in both themes: a ramp from dark violet over green to pale yellow that is even
// in lightness and in difference, so that equal steps of a value look alike and remain in grey. Pure arithmetic.
#pragma once

#include <QColor>

namespace lockstep::gui {

// share: 0 (worst) to 1 (best). In OKLCH (Ottosson 2020, "A perceptual color space for image processing"): lightness
// 0.30 to 0.93, hue 292 to 102 degrees, chroma as far as sRGB holds it.
QColor scale_colour(double share);

// WCAG 2.1, "contrast ratio" from relative luminances.
double contrast(const QColor& a, const QColor& b);
// Black or white, whichever stands out more: at least 4.58 on any colour.
QColor ink_on(const QColor& fill);

}  // namespace lockstep::gui
