#include "simulator/answers/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/answers/catalogue.h"
#include "simulator/answers/sentences.h"

namespace lockstep {
namespace {

std::string phrase(const std::string& id, bool on_cores) {
  return make_sentence(id, {{"device", on_cores ? "core" : "gpu"}}).text;
}

struct DifferenceGroup {
  const char* id;
  std::vector<Cause> causes;
};

const std::vector<DifferenceGroup>& difference_groups() {
  static const std::vector<DifferenceGroup> groups = {
      {"replicate", {Cause::Replicate}},
      {"batch", {Cause::Input, Cause::CopyToDevice, Cause::Scatter}},
      {"host", {Cause::HostBound}},
      {"gather", {Cause::Gather}},
      {"gradients", {Cause::GradientReduce, Cause::ExposedCommunication}},
      {"bucket_copies", {Cause::BucketCopies}},
      {"overlap", {Cause::Contention}},
      {"peers", {Cause::WaitForPeers}},
      {"buffers", {Cause::BufferBroadcast}},
      {"computing", {Cause::Forward, Cause::Backward, Cause::Optimizer}},
      {"other", {Cause::Other}},
  };
  return groups;
}

double sum_of(const Run& run, const std::vector<Cause>& causes) {
  double sum = 0;
  for (const Cause cause : causes) sum += run.part_s(cause);
  return sum;
}

bool is_computing(Cause cause) {
  return cause == Cause::Forward || cause == Cause::Backward || cause == Cause::Optimizer;
}

class Explainer {
 public:
  Explainer(const Inputs& inputs, Method method, const PointSource& source)
      : inputs_(inputs), points_(inputs, method, source), on_cores_(inputs.topology.node.gpu.vendor == "cpu") {
    points_.keep_parts();
  }

  Expected<Explanation> run() {
    for (const Strategy strategy : strategies())
      if (auto done = add(strategy); !done) return tl::unexpected(std::move(done.error()));
    if (out_.runs.empty()) return nothing_ran();
    std::vector<Run> runs;
    for (const ExplainedRun& one : out_.runs) runs.push_back(one.run);
    out_.focus = focus_run(runs).value_or(0);
    const Run *dp = find(Strategy::Dp), *ddp = find(Strategy::Ddp);
    if (dp != nullptr && ddp != nullptr && dp->gpus == ddp->gpus) out_.difference = difference_of(*dp, *ddp, on_cores_);
    for (const ExplainedRun& one : out_.runs) step_sentence(one);
    if (!out_.difference.empty()) difference_sentence(*dp, *ddp);
    if (ddp != nullptr) hidden_sentence(*ddp);
    return std::move(out_);
  }

 private:
  std::vector<Strategy> strategies() const {
    std::vector<Strategy> wanted;
    for (const Strategy strategy : inputs_.scenario().strategies)
      if (strategy != Strategy::Single) wanted.push_back(strategy);
    if (wanted.empty()) wanted.push_back(Strategy::Single);
    return wanted;
  }

  tl::expected<void, Errors> add(Strategy strategy) {
    auto counts = inputs_.scenario().gpus;
    std::sort(counts.rbegin(), counts.rend());
    if (strategy == Strategy::Single) counts = {1};
    for (const int gpus : counts) {
      if (const auto reason = points_.why_not(strategy, gpus)) {
        why_not_ = *reason;
        continue;
      }
      auto run = points_.run(strategy, gpus);
      if (!run) return tl::unexpected(std::move(run.error()));
      out_.runs.push_back(explained(*std::move(run), on_cores_));
      return {};
    }
    return {};
  }

  tl::unexpected<Errors> nothing_ran() const {
    Error error;
    error.kind = ErrorKind::RunFailed;
    error.file = inputs_.scenario().file;
    error.message = "nothing that was asked for can run: " + why_not_;
    return tl::make_unexpected(Errors{error});
  }

  const Run* find(Strategy strategy) const {
    for (const ExplainedRun& one : out_.runs)
      if (one.run.strategy == strategy) return &one.run;
    return nullptr;
  }

  void say(const char* id, std::map<std::string, std::string> values, int gpus) {
    const std::string device = on_cores_ ? "core" : "gpu";
    values["device"] = device;
    values["gpus"] = fmt::format("{}", gpus);
    values["devices"] = gpus == 1 ? device : device + "s";
    out_.sentences.push_back(make_sentence(id, std::move(values)));
  }

  void step_sentence(const ExplainedRun& one) {
    double computing = 0;
    const ExplainedCause* most = nullptr;
    for (const ExplainedCause& row : one.rows) {
      if (is_computing(row.cause))
        computing += row.share;
      else if (most == nullptr)
        most = &row;
    }
    std::map<std::string, std::string> values = {{"strategy", name_of(one.run.strategy)},
                                                 {"step_time_s", digits(one.run.step_time_s)},
                                                 {"computing", digits(computing)}};
    if (most == nullptr) return say("explain_computing", std::move(values), one.run.gpus);
    values["was"] = std::string("was_") + name_of(most->cause);
    values["seconds"] = digits(most->seconds);
    values["share"] = digits(most->share);
    say("explain_step", std::move(values), one.run.gpus);
  }

  void difference_sentence(const Run& dp, const Run& ddp) {
    const double difference = dp.step_time_s - ddp.step_time_s;
    const double sign = difference < 0 ? -1 : 1;
    const DifferenceRow* most = &out_.difference.front();
    for (const DifferenceRow& row : out_.difference)
      if (sign * row.seconds() > sign * most->seconds()) most = &row;
    say("explain_difference",
        {{"slow", sign > 0 ? "dp" : "ddp"},
         {"fast", sign > 0 ? "ddp" : "dp"},
         {"difference_s", digits(std::abs(difference))},
         {"row", "difference_" + most->cause},
         {"seconds", digits(std::abs(most->seconds()))}},
        dp.gpus);
  }

  void hidden_sentence(const Run& ddp) {
    if (ddp.communication_s <= 0) return;
    say("explain_hidden",
        {{"strategy", "ddp"},
         {"hidden_s", digits(ddp.hidden_communication_s)},
         {"communication_s", digits(ddp.communication_s)}},
        ddp.gpus);
  }

  const Inputs& inputs_;
  Points points_;
  bool on_cores_;
  std::string why_not_;
  Explanation out_;
};

}  // namespace

ExplainedRun explained(Run run, bool on_cores) {
  ExplainedRun out;
  for (const Cause cause : kCauses) {
    const double seconds = run.part_s(cause);
    if (seconds == 0) continue;
    ExplainedCause row{
        cause, seconds, seconds / run.step_time_s, phrase(std::string("was_") + name_of(cause), on_cores), {}};
    for (const StepPart& part : run.parts)
      if (part.cause == cause) row.parts.push_back(part);
    if (row.parts.empty()) row.parts.push_back({cause, "", seconds});
    std::stable_sort(row.parts.begin(), row.parts.end(),
                     [](const StepPart& a, const StepPart& b) { return a.seconds > b.seconds; });
    out.rows.push_back(std::move(row));
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const ExplainedCause& a, const ExplainedCause& b) { return a.seconds > b.seconds; });
  out.run = std::move(run);
  return out;
}

std::vector<DifferenceRow> difference_of(const Run& dp, const Run& ddp, bool on_cores) {
  std::vector<DifferenceRow> rows;
  for (const DifferenceGroup& group : difference_groups()) {
    const double dp_s = sum_of(dp, group.causes), ddp_s = sum_of(ddp, group.causes);
    if (dp_s == 0 && ddp_s == 0) continue;
    rows.push_back({group.id, dp_s, ddp_s, phrase(std::string("difference_") + group.id, on_cores)});
  }
  return rows;
}

Expected<Explanation> explain(const Inputs& inputs, Method method, const PointSource& source) {
  return Explainer(inputs, method, source).run();
}

}  // namespace lockstep
