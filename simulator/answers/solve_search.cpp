#include "simulator/answers/solve_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lockstep {
namespace {

constexpr int kFirstDoublings = 3;  // each way, whatever they show
constexpr int kMostDoublings = 26;  // each way, while nothing crosses the goal
constexpr double kNarrow = 1.001;   // high / low of the answer
constexpr int kMostAway = 64;       // from a whole number that cannot be tried
constexpr double kFlat = 1e-5;      // relative change that ends the doubling
constexpr double kAgainst = 1e-3;   // relative change that counts against a trend

class Search {
 public:
  Search(const SearchRange& range, double present, double start, const SearchFunction& function)
      : range_(range), present_(present), start_(start), function_(function) {}

  Expected<SearchResult> run() {
    if (auto done = look_around(); !done) return tl::unexpected(std::move(done.error()));
    for (const Cell& cell : cells_that_cross())
      if (auto done = narrow(cell); !done) return tl::unexpected(std::move(done.error()));
    result_.monotonic = is_monotonic();
    return std::move(result_);
  }

 private:
  using Done = tl::expected<void, Errors>;
  using Cell = std::pair<double, double>;

  struct Way {
    double factor;
    double at;
    std::optional<double> reached;
    int flat = 0;
    bool open = true;
  };

  // False: cannot be tried.
  Expected<bool> sample(double value) {
    if (result_.samples.count(value) != 0) return true;
    const auto one = function_(value);
    if (!one) return tl::unexpected(one.error());
    if (*one) result_.samples[value] = **one;
    return one->has_value();
  }

  Done look_around() {
    if (present_ == 0 && range_.zero_now)
      if (const auto ok = sample(0); !ok) return tl::unexpected(ok.error());
    for (const double first : {present_, start_})
      if (const auto value = range_.allowed(first))
        if (const auto ok = sample(*value); !ok) return tl::unexpected(ok.error());
    Way ways[] = {{2, start_, {}, 0, true}, {0.5, start_, {}, 0, true}};
    for (int i = 0; i < kMostDoublings && (ways[0].open || ways[1].open); ++i) {
      if (i >= kFirstDoublings && !cells_that_cross().empty()) break;
      for (Way& way : ways)
        if (way.open)
          if (auto done = go_on(way); !done) return done;
    }
    return {};
  }

  Done go_on(Way& way) {
    auto value = range_.allowed(way.at * way.factor);
    if (!value) value = end_of(way);
    way.at *= way.factor;
    if (!value) {
      way.open = false;
      return {};
    }
    const auto ok = sample(*value);
    if (!ok) return tl::unexpected(ok.error());
    if (!*ok) {
      way.open = range_.skips && way.factor < 1;
      return range_.seeks_last && way.factor > 1 ? seek_last(way.at / way.factor, *value) : Done{};
    }
    const double reached = result_.samples[*value].reached;
    if (way.reached && std::abs(reached - *way.reached) <= kFlat * std::abs(reached)) way.open = ++way.flat < 2;
    way.reached = reached;
    return {};
  }

  // The end of the range that the next step would go past.
  std::optional<double> end_of(const Way& way) const {
    const auto& end = way.factor > 1 ? range_.high_end : range_.low_end;
    if (!end) return std::nullopt;
    const bool before = way.factor > 1 ? way.at < *end : way.at > *end;
    return before ? range_.allowed(*end) : std::nullopt;
  }

  // Between a value that can be tried and one that cannot.
  Done seek_last(double good, double bad) {
    while (bad - good > 1) {
      const double middle = std::floor((good + bad) / 2);
      const auto ok = sample(middle);
      if (!ok) return tl::unexpected(ok.error());
      (*ok ? good : bad) = middle;
    }
    return {};
  }

  std::vector<Cell> cells_that_cross() const {
    std::vector<Cell> cells;
    const auto& samples = result_.samples;
    for (auto at = samples.begin(); at != samples.end(); ++at) {
      const auto next = std::next(at);
      if (next != samples.end() && next->second.meets != at->second.meets) cells.emplace_back(at->first, next->first);
    }
    return cells;
  }

  Done narrow(Cell cell) {
    if (auto done = bisect(cell); !done) return done;
    const double distance = std::abs(std::log(std::max(cell.second, 1e-12) / std::max(present_, 1e-12)));
    if (result_.crossing && distance >= nearest_) return {};
    nearest_ = distance;
    result_.crossing = Crossing{cell.first, cell.second, result_.samples[cell.second].meets};
    return {};
  }

  Done bisect(Cell& cell) {
    auto& [low, high] = cell;
    while (range_.neighbours ? high - low > 1 : high > kNarrow * low) {
      double middle = low > 0 ? std::sqrt(low * high) : high / 2;
      if (range_.whole) middle = std::clamp(std::round(middle), low + 1, high - 1);
      if (middle <= low || middle >= high || high < 1e-12) break;
      const auto tried = sample_near(middle, cell);
      if (!tried) return tl::unexpected(tried.error());
      if (!*tried) break;
      (result_.samples[**tried].meets == result_.samples[low].meets ? low : high) = **tried;
    }
    return {};
  }

  // The value itself, or of whole numbers the nearest inside the cell that can be tried: a batch, say, must be shared
  // out evenly.
  Expected<std::optional<double>> sample_near(double middle, const Cell& cell) {
    for (int away = 0; away <= (range_.whole ? kMostAway : 0); ++away)
      for (const double value : {middle - away, middle + away}) {
        if (value <= cell.first || value >= cell.second) continue;
        const auto ok = sample(value);
        if (!ok) return tl::unexpected(ok.error());
        if (*ok) return value;
      }
    return std::nullopt;
  }

  bool is_monotonic() const {
    int trend = 0;
    std::optional<double> before;
    for (const auto& [value, one] : result_.samples) {
      if (before && std::abs(one.reached - *before) > kAgainst * std::abs(*before)) {
        const int way = one.reached > *before ? 1 : -1;
        if (trend != 0 && trend != way) return false;
        trend = way;
      }
      before = one.reached;
    }
    return true;
  }

  const SearchRange& range_;
  double present_, start_;
  const SearchFunction& function_;
  SearchResult result_;
  double nearest_ = 0;  // of the crossing kept, to the present value
};

}  // namespace

std::optional<double> SearchRange::allowed(double value) const {
  if (whole) value = std::round(value);
  if (value < low || value > high || (low_open && value <= low)) return std::nullopt;
  return value;
}

std::vector<std::pair<double, double>> SearchResult::meeting() const {
  std::vector<std::pair<double, double>> ranges;
  bool inside = false;
  for (const auto& [value, one] : samples) {
    if (one.meets && inside)
      ranges.back().second = value;
    else if (one.meets)
      ranges.emplace_back(value, value);
    inside = one.meets;
  }
  return ranges;
}

Expected<SearchResult> search_crossing(const SearchRange& range, double present, double start,
                                       const SearchFunction& function) {
  return Search(range, present, start, function).run();
}

}  // namespace lockstep
