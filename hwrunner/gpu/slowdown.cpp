#include "hwrunner/gpu/slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  return values[half];
}

double part(const TrainedStep& step, const char* name) {
  const auto found = step.parts.find(name);
  return found == step.parts.end() ? 0 : found->second;
}

void run_steps(RankTrainer& trainer, int steps, SlowdownRow& row) {
  std::vector<double> forward, backward, all;
  for (int i = 0; i < steps; ++i) {
    const TrainedStep step = trainer.step();
    forward.push_back(part(step, "forward"));
    backward.push_back(part(step, "backward"));
    all.push_back(std::accumulate(step.parts.begin(), step.parts.end(), 0.0,
                                  [](double sum, const auto& one) { return sum + one.second; }));
  }
  row.forward_s = median(forward);
  row.backward_s = median(backward);
  row.step_s = median(all);
}

}  // namespace

Expected<std::vector<SlowdownRow>> measure_slowdown(RankTrainer& trainer, SideWork& kernel,
                                                    const SlowdownOptions& options) {
  for (int i = 0; i < options.warm_up; ++i) trainer.step();
  std::vector<SlowdownRow> rows(1);
  run_steps(trainer, options.steps, rows.front());
  // A hundred times what the steps should take: then the kernel gives up, not the person.
  const double most_s = std::max(5.0, 100 * options.steps * rows.front().step_s);
  for (const double rate : options.rates_bps) {
    for (const int blocks : options.blocks) {
      SlowdownRow& row = rows.emplace_back();
      row.blocks = blocks;
      row.asked_bps = rate;
      if (auto started = kernel.start({blocks, options.threads, rate, most_s}); !started)
        return tl::unexpected(std::move(started.error()));
      run_steps(trainer, options.steps, row);
      const auto run = kernel.stop();
      if (!run) return tl::unexpected(run.error());
      row.moved_bps = run->moved_bytes / run->duration_s;
    }
  }
  run_steps(trainer, options.steps, rows.emplace_back());
  const double alone_s = (rows.front().backward_s + rows.back().backward_s) / 2;
  for (SlowdownRow& row : rows) row.backward_ratio = row.backward_s / alone_s;
  return rows;
}

std::string slowdown_csv(const std::vector<SlowdownRow>& rows) {
  std::string text = "blocks,asked_bytes_per_s,moved_bytes_per_s,forward_s,backward_s,step_s,backward_ratio\n";
  for (const SlowdownRow& row : rows)
    text += fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", row.blocks, row.asked_bps, row.moved_bps,
                        row.forward_s, row.backward_s, row.step_s, row.backward_ratio);
  return text;
}

}  // namespace lockstep
