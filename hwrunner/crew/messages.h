// Inside crew: what the process of rank 0 and the others say to each other over the control channel, one JSON object a
// line with a `type`. The others speak first (hello) and do then as they are told; a message about a rank carries the
// number of the launch, so that what comes late is not taken for another launch's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

inline constexpr int kCrewProtocol = 1;

// --- To rank 0 ---------------------------------------------------------------------------------------

struct HelloMessage {
  int protocol = kCrewProtocol;
  std::string token;  // of this run: whoever else looks at the same port has another
  int number = 0;     // of this process among those that were started
  int members = 1;    // how many it believes there are
  int ranks = 1;      // that it holds
  std::int64_t pid = 0;
  std::string host, host_id;                // its name; the same id: the same clock and network
  std::string network_interface;            // by which it reaches rank 0
  std::vector<int> cores;                   // that it may use
  std::map<std::string, std::string> plan;  // digests of what it would measure, by what they are of
  std::string problem;                      // why it cannot take part; empty: it can
};
struct LineMessage {  // a record of a rank, as it came
  int launch = 0, rank = 0;
  std::string line;
};
struct NewsMessage {  // RankHandle::News
  int launch = 0, rank = 0;
  std::string kind;  // exited, signalled, stopped, continued
  int status = 0;
  double cpu_s = 0;
  std::int64_t peak_memory_bytes = 0;
  std::string words;
};
struct ClockMessage {
  double at_s = 0;
};
struct InterruptedMessage {};  // it was asked to stop

// --- From rank 0 -------------------------------------------------------------------------------------

struct JoinedMessage {};  // the token is right: wait here
struct OtherMessage {};   // this port belongs to another run
struct StartMessage {
  int launch = 0, rank = 0;
  std::string plan;  // RunPlan as JSON, without its `python`
  std::string python;
  std::vector<std::string> environment;  // NAME=value
  std::vector<int> cores;                // to run on; empty: where the process may
};
struct KillMessage {
  int launch = 0, rank = 0;
};
struct AskClockMessage {};
struct EndMessage {
  int code = 0;
};

using CrewMessage = std::variant<HelloMessage, LineMessage, NewsMessage, ClockMessage, InterruptedMessage,
                                 JoinedMessage, OtherMessage, StartMessage, KillMessage, AskClockMessage, EndMessage>;

// One line, newline included.
std::string message_to_line(const CrewMessage& message);
// Errors: Syntax, Missing, Type, NotSupported (a type that is not known).
Expected<CrewMessage> message_from_line(std::string_view line);

}  // namespace lockstep
