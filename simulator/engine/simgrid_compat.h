// What differs between SimGrid versions, in one place. 3.32 (Debian 12) is tested; the branches for newer versions
// follow SimGrid's change log and are untested.
#pragma once

#include <simgrid/config.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace lockstep::simgrid_compat {

namespace s4u = simgrid::s4u;

#if SIMGRID_VERSION >= 33400
inline constexpr const char* kPrecisionOption = "precision/timing";
#else
inline constexpr const char* kPrecisionOption = "surf/precision";
#endif

inline s4u::NetZone* make_star_zone(s4u::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return engine.get_netzone_root()->add_netzone_star(name);
#else
  static_cast<void>(engine);
  return s4u::create_star_zone(name);
#endif
}

inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return zone->add_host(name, 1e9);
#else
  return zone->create_host(name, 1e9);
#endif
}

inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double rate) {
#if SIMGRID_VERSION >= 40000
  auto* link = zone->add_link(name, rate);
#else
  auto* link = zone->create_link(name, rate);
#endif
  // Latency 0: with CM02 flows share a link in proportion to 1/latency; alpha is paid by a timer instead.
  link->set_latency(0.0)->seal();
  return link;
}

// The one-way uplink of a host in a star zone.
inline void add_uplink(s4u::NetZone* zone, s4u::Host* host, const std::vector<s4u::LinkInRoute>& links) {
#if SIMGRID_VERSION >= 33500
  zone->add_route(host, static_cast<const s4u::Host*>(nullptr), links, false);
#else
  zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, links, false);
#endif
}

// `on_end(comm)` for every communication that ends, in whatever state. Once per process.
template <class Callback>
void on_comm_end(Callback on_end) {
#if SIMGRID_VERSION >= 33400
  s4u::Comm::on_completion_cb([on_end](const s4u::Comm& comm) { on_end(comm); });
#else
  s4u::Activity::on_completion_cb([on_end](const s4u::Activity& activity) { on_end(activity); });
#endif
}

}  // namespace lockstep::simgrid_compat
