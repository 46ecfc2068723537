#include "simulator/answers/points.h"

#include <gtest/gtest.h>

#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using testing::inputs_of;

// Steps of the fake machine with batch 100: single 0.104 s, dp 0.164 s, ddp 0.134 s.
struct Fixture {
  explicit Fixture(const std::string& more = "")
      : inputs(inputs_of(more)), points(inputs, Method::Simulate, machine.source()) {}
  FakeMachine machine;
  Inputs inputs;
  Points points;
  lockstep::Run run(Strategy strategy, int gpus) {
    auto run = points.run(strategy, gpus);
    EXPECT_TRUE(run.has_value());
    return run.value_or(lockstep::Run{});
  }
};

TEST(Points, weak_scaling_keeps_the_batch_of_a_gpu_and_compares_throughput) {
  Fixture f;
  const auto run = f.run(Strategy::Ddp, 8);
  EXPECT_EQ(run.per_gpu_batch, 100);
  EXPECT_EQ(run.global_batch, 800);
  EXPECT_EQ(run.scaling, "weak");
  EXPECT_DOUBLE_EQ(run.throughput, 800 / 0.134);
  EXPECT_EQ(run.throughput_unit, "images/s");
  EXPECT_DOUBLE_EQ(run.speedup, 8 * 0.104 / 0.134);
  EXPECT_DOUBLE_EQ(run.efficiency, 0.104 / 0.134);
  ASSERT_TRUE(run.baseline);
  EXPECT_DOUBLE_EQ(run.baseline->step_time_s, 0.104);
  EXPECT_TRUE(run.baseline->feasible);
}

TEST(Points, the_single_gpu_is_its_own_baseline) {
  Fixture f;
  const auto run = f.run(Strategy::Single, 1);
  EXPECT_DOUBLE_EQ(run.speedup, 1);
  EXPECT_DOUBLE_EQ(run.efficiency, 1);
}

TEST(Points, accumulation_multiplies_the_samples_of_a_step_on_both_sides) {
  Fixture f("accumulate: {steps: 4}\n");
  const auto run = f.run(Strategy::Ddp, 2);
  EXPECT_EQ(run.micro_steps, 4);
  EXPECT_EQ(run.global_batch, 800);
  EXPECT_DOUBLE_EQ(run.step_time_s, 0.434);
  EXPECT_DOUBLE_EQ(run.efficiency, 0.404 / 0.434);
}

TEST(Points, strong_scaling_shares_the_global_batch_out) {
  Fixture f("batch: {global: 80}\n");
  const auto run = f.run(Strategy::Ddp, 8);
  EXPECT_EQ(run.per_gpu_batch, 10);
  EXPECT_EQ(run.global_batch, 80);
  EXPECT_EQ(run.scaling, "strong");
  EXPECT_DOUBLE_EQ(run.speedup, 0.084 / 0.044);
  EXPECT_DOUBLE_EQ(run.efficiency, 0.084 / 0.044 / 8);
  EXPECT_EQ(run.baseline->per_gpu_batch, 80);
  EXPECT_DOUBLE_EQ(f.machine.asked.back().single_step_s, 0.014);  // the wait for peers follows the small batch
}

TEST(Points, a_global_batch_that_does_not_divide_is_not_run) {
  Fixture f("batch: {global: 100}\naccumulate: {steps: 5}\ngpus: [1, 2, 3]\n");
  EXPECT_FALSE(f.run(Strategy::Ddp, 2).not_run);
  const auto run = f.run(Strategy::Ddp, 3);
  ASSERT_TRUE(run.not_run);
  EXPECT_EQ(*run.not_run, "a global batch of 100 cannot be shared out evenly among 3 GPUs x 5 micro-steps");
  EXPECT_EQ(run.gpus, 3);
}

TEST(Points, a_baseline_that_does_not_fit_accumulates_in_the_fewest_micro_steps_that_do) {
  // 480 samples at 0.5 GiB on 80 GB: 2 micro-steps of 240 need 120 GiB, 4 of 120 need 60 GiB; 3 of 160 need 80 GiB.
  Fixture f("batch: {global: 480}\n");
  const auto single = f.points.single();
  ASSERT_TRUE(single);
  EXPECT_TRUE(single->accumulated);
  EXPECT_EQ(single->baseline.micro_steps, 4);
  EXPECT_EQ(single->baseline.per_gpu_batch, 120);
  EXPECT_TRUE(single->baseline.feasible);
  EXPECT_EQ(single->run.global_batch, 480);
}

TEST(Points, a_weak_baseline_that_does_not_fit_is_not_feasible) {
  Fixture f("batch: {per_gpu: 1000}\n");
  EXPECT_FALSE(f.run(Strategy::Ddp, 8).baseline->feasible);
}

TEST(Points, data_parallel_beyond_one_node_is_not_run) {
  Fixture f("topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200}\ngpus: [8, 16]\n");
  const auto run = f.run(Strategy::Dp, 16);
  ASSERT_TRUE(run.not_run);
  EXPECT_EQ(*run.not_run, "DataParallel runs in one process: one node has 8 GPUs");
  EXPECT_FALSE(f.run(Strategy::Ddp, 16).not_run);
}

TEST(Points, epochs_round_steps_up_and_add_startup_and_validation) {
  Fixture f("data: {samples: 1000, epochs: 10, validation_samples: 900, startup: 7s}\n");
  const auto run = f.run(Strategy::Ddp, 8);
  ASSERT_TRUE(run.epoch_time_s && run.total_time_s);
  EXPECT_DOUBLE_EQ(*run.epoch_time_s, 2 * 0.134);
  // Two validation steps: forward 30 ms and its 30 % of 4 ms of host time.
  EXPECT_DOUBLE_EQ(*run.total_time_s, 7 + 10 * (2 * 0.134 + 2 * (0.030 + 0.3 * 0.004)));
}

TEST(Points, dropping_the_last_step_rounds_them_down) {
  Fixture f("data: {samples: 1000}\nloader: {drop_last: true}\n");
  EXPECT_DOUBLE_EQ(*f.run(Strategy::Ddp, 8).epoch_time_s, 0.134);
  Fixture few("data: {samples: 700}\nloader: {drop_last: true}\n");
  EXPECT_FALSE(few.run(Strategy::Ddp, 8).epoch_time_s);
  EXPECT_EQ(few.run(Strategy::Ddp, 8).notes.size(), 1U);
}

TEST(Points, a_validation_step_takes_its_batch_from_the_loader) {
  Fixture f("data: {samples: 800, validation_samples: 1600}\nloader: {workers_per_process: 2, sample_cost: 2ms}\n");
  const auto slow = f.run(Strategy::Ddp, 8);  // 100 samples in 100 ms; forward and copy take 51.2
  EXPECT_NEAR(*slow.total_time_s, *slow.epoch_time_s + 2 * 0.1, 1e-12);
  Fixture g("data: {samples: 800, validation_samples: 1600}\nloader: {workers_per_process: 8, sample_cost: 2ms}\n");
  const auto quick = g.run(Strategy::Ddp, 8);
  EXPECT_NEAR(*quick.total_time_s, *quick.epoch_time_s + 2 * 0.0512, 1e-12);
  Fixture h("data: {samples: 800, validation_samples: 1600}\nloader: {sample_cost: 2ms}\n");
  const auto alone = h.run(Strategy::Ddp, 8);
  EXPECT_NEAR(*alone.total_time_s, *alone.epoch_time_s + 2 * (0.2 + 0.0512), 1e-12);
}

TEST(Points, without_data_there_is_no_epoch) {
  Fixture f;
  EXPECT_FALSE(f.run(Strategy::Ddp, 8).epoch_time_s);
}

TEST(Points, calibration_asks_for_the_step_of_the_measured_speed_and_scales_every_point) {
  Fixture f("calibrate: {single_gpu: 500img/s}\n");
  f.machine.calibration.factor = 2;
  EXPECT_DOUBLE_EQ(f.run(Strategy::Ddp, 8).step_time_s, 0.234);
  EXPECT_DOUBLE_EQ(f.machine.calibrated_step_s, 0.2);
}

TEST(Points, the_single_gpu_is_simulated_once) {
  Fixture f;
  f.run(Strategy::Dp, 2);
  f.run(Strategy::Ddp, 2);
  f.run(Strategy::Ddp, 8);
  EXPECT_EQ(f.machine.runs, 4);
}

}  // namespace
}  // namespace lockstep
