#include "simulator/answers/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/fields.h"
#include "simulator/answers/catalogue.h"
#include "simulator/answers/sentences.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"
#include "simulator/base/quantity.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

constexpr int kFirstDoublings = 3;   // each way, whatever they show
constexpr int kMostDoublings = 26;   // each way, while nothing crosses the goal
constexpr double kNarrow = 1.001;    // high / low of the answer
constexpr double kFlat = 1e-5;       // relative change that ends the doubling
constexpr double kAgainst = 1e-3;    // relative change that counts against a trend
constexpr double kMostGpus = 16384;  // beyond that a prediction takes long

Error wrong(ErrorKind kind, std::string key, std::string found, std::string message, std::string allowed = "",
            std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

bool can_be_solved(const FieldInfo& field) {
  const bool number =
      field.type == FieldType::Quantity || field.type == FieldType::Number || field.type == FieldType::Integer;
  return number && field.fetch && (!field.list || field.key == "gpus") && field.key != "seed";
}

bool is_whole(const FieldInfo& field) {
  return field.type == FieldType::Integer || (field.type == FieldType::Quantity && field.unit == Unit::Bytes);
}

double number_in(const Scalar& scalar) {
  if (const auto* whole = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&scalar)) return *real;
  return 0;
}

// What a key that is not given stands for; 1 of its unit where nothing is known.
double value_when_unset(const std::string& key, const FieldInfo& field, const Inputs& inputs) {
  const Topology& t = inputs.topology;
  const std::map<std::string, double> known = {{"topology.override.nvlink.rate", nvlink_rate(t)},
                                               {"topology.override.pcie.rate", pcie_slot_rate(t)},
                                               {"topology.override.uplink.rate", pcie_uplink_rate(t)},
                                               {"topology.override.host.rate", host_rate(t)},
                                               {"topology.override.nic.rate", nics_of(t).rate},
                                               {"topology.override.nic.latency", border_latency(t)},
                                               {"host.factor", t.node.host.factor},
                                               {"host.cores", t.node.host.cores},
                                               {"loader.sample_cost.mean", 1e-3},
                                               {"ddp.bucket_cap", 25.0 * (1 << 20)},
                                               {"ddp.first_bucket", 1 << 20}};
  const auto found = known.find(key);
  if (found != known.end() && found->second > 0) return found->second;
  if (field.unit == Unit::BytesPerSecond) return 1e9;
  if (field.unit == Unit::Bytes) return 1 << 20;
  return field.unit == Unit::Seconds ? 1e-6 : 1;
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::Bytes:
      return "B";
    case Unit::BytesPerSecond:
      return "B/s";
    case Unit::Seconds:
      return "s";
    case Unit::FlopPerSecond:
      return "FLOP/s";
    default:
      return "";
  }
}

Strategy strategy_of(const Scenario& scenario) {
  const auto& all = scenario.strategies;
  if (std::find(all.begin(), all.end(), Strategy::Ddp) != all.end()) return Strategy::Ddp;
  return all.empty() ? Strategy::Single : all.front();
}

std::string goal_text(Goal goal, double value, const std::string& unit) {
  if (goal == Goal::StepTime) return "a step of " + format_time(value);
  if (goal == Goal::Efficiency) return "an efficiency of " + format_percent(value);
  return fmt::format("{} {}", format_significant(value), unit);
}

class Solver {
 public:
  Solver(const Inputs& inputs, const FieldInfo& field, const Given& given, const SolveOptions& options)
      : inputs_(inputs), field_(field), given_(given), options_(options) {
    out_.key = field.key;
    out_.unit = unit_name(field.unit);
    out_.given = given;
    out_.strategy = strategy_of(inputs.scenario());
    const auto& gpus = inputs.scenario().gpus;
    out_.gpus = out_.strategy == Strategy::Single ? 1 : *std::max_element(gpus.begin(), gpus.end());
    sample_unit_ = inputs.model.sample_unit + "/s";
  }

  Expected<Solution> run() {
    present_ = present_value();
    if (auto done = look_around(); !done) return tl::unexpected(std::move(done.error()));
    if (samples_.empty()) return tl::unexpected(refused_);
    const auto crossings = cells_that_cross();
    if (crossings.empty()) return samples_.begin()->second.meets ? always() : none();
    if (auto done = narrow(crossings); !done) return tl::unexpected(std::move(done.error()));
    finish();
    answer_sentence();
    return std::move(out_);
  }

 private:
  using Done = tl::expected<void, Errors>;
  using Cell = std::pair<double, double>;

  double present_value() const {
    const Scenario& scenario = inputs_.scenario();
    const auto scalars = field_.fetch(&scenario);
    if (!scalars || scalars->empty()) return value_when_unset(field_.key, field_, inputs_);
    double most = 0;
    for (const Scalar& scalar : *scalars) most = std::max(most, number_in(scalar));
    return most;
  }

  // --- one prediction ---

  std::string text_of(double value) const {
    if (field_.type == FieldType::Quantity) return quantity_text(value, field_.unit);
    return field_.type == FieldType::Integer ? fmt::format("{}", static_cast<std::int64_t>(value))
                                             : fmt::format("{}", value);
  }

  int gpus_at(double value) const { return field_.key == "gpus" ? static_cast<int>(value) : out_.gpus; }

  std::optional<double> allowed(double value) const {
    if (is_whole(field_)) value = std::round(value);
    double low = field_.low.value_or(0), high = field_.high.value_or(1e18);
    if (is_whole(field_)) low = std::max(low, 1.0);
    if (field_.key == "gpus") high = std::min(high, kMostGpus);
    if (value < low || value > high || (field_.low_open && value <= low)) return std::nullopt;
    return value;
  }

  // False: the scenario with this value is refused or cannot run.
  Expected<bool> sample(double value) {
    if (samples_.count(value) != 0) return true;
    if (options_.progress) options_.progress(static_cast<int>(samples_.size()) + 1);
    const auto changed = load_inputs(inputs_.source.with(field_.key + "=" + text_of(value)));
    if (!changed) {
      if (refused_.empty()) refused_ = changed.error();
      return false;
    }
    Points points(*changed, options_.method, options_.source);
    auto run = given_.goal == Goal::Efficiency && !has_loader(*changed) ? points.run(out_.strategy, gpus_at(value))
                                                                        : points.alone(out_.strategy, gpus_at(value));
    if (!run) return tl::unexpected(std::move(run.error()));
    if (given_.goal == Goal::Efficiency && has_loader(*changed) && !run->not_run) {
      const auto single = fed_single(*changed);
      if (!single) return tl::unexpected(single.error());
      run->efficiency = run->throughput / (single->run.throughput * run->gpus);
    }
    if (run->not_run) {
      Error error = wrong(ErrorKind::RunFailed, field_.key, text_of(value), *run->not_run);
      if (refused_.empty()) refused_ = {error};
      return false;
    }
    samples_[value] = {value, given_.of(*run), given_.met_by(*run)};
    return true;
  }

  static bool has_loader(const Inputs& inputs) { return inputs.scenario().loader.active(); }

  // One GPU whose batches are always ready.
  Expected<Points::Single> fed_single(Inputs inputs) const {
    inputs.read.scenario.loader.sample_cost_s.reset();
    return Points(inputs, options_.method, options_.source).single();
  }

  // --- doubling and halving ---

  struct Way {
    double factor;
    double at;
    std::optional<double> reached;
    int flat = 0;
    bool open = true;
  };

  Done look_around() {
    // A whole number may be 0 now, although none is sought there.
    const auto first = present_ == 0 && field_.low == 0.0 ? present_ : allowed(present_);
    if (first)
      if (auto ok = sample(*first); !ok) return tl::unexpected(std::move(ok.error()));
    const double start = present_ > 0 ? present_ : value_when_unset(field_.key, field_, inputs_);
    if (const auto value = allowed(start))
      if (auto ok = sample(*value); !ok) return tl::unexpected(std::move(ok.error()));
    Way ways[] = {{2, start, {}, 0, true}, {0.5, start, {}, 0, true}};
    for (int i = 0; i < kMostDoublings && (ways[0].open || ways[1].open); ++i) {
      if (i >= kFirstDoublings && !cells_that_cross().empty()) break;
      for (Way& way : ways)
        if (way.open)
          if (auto done = go_on(way); !done) return done;
    }
    return {};
  }

  Done go_on(Way& way) {
    auto value = allowed(way.at * way.factor);
    // The end of a range is worth a look too.
    if (!value && field_.key != "gpus") value = edge(way);
    way.at *= way.factor;
    if (!value) {
      way.open = false;
      return {};
    }
    const auto ok = sample(*value);
    if (!ok) return tl::unexpected(ok.error());
    if (!*ok) {
      way.open = field_.type == FieldType::Integer && way.factor < 1;  // a batch that cannot be shared out: go on
      if (field_.key == "gpus" && way.factor > 1) return up_to_the_most(way.at / way.factor, *value);
      return {};
    }
    const double reached = samples_[*value].reached;
    if (way.reached && std::abs(reached - *way.reached) <= kFlat * std::abs(reached)) way.open = ++way.flat < 2;
    way.reached = reached;
    return {};
  }

  std::optional<double> edge(const Way& way) const {
    const auto& end = way.factor > 1 ? field_.high : field_.low;
    if (!end) return std::nullopt;
    const bool before = way.factor > 1 ? way.at < *end : way.at > *end;
    return before ? allowed(*end) : std::nullopt;
  }

  // The most GPUs that the machine holds, between a number that runs and one that does not.
  Done up_to_the_most(double good, double bad) {
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
    for (auto at = samples_.begin(); at != samples_.end(); ++at) {
      const auto next = std::next(at);
      if (next != samples_.end() && next->second.meets != at->second.meets) cells.emplace_back(at->first, next->first);
    }
    return cells;
  }

  // --- bisection ---

  Done narrow(const std::vector<Cell>& cells) {
    double nearest = -1;
    for (Cell cell : cells) {
      if (auto done = bisect(cell); !done) return done;
      const double distance = std::abs(std::log(std::max(cell.second, 1e-12) / std::max(present_, 1e-12)));
      if (nearest >= 0 && distance >= nearest) continue;
      nearest = distance;
      out_.low = cell.first;
      out_.high = cell.second;
      out_.rises_to_goal = samples_[cell.second].meets;
    }
    return {};
  }

  Done bisect(Cell& cell) {
    auto& [low, high] = cell;
    while (is_whole(field_) && field_.unit != Unit::Bytes ? high - low > 1 : high > kNarrow * low) {
      double middle = low > 0 ? std::sqrt(low * high) : high / 2;
      if (is_whole(field_)) middle = std::clamp(std::round(middle), low + 1, high - 1);
      if (middle <= low || middle >= high || high < 1e-12) break;
      const auto ok = sample(middle);
      if (!ok) return tl::unexpected(ok.error());
      if (!*ok) break;
      (samples_[middle].meets == samples_[low].meets ? low : high) = middle;
    }
    return {};
  }

  // --- words ---

  void finish() {
    int trend = 0;
    const SolveSample* before = nullptr;
    for (const auto& [value, one] : samples_) {
      out_.samples.push_back(one);
      if (one.meets) {
        const bool goes_on = before != nullptr && before->meets;
        if (goes_on)
          out_.meeting.back().high = value;
        else
          out_.meeting.push_back({value, value});
      }
      if (before != nullptr && std::abs(one.reached - before->reached) > kAgainst * std::abs(before->reached)) {
        const int way = one.reached > before->reached ? 1 : -1;
        out_.monotonic &= trend == 0 || trend == way;
        trend = way;
      }
      before = &one;
    }
    if (given_.goal == Goal::Efficiency && has_loader(inputs_)) out_.baseline = make_sentence("solve_fed", about({}));
    if (out_.monotonic) return;
    std::vector<std::string> ranges;
    for (const SolveInterval& range : out_.meeting)
      ranges.push_back(range.low == range.high ? words(range.low)
                                               : fmt::format("{} to {}", words(range.low), words(range.high)));
    out_.doubt =
        make_sentence("solve_not_monotonic",
                      about({{"ranges", ranges.empty() ? "none" : fmt::format("{}", fmt::join(ranges, ", "))}}));
  }

  std::string words(double value) const { return solve_value_text(out_, value); }

  std::map<std::string, std::string> about(std::map<std::string, std::string> values) const {
    const bool on_cores = inputs_.topology.node.gpu.vendor == "cpu";
    values["device"] = on_cores ? "core" : "gpu";
    const bool many = out_.gpus > 1 || field_.key == "gpus";
    values["devices"] = values["device"] + (many ? "s" : "");
    values["on"] = field_.key == "gpus" ? "" : fmt::format("{} ", out_.gpus);
    values["strategy"] = name_of(out_.strategy);
    values["key"] = field_.key;
    values["goal"] = goal_text(given_.goal, given_.value, sample_unit_);
    return values;
  }

  void answer_sentence() {
    const double from = out_.rises_to_goal ? *out_.high : *out_.low;
    std::map<std::string, std::string> values = {
        {"value", words(from)}, {"low", words(*out_.low)}, {"high", words(*out_.high)}};
    const auto now = samples_.find(present_);
    values["present"] = words(present_);
    values["now"] = now == samples_.end() ? "not run" : goal_text(given_.goal, now->second.reached, sample_unit_);
    out_.answer = make_sentence(out_.rises_to_goal ? "solve_at_least" : "solve_at_most", about(std::move(values)));
  }

  Expected<Solution> always() {
    finish();
    out_.answer = make_sentence(
        "solve_always", about({{"from", words(samples_.begin()->first)}, {"to", words(samples_.rbegin()->first)}}));
    return std::move(out_);
  }

  // The best that can be reached, and what it still loses.
  Expected<Solution> none() {
    finish();
    const SolveSample* best = &out_.samples.front();
    for (const SolveSample& one : out_.samples) {
      const bool better = given_.goal == Goal::StepTime ? one.reached < best->reached : one.reached > best->reached;
      if (better) best = &one;
    }
    const auto changed = load_inputs(inputs_.source.with(field_.key + "=" + text_of(best->value)));
    if (!changed) return tl::unexpected(changed.error());
    Points points(*changed, options_.method, options_.source);
    const auto single = fed_single(*changed);
    if (!single) return tl::unexpected(single.error());
    const auto run = points.alone(out_.strategy, gpus_at(best->value));
    if (!run) return tl::unexpected(run.error());
    std::map<std::string, std::string> values = {{"from", words(samples_.begin()->first)},
                                                 {"to", words(samples_.rbegin()->first)},
                                                 {"value", words(best->value)},
                                                 {"best", goal_text(given_.goal, best->reached, sample_unit_)}};
    const auto loss = largest_loss(*run, single->run);
    const char* id = loss ? "solve_none" : "solve_none_computing";
    if (loss) {
      out_.floor_cause = name_of(loss->cause);
      values["cause"] = name_of(loss->cause);
      values["loss_s"] = digits(loss->seconds);
    }
    out_.answer = make_sentence(id, about(std::move(values)));
    return std::move(out_);
  }

  const Inputs& inputs_;
  const FieldInfo& field_;
  const Given& given_;
  const SolveOptions& options_;
  Solution out_;
  std::string sample_unit_;
  double present_ = 0;
  std::map<double, SolveSample> samples_;
  Errors refused_;  // by the first value that could not be tried
};

std::optional<Error> wrong_key(const std::string& key, const Inputs& inputs) {
  const TableInfo& table = scenario_fields().info();
  const FieldInfo* field = table.find(key);
  std::vector<std::string> names;
  for (const FieldInfo& one : table.fields)
    if (can_be_solved(one)) names.push_back(one.key);
  if (field == nullptr)
    return wrong(ErrorKind::UnknownKey, "--for", key, fmt::format("a scenario has no key `{}`", key), "",
                 did_you_mean(key, names));
  if (!can_be_solved(*field))
    return wrong(ErrorKind::Type, "--for", key, fmt::format("`{}` is no number to solve for", key),
                 "keys with one number or quantity, and gpus", "topology.override.nic.rate");
  const bool batch = key.rfind("batch.", 0) == 0;
  if (batch && inputs.scenario().calibrate_single_gpu)
    return wrong(ErrorKind::Conflict, "--for", key, "calibrate.single_gpu holds for one batch only", "",
                 "leave calibrate.single_gpu out");
  return std::nullopt;
}

}  // namespace

const char* name_of(Goal goal) {
  constexpr const char* kNames[] = {"step_time", "throughput", "efficiency"};
  return kNames[static_cast<int>(goal)];
}

double Given::of(const Run& run) const {
  if (goal == Goal::StepTime) return run.step_time_s;
  return goal == Goal::Throughput ? run.throughput : run.efficiency;
}

bool Given::met_by(const Run& run) const {
  return goal == Goal::StepTime ? of(run) <= value : of(run) >= value;
}

Expected<Given> parse_given(const std::string& text) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  const auto refuse = [&](ErrorKind kind, std::string message) {
    return tl::make_unexpected(
        Errors{wrong(kind, "--given", text, std::move(message),
                     "step_time=, throughput= or efficiency= a value above 0", "efficiency=0.9")});
  };
  Given given;
  given.text = text;
  for (const Goal goal : {Goal::StepTime, Goal::Throughput, Goal::Efficiency}) {
    if (name != name_of(goal)) continue;
    given.goal = goal;
    if (goal == Goal::Throughput) {
      const auto rate = parse_sample_rate(number);
      if (!rate) return refuse(rate.error().front().kind, rate.error().front().message);
      if (rate->iterations) return refuse(ErrorKind::Unit, "a throughput is in samples: 2000img/s");
      given.value = rate->per_second;
    } else {
      const auto value = parse_quantity(number, goal == Goal::StepTime ? Unit::Seconds : Unit::Fraction);
      if (!value) return refuse(value.error().front().kind, value.error().front().message);
      given.value = *value;
    }
    if (given.value <= 0) return refuse(ErrorKind::Range, "the given value must be above 0");
    return given;
  }
  return refuse(ErrorKind::UnknownKey, fmt::format("`{}` is nothing that can be given", name));
}

std::string solve_value_text(const Solution& solution, double value) {
  // Four digits: the two ends of an answer differ in the fourth.
  if (solution.unit == "B/s") {
    const bool large = value >= 1e9;
    return format_significant(value / (large ? 1e9 : 1e6), 4) + (large ? " GB/s" : " MB/s");
  }
  if (solution.unit == "B") return format_bytes(value);
  if (solution.unit == "s") return format_time(value);
  return format_significant(value, 4);
}

Expected<Solution> solve(const Inputs& inputs, const std::string& key, const Given& given,
                         const SolveOptions& options) {
  if (auto error = wrong_key(key, inputs)) return tl::unexpected(Errors{*std::move(error)});
  return Solver(inputs, *scenario_fields().info().find(key), given, options).run();
}

}  // namespace lockstep
