// A point that owns all that it is asked with: made by hand, or drawn at random for property tests.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/answers/point.h"
#include "simulator/steps/step_record.h"
#include "simulator/strategies/strategies.h"

namespace lockstep::testing {

// Models of the zoo are built once per process.
const Model& zoo_model(const std::string& name, const ModelOptions& options = {});
Topology machine(const std::string& node, const std::string& fabric = "",
                 const std::map<std::string, double>& overrides = {});

struct TestPoint {
  std::string model_name = "resnet18", node = "dgx-a100-80gb", fabric;
  ModelOptions model_options;
  std::map<std::string, double> overrides;
  Scenario scenario;
  Strategy strategy = Strategy::Ddp;
  int gpus = 1;
  std::int64_t batch = 32;
  int micro_steps = 1;
  double kernel_factor = 1;
  double single_step_s = 0;
  bool folded = true;

  // Reads model and machine again; call it after a change of the fields above, before request() and inputs().
  void load();
  PointRequest request() const;  // points into this
  PointInputs inputs() const;
  StepGraph graph() const { return build_step_graph(request()); }
  std::string text() const;

  const Model* model = nullptr;
  Topology topology;
};

// The same point as one GPU without a wrapper.
TestPoint single_of(const TestPoint& point);
// Sets single_step_s, so that DDP carries the expected wait for the slowest rank.
void expect_stragglers(TestPoint& point);

// The step that a run without noise settles to.
double estimated_step_s(const StepGraph& graph);
double simulated_step_s(const StepGraph& graph);
// Sum of the first steps, the same number for every graph.
double estimated_sum_s(const StepGraph& graph, int steady_steps = 4);
double simulated_sum_s(const StepGraph& graph, int steady_steps = 4);
StepRecord simulated(const StepGraph& graph, int steady_steps = 4, const JitterSource& jitter = {});

}  // namespace lockstep::testing
