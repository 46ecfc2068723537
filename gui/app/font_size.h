// Text larger or smaller than the system says, remembered between starts.
#pragma once

namespace lockstep::gui {

inline constexpr int kSmallestFontStep = -3, kLargestFontStep = 10;

int font_step();  // points beyond the system's size
// For all windows that are open, and later ones; remembered. Kept between the two above.
void set_font_step(int points);

}  // namespace lockstep::gui
