#include "hwrunner/launch/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "simulator/base/format.h"

namespace lockstep {
namespace {

bool waited_in_vain(const LaunchedRankState& rank) {
  return rank.error && rank.error->kind == "timeout";
}
bool lost_connection(const LaunchedRankState& rank) {
  return rank.error && rank.error->kind == "network";
}

std::string pass_of(const RunPlan& plan) {
  if (plan.benches()) return fmt::format("the bench of {}", name_of(plan.bench.kind));
  if (plan.profiled) return "the profiled pass";
  return plan.instrumented ? "the instrumented pass" : fmt::format("repeat {}", plan.repeat + 1);
}

std::string what_ran(const RunPlan& plan) {
  switch (plan.strategy) {
    case Strategy::Ddp:
      return fmt::format("ddp, {} rank{}", plan.world_size, plan.world_size == 1 ? "" : "s");
    case Strategy::Dp:
    case Strategy::DpCpp:
      return fmt::format("{}, {} replica{}", name_of(plan.strategy), plan.world_size, plan.world_size == 1 ? "" : "s");
    case Strategy::Single:
      break;
  }
  return name_of(plan.strategy);
}

std::string one_line(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  return shortened(text, 240);
}

// The last line that says something.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t before = text.find_last_of('\n', end);
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  return shortened(text.substr(start, end - start + 1), 240);
}

std::string with_last_words(std::string sentence, const LaunchedRankState& rank) {
  const std::string words = last_line(rank.last_words);
  return words.empty() ? sentence : fmt::format("{}; its last words: {}", sentence, words);
}

// What happened to one rank, without the place.
std::string fate_of(const LaunchedRankState& rank) {
  if (rank.end == LaunchedRankState::End::Signalled) return fmt::format("was killed by signal {}", rank.status);
  if (!rank.garbage.empty()) return "sent something that is no record";
  if (rank.error) return fmt::format("failed ({})", one_line(rank.error->message));
  if (rank.end == LaunchedRankState::End::Exited)
    return fmt::format("ended with exit code {} before its time", rank.status);
  if (rank.stopped) return fmt::format("was stopped by signal {} and did not go on", rank.stop_signal);
  return "hung";
}

std::string hint_for(const LaunchedRankState& rank) {
  if (rank.end == LaunchedRankState::End::Signalled && rank.status == SIGKILL)
    return "the kernel kills a process so when memory runs out: see dmesg, or try a smaller batch";
  if (rank.error && rank.error->kind == "out_of_memory") return "a smaller batch, or fewer ranks";
  return "";
}

using Chosen = std::vector<std::size_t>;

template <class Wanted>
Chosen earliest(const std::vector<LaunchedRankState>& ranks, Wanted wanted) {
  Chosen best;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (wanted(ranks[i]) && (best.empty() || ranks[i].ended_s < ranks[best.front()].ended_s)) best = {i};
  return best;
}

// Those named as missing, else the running ones that are furthest behind.
Chosen laggards(const std::vector<LaunchedRankState>& ranks) {
  const auto running = [&](std::size_t i) {
    return ranks[i].end == LaunchedRankState::End::Running && ranks[i].phase != Phase::Done;
  };
  Chosen named;
  for (const LaunchedRankState& rank : ranks)
    if (waited_in_vain(rank))
      for (const int missing : rank.error->ranks)
        if (missing >= 0 && static_cast<std::size_t>(missing) < ranks.size() &&
            std::find(named.begin(), named.end(), static_cast<std::size_t>(missing)) == named.end() &&
            !waited_in_vain(ranks[static_cast<std::size_t>(missing)]))
          named.push_back(static_cast<std::size_t>(missing));
  if (!named.empty()) return named;
  Chosen behind;
  const auto progress = [&](std::size_t i) { return std::pair{ranks[i].phase, ranks[i].steps_done}; };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!running(i)) continue;
    if (!behind.empty() && progress(i) < progress(behind.front())) behind.clear();
    if (behind.empty() || progress(i) == progress(behind.front())) behind.push_back(i);
  }
  return behind;
}

Chosen culprits(const std::vector<LaunchedRankState>& ranks, bool too_silent) {
  const auto own_fault = [](const LaunchedRankState& rank) {
    return has_failed(rank) && rank.garbage.empty() && !lost_connection(rank) && !waited_in_vain(rank);
  };
  if (auto found = earliest(ranks, own_fault); !found.empty()) return found;
  if (auto found = earliest(ranks, [](const LaunchedRankState& r) { return !r.garbage.empty(); }); !found.empty())
    return found;
  const bool vain = std::any_of(ranks.begin(), ranks.end(), waited_in_vain);
  const bool lost = std::any_of(ranks.begin(), ranks.end(), lost_connection);
  if (vain || lost || too_silent) {
    Chosen stopped;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i].stopped && ranks[i].end == LaunchedRankState::End::Running) stopped.push_back(i);
    if (!stopped.empty()) return stopped;
  }
  if (vain || too_silent)
    if (auto found = laggards(ranks); !found.empty()) return found;
  return earliest(ranks, [](const LaunchedRankState& rank) { return rank.error.has_value(); });
}

std::string names_of(const std::vector<LaunchedRankState>& ranks, const Chosen& chosen) {
  std::string names = chosen.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0) names += i + 1 == chosen.size() ? " and " : ", ";
    names += fmt::format("{}", chosen[i]);
    if (const std::string& host = ranks[chosen[i]].host; !host.empty()) names += fmt::format(" on {}", host);
  }
  return names;
}

std::string sentence_for(const RunPlan& plan, const std::vector<LaunchedRankState>& ranks, const Chosen& chosen) {
  const LaunchedRankState& first = ranks[chosen.front()];
  const std::string where = fmt::format("{} ({})", place_of(plan, first), what_ran(plan));
  const std::string who = names_of(ranks, chosen);
  if (first.end == LaunchedRankState::End::Running && first.garbage.empty() && !first.error) {
    if (first.stopped) return fmt::format("{} {} {}", who, fate_of(first), where);
    // All are as far: one of them waits for something that none sends.
    const bool all = chosen.size() == ranks.size() && ranks.size() > 1;
    const bool told = std::any_of(ranks.begin(), ranks.end(), waited_in_vain);
    const double patience_s = !told                         ? plan.timeouts.silence_s
                              : first.phase < Phase::Joined ? plan.timeouts.join_s
                                                            : plan.timeouts.group_s;
    return fmt::format("{} {}said nothing for more than {} {}", who, all ? "all " : "", format_time(patience_s), where);
  }
  if (first.end == LaunchedRankState::End::Signalled)
    return with_last_words(fmt::format("{} {} {}", who, fate_of(first), where), first);
  if (!first.garbage.empty())
    return fmt::format("{} {} {}: `{}`", who, fate_of(first), where, shortened(first.garbage, 80));
  if (first.error) return fmt::format("{} failed {}: {}", who, where, one_line(first.error->message));
  return with_last_words(fmt::format("{} {} {}", who, fate_of(first), where), first);
}

}  // namespace

bool has_failed(const LaunchedRankState& rank) {
  if (!rank.garbage.empty() || rank.error) return true;
  return rank.end != LaunchedRankState::End::Running && !rank.clean() && !rank.killed_by_us;
}

std::string place_of(const RunPlan& plan, const LaunchedRankState& rank) {
  switch (rank.phase) {
    case Phase::Started:
      return "while starting for " + pass_of(plan);
    case Phase::Building:
      return "while building the model for " + pass_of(plan);
    case Phase::Joining:
      return "while joining the group of " + pass_of(plan);
    case Phase::Joined:
      return "before the first step of " + pass_of(plan);
    case Phase::Stepping:
      break;
    case Phase::Done:
      return "after the last step of " + pass_of(plan);
  }
  if (plan.benches()) return fmt::format("at point {} of {}", rank.steps_done + 1, pass_of(plan));
  if (rank.steps_done >= plan.all_steps()) return "after the last step of " + pass_of(plan);
  if (rank.steps_done < plan.warm_up)
    return fmt::format("during warm-up step {} of {}", rank.steps_done + 1, pass_of(plan));
  return fmt::format("during step {} of {}", rank.steps_done - plan.warm_up + 1, pass_of(plan));
}

std::optional<LaunchFailure> blame(const RunPlan& plan, const std::vector<LaunchedRankState>& ranks, bool too_silent) {
  if (!too_silent && std::none_of(ranks.begin(), ranks.end(), has_failed)) return std::nullopt;
  const Chosen chosen = culprits(ranks, too_silent);
  if (chosen.empty()) return std::nullopt;
  LaunchFailure failure;
  failure.rank = static_cast<int>(chosen.front());
  const auto& error = ranks[chosen.front()].error;
  failure.refused = error && error->kind == "refused";
  failure.sentence = failure.refused ? one_line(error->message) : sentence_for(plan, ranks, chosen);
  failure.hint = hint_for(ranks[chosen.front()]);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (has_failed(ranks[i]) && std::find(chosen.begin(), chosen.end(), i) == chosen.end())
      failure.consequences.push_back(fmt::format("rank {} {} {}", i, fate_of(ranks[i]), place_of(plan, ranks[i])));
  return failure;
}

}  // namespace lockstep
