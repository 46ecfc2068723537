#include "hwrunner/crew/crew.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>

#include "hwrunner/crew/channel.h"
#include "hwrunner/crew/remote_rank.h"
#include "hwrunner/launch/launch_folder.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookAgain_ms = 50;
// After the first thing that is wrong: for others to come with theirs, so that all are named.
constexpr std::chrono::milliseconds kGrace{1000};
constexpr int kExchanges = 16;  // with a clock; the fastest counts

Error failed(std::string message, std::string hint = "") {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

// What differs between two plans, by name.
std::string differences(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  std::vector<std::string> names;
  for (const auto& [name, digest] : a) {
    const auto at = b.find(name);
    if (at == b.end() || at->second != digest) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Waits until all have said hello, or says what is wrong.
class Assembly {
 public:
  Assembly(const CrewPlace& place, const CrewFacts& mine, const CrewOptions& options)
      : place_(place), mine_(mine), options_(options), listener_(place.ports, is_loopback(place.address)) {}

  Errors run() {
    if (listener_.descriptor() < 0)
      return {failed(fmt::format("{} 0 cannot listen on port{} {}: {}", place_.process,
                                 place_.ports.size() == 1 ? "" : "s", ports(), listener_.problem()),
                     place_.launcher == "--rendezvous" ? "another port, the same on all hosts"
                                                       : "export MASTER_PORT with a free port on all ranks")};
    const auto until = Clock::now() + std::chrono::duration<double>(options_.patience_s);
    while (static_cast<int>(peers_.size()) + 1 < place_.members && Clock::now() < until && !stopped()) {
      if (first_error_ && Clock::now() - *first_error_ > kGrace) break;
      wait();
      while (auto channel = listener_.accept()) strangers_.push_back(*std::move(channel));
      for (auto at = strangers_.begin(); at != strangers_.end();) at = hear(*at) ? strangers_.erase(at) : std::next(at);
      drop_the_lost();
    }
    if (errors_.empty() && !stopped() && static_cast<int>(peers_.size()) + 1 < place_.members)
      errors_.push_back(absent());
    return std::move(errors_);
  }

  std::map<int, std::unique_ptr<CrewPeer>> take() { return std::move(peers_); }
  // To all that came, also those that were wrong.
  void send_home(int code) {
    for (auto& [number, peer] : peers_) peer->send(EndMessage{code});
    for (Channel& one : strangers_) one.send(message_to_line(EndMessage{code}));
    for (Channel& one : refused_) one.send(message_to_line(EndMessage{code}));
  }

 private:
  static bool is_loopback(const std::string& address) {
    return address == "127.0.0.1" || address == "localhost" || address == "::1";
  }
  bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }
  std::string ports() const {
    return place_.ports.size() == 1 ? fmt::format("{}", place_.ports.front())
                                    : fmt::format("{} to {}", place_.ports.front(), place_.ports.back());
  }

  void wait() const {
    std::vector<pollfd> all = {{listener_.descriptor(), POLLIN, 0}};
    for (const Channel& one : strangers_) all.push_back({one.descriptor(), POLLIN, 0});
    ::poll(all.data(), all.size(), kLookAgain_ms);
  }

  // One that has just connected. True: it is no stranger any more.
  bool hear(Channel& channel) {
    auto lines = channel.receive();
    if (lines.empty()) return !channel.open();
    const auto message = message_from_line(lines.front());
    const auto* hello = message ? std::get_if<HelloMessage>(&*message) : nullptr;
    if (hello == nullptr) return true;  // somebody else's client: closed by its end here
    if (hello->token != place_.token) {
      channel.send(message_to_line(OtherMessage{}));
      return true;
    }
    const std::string wrong = wrong_with(*hello);
    if (!wrong.empty()) {
      errors_.push_back(failed(wrong));
      if (!first_error_) first_error_ = Clock::now();
      refused_.push_back(std::move(channel));
      return true;
    }
    channel.send(message_to_line(JoinedMessage{}));
    peers_[hello->number] = std::make_unique<CrewPeer>(std::move(channel), *hello);
    return true;
  }

  std::string who(const HelloMessage& hello) const {
    return fmt::format("{} {} on {} (pid {})", place_.process, hello.number, hello.host, hello.pid);
  }

  std::string wrong_with(const HelloMessage& hello) const {
    const std::string me = fmt::format("{} 0 on {}", place_.process, mine_.host);
    if (hello.protocol != kCrewProtocol)
      return fmt::format("{} is of another version of lockstep: it speaks protocol {}, {} speaks {}", who(hello),
                         hello.protocol, me, kCrewProtocol);
    if (hello.members != place_.members)
      return fmt::format("{} was started as one of {}, {} as one of {}", who(hello), hello.members, me, place_.members);
    if (hello.number < 0 || hello.number >= place_.members)
      return fmt::format("{} is not below {}", who(hello), place_.members);
    if (hello.number == 0) return fmt::format("{} says that it is {} 0 too", who(hello), place_.process);
    if (const auto at = peers_.find(hello.number); at != peers_.end() && at->second->channel().open())
      return fmt::format("{} and {} both say that they are {} {}", who(at->second->hello()), who(hello), place_.process,
                         hello.number);
    if (!hello.problem.empty()) return fmt::format("{}: {}", who(hello), hello.problem);
    if (mine_.problem.empty() && hello.plan != mine_.plan)
      return fmt::format("{} would measure something else than {}: {} differ{}", who(hello), me,
                         differences(mine_.plan, hello.plan),
                         differences(mine_.plan, hello.plan).find(',') == std::string::npos ? "s" : "");
    return "";
  }

  void drop_the_lost() {
    for (auto at = peers_.begin(); at != peers_.end();) {
      at->second->hear();
      if (at->second->was_interrupted() && options_.stop != nullptr) *options_.stop = 1;
      at = at->second->channel().open() ? std::next(at) : peers_.erase(at);
    }
  }

  Error absent() const {
    std::vector<int> missing;
    for (int number = 1; number < place_.members; ++number)
      if (peers_.count(number) == 0) missing.push_back(number);
    std::vector<std::string> there = {mine_.host};
    for (const auto& [number, peer] : peers_)
      if (std::find(there.begin(), there.end(), peer->hello().host) == there.end()) there.push_back(peer->hello().host);
    std::string names;
    for (const int one : missing) names += fmt::format("{}{}", names.empty() ? "" : ", ", one);
    return failed(fmt::format("{}{} {} of {} did not come within {} ({}, port {}; here: {})", place_.process,
                              missing.size() == 1 ? "" : "s", names, place_.members, format_time(options_.patience_s),
                              place_.launcher, listener_.port(), fmt::join(there, ", ")),
                  "were they started, and does a firewall let this port through? measure.timeout is the patience");
  }

  const CrewPlace& place_;
  const CrewFacts& mine_;
  const CrewOptions& options_;
  Listener listener_;
  std::list<Channel> strangers_, refused_;
  std::map<int, std::unique_ptr<CrewPeer>> peers_;  // by number
  Errors errors_;
  std::optional<Clock::time_point> first_error_;
};

struct Seat {
  CrewPeer* peer = nullptr;  // none: in this process
  std::size_t host = 0;
};

class AssembledCrew : public Crew {
 public:
  AssembledCrew(const CrewPlace& place, const CrewFacts& mine, const CrewOptions& options,
                std::map<int, std::unique_ptr<CrewPeer>> peers)
      : place_(place), options_(options), peers_(std::move(peers)) {
    world_.launcher = place.launcher;
    interface_ = own_interface();
    add(nullptr, mine.host, mine.host_id, mine.ranks, mine.cores);
    for (auto& [number, peer] : peers_)
      add(peer.get(), peer->hello().host, peer->hello().host_id, peer->hello().ranks, peer->hello().cores);
  }
  ~AssembledCrew() override { end(2); }

  const World& world() const override { return world_; }

  LaunchOutcome launch(const RunPlan& plan, const LaunchOptions& options) override {
    if (plan.processes() > world_.size()) {
      LaunchOutcome outcome;
      outcome.failure =
          LaunchFailure{0, true, fmt::format("{} started {} ranks", world_.launcher, world_.size()), "", {}};
      return outcome;
    }
    ++launch_;
    const auto processes = static_cast<std::size_t>(plan.processes());
    const auto before = readings(processes);
    LaunchOptions mine = options;
    for (std::size_t i = 0; i < processes && world_.hosts_of(static_cast<int>(processes)) > 1; ++i)
      mine.hosts.push_back(world_.hosts[seats_[i].host]);
    if (options.on_record)
      mine.on_record = [&](int rank, const Record& record) {
        const auto& reading = before[seats_[static_cast<std::size_t>(rank)].host];
        options.on_record(rank, reading ? on_our_clock(record, ClockOffset(*reading)) : record);
      };
    RunPlan local = plan;
    const LaunchFolder folder(local);
    const int port = place_.store ? place_.store->master_port : free_port();
    mine.start = [&](const RunPlan& one, int rank) -> Expected<std::unique_ptr<RankHandle>> {
      return seats_[static_cast<std::size_t>(rank)].peer == nullptr ? start_mine(one, rank, port, options, folder)
                                                                    : start_other(one, rank, port, options);
    };
    mine.meanwhile = [this] { hear_all(); };
    LaunchOutcome outcome = lockstep::launch(plan, mine);
    on_one_clock(outcome, processes, before);
    hear_all();
    outcome.interrupted = outcome.interrupted || (options_.stop != nullptr && *options_.stop != 0);
    return outcome;
  }

  std::vector<HostClock> clocks() const override {
    std::vector<HostClock> all;
    for (std::size_t host = 0; host < clocks_.size(); ++host)
      if (clocks_[host]) all.push_back({world_.hosts[host], *clocks_[host]});
    return all;
  }

  void end(int code) override {
    for (auto& [number, peer] : peers_) peer->send(EndMessage{code});
    peers_.clear();
  }

 private:
  void add(CrewPeer* peer, const std::string& host, const std::string& host_id, int ranks,
           const std::vector<int>& cores) {
    auto at = std::find(host_ids_.begin(), host_ids_.end(), host_id);
    const auto index = static_cast<std::size_t>(at - host_ids_.begin());
    if (at == host_ids_.end()) {
      host_ids_.push_back(host_id);
      world_.hosts.push_back(host);
      clocks_.emplace_back();
    }
    for (int i = 0; i < ranks; ++i) {
      world_.ranks.push_back({static_cast<int>(index), cores});
      seats_.push_back({peer, index});
    }
  }

  void hear_all() {
    for (auto& [number, peer] : peers_) {
      peer->hear();
      if (peer->was_interrupted() && options_.stop != nullptr) *options_.stop = 1;
    }
  }

  // By which the others reach this process: another host's view goes before that of this one.
  std::string own_interface() const {
    if (const char* given = std::getenv("GLOO_SOCKET_IFNAME"); given != nullptr) return given;
    std::string found;
    for (const auto& [number, peer] : peers_) {
      const std::string one = interface_with(peer->channel().local_address());
      if (found.empty() || found == "lo") found = one;
    }
    return found;
  }

  // Where rank `rank` meets the others, and which of its host's ranks it is.
  std::vector<std::string> environment_of(const RunPlan& plan, std::size_t rank, int port,
                                          const LaunchOptions& options) const {
    const Seat& seat = seats_[rank];
    int local_rank = 0, local_size = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan.processes()); ++i) {
      if (seats_[i].host != seat.host) continue;
      if (i < rank) ++local_rank;
      ++local_size;
    }
    std::vector<std::string> all = options.environment;
    const auto set = [&all](const char* name, const std::string& value) {
      all.push_back(fmt::format("{}={}", name, value));
    };
    set("LOCAL_RANK", fmt::format("{}", local_rank));
    set("LOCAL_WORLD_SIZE", fmt::format("{}", local_size));
    set("MASTER_PORT", fmt::format("{}", port));
    const std::string seen = seat.peer == nullptr ? "127.0.0.1" : seat.peer->channel().local_address();
    set("MASTER_ADDR", place_.store ? place_.store->master_address : seen);
    // A torchrun's worker in its attempts: for every launch another prefix of keys.
    if (place_.store) {
      set("TORCHELASTIC_RUN_ID", "lockstep");
      set("TORCHELASTIC_USE_AGENT_STORE", "True");
      const std::string attempt = place_.store->store_prefix.substr(place_.store->store_prefix.rfind('_') + 1);
      set("TORCHELASTIC_RESTART_COUNT", fmt::format("{}.{}", attempt, launch_));
    }
    const std::string& interface =
        seat.peer == nullptr || seat.host == 0 ? interface_ : seat.peer->hello().network_interface;
    if (!interface.empty()) set("GLOO_SOCKET_IFNAME", interface);
    return all;
  }

  Expected<std::unique_ptr<RankHandle>> start_mine(const RunPlan& plan, int rank, int port,
                                                   const LaunchOptions& options, const LaunchFolder& folder) const {
    if (!folder.good())
      return tl::unexpected(
          Errors{failed("the ranks' folder cannot be made in the folder for temporary files: " + folder.problem())});
    LaunchOptions how = options;
    how.environment = environment_of(plan, static_cast<std::size_t>(rank), port, options);
    return start_here(plan, rank, port, how, folder.plan_file());
  }

  Expected<std::unique_ptr<RankHandle>> start_other(const RunPlan& plan, int rank, int port,
                                                    const LaunchOptions& options) {
    const auto index = static_cast<std::size_t>(rank);
    CrewPeer& peer = *seats_[index].peer;
    StartMessage order;
    order.launch = launch_;
    order.rank = rank;
    RunPlan bare = plan;
    order.python = std::exchange(bare.python, "");
    order.plan = plan_to_json(bare);
    order.environment = environment_of(plan, index, port, options);
    if (index < options.cores.size()) order.cores = options.cores[index];
    auto handle = std::make_unique<RemoteRank>(peer, launch_, rank);
    if (!peer.send(order))
      return tl::unexpected(
          Errors{failed(fmt::format("rank {} cannot be started: its `lockstep measure` on {} (pid "
                                    "{}) is gone",
                                    rank, peer.hello().host, peer.hello().pid))});
    return std::unique_ptr<RankHandle>(std::move(handle));
  }

  // Of each host with one of the first ranks, ours left out: by its first process.
  std::vector<std::optional<ClockReading>> readings(std::size_t processes) {
    std::vector<std::optional<ClockReading>> all(world_.hosts.size());
    for (std::size_t i = 0; i < processes; ++i) {
      const Seat& seat = seats_[i];
      if (seat.host == 0 || seat.peer == nullptr || all[seat.host]) continue;
      all[seat.host] = read_clock([&seat] { return seat.peer->ask_clock(); }, options_.clock, kExchanges);
    }
    return all;
  }

  void on_one_clock(LaunchOutcome& outcome, std::size_t processes,
                    const std::vector<std::optional<ClockReading>>& before) {
    const auto after = readings(processes);
    for (std::size_t host = 0; host < before.size(); ++host)
      if (before[host])
        clocks_[host] = after[host] ? ClockOffset(*before[host], *after[host]) : ClockOffset(*before[host]);
    for (std::size_t i = 0; i < outcome.ranks.size() && i < seats_.size(); ++i)
      if (before[seats_[i].host])
        for (Record& record : outcome.ranks[i].records)
          record = on_our_clock(std::move(record), *clocks_[seats_[i].host]);
  }

  const CrewPlace place_;
  const CrewOptions options_;
  std::map<int, std::unique_ptr<CrewPeer>> peers_;
  World world_;
  std::vector<std::string> host_ids_;
  std::vector<std::optional<ClockOffset>> clocks_;  // by host
  std::vector<Seat> seats_;                         // by rank
  std::string interface_;
  int launch_ = 0;
};

}  // namespace

double host_clock_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void this_host(CrewFacts& facts) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) facts.host = name.data();
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, facts.host_id);
  // Network namespaces of one machine are hosts of their own.
  std::error_code failure;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", failure);
  facts.host_id += " " + facts.host + " " + network.string();
}

Expected<std::unique_ptr<Crew>> Crew::assemble(const CrewPlace& place, const CrewFacts& mine,
                                               const CrewOptions& options) {
  Assembly assembly(place, mine, options);
  Errors errors = assembly.run();
  if (errors.empty() && options.stop != nullptr && *options.stop != 0) errors = {failed("interrupted")};
  if (!errors.empty()) {
    assembly.send_home(2);
    return tl::unexpected(std::move(errors));
  }
  return std::unique_ptr<Crew>(std::make_unique<AssembledCrew>(place, mine, options, assembly.take()));
}

}  // namespace lockstep
