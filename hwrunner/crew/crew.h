// Several processes of `lockstep measure` that measure as one. That of rank 0 (of node 0) leads: it knows what runs
// when and writes the result. The others start ranks as it says, hand on what these tell, and are quiet; so a rank that
// breaks does not end the process that a launcher watches.
//
//   rank 0                                       the others
//   Crew::assemble  <--- hello, joined --->      serve_crew
//   crew.launch     --- start, kill -->          rank processes
//                   <-- lines, news ---
//   crew.end        --- end --->                 the same exit code
//
// Plain TCP (channel.h), JSON lines (messages.h). It carries no secrets and trusts whoever reaches the port and knows
// the name of the run: for networks where launchers are trusted too.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hwrunner/crew/clock_offset.h"
#include "hwrunner/crew/meeting_point.h"
#include "hwrunner/crew/world.h"
#include "hwrunner/launch/launcher.h"

namespace lockstep {

// What one process brings along.
struct CrewFacts {
  int ranks = 1;                            // that it holds
  std::vector<int> cores;                   // that it may use
  std::map<std::string, std::string> plan;  // what it would measure: digests by what they are of; must agree
  std::string problem;                      // why it cannot take part; empty: it can
  std::string host, host_id;                // its name; one id: one clock and one network. this_host() fills them in
};
void this_host(CrewFacts& facts);
double host_clock_s();  // CLOCK_MONOTONIC, as in the records of ranks

struct CrewOptions {
  double patience_s = 60;                        // until all are there, or rank 0 is reached
  volatile std::sig_atomic_t* stop = nullptr;    // not zero: come to an end; set when another process was asked to
  std::function<double()> clock = host_clock_s;  // of this host; a test may give another
  // Of the others: how ranks are started here.
  std::string program;
  std::vector<std::string> words;
};

// A host whose clock is not that of rank 0.
struct HostClock {
  std::string host;
  ClockOffset offset;  // of the last launch with ranks there
};

class Crew {
 public:
  // Waits for all. Errors (RunFailed), told to the others too: no port to listen on; some did not come in time; they do
  // not agree on how many they are, who is who, or what is measured, each with the hosts' names; one cannot take part.
  static Expected<std::unique_ptr<Crew>> assemble(const CrewPlace& place, const CrewFacts& mine,
                                                  const CrewOptions& options);
  virtual ~Crew() = default;  // without end(): exit code 2 for the others

  virtual const World& world() const = 0;
  // As lockstep::launch, with rank i at its place in the world; dates of other hosts on this one's clock. More
  // processes than world().size() are refused.
  virtual LaunchOutcome launch(const RunPlan& plan, const LaunchOptions& options) = 0;
  virtual std::vector<HostClock> clocks() const = 0;
  // The run is over; the others leave with this exit code.
  virtual void end(int code) = 0;
};

// One of the others: does what rank 0 says, until it says that the run is over. The exit code that it says. Errors
// (RunFailed): it cannot be reached, or is lost; no rank is left running.
Expected<int> serve_crew(const CrewPlace& place, const CrewFacts& mine, const CrewOptions& options);

}  // namespace lockstep
