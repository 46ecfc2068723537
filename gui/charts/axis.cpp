#include "gui/charts/axis.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/format.h"

namespace lockstep::gui {

int Ticks::count() const {
  return static_cast<int>(std::lround((high - low) / step)) + 1;
}

Ticks nice_ticks(double low, double high, int wanted) {
  if (!(high > low)) high = low + (low == 0 ? 1 : std::abs(low));
  const double raw = (high - low) / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double round : {1.0, 2.0, 2.5, 5.0})
    if (round * power >= raw * (1 - 1e-9)) {
      step = round * power;
      break;
    }
  Ticks ticks;
  ticks.step = step;
  ticks.low = std::floor(low / step + 1e-9) * step;
  ticks.high = std::ceil(high / step - 1e-9) * step;
  const bool quarter = std::abs(step / power - 2.5) < 1e-6;
  ticks.decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)) + (quarter ? 1 : 0));
  return ticks;
}

AxisUnit time_unit(double largest_s) {
  if (largest_s >= 1) return {QStringLiteral("s"), 1};
  if (largest_s >= 1e-3) return {QStringLiteral("ms"), 1e-3};
  return {QStringLiteral("µs"), 1e-6};
}

QString three_digits(double value) {
  return QString::fromStdString(format_column(value));
}

std::vector<int> labelled(const std::vector<int>& gpus, int room) {
  if (static_cast<int>(gpus.size()) <= room) return gpus;
  room = std::max(2, room);
  std::vector<int> out;
  const double span = std::log2(static_cast<double>(gpus.back()) / gpus.front());
  const double gap = span / (room - 1);
  for (const int g : gpus) {
    const bool far = out.empty() || std::log2(static_cast<double>(g) / out.back()) >= gap * (1 - 1e-9);
    const bool near_end = g != gpus.back() && std::log2(static_cast<double>(gpus.back()) / g) < gap * (1 - 1e-9);
    if (far && !near_end) out.push_back(g);
  }
  if (out.back() != gpus.back()) out.push_back(gpus.back());
  return out;
}

}  // namespace lockstep::gui
