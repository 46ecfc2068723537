#include "hwrunner/crew/remote_rank.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>

#include "hwrunner/launch/record.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = RankHandle::News::Kind;
constexpr double kClockPatience_s = 1;
constexpr std::chrono::seconds kReapPatience{5};

struct KindWord {
  Kind kind;
  const char* word;
};
constexpr KindWord kWords[] = {{Kind::Exited, "exited"},
                               {Kind::Signalled, "signalled"},
                               {Kind::Stopped, "stopped"},
                               {Kind::Continued, "continued"}};

Kind kind_of(const std::string& word) {
  for (const KindWord& one : kWords)
    if (word == one.word) return one.kind;
  return Kind::None;
}

}  // namespace

const char* word_of(Kind kind) {
  for (const KindWord& one : kWords)
    if (kind == one.kind) return one.word;
  return "none";
}

void CrewPeer::hear() {
  for (const std::string& line : channel_.receive()) {
    auto message = message_from_line(line);
    if (!message) {
      channel_.close();
      break;
    }
    take(*std::move(message));
  }
  if (channel_.open()) return;
  for (const auto& [key, rank] : ranks_)
    rank->lose(fmt::format("the connection to its `lockstep measure` on {} (pid {}) broke", hello_.host, hello_.pid));
}

void CrewPeer::take(CrewMessage message) {
  if (std::holds_alternative<InterruptedMessage>(message)) interrupted_ = true;
  if (const auto* clock = std::get_if<ClockMessage>(&message)) clocks_.push_back(clock->at_s);
  const auto rank_of = [this](int launch, int rank) {
    const auto at = ranks_.find({launch, rank});
    return at == ranks_.end() ? nullptr : at->second;
  };
  if (auto* line = std::get_if<LineMessage>(&message)) {
    if (RemoteRank* rank = rank_of(line->launch, line->rank)) rank->take(std::move(*line));
  }
  if (const auto* news = std::get_if<NewsMessage>(&message)) {
    if (RemoteRank* rank = rank_of(news->launch, news->rank)) rank->take(*news);
  }
}

std::optional<double> CrewPeer::ask_clock() {
  clocks_.clear();
  if (!send(AskClockMessage{})) return std::nullopt;
  const auto until = Clock::now() + std::chrono::duration<double>(kClockPatience_s);
  while (channel_.open() && clocks_.empty() && Clock::now() < until) {
    pollfd ready{channel_.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(1000 * kClockPatience_s));
    hear();
  }
  if (clocks_.empty()) return std::nullopt;
  return clocks_.front();
}

RemoteRank::RemoteRank(CrewPeer& peer, int launch, int rank) : peer_(peer), launch_(launch), rank_(rank) {
  peer_.ranks_[{launch_, rank_}] = this;
}
RemoteRank::~RemoteRank() {
  peer_.ranks_.erase({launch_, rank_});
}

std::vector<int> RemoteRank::descriptors() const {
  if (!peer_.channel_.open()) return {};
  return {peer_.channel_.descriptor()};
}

RankHandle::News RemoteRank::news() {
  peer_.hear();
  if (news_.empty()) return {};
  const News first = news_.front();
  news_.pop_front();
  if (first.kind == Kind::Exited || first.kind == Kind::Signalled) running_ = false;
  return first;
}

std::vector<std::string> RemoteRank::read_lines(bool&) {
  return std::exchange(lines_, {});
}

void RemoteRank::take(const NewsMessage& message) {
  if (!message.words.empty()) words_ = message.words;
  cpu_s_ = message.cpu_s;
  peak_memory_bytes_ = message.peak_memory_bytes;
  const Kind kind = kind_of(message.kind);
  if (kind != Kind::None) news_.push_back({kind, message.status});
}

void RemoteRank::lose(const std::string& why) {
  if (!running_ || (!news_.empty() && news_.back().kind == Kind::Exited)) return;
  std::string line = record_to_line(ErrorRecord{"lost", why, {}});
  line.pop_back();
  lines_.push_back(std::move(line));
  news_.push_back({Kind::Exited, 1});
}

void RemoteRank::kill_group() {
  if (peer_.channel_.open()) peer_.send(KillMessage{launch_, rank_});
}

void RemoteRank::reap() {
  const auto until = Clock::now() + kReapPatience;
  while (running_) {
    while (running_ && (peer_.hear(), !news_.empty())) news();
    if (!running_) return;
    if (!peer_.channel_.open() || Clock::now() > until) {
      running_ = false;
      peer_.channel_.close();
      return;
    }
    pollfd ready{peer_.channel_.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 100);
  }
}

}  // namespace lockstep
