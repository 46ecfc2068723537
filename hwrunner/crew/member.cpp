// serve_crew: the part of all but rank 0.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "hwrunner/crew/channel.h"
#include "hwrunner/crew/crew.h"
#include "hwrunner/crew/messages.h"
#include "hwrunner/crew/remote_rank.h"
#include "hwrunner/launch/launch_folder.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = RankHandle::News::Kind;
constexpr double kAnswerPatience_s = 5;  // a port that somebody else holds may never answer
constexpr double kConnectPatience_s = 2;
// Without ranks nothing has to be looked for often: rank 0's messages wake it.
constexpr int kLookAgain_ms = 20, kIdle_ms = 250;
constexpr std::chrono::seconds kLeave{10};  // rank 0 writes the result, then says that the run is over
constexpr int kInterruptedCode = 130;

Error failed(const CrewPlace& place, std::string message, std::string hint) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = fmt::format("{} {} of {} ({}): {}", place.process, place.number, place.members, place.launcher,
                              std::move(message));
  error.hint = std::move(hint);
  return error;
}

class Member {
 public:
  Member(const CrewPlace& place, const CrewFacts& mine, const CrewOptions& options)
      : place_(place), mine_(mine), options_(options) {}

  Expected<int> run() {
    if (auto error = unresolved(place_.address)) return tl::unexpected(Errors{*error});
    if (auto error = meet()) return tl::unexpected(Errors{*error});
    if (stopped() && !channel_.open()) return kInterruptedCode;
    for (;;) {
      for (const std::string& line : channel_.receive()) obey(line);
      if (code_ || !channel_.open()) break;
      look_around();
      for (Rank& rank : ranks_) hand_on(rank);
      ranks_.erase(std::remove_if(ranks_.begin(), ranks_.end(), [](const Rank& one) { return one.told_end; }),
                   ranks_.end());
      if (!stopped()) continue;
      if (!asked_) channel_.send(message_to_line(InterruptedMessage{}));
      if (!asked_) asked_ = Clock::now();
      if (Clock::now() - *asked_ > kLeave) return kInterruptedCode;
    }
    if (code_) return *code_;
    if (stopped()) return kInterruptedCode;
    return tl::unexpected(Errors{failed(place_, fmt::format("{} 0, which leads, is gone", place_.process), "")});
  }

 private:
  struct Rank {
    int launch = 0, rank = 0;
    std::unique_ptr<LaunchFolder> folder;
    std::unique_ptr<RankHandle> process;
    bool told_end = false;
  };
  bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }

  // Rank 0 at any of its ports, or why not.
  std::optional<Error> meet() {
    const auto until = Clock::now() + std::chrono::duration<double>(options_.patience_s);
    std::string problem = "nobody answers";
    do {
      for (const int port : place_.ports)
        if (join(port, problem)) return std::nullopt;
      if (stopped()) return std::nullopt;
      ::usleep(50'000);
    } while (Clock::now() < until);
    const std::string where = place_.ports.size() == 1 ? fmt::format("{}:{}", place_.address, place_.ports.front())
                                                       : fmt::format("{}, ports {} to {}", place_.address,
                                                                     place_.ports.front(), place_.ports.back());
    return failed(place_, fmt::format("{} 0 cannot be reached at {}: {}", place_.process, where, problem),
                  fmt::format("is {} 0 running, and does a firewall let this port through?", place_.process));
  }

  bool join(int port, std::string& problem) {
    auto channel = connect_to(place_.address, port, kConnectPatience_s, problem);
    if (!channel) return false;
    HelloMessage hello;
    hello.token = place_.token;
    hello.number = place_.number;
    hello.members = place_.members;
    hello.ranks = mine_.ranks;
    hello.pid = ::getpid();
    hello.host = mine_.host;
    hello.host_id = mine_.host_id;
    hello.network_interface = interface_with(channel->local_address());
    hello.cores = mine_.cores;
    hello.plan = mine_.plan;
    hello.problem = mine_.problem;
    if (!channel->send(message_to_line(hello))) return false;
    const auto message = message_from_line(channel->wait_for_line(kAnswerPatience_s).value_or(""));
    if (!message) {
      problem = fmt::format("another service answers at port {}", port);
      return false;
    }
    if (const auto* end = std::get_if<EndMessage>(&*message)) code_ = end->code;
    if (std::holds_alternative<OtherMessage>(*message)) {
      problem = fmt::format("another run of lockstep holds port {}", port);
      return false;
    }
    channel_ = *std::move(channel);
    return true;
  }

  void look_around() const {
    std::vector<pollfd> all = {{channel_.descriptor(), POLLIN, 0}};
    for (const Rank& rank : ranks_)
      for (const int descriptor : rank.process->descriptors()) all.push_back({descriptor, POLLIN, 0});
    ::poll(all.data(), all.size(), ranks_.empty() ? kIdle_ms : kLookAgain_ms);
  }

  void obey(const std::string& line) {
    const auto message = message_from_line(line);
    if (!message) return channel_.close();
    if (const auto* end = std::get_if<EndMessage>(&*message)) code_ = end->code;
    if (std::holds_alternative<AskClockMessage>(*message))
      channel_.send(message_to_line(ClockMessage{options_.clock()}));
    if (const auto* start_it = std::get_if<StartMessage>(&*message)) start(*start_it);
    if (const auto* kill = std::get_if<KillMessage>(&*message))
      for (const Rank& rank : ranks_)
        if (rank.launch == kill->launch && rank.rank == kill->rank) rank.process->kill_group();
  }

  void start(const StartMessage& order) {
    const auto refuse = [&](const std::string& why) {
      std::string record = record_to_line(ErrorRecord{"setup", why, {}});
      record.pop_back();
      channel_.send(message_to_line(LineMessage{order.launch, order.rank, std::move(record)}));
      channel_.send(message_to_line(NewsMessage{order.launch, order.rank, word_of(Kind::Exited), 1, 0, 0, ""}));
    };
    auto plan = plan_from_json(order.plan);
    if (!plan) return refuse(plan.error().front().message);
    Rank rank;
    rank.launch = order.launch;
    rank.rank = order.rank;
    plan->python = order.python;
    rank.folder = std::make_unique<LaunchFolder>(*plan);
    if (!rank.folder->good())
      return refuse("the ranks' folder cannot be made in the folder for temporary files: " + rank.folder->problem());
    LaunchOptions how;
    how.program = options_.program;
    how.words = options_.words;
    how.environment = order.environment;
    // What a person has set here holds.
    if (std::getenv("GLOO_SOCKET_IFNAME") != nullptr)
      how.environment.erase(
          std::remove_if(how.environment.begin(), how.environment.end(),
                         [](const std::string& one) { return one.rfind("GLOO_SOCKET_IFNAME=", 0) == 0; }),
          how.environment.end());
    how.cores.resize(static_cast<std::size_t>(order.rank) + 1);
    how.cores.back() = order.cores;
    auto process = start_here(*plan, order.rank, 0, how, rank.folder->plan_file());
    if (!process) return refuse(process.error().front().message);
    rank.process = *std::move(process);
    ranks_.push_back(std::move(rank));
  }

  // As the launcher does: the end is asked for before the pipes, so that nothing comes after it.
  void hand_on(Rank& rank) {
    const auto news = rank.process->news();
    bool overlong = false;
    for (std::string& line : rank.process->read_lines(overlong))
      channel_.send(message_to_line(LineMessage{rank.launch, rank.rank, std::move(line)}));
    if (overlong)
      channel_.send(message_to_line(LineMessage{rank.launch, rank.rank, "(more than 1 MiB without an end of line)"}));
    const std::string& words = rank.process->hear_words();
    if (news.kind == Kind::None) return;
    channel_.send(message_to_line(NewsMessage{rank.launch, rank.rank, word_of(news.kind), news.status,
                                              rank.process->cpu_s(), rank.process->peak_memory_bytes(), words}));
    if (news.kind != Kind::Exited && news.kind != Kind::Signalled) return;
    rank.process->kill_group();  // what it may have left in its group
    rank.told_end = true;
  }

  const CrewPlace& place_;
  const CrewFacts& mine_;
  const CrewOptions& options_;
  Channel channel_;
  std::vector<Rank> ranks_;
  std::optional<int> code_;
  std::optional<Clock::time_point> asked_;
};

}  // namespace

Expected<int> serve_crew(const CrewPlace& place, const CrewFacts& mine, const CrewOptions& options) {
  return Member(place, mine, options).run();
}

}  // namespace lockstep
