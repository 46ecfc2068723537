// A ring all-reduce as its single messages: 2(n-1) steps, in each of which every rank sends one piece to the next rank
// once it has sent its previous piece and received the one before from the rank behind it. The reference that the flow
// form (one flow per collective) is checked against.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// Bookkeeping of one such ring in progress; the engine supplies clock and flows.
class MessageRing {
 public:
  MessageRing(int ranks, int steps)
      : ranks_(ranks), steps_(steps), sent_(ranks, 0), received_(ranks, 0), busy_(ranks, false) {}

  // True if this rank may start its next message now; marks it as started.
  bool may_send(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (busy_[r] || sent_[r] >= steps_ || received_[r] < sent_[r]) return false;
    busy_[r] = true;
    return true;
  }
  // The running message of `rank` has arrived at the next one. Returns the receiver.
  int arrived(int rank) {
    const int receiver = (rank + 1) % ranks_;
    busy_[static_cast<std::size_t>(rank)] = false;
    ++sent_[static_cast<std::size_t>(rank)];
    ++received_[static_cast<std::size_t>(receiver)];
    messages_done_ += 1;
    return receiver;
  }
  bool all_done() const { return messages_done_ == static_cast<std::int64_t>(ranks_) * steps_; }
  int ranks() const { return ranks_; }

 private:
  int ranks_;
  int steps_;
  std::vector<int> sent_, received_;  // [rank] messages
  std::vector<bool> busy_;
  std::int64_t messages_done_ = 0;
};

}  // namespace lockstep
