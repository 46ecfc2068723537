// Inside crew: a rank that another process started, and that process as rank 0 sees it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hwrunner/crew/channel.h"
#include "hwrunner/crew/messages.h"
#include "hwrunner/launch/rank_handle.h"

namespace lockstep {

class RemoteRank;

// One of the others. Messages about ranks go to their handles; what else comes is kept.
class CrewPeer {
 public:
  CrewPeer(Channel channel, HelloMessage hello) : channel_(std::move(channel)), hello_(std::move(hello)) {}

  Channel& channel() { return channel_; }
  const HelloMessage& hello() const { return hello_; }
  bool send(const CrewMessage& message) { return channel_.send(message_to_line(message)); }
  // Reads what has come. A connection that is lost, or speaks nonsense, ends all ranks behind it.
  void hear();
  // What its clock says, asked now; nothing: no answer within a second.
  std::optional<double> ask_clock();
  bool was_interrupted() const { return interrupted_; }

 private:
  friend class RemoteRank;
  void take(CrewMessage message);

  Channel channel_;
  HelloMessage hello_;
  std::map<std::pair<int, int>, RemoteRank*> ranks_;  // by launch and rank
  std::deque<double> clocks_;
  bool interrupted_ = false;
};

class RemoteRank : public RankHandle {
 public:
  RemoteRank(CrewPeer& peer, int launch, int rank);
  RemoteRank(const RemoteRank&) = delete;
  RemoteRank& operator=(const RemoteRank&) = delete;
  ~RemoteRank() override;

  bool running() const override { return running_; }
  std::vector<int> descriptors() const override;
  News news() override;
  std::vector<std::string> read_lines(bool& overlong) override;
  const std::string& hear_words() override { return words_; }
  void kill_group() override;
  void reap() override;  // gives up after 5 s: the other process hangs itself
  double cpu_s() const override { return cpu_s_; }
  std::int64_t peak_memory_bytes() const override { return peak_memory_bytes_; }

  // For the peer.
  void take(LineMessage message) { lines_.push_back(std::move(message.line)); }
  void take(const NewsMessage& message);
  void lose(const std::string& why);

 private:
  CrewPeer& peer_;
  int launch_, rank_;
  bool running_ = true;
  std::vector<std::string> lines_;
  std::deque<News> news_;
  std::string words_;
  double cpu_s_ = 0;
  std::int64_t peak_memory_bytes_ = 0;
};

// RankHandle::News by the words of NewsMessage::kind.
const char* word_of(RankHandle::News::Kind kind);

}  // namespace lockstep
