// Ticks and units of an axis: pure arithmetic.
#pragma once

#include <QString>
#include <vector>

namespace lockstep::gui {

// Round numbers that cover [low, high] in about `wanted` steps of 1, 2, 2.5 or 5 times a power of ten.
struct Ticks {
  double low = 0, high = 1, step = 1;
  int decimals = 0;   // that tell the ticks apart
  int count() const;  // ticks, both ends included
};
Ticks nice_ticks(double low, double high, int wanted = 5);

// One unit for a whole axis, by its largest value.
struct AxisUnit {
  QString name;      // "ms"
  double scale = 1;  // a value divided by this is in the unit
};
AxisUnit time_unit(double largest_s);

// Three significant digits, for labels beside points: "4.18", "97.3", "7450".
QString three_digits(double value);

// Of many numbers of GPUs in ascending order, those that get a label where `room` labels fit: first and last always.
std::vector<int> labelled(const std::vector<int>& gpus, int room);

}  // namespace lockstep::gui
