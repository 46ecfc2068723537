// A break-even found by the solver is where a sweep of the same key crosses.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/answers/solve.h"
#include "simulator/answers/solve_key.h"
#include "simulator/sweep/sweep.h"

namespace lockstep {
namespace {

struct Question {
  std::string scenario, key, given;
};

// What the sweep says of each value.
std::vector<bool> met_in_sweep(const Question& question, const SolveKey& key, const Given& given,
                               const std::vector<double>& values) {
  std::string list;
  for (const double value : values) list += (list.empty() ? "" : ", ") + key.text(value);
  const auto axes = read_sweep_axes(question.scenario, "x.yaml", {question.key + "=[" + list + "]"});
  if (!axes) {
    ADD_FAILURE() << to_text(axes.error().front());
    return {};
  }
  EXPECT_EQ(axes->points(), values.size());
  SweptPoints points(*axes, Method::Simulate);
  std::vector<bool> met;
  for (std::size_t i = 0; i < axes->points(); ++i) {
    const SweptPoint point = points.predict(i);
    EXPECT_FALSE(point.run.not_run) << *point.run.not_run;
    met.push_back(given.met_by(point.run));
  }
  return met;
}

void agree(const Question& question) {
  const auto inputs = load_inputs({question.scenario, "x.yaml", {}});
  ASSERT_TRUE(inputs) << to_text(inputs.error().front());
  const auto given = parse_given(question.given);
  ASSERT_TRUE(given);
  const auto solution = solve(*inputs, question.key, *given);
  ASSERT_TRUE(solution) << to_text(solution.error().front());
  ASSERT_TRUE(solution->low) << solution->answer.text;
  ASSERT_TRUE(solution->monotonic);
  const auto key = SolveKey::find(question.key, *inputs);
  ASSERT_TRUE(key);
  std::vector<double> values;
  for (const double factor : {0.5, 0.8, 0.95, 1.0}) values.push_back(factor * *solution->low);
  for (const double factor : {1.0, 1.05, 1.2, 2.0}) values.push_back(factor * *solution->high);
  if (key->range().whole)
    for (double& value : values) value = std::round(value);
  const std::vector<bool> met = met_in_sweep(question, *key, *given, values);
  for (std::size_t i = 0; i < met.size(); ++i)
    EXPECT_EQ(met[i], (i >= 4) == solution->rises_to_goal) << question.key << " = " << key->text(values[i]);
}

TEST(SolveAgainstSweep, of_a_rate) {
  agree(
      {"model: resnet50\nbatch: {per_gpu: 32}\ntopology: {node: dgx-a100-80gb, fabric: ib-edr-1x100}\ngpus: 16\n"
       "strategy: ddp\n",
       "topology.override.nic.rate", "efficiency=0.5"});
}

TEST(SolveAgainstSweep, of_a_batch) {
  agree(
      {"model: resnet50\nbatch: {per_gpu: 64}\ntopology: {node: dgx-a100-80gb, fabric: eth-10g}\ngpus: 16\n"
       "strategy: ddp\n",
       "batch.per_gpu", "efficiency=60%"});
}

TEST(SolveAgainstSweep, of_a_latency) {
  agree(
      {"model: resnet18\nbatch: {per_gpu: 64}\ntopology: {node: dgx-a100-80gb, fabric: eth-10g}\ngpus: 16\n"
       "strategy: ddp\n",
       "topology.override.nic.latency", "step_time=200ms"});
}

TEST(SolveAgainstSweep, of_the_hosts_speed) {
  agree({"model: {name: resnet50, image: 64}\nbatch: {per_gpu: 16}\ntopology: dgx-a100-80gb\ngpus: 8\nstrategy: dp\n",
         "host.factor", "step_time=150ms"});
}

}  // namespace
}  // namespace lockstep
