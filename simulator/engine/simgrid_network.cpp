// SimGrid behind the Network interface. Facts that shape this file (tried on 3.32):
// - CM02 without TCP window and cross traffic is exactly bytes / max-min fair rate;
// - activities are made when they start and kept until the event after their end;
// - a route is a helper host whose uplink lists the links; all routes end at one host without links;
// - a Timer in the past would fire at once and silently: refused here.
#include <algorithm>
#include <csignal>
#include <unordered_map>

#include "simulator/base/ensure.h"
#include "simulator/engine/network.h"
#include "simulator/engine/simgrid_compat.h"
#include "xbt/log.h"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

struct Flow {
  s4u::CommPtr comm;
  std::uint64_t token = 0;
  std::size_t slot = 0;
};

class SimgridNetwork;
SimgridNetwork* the_network = nullptr;  // the callbacks of SimGrid are global

class SimgridNetwork final : public Network {
 public:
  SimgridNetwork() {
    LOCKSTEP_ENSURE(the_network == nullptr, "a second network in one process (first at {})",
                    static_cast<void*>(the_network));
    the_network = this;
    xbt_log_control_set("root.thres:critical");
    static std::string program = "lockstep";
    static char* argument = program.data();
    static char** arguments = &argument;
    static int argument_count = 1;
    engine_ = std::make_unique<s4u::Engine>(&argument_count, arguments);
    std::signal(SIGINT, SIG_DFL);  // SimGrid installs a handler of its own
    configure();
    zone_ = simgrid_compat::make_star_zone(*engine_, "machine");
    sink_ = simgrid_compat::add_host(zone_, "sink");
    register_callback();
  }

  ~SimgridNetwork() override {
    free_flows_.clear();
    flows_.clear();
    engine_.reset();
    the_network = nullptr;
  }

  int add_link(const std::string& name, double rate) override {
    LOCKSTEP_ENSURE(!sealed_ && rate > 0, "link {} with rate {}", name, rate);
    links_.push_back(simgrid_compat::add_link(zone_, std::to_string(links_.size()) + "." + name, rate));
    return static_cast<int>(links_.size()) - 1;
  }

  int add_route(const std::vector<int>& links) override {
    LOCKSTEP_ENSURE(!sealed_ && !links.empty(), "route of {} links", links.size());
    auto* source = simgrid_compat::add_host(zone_, std::to_string(sources_.size()) + ".source");
    std::vector<s4u::LinkInRoute> in_route;
    for (const int link : links) in_route.emplace_back(links_[static_cast<std::size_t>(link)]);
    simgrid_compat::add_uplink(zone_, source, in_route);
    sources_.push_back(source);
    return static_cast<int>(sources_.size()) - 1;
  }

  // In a later run of the process clock - start can round to just below the date of the timer that fires.
  double now() const override { return std::max(s4u::Engine::get_clock() - start_, woken_); }

  void set_wakeup(double date) override {
    LOCKSTEP_ENSURE(date >= now(), "wake-up at {} s, now {} s", date, now());
    clear_wakeup();
    // The firing timer is deleted by SimGrid, so forget it first.
    timer_ = simgrid::kernel::timer::Timer::set(start_ + date, [this, date] {
      timer_ = nullptr;
      woken_ = date;
      listener_->on_wakeup();
    });
  }

  void clear_wakeup() override {
    if (timer_ != nullptr) timer_->remove();
    timer_ = nullptr;
  }

  void start_flow(int route, std::uint64_t bytes, std::uint64_t token) override {
    LOCKSTEP_ENSURE(bytes > 0, "flow of {} bytes on route {}", bytes, route);
    release_ended();
    const std::size_t slot = take_slot();
    Flow& flow = *flows_[slot];
    flow.token = token;
    flow.comm = s4u::Comm::sendto_init(sources_[static_cast<std::size_t>(route)], sink_);
    flow.comm->set_payload_size(bytes);
    flow.comm->set_data(&flow);
    flow.comm->start();
  }

  void run(NetworkListener& listener) override {
    if (!sealed_) {
      zone_->seal();
      sealed_ = true;
    }
    start_ = s4u::Engine::get_clock();
    woken_ = 0;
    listener_ = &listener;
    listener.on_wakeup();
    engine_->run();
    release_ended();
    listener_ = nullptr;
  }

 private:
  // Settings hold for the process; the network model cannot be set a second time.
  static void configure() {
    static bool configured = false;
    if (configured) return;
    configured = true;
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/TCP-gamma:1e30");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config(std::string(simgrid_compat::kPrecisionOption) + ":1e-12");
  }

  static void register_callback() {
    static bool registered = false;
    if (registered) return;
    registered = true;
    simgrid_compat::on_comm_end([](const s4u::Activity& activity) {
      if (the_network == nullptr || activity.get_state() != s4u::Activity::State::FINISHED) return;
      Flow* flow = static_cast<const s4u::Comm&>(activity).get_data<Flow>();
      if (flow != nullptr) the_network->end_flow(*flow);
    });
  }

  void end_flow(Flow& flow) {
    listener_->on_flow_end(flow.token);
    // Only now: a flow that the listener starts releases ended ones, and SimGrid still holds this one.
    ended_.push_back(flow.slot);
  }

  void release_ended() {
    for (const auto slot : ended_) {
      flows_[slot]->comm = nullptr;
      free_flows_.push_back(slot);
    }
    ended_.clear();
  }

  std::size_t take_slot() {
    if (!free_flows_.empty()) {
      const auto slot = free_flows_.back();
      free_flows_.pop_back();
      return slot;
    }
    flows_.push_back(std::make_unique<Flow>());
    flows_.back()->slot = flows_.size() - 1;
    return flows_.size() - 1;
  }

  std::unique_ptr<s4u::Engine> engine_;
  s4u::NetZone* zone_ = nullptr;
  s4u::Host* sink_ = nullptr;
  std::vector<s4u::Link*> links_;
  std::vector<s4u::Host*> sources_;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<std::size_t> free_flows_, ended_;
  simgrid::kernel::timer::Timer* timer_ = nullptr;
  NetworkListener* listener_ = nullptr;
  double start_ = 0;  // of this run, on SimGrid's clock
  double woken_ = 0;  // date of the last wake-up
  bool sealed_ = false;
};

}  // namespace

std::unique_ptr<Network> make_simgrid_network() {
  return std::make_unique<SimgridNetwork>();
}

}  // namespace lockstep
