// The two services that the engine needs from a network simulator: flows that share links max-min fairly, and a clock
// that wakes the engine at a date. One implementation: simgrid_network.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

class NetworkListener {
 public:
  virtual ~NetworkListener() = default;
  virtual void on_wakeup() = 0;
  virtual void on_flow_end(std::uint64_t token) = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  // Before the first run. Links are one-way; rates in bytes/s, above 0. A route is a set of links.
  virtual int add_link(const std::string& name, double rate) = 0;
  virtual int add_route(const std::vector<int>& links) = 0;

  // Seconds since the start of this run.
  virtual double now() const = 0;
  // One wake-up at a time: a new date replaces the old one. Never in the past.
  virtual void set_wakeup(double date) = 0;
  virtual void clear_wakeup() = 0;
  virtual void start_flow(int route, std::uint64_t bytes, std::uint64_t token) = 0;

  // Calls listener.on_wakeup() once at time 0, then until nothing is left to happen. May be called again for a new run.
  virtual void run(NetworkListener& listener) = 0;
};

// At most one alive in a process (SimGrid holds one engine per process).
std::unique_ptr<Network> make_simgrid_network();

}  // namespace lockstep
