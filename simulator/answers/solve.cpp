#include "simulator/answers/solve.h"

#include <algorithm>

#include "simulator/answers/sentences.h"
#include "simulator/answers/solve_key.h"
#include "simulator/answers/solve_predictions.h"
#include "simulator/answers/solve_search.h"
#include "simulator/answers/solve_words.h"

namespace lockstep {
namespace {

const SolveSample& best_of(const std::vector<SolveSample>& samples, Goal goal) {
  return *std::min_element(samples.begin(), samples.end(), [goal](const SolveSample& a, const SolveSample& b) {
    return goal == Goal::StepTime ? a.reached < b.reached : a.reached > b.reached;
  });
}

class Solver {
 public:
  Solver(const Inputs& inputs, const SolveKey& key, const Given& given, SolvePredictions& predictions)
      : inputs_(inputs), key_(key), given_(given), predictions_(predictions), words_(out_, inputs) {
    out_.key = key.name();
    out_.unit = key.unit();
    out_.given = given;
    out_.strategy = predictions.strategy();
    out_.gpus = predictions.gpus();
  }

  Expected<Solution> run() {
    const double present = key_.present(inputs_);
    const auto found =
        search_crossing(key_.range(), present, key_.start(inputs_), [this](double value) { return sample(value); });
    if (!found) return tl::unexpected(found.error());
    if (found->samples.empty()) return tl::unexpected(predictions_.refused());
    take(*found);
    if (!out_.monotonic) out_.doubt = words_.doubt();
    if (given_.goal == Goal::Efficiency && inputs_.scenario().loader.active()) out_.baseline = words_.fed();
    if (found->crossing) {
      const auto now = found->samples.find(present);
      out_.answer = words_.crossing(
          present, now == found->samples.end() ? std::nullopt : std::optional<double>(now->second.reached));
    } else if (out_.samples.front().meets) {
      out_.answer = words_.always();
    } else if (auto done = explain_none(); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    return std::move(out_);
  }

 private:
  Expected<std::optional<SearchSample>> sample(double value) {
    const auto run = predictions_.at(value);
    if (!run) return tl::unexpected(run.error());
    if (!*run) return std::nullopt;
    return SearchSample{given_.of(**run), given_.met_by(**run)};
  }

  void take(const SearchResult& found) {
    for (const auto& [value, one] : found.samples) out_.samples.push_back({value, one.reached, one.meets});
    for (const auto& [low, high] : found.meeting()) out_.meeting.push_back({low, high});
    out_.monotonic = found.monotonic;
    if (!found.crossing) return;
    out_.low = found.crossing->low;
    out_.high = found.crossing->high;
    out_.rises_to_goal = found.crossing->met_at_high;
  }

  // The best that can be reached, and what it still loses.
  tl::expected<void, Errors> explain_none() {
    const SolveSample& best = best_of(out_.samples, given_.goal);
    const auto closer = predictions_.closer(best.value, false);
    if (!closer) return tl::unexpected(closer.error());
    if (const auto loss = largest_loss(closer->run, closer->single)) out_.floor_cause = name_of(loss->cause);
    out_.answer = words_.none(best, *closer);
    return {};
  }

  const Inputs& inputs_;
  const SolveKey& key_;
  const Given& given_;
  SolvePredictions& predictions_;
  Solution out_;
  SolveWords words_;
};

// The goal that is met when the true step is `factor` times the predicted one.
Given when_truth_is(const Given& given, double factor) {
  Given other = given;
  other.value = given.goal == Goal::StepTime ? given.value / factor : given.value * factor;
  return other;
}

// Where a goal is crossed; nothing when no value does: `met` says whether all or none of them meet it.
struct Border {
  std::optional<double> at;
  bool met = false;
  bool rises = true;
};

class BandOfValues {
 public:
  BandOfValues(const SolveKey& key, SolvePredictions& predictions) : key_(key), predictions_(predictions) {}

  // Sets `possible` and the band of a solution that is there.
  tl::expected<void, Errors> add_to(ImpliedValue& one) {
    const Solution& s = one.solution;
    const double nearest = s.low ? (s.rises_to_goal ? *s.high : *s.low) : nearest_of(s);
    const auto closer = predictions_.closer(nearest, true);
    if (!closer) return tl::unexpected(closer.error());
    const double step = closer->run.step_time_s;
    const auto easy = border(when_truth_is(s.given, closer->band.low / step), nearest);
    const auto hard = border(when_truth_is(s.given, closer->band.high / step), nearest);
    if (!easy || !hard) return tl::unexpected(easy ? hard.error() : easy.error());
    // Met by none even when the truth is as fast as it may be, or by all even when it is as slow.
    one.possible = (easy->at || easy->met) && (hard->at || !hard->met);
    const bool rises = easy->at ? easy->rises : hard->rises;
    one.band_low = rises ? easy->at : hard->at;
    one.band_high = rises ? hard->at : easy->at;
    return {};
  }

 private:
  // Of values that all meet the goal, or all fail it, the one that is nearest to just doing so.
  static double nearest_of(const Solution& s) {
    const bool all = s.samples.front().meets;
    const bool smallest = all != (s.given.goal == Goal::StepTime);
    return std::min_element(s.samples.begin(), s.samples.end(),
                            [smallest](const SolveSample& a, const SolveSample& b) {
                              return smallest ? a.reached < b.reached : a.reached > b.reached;
                            })
        ->value;
  }

  Expected<Border> border(const Given& goal, double start) {
    const auto found =
        search_crossing(key_.range(), start, start, [&](double value) -> Expected<std::optional<SearchSample>> {
          const auto run = predictions_.at(value);
          if (!run) return tl::unexpected(run.error());
          if (!*run) return std::nullopt;
          return SearchSample{goal.of(**run), goal.met_by(**run)};
        });
    if (!found) return tl::unexpected(found.error());
    if (found->samples.empty()) return tl::unexpected(predictions_.refused());
    Border border;
    border.met = found->samples.begin()->second.meets;
    if (!found->crossing) return border;
    border.rises = found->crossing->met_at_high;
    border.at = border.rises ? found->crossing->high : found->crossing->low;
    return border;
  }

  const SolveKey& key_;
  SolvePredictions& predictions_;
};

// The scenario of one measurement.
Expected<Inputs> inputs_of(const Inputs& inputs, const std::string& key, const Given& given) {
  ScenarioText source = inputs.source;
  for (const std::string& set : given.sets) {
    if (set.rfind(key + "=", 0) == 0) {
      Error error;
      error.kind = ErrorKind::Conflict;
      error.file = "command line";
      error.key = "--given";
      error.found = given.text;
      error.message = "`" + key + "` is what is solved for";
      error.hint = "leave it out of --given";
      return tl::make_unexpected(Errors{error});
    }
    source.sets.push_back(set);
  }
  return load_inputs(source);
}

Expected<SolveKey> checked_key(const Inputs& inputs, const std::string& key, const Given& given) {
  if (auto wrong = wrong_sample_unit(given.word, inputs.model)) {
    wrong->file = "command line";
    wrong->key = "--given";
    wrong->found = given.text;
    return tl::make_unexpected(Errors{*std::move(wrong)});
  }
  return SolveKey::find(key, inputs);
}

Expected<ImpliedValue> implied_by(const Inputs& inputs, const std::string& key, const Given& given,
                                  const SolveOptions& options) {
  const auto changed = inputs_of(inputs, key, given);
  if (!changed) return tl::unexpected(changed.error());
  const auto solve_key = checked_key(*changed, key, given);
  if (!solve_key) return tl::unexpected(solve_key.error());
  SolvePredictions predictions(*changed, *solve_key, options, given.goal == Goal::Efficiency);
  auto solution = Solver(*changed, *solve_key, given, predictions).run();
  if (!solution) return tl::unexpected(std::move(solution.error()));
  ImpliedValue one;
  one.solution = *std::move(solution);
  if (auto done = BandOfValues(*solve_key, predictions).add_to(one); !done)
    return tl::unexpected(std::move(done.error()));
  return one;
}

void intersect(CommonValue& common) {
  common.fits = true;
  for (const ImpliedValue& one : common.values) {
    common.fits &= one.possible;
    if (one.band_low) common.low = std::max(common.low.value_or(*one.band_low), *one.band_low);
    if (one.band_high) common.high = std::min(common.high.value_or(*one.band_high), *one.band_high);
  }
  common.fits &= !common.low || !common.high || *common.low <= *common.high;
  if (!common.fits) common.low = common.high = std::nullopt;
}

ImpliedTrend trend_of(const std::vector<ImpliedValue>& values) {
  // Where one has no value of its own, by the bands.
  const auto below = [](const ImpliedValue& a, const ImpliedValue& b) {
    if (a.solution.low && b.solution.low) return *a.solution.low < *b.solution.low;
    return a.band_high && b.band_low && *a.band_high < *b.band_low;
  };
  bool falls = true, rises = true;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    falls &= below(values[i + 1], values[i]);
    rises &= below(values[i], values[i + 1]);
  }
  return falls ? ImpliedTrend::Falls : rises ? ImpliedTrend::Rises : ImpliedTrend::None;
}

}  // namespace

Expected<Solution> solve(const Inputs& inputs, const std::string& key, const Given& given,
                         const SolveOptions& options) {
  if (given.sets.empty()) {
    const auto solve_key = checked_key(inputs, key, given);
    if (!solve_key) return tl::unexpected(solve_key.error());
    SolvePredictions predictions(inputs, *solve_key, options, given.goal == Goal::Efficiency);
    return Solver(inputs, *solve_key, given, predictions).run();
  }
  const auto changed = inputs_of(inputs, key, given);
  if (!changed) return tl::unexpected(changed.error());
  Given bare = given;
  bare.sets.clear();
  return solve(*changed, key, bare, options);
}

Expected<CommonValue> solve_common(const Inputs& inputs, const std::string& key, const std::vector<Given>& givens,
                                   const SolveOptions& options) {
  CommonValue common;
  for (const Given& given : givens) {
    auto one = implied_by(inputs, key, given, options);
    if (!one) return tl::unexpected(std::move(one.error()));
    common.values.push_back(*std::move(one));
  }
  std::stable_sort(common.values.begin(), common.values.end(),
                   [](const ImpliedValue& a, const ImpliedValue& b) { return a.solution.gpus < b.solution.gpus; });
  intersect(common);
  common.trend = trend_of(common.values);
  add_common_verdict(common, inputs);
  return common;
}

}  // namespace lockstep
