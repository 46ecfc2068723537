#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <optional>
#include <utility>

#include "hwrunner/worker/worker.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

Error wrong(const std::string& key, const std::string& found, const std::string& allowed, const std::string& message) {
  Error error;
  error.kind = ErrorKind::Range;
  error.file = "command line";
  error.key = key;
  error.found = found;
  error.allowed = allowed;
  error.message = message;
  return error;
}

template <class Number>
bool read_number(const std::string& text, Number low, Number high, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && stop == end && number >= low && number <= high;
}

// One option: its name, and what its value does; a message when the value is wrong.
struct Option {
  const char* name;
  const char* allowed;
  std::function<bool(const std::string&, WorkerOptions&)> set;
};

template <class Number, class Get>
Option number_option(const char* name, const char* allowed, Number low, Number high, Get get) {
  return {name, allowed, [=](const std::string& text, WorkerOptions& options) {
            Number number{};
            if (!read_number(text, low, high, number)) return false;
            get(options) = number;
            return true;
          }};
}

bool read_hook(const std::string& text, WorkerOptions& options) {
  for (const CommHook hook : {CommHook::None, CommHook::AllReduce, CommHook::Fp16, CommHook::Bf16}) {
    if (text != name_of(hook)) continue;
    options.trainer.hook = hook;
    return true;
  }
  return false;
}

bool read_strategy(const std::string& text, WorkerOptions& options) {
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::Ddp})
    if (text == name_of(strategy)) options.strategy = strategy;
  return options.strategy && text == name_of(*options.strategy);
}

const std::vector<Option>& options_with_values() {
  constexpr int kMany = 1'000'000;
  constexpr double kDay = 86400;
  static const std::vector<Option> all = {
      {"--scenario", "a file",
       [](const std::string& text, WorkerOptions& o) {
         o.scenario_file = text;
         return !text.empty();
       }},
      {"--set", "KEY=VALUE",
       [](const std::string& text, WorkerOptions& o) {
         o.sets.push_back(text);
         return true;
       }},
      {"--strategy", "single, dp, ddp", read_strategy},
      {"--hook", "none, allreduce, fp16, bf16", read_hook},
      {"--interface", "a network interface",
       [](const std::string& text, WorkerOptions& o) {
         o.trainer.group.interface = text;
         return !text.empty();
       }},
      number_option(
          "--batch", "samples of one micro-step of this rank, 1 to 1000000", std::int64_t{1}, std::int64_t{kMany},
          [](WorkerOptions & o) -> auto& { return o.batch.emplace(); }),
      number_option(
          "--steps", "1 to 1000000", 1, kMany, [](WorkerOptions & o) -> auto& { return o.steps; }),
      number_option(
          "--warm-up", "0 to 1000000", 0, kMany, [](WorkerOptions & o) -> auto& { return o.warm_up; }),
      number_option(
          "--repeat", "0 to 1000000", 0, kMany, [](WorkerOptions & o) -> auto& { return o.repeat; }),
      number_option(
          "--replicas", "1 to 1024", 1, 1024, [](WorkerOptions & o) -> auto& { return o.trainer.replicas; }),
      number_option(
          "--threads", "1 to 1024", 1, 1024, [](WorkerOptions & o) -> auto& { return o.trainer.threads; }),
      number_option(
          "--gloo-threads", "1 to 64", 1, 64, [](WorkerOptions & o) -> auto& { return o.trainer.group.gloo_threads; }),
      number_option(
          "--timeout", "seconds of one collective, 1 to 86400", 1.0, kDay,
          [](WorkerOptions & o) -> auto& { return o.trainer.group.timeout_s; }),
      number_option(
          "--store-timeout", "seconds to find each other, 1 to 86400", 1.0, kDay,
          [](WorkerOptions & o) -> auto& { return o.trainer.group.store_timeout_s; }),
  };
  return all;
}

Error unknown_option(const std::string& name) {
  std::vector<std::string> known = {"--instrument"};
  for (const Option& option : options_with_values()) known.emplace_back(option.name);
  Error error = wrong(name, name, fmt::format("{}", fmt::join(known, ", ")), "there is no such option");
  error.kind = ErrorKind::UnknownKey;
  error.hint = did_you_mean(name, known);
  return error;
}

std::optional<Error> apply(const Option& option, const std::string* value, WorkerOptions& options) {
  if (value == nullptr) {
    Error error = wrong(option.name, "", option.allowed, "this option needs a value");
    error.kind = ErrorKind::Missing;
    return error;
  }
  if (option.set(*value, options)) return std::nullopt;
  return wrong(option.name, *value, option.allowed, "this value is not understood here");
}

}  // namespace

Expected<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments, GroupOptions group) {
  WorkerOptions options;
  options.trainer.group = std::move(group);
  Errors errors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--instrument") {
      options.trainer.instrument = true;
      continue;
    }
    const Option* known = nullptr;
    for (const Option& option : options_with_values())
      if (name == option.name) known = &option;
    if (known == nullptr) {
      errors.push_back(unknown_option(name));
      continue;
    }
    const std::string* value = i + 1 < arguments.size() ? &arguments[++i] : nullptr;
    if (std::optional<Error> error = apply(*known, value, options)) errors.push_back(std::move(*error));
  }
  if (options.scenario_file.empty() && errors.empty()) {
    errors.push_back(wrong("--scenario", "", "a file", "a worker needs a scenario"));
    errors.back().kind = ErrorKind::Missing;
  }
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return options;
}

Expected<GroupOptions> group_from_environment(const std::function<const char*(const char*)>& get) {
  GroupOptions group;
  Errors errors;
  const auto integer = [&](const char* name, int low, int high, int& number) {
    const char* text = get(name);
    if (text == nullptr) return false;
    if (!read_number(std::string(text), low, high, number)) {
      errors.push_back(wrong(name, text, fmt::format("{} to {}", low, high), "an environment variable is wrong"));
      errors.back().file = "environment";
    }
    return true;
  };
  constexpr int kMostRanks = 100'000;
  const bool has_world = integer("WORLD_SIZE", 1, kMostRanks, group.world);
  const bool has_rank = integer("RANK", 0, errors.empty() ? group.world - 1 : kMostRanks, group.rank);
  if (has_world != has_rank) {
    errors.push_back(wrong(has_world ? "RANK" : "WORLD_SIZE", "", "", "RANK and WORLD_SIZE go together"));
    errors.back().file = "environment";
    errors.back().kind = ErrorKind::Missing;
  }
  integer("MASTER_PORT", 1, 65535, group.port);
  if (const char* master = get("MASTER_ADDR")) group.master = master;
  // torchrun's agent holds the port already, and workers started again must not read what the first ones wrote.
  if (const char* agent = get("TORCHELASTIC_USE_AGENT_STORE")) group.serve_store = std::string(agent) != "True";
  if (const char* attempt = get("TORCHELASTIC_RESTART_COUNT"))
    group.store_prefix = fmt::format("/worker/attempt_{}", attempt);
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return group;
}

}  // namespace lockstep
