#include "hwrunner/trainers/torch_group.h"

#include <chrono>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "hwrunner/paced/pace.h"

namespace lockstep {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

// createDefaultDevice() looks up the host name only and ignores the variable that people set.
std::string interface_of(const GroupOptions& options) {
  const char* variable = std::getenv("GLOO_SOCKET_IFNAME");
  if (!options.interface.empty() || variable == nullptr) return options.interface;
  return variable;
}

class PacedGloo : public c10d::ProcessGroupGloo {
 public:
  PacedGloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world, c10::intrusive_ptr<Options> options,
            std::shared_ptr<Pace> pace)
      : ProcessGroupGloo(store, rank, world, std::move(options)), pace_(std::move(pace)) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    const int bucket = pace_->launch();
    auto work = ProcessGroupGloo::allreduce(tensors, options);
    work->getFuture()->addCallback([pace = pace_, bucket](c10::ivalue::Future&) { pace->ended(bucket); });
    return work;
  }

 private:
  std::shared_ptr<Pace> pace_;
};

}  // namespace

c10::intrusive_ptr<c10d::Store> make_group_store(const GroupOptions& options) {
  c10d::TCPStoreOptions tcp;
  tcp.port = static_cast<std::uint16_t>(options.port);
  tcp.isServer = options.serve_store && options.rank == 0;
  tcp.numWorkers = options.world;
  tcp.timeout = milliseconds(options.store_timeout_s);
  c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(options.master, tcp);
  if (options.store_prefix.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>(options.store_prefix, store);
}

c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const GroupOptions& options, const std::shared_ptr<Pace>& pace) {
  const auto store = make_group_store(options);
  const auto timeout = milliseconds(options.timeout_s);
  auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
  const std::string interface = interface_of(options);
  gloo->devices.push_back(interface.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                                            : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  gloo->threads = options.gloo_threads;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> backend;
  if (pace)
    backend = c10::make_intrusive<PacedGloo>(store, options.rank, options.world, gloo, pace);
  else
    backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank, options.world, gloo);
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, options.rank, options.world);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, backend);
  c10d::BarrierOptions barrier;
  barrier.timeout = timeout;
  backend->monitoredBarrier(barrier, true);
  return group;
}

}  // namespace lockstep
