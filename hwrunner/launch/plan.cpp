#include "hwrunner/launch/plan.h"

#include <algorithm>
#include <optional>

#include "hwrunner/launch/json_fields.h"

namespace lockstep {
namespace {

constexpr double kStepsOfPatience = 20;
constexpr double kBuiltBytesPerSecond = 1e8;
// The launcher waits this much longer than the group, so that the group's own message comes first.
constexpr double kLauncherPatience = 1.25, kLauncherExtra_s = 1;

std::optional<Strategy> strategy_of(const std::string& name) {
  for (const Strategy one : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

void check(const RunPlan& plan, JsonFields& fields) {
  const auto at_least = [&](const char* key, std::int64_t value, std::int64_t least) {
    if (value < least) fields.fail(ErrorKind::Range, key, fmt::format("`{}` is {}, below {}", key, value, least));
  };
  at_least("world_size", plan.world_size, 1);
  at_least("per_gpu_batch", plan.per_gpu_batch, 1);
  at_least("micro_steps", plan.micro_steps, 1);
  at_least("warm_up", plan.warm_up, 0);
  at_least("steps", plan.steps, 1);
  at_least("repeat", plan.repeat, 0);
  at_least("threads_per_rank", plan.threads_per_rank, 1);
  if (plan.dilate < 0) fields.fail(ErrorKind::Range, "dilate", fmt::format("`dilate` is {}, below 0", plan.dilate));
  if (plan.kernel_factor <= 0)
    fields.fail(ErrorKind::Range, "kernel_factor", fmt::format("`kernel_factor` is {}", plan.kernel_factor));
}

std::optional<BenchKind> bench_kind_of(const std::string& name) {
  for (const BenchKind one : {BenchKind::Collectives, BenchKind::Ops, BenchKind::Copies})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

RunnerJson bench_to_json(const BenchPlan& bench) {
  return {{"kind", name_of(bench.kind)},      {"min_bytes", bench.min_bytes}, {"max_bytes", bench.max_bytes},
          {"step_factor", bench.step_factor}, {"warm_up", bench.warm_up},     {"iterations", bench.iterations},
          {"budget_s", bench.budget_s}};
}

void read_bench(const RunnerJson& json, BenchPlan& bench, JsonFields& errors) {
  if (!json.is_object()) return errors.fail(ErrorKind::Type, "bench", "`bench` must be an object");
  JsonFields fields(json);
  std::string kind;
  fields.need("kind", kind);
  fields.need("min_bytes", bench.min_bytes);
  fields.need("max_bytes", bench.max_bytes);
  fields.need("step_factor", bench.step_factor);
  fields.need("warm_up", bench.warm_up);
  fields.need("iterations", bench.iterations);
  fields.need("budget_s", bench.budget_s);
  if (const auto known = bench_kind_of(kind))
    bench.kind = *known;
  else
    fields.fail(ErrorKind::Range, "kind", fmt::format("there is no bench `{}`", kind));
  const auto least = [&](const char* key, double value, double at_least) {
    if (value < at_least) fields.fail(ErrorKind::Range, key, fmt::format("`{}` is {}, below {}", key, value, at_least));
  };
  least("min_bytes", static_cast<double>(bench.min_bytes), 4);
  least("max_bytes", static_cast<double>(bench.max_bytes), static_cast<double>(bench.min_bytes));
  least("step_factor", bench.step_factor, 2);
  least("warm_up", bench.warm_up, 0);
  least("iterations", bench.iterations, 1);
  least("budget_s", bench.budget_s, 0);
  for (const Error& one : fields.errors()) errors.fail(one.kind, ("bench." + one.key).c_str(), one.message);
}

}  // namespace

const char* name_of(BenchKind kind) {
  switch (kind) {
    case BenchKind::None:
      break;
    case BenchKind::Collectives:
      return "collectives";
    case BenchKind::Ops:
      return "ops";
    case BenchKind::Copies:
      return "copies";
  }
  return "none";
}

BenchPlan default_bench(BenchKind kind) {
  BenchPlan plan;
  plan.kind = kind;
  if (kind != BenchKind::Collectives) plan.step_factor = 4;
  if (kind == BenchKind::Copies) plan.min_bytes = 4 << 10;
  if (kind == BenchKind::Ops) {
    plan.min_bytes = 1 << 20;
    plan.max_bytes = 64 << 20;
  }
  return plan;
}

std::vector<std::int64_t> bench_sizes(const BenchPlan& plan) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = plan.min_bytes; bytes <= plan.max_bytes; bytes *= plan.step_factor) sizes.push_back(bytes);
  return sizes;
}

const char* name_of(Backend backend) {
  return backend == Backend::Gloo ? "gloo" : "nccl";
}

Timeouts timeouts_for(double least_s, double expected_step_s, double parameter_bytes) {
  Timeouts timeouts;
  timeouts.join_s = least_s + parameter_bytes / kBuiltBytesPerSecond;
  timeouts.group_s = std::max(least_s, kStepsOfPatience * expected_step_s);
  timeouts.silence_s = kLauncherPatience * std::max(timeouts.group_s, timeouts.join_s) + kLauncherExtra_s;
  return timeouts;
}

std::string plan_to_json(const RunPlan& plan) {
  RunnerJson json;
  json["protocol"] = kRunnerProtocol;
  json["strategy"] = name_of(plan.strategy);
  json["world_size"] = plan.world_size;
  json["per_gpu_batch"] = plan.per_gpu_batch;
  json["micro_steps"] = plan.micro_steps;
  json["warm_up"] = plan.warm_up;
  json["steps"] = plan.steps;
  json["repeat"] = plan.repeat;
  json["instrumented"] = plan.instrumented;
  if (plan.profiled) {
    json["profiled"] = true;
    json["trace_file"] = plan.trace_file;
  }
  json["threads_per_rank"] = plan.threads_per_rank;
  json["backend"] = name_of(plan.backend);
  if (plan.on_gpus) json["on_gpus"] = true;
  if (plan.paced()) {
    json["dilate"] = plan.dilate;
    json["kernel_factor"] = plan.kernel_factor;
  }
  json["join_timeout_s"] = plan.timeouts.join_s;
  json["group_timeout_s"] = plan.timeouts.group_s;
  json["silence_timeout_s"] = plan.timeouts.silence_s;
  json["rendezvous"] = plan.rendezvous;
  json["scenario_file"] = plan.scenario_file;
  json["scenario"] = plan.scenario;
  if (plan.benches()) json["bench"] = bench_to_json(plan.bench);
  if (!plan.python.empty()) json.update(RunnerJson::parse(plan.python));
  return dump(json) + '\n';
}

Expected<RunPlan> plan_from_json(std::string_view text) {
  auto json = parse_object(text, "plan of the hardware runner");
  if (!json) return tl::unexpected(std::move(json.error()));
  JsonFields fields(*json);
  int protocol = 0;
  fields.need("protocol", protocol);
  if (fields.errors().empty() && protocol != kRunnerProtocol)
    fields.fail(ErrorKind::NotSupported, "protocol",
                fmt::format("the plan speaks protocol {}, this runner {}: build both programs from one source",
                            protocol, kRunnerProtocol));
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  RunPlan plan;
  std::string strategy, backend;
  fields.need("strategy", strategy);
  fields.need("world_size", plan.world_size);
  fields.need("per_gpu_batch", plan.per_gpu_batch);
  fields.need("micro_steps", plan.micro_steps);
  fields.need("warm_up", plan.warm_up);
  fields.need("steps", plan.steps);
  fields.need("repeat", plan.repeat);
  fields.need("instrumented", plan.instrumented);
  fields.may("profiled", plan.profiled);
  fields.may("trace_file", plan.trace_file);
  fields.need("threads_per_rank", plan.threads_per_rank);
  fields.need("backend", backend);
  fields.may("on_gpus", plan.on_gpus);
  fields.may("dilate", plan.dilate);
  fields.may("kernel_factor", plan.kernel_factor);
  fields.need("join_timeout_s", plan.timeouts.join_s);
  fields.need("group_timeout_s", plan.timeouts.group_s);
  fields.need("silence_timeout_s", plan.timeouts.silence_s);
  fields.need("rendezvous", plan.rendezvous);
  fields.need("scenario_file", plan.scenario_file);
  fields.need("scenario", plan.scenario);
  if (json->contains("bench")) read_bench((*json)["bench"], plan.bench, fields);
  if (const auto known = strategy_of(strategy))
    plan.strategy = *known;
  else
    fields.fail(ErrorKind::Range, "strategy", fmt::format("there is no strategy `{}`", strategy));
  if (backend != "gloo" && backend != "nccl")
    fields.fail(ErrorKind::Range, "backend", fmt::format("there is no backend `{}`", backend));
  plan.backend = backend == "nccl" ? Backend::Nccl : Backend::Gloo;
  check(plan, fields);
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  return plan;
}

}  // namespace lockstep
