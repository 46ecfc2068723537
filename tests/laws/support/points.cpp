#include "tests/laws/support/points.h"

#include <fmt/format.h>

#include "simulator/base/ensure.h"
#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "topologies/reader.h"

namespace lockstep::testing {
namespace {

std::string options_text(const ModelOptions& o) {
  std::string text = fmt::format("{} {} {}", o.image.value_or(0), o.classes.value_or(0), o.stem.value_or(""));
  text += fmt::format(" {} {} {}", o.sequence.value_or(0), o.inputs.value_or(0), o.outputs.value_or(0));
  for (const auto width : o.hidden) text += fmt::format(" {}", width);
  return text;
}

StopRule steady(int steps) {
  StopRule rule;
  rule.fixed_steady = steps;
  return rule;
}

}  // namespace

const Model& zoo_model(const std::string& name, const ModelOptions& options) {
  static std::map<std::string, Model> known;
  const std::string key = name + " " + options_text(options);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  auto model = build_zoo_model(name, options);
  LOCKSTEP_ENSURE(model.has_value(), "model {}: {}", name, to_text(model.error().front()));
  return known.emplace(key, *std::move(model)).first->second;
}

Topology machine(const std::string& node, const std::string& fabric, const std::map<std::string, double>& overrides) {
  static std::map<std::string, Topology> known;
  TopologyRequest request;
  request.node = node;
  request.fabric = fabric;
  request.overrides = overrides;
  request.max_gpus = fabric.empty() ? 1 : 1 << 16;
  std::string key = node + "+" + fabric;
  for (const auto& [name, value] : overrides) key += fmt::format("+{}={}", name, value);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  auto loaded = load_topology(request, {{LOCKSTEP_SOURCE_DIR "/topologies"}});
  LOCKSTEP_ENSURE(loaded.has_value(), "machine {}: {}", key, to_text(loaded.error().front()));
  return known.emplace(key, *std::move(loaded)).first->second;
}

void TestPoint::load() {
  model = &zoo_model(model_name, model_options);
  topology = machine(node, fabric, overrides);
}

PointRequest TestPoint::request() const {
  LOCKSTEP_ENSURE(model != nullptr, "load() before request() of {}", model_name);
  PointRequest r;
  r.scenario = &scenario;
  r.model = model;
  r.topology = &topology;
  r.strategy = strategy;
  r.gpus = gpus;
  r.per_gpu_batch = batch;
  r.micro_steps = micro_steps;
  r.kernel_factor = kernel_factor;
  r.single_step_s = single_step_s;
  r.folded = folded;
  return r;
}

PointInputs TestPoint::inputs() const {
  const PointRequest r = request();
  PointInputs in;
  in.scenario = r.scenario;
  in.model = r.model;
  in.topology = r.topology;
  in.strategy = strategy;
  in.gpus = gpus;
  in.per_gpu_batch = batch;
  in.micro_steps = micro_steps;
  in.kernel_factor = kernel_factor;
  in.single_step_s = single_step_s;
  return in;
}

std::string TestPoint::text() const {
  return fmt::format("{} on {} x {}{}{}, batch {} x {}, {}", name_of(strategy), gpus, node, fabric.empty() ? "" : " + ",
                     fabric, batch, micro_steps, model_name);
}

TestPoint single_of(const TestPoint& point) {
  TestPoint single = point;
  single.strategy = Strategy::Single;
  single.gpus = 1;
  single.single_step_s = 0;
  single.load();
  return single;
}

void expect_stragglers(TestPoint& point) {
  point.single_step_s = estimated_step_s(single_of(point).graph());
}

double estimated_step_s(const StepGraph& graph) {
  return estimate(graph, {}).step_times_s().back();
}
double simulated_step_s(const StepGraph& graph) {
  return simulate(graph, {}).step_times_s().back();
}
double estimated_sum_s(const StepGraph& graph, int steady_steps) {
  return estimate(graph, steady(steady_steps)).steps.back().end;
}
double simulated_sum_s(const StepGraph& graph, int steady_steps) {
  return simulated(graph, steady_steps).steps.back().end;
}

StepRecord simulated(const StepGraph& graph, int steady_steps, const JitterSource& jitter) {
  EngineOptions options;
  options.stop = steady(steady_steps);
  options.jitter = jitter;
  return simulate(graph, options);
}

}  // namespace lockstep::testing
