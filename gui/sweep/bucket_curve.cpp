#include "gui/sweep/bucket_curve.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kFirst = 0.5 * kMiB;
constexpr double kUsual = 25 * kMiB;  // bucket_cap_mb of torch.nn.parallel.DistributedDataParallel
constexpr std::size_t kMost = 20;

QString say(const char* text) {
  return QCoreApplication::translate("lockstep::gui::BucketCurve", text);
}

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}
QString percent_text(double fraction) {
  return QString::fromStdString(format_significant(fraction * 100, fraction < 0.1 ? 2 : 3)) + QStringLiteral(" %");
}
QString mib_text(double bytes) {
  return QString::fromStdString(format_significant(bytes / kMiB, 4)) + QStringLiteral(" MiB");
}

bool known(const BucketPoint& point) {
  return point.cell.state == CellState::Known && point.cell.step_s > 0;
}
// As far as is known, it can be trained.
bool usable(const BucketPoint& point) {
  return known(point) && point.cell.fits;
}

std::vector<double> caps_of(const std::vector<double>& mantissas, double last) {
  std::vector<double> caps;
  double power = 0.1 * kMiB;
  while (true) {
    for (const double mantissa : mantissas) {
      const double cap = std::round(mantissa * power / 1024) * 1024;
      if (cap < kFirst - 1024) continue;
      caps.push_back(cap);
      if (cap > last) return caps;
    }
    power *= 10;
  }
}

// Its own words for what differs by no more than a plateau.
QString words_within(const BucketCurve& curve, const Plateau& plateau, const BucketPoint& best) {
  const BucketPoint &low = curve.points[plateau.low], &high = curve.points[plateau.high];
  if (is_flat(curve))
    return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve",
                                 "The cap hardly matters here: from %1 to %2 every step takes %3 within 1 %."))
        .arg(mib_text(low.cap_bytes), mib_text(high.cap_bytes), time_text(best.cell.step_s));
  if (plateau.low == plateau.high)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "No other cap that was tried comes within 1 %."));
  return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "Anything from %1 to %2 is within 1 % of the fastest."))
      .arg(mib_text(low.cap_bytes), mib_text(high.cap_bytes));
}

QString name_of_present(const BucketPoint& present) {
  return present.is_default
             ? say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "the default"))
             : say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "the present %1")).arg(mib_text(present.cap_bytes));
}

}  // namespace

std::vector<double> curve_caps(double gradient_bytes) {
  const double last = std::max(gradient_bytes, 2 * kUsual);
  std::vector<double> caps;
  for (const std::vector<double>& mantissas :
       {std::vector<double>{1, 1.5, 2, 3, 5, 7.5}, {1, 2, 3, 5}, {1, 2, 5}, {1, 3}, {1}}) {
    caps = caps_of(mantissas, last);
    if (caps.size() + 1 <= kMost) break;
  }
  caps.push_back(kUsual);
  std::sort(caps.begin(), caps.end());
  caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
  return caps;
}

bool BucketCurve::estimated() const {
  return std::any_of(points.begin(), points.end(), [](const BucketPoint& point) { return !point.cell.simulated(); });
}

std::optional<Plateau> plateau_of(const BucketCurve& curve, double tolerance) {
  std::optional<Plateau> plateau;
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    if (usable(curve.points[i]) && (!plateau || curve.points[i].cell.step_s < curve.points[plateau->best].cell.step_s))
      plateau = Plateau{i, i, i};
  if (!plateau) return plateau;
  const double limit = curve.points[plateau->best].cell.step_s * (1 + tolerance);
  const auto inside = [&](std::size_t i) { return usable(curve.points[i]) && curve.points[i].cell.step_s <= limit; };
  while (plateau->low > 0 && inside(plateau->low - 1)) --plateau->low;
  while (plateau->high + 1 < curve.points.size() && inside(plateau->high + 1)) ++plateau->high;
  return plateau;
}

bool is_flat(const BucketCurve& curve) {
  const auto plateau = plateau_of(curve);
  if (!plateau || plateau->low != 0 || plateau->high + 1 != curve.points.size()) return false;
  const double best_s = curve.points[plateau->best].cell.step_s;
  return !curve.usual || !known(*curve.usual) || std::abs(curve.usual->cell.step_s - best_s) <= kPlateau * best_s;
}

const BucketPoint* present_of(const BucketCurve& curve) {
  if (curve.usual && curve.present == curve.usual->yaml) return known(*curve.usual) ? &*curve.usual : nullptr;
  for (const BucketPoint& point : curve.points)
    if (point.yaml == curve.present && known(point)) return &point;
  return nullptr;
}

const BucketPoint* fastest_of(const BucketCurve& curve) {
  const BucketPoint* best = curve.usual && usable(*curve.usual) ? &*curve.usual : nullptr;
  for (const BucketPoint& point : curve.points)
    if (usable(point) && (best == nullptr || point.cell.step_s < best->cell.step_s * (1 - 1e-9))) best = &point;
  return best;
}

double gain_of(const BucketCurve& curve, const BucketPoint& point) {
  const BucketPoint* present = present_of(curve);
  return present == nullptr || !known(point) ? 0 : 1 - point.cell.step_s / present->cell.step_s;
}

QString cap_text(const BucketPoint& point) {
  return point.is_default ? say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "the default"))
                          : mib_text(point.cap_bytes);
}

QString curve_sentence(const BucketCurve& curve) {
  const BucketPoint* best = fastest_of(curve);
  const auto plateau = plateau_of(curve);
  if (best == nullptr && std::any_of(curve.points.begin(), curve.points.end(), known))
    return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve",
                                 "No cap that was tried fits in the GPU's memory: there is no best one."));
  if (best == nullptr || !plateau) return curve.missing;
  const BucketPoint* present = present_of(curve);
  const QString within = words_within(curve, *plateau, *best);
  if (is_flat(curve)) return within;
  if (present == nullptr || present == best)
    return say(present == nullptr
                   ? QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "%1 is fastest: %2. %3")
                   : QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "%1, as it is set, is fastest: %2. %3"))
        .arg(present == nullptr || !present->is_default
                 ? cap_text(*best)
                 : say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "The default")),
             time_text(best->cell.step_s), within);
  const double gain = gain_of(curve, *best);
  if (gain >= kPlateau)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "%1 is best: %2, %3 less than %4. %5"))
        .arg(best->is_default ? say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "The default")) : cap_text(*best),
             time_text(best->cell.step_s), percent_text(gain), name_of_present(*present), within);
  const QString as_good =
      present->is_default ? say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "The default is as good as any: %1"))
                                .arg(time_text(present->cell.step_s))
                          : say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "The present %1 is as good as any: %2"))
                                .arg(mib_text(present->cap_bytes), time_text(present->cell.step_s));
  if (gain < kWorthAWord) return as_good + QStringLiteral(". ") + within;
  return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "%1; %2 would take %3 less. %4"))
      .arg(as_good, cap_text(*best), percent_text(gain), within);
}

QString point_sentence(const BucketPoint& point) {
  if (point.cell.state == CellState::NotRun)
    return QStringLiteral("%1: %2").arg(cap_text(point), QString::fromStdString(point.cell.reason));
  if (!known(point)) return cap_text(point);
  const QString sentence =
      say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "%1: %2 a step, %3 of it exposed communication, buckets: %4"))
          .arg(point.is_default
                   ? say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "Default (25 MiB after a first of 1 MiB)"))
                   : mib_text(point.cap_bytes),
               time_text(point.cell.step_s), time_text(point.cell.exposed_s))
          .arg(point.cell.buckets);
  return point.cell.fits
             ? sentence
             : sentence + say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "; does not fit in the GPU's memory"));
}

QString point_against(const BucketPoint& point, const BucketCurve& pinned) {
  const BucketPoint* before = nullptr;
  for (const BucketPoint& one : pinned.points)
    if (one.yaml == point.yaml) before = &one;
  if (pinned.usual && pinned.usual->yaml == point.yaml) before = &*pinned.usual;
  if (before == nullptr || !known(*before) || !known(point)) return {};
  const double change = 100 * (point.cell.step_s / before->cell.step_s - 1);
  return say(QT_TRANSLATE_NOOP("lockstep::gui::BucketCurve", "pinned: %1; this is %2 %"))
      .arg(time_text(before->cell.step_s),
           (change < 0 ? QString() : QStringLiteral("+")) + QString::fromStdString(format_significant(change)));
}

}  // namespace lockstep::gui
