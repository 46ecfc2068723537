// A runner without LibTorch: the real life of a rank (hwrunner/rank) around a trainer that only waits. Ranks meet at
// MASTER_ADDR and MASTER_PORT, so that a dead or silent peer is noticed as a process group notices it.
//
// LOCKSTEP_FAKE: orders separated by `;`, each `key=value` pairs separated by `,`:
//   do=kill|stop|hang|throw|oom|refuse|exit|abort|garbage   what to do, once
//   rank, repeat, gpus, strategy, pass=plain|marks             where; each any when left out
//   at=build|join|step|point, step=N                 when (a step counts from 0, warm-up included; a bench's point too)
// A bench is all-reduces of the plan's sizes that take (rank + 1) ms each, the last of them left out.
// LOCKSTEP_FAKE_STEP_MS: how long a step waits (2). LOCKSTEP_FAKE_PIDS: a folder in which each rank leaves its pid.
// LOCKSTEP_FAKE_PROBE=fails|old|no-gloo: what `probe` does instead of answering.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>

#include "hwrunner/measure/runner_program.h"
#include "hwrunner/rank/rank.h"

namespace {

using namespace lockstep;

std::string variable(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

using Order = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(by, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<Order> orders() {
  std::vector<Order> all;
  for (const std::string& one : split(variable("LOCKSTEP_FAKE"), ';')) {
    Order order;
    for (const std::string& pair : split(one, ','))
      if (const std::size_t equals = pair.find('='); equals != std::string::npos)
        order[pair.substr(0, equals)] = pair.substr(equals + 1);
    if (!order.empty()) all.push_back(order);
  }
  return all;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

// An all-reduce of nothing: everybody sends rank 0 a byte and gets one back.
class Meeting {
 public:
  void join(const RankPlace& place, double timeout_s) {
    timeout_s_ = timeout_s;
    if (place.world_size == 1) return;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(place.master_port));
    if (place.rank > 0) ::inet_pton(AF_INET, place.master_address.c_str(), &address.sin_addr);
    place.rank == 0 ? listen(address, place.world_size) : connect(address);
  }

  void meet() {
    char byte = 1;
    for (const int peer : peers_) receive(peer, byte);
    for (const int peer : peers_) send(peer, byte);
    if (root_ < 0) return;
    send(root_, byte);
    receive(root_, byte);
  }

 private:
  void listen(const sockaddr_in& address, int size) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, size) != 0)
      throw std::runtime_error("no socket to meet at");
    while (static_cast<int>(peers_.size()) + 1 < size) {
      wait_for(socket, fmt::format("Timed out after {:.0f} seconds waiting for clients. {}/{} clients joined.",
                                   timeout_s_, peers_.size() + 1, size));
      peers_.push_back(::accept(socket, nullptr, nullptr));
    }
  }
  void connect(const sockaddr_in& address) {
    const double until = rank_clock_s() + timeout_s_;
    root_ = ::socket(AF_INET, SOCK_STREAM, 0);
    while (::connect(root_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      if (rank_clock_s() > until) throw std::runtime_error("wait timeout after 1000ms, keys: /0/0");
      ::usleep(2000);
    }
  }
  void wait_for(int socket, const std::string& in_vain) const {
    pollfd ready{socket, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(timeout_s_ * 1000)) == 0) throw std::runtime_error(in_vain);
  }
  void receive(int socket, char& byte) const {
    wait_for(socket, "[pair.cc:100] Timed out waiting for recv operation to complete");
    if (::recv(socket, &byte, 1, 0) != 1) throw std::runtime_error("[pair.cc:547] Connection closed by peer");
  }
  static void send(int socket, char byte) {
    if (::send(socket, &byte, 1, MSG_NOSIGNAL) != 1) throw std::runtime_error("[pair.cc:538] Write error: Broken pipe");
  }

  std::vector<int> peers_;
  int root_ = -1;
  double timeout_s_ = 1;
};

class FakeTrainer : public RankTrainer {
 public:
  FakeTrainer(const RunPlan& plan, const RankPlace& place) : plan_(plan), place_(place) {
    if (const std::string folder = variable("LOCKSTEP_FAKE_PIDS"); !folder.empty())
      std::ofstream(fmt::format("{}/{}", folder, ::getpid())) << place.rank;
  }
  std::string implementation() const override {
    return plan_.strategy == Strategy::Ddp     ? "c10d Reducer"
           : plan_.strategy == Strategy::Dp    ? "cpu stand-in"
           : plan_.strategy == Strategy::DpCpp ? "LibTorch data_parallel"
                                               : "LibTorch module";
  }
  std::map<std::string, std::string> software() const override { return {{"torch", "0.0-fake"}}; }
  std::string network_interface() const override { return place_.world_size > 1 ? "lo" : ""; }
  void build() override { obey("build", -1); }
  void join() override {
    obey("join", -1);
    meeting_.join(place_, plan_.timeouts.join_s);
  }
  void barrier() override { meeting_.meet(); }
  std::map<std::string, std::string> logging() const override { return {{"backend_name", "fake"}}; }

  std::optional<BenchRecord> bench_point() override {
    obey("point", next_);
    const auto sizes = bench_sizes(plan_.bench);
    if (static_cast<std::size_t>(next_) == sizes.size()) return std::nullopt;
    BenchRecord point;
    point.what = "all_reduce";
    point.bytes = sizes[static_cast<std::size_t>(next_)];
    point.count = point.bytes / 4;
    point.type = "float";
    if (static_cast<std::size_t>(++next_) == sizes.size()) {
      point.not_run = "no time for it";
      return point;
    }
    meeting_.meet();
    point.iterations = plan_.bench.iterations;
    point.time_s = 1e-3 * (place_.rank + 1);
    point.wrong = next_ == 2 ? 1 : 0;
    return point;
  }

  TrainedStep step() override {
    obey("step", next_);
    ++next_;
    TrainedStep done;
    const double start = rank_clock_s();
    ::usleep(static_cast<useconds_t>(1000 * std::atoi(variable("LOCKSTEP_FAKE_STEP_MS", "2").c_str())));
    const double computed = rank_clock_s();
    meeting_.meet();
    done.end_s = rank_clock_s();
    if (!plan_.instrumented) return done;
    done.parts = {{"forward", (computed - start) / 3}, {"backward", 2 * (computed - start) / 3}};
    if (place_.world_size == 1) return done;
    done.parts["exposed_communication"] = done.end_s - computed;
    done.idle_from_s = computed;
    done.idle_to_s = done.end_s;
    done.buckets = {{0, 4096, computed, computed, done.end_s}};
    return done;
  }

 private:
  bool meant(const Order& order, const char* at, int step) const {
    const auto is = [&order](const char* key, const std::string& value) {
      return order.count(key) == 0 || order.at(key) == value;
    };
    return is("rank", fmt::format("{}", place_.rank)) && is("repeat", fmt::format("{}", plan_.repeat)) &&
           is("gpus", fmt::format("{}", plan_.world_size)) && is("strategy", name_of(plan_.strategy)) &&
           is("pass", plan_.instrumented ? "marks" : "plain") &&
           (order.count("at") == 0 ? std::string("step") : order.at("at")) == at &&
           ((std::string(at) != "step" && std::string(at) != "point") || is("step", fmt::format("{}", step)));
  }
  void obey(const char* at, int step) const {
    for (const Order& order : orders())
      if (meant(order, at, step)) obey(order.at("do"));
  }
  static void obey(const std::string& what) {
    if (what == "kill") ::raise(SIGKILL);
    if (what == "stop") ::raise(SIGSTOP);
    if (what == "hang") hang();
    if (what == "throw") throw std::runtime_error("mat1 and mat2 shapes cannot be multiplied\nException raised from x");
    if (what == "oom") throw std::bad_alloc();
    if (what == "refuse") throw TrainerFailure{"refused", "this runner does not do that", {}};
    if (what == "exit") ::_exit(7);
    if (what == "abort") {
      std::fputs("terminate called: enforce fail\n", stderr);
      ::abort();
    }
    if (what == "garbage") {
      const std::string line = "[W socket.cpp:764] hello\n";
      if (::write(3, line.data(), line.size()) < 0) ::_exit(1);
    }
  }

  RunPlan plan_;
  RankPlace place_;
  Meeting meeting_;
  int next_ = 0;
};

int probe() {
  const std::string how = variable("LOCKSTEP_FAKE_PROBE");
  if (how == "fails") {
    std::fputs("fake_worker: error while loading shared libraries: libtorch_cpu.so: cannot open shared object file\n",
               stderr);
    return 127;
  }
  RunnerProbe answer;
  answer.software = {{"torch", "0.0-fake"}};
  if (how != "no-gloo") answer.backends = {"gloo"};
  answer.missing = "no NVIDIA driver on this machine";
  if (how == "gpu") {
    answer.backends = {"gloo", "nccl"};
    answer.devices = {"NVIDIA A100-SXM4-80GB"};
    answer.machine = {{"driver", "580.65.06"}, {"gpu0_nvlinks", "12"}};
    answer.missing.clear();
  }
  std::string line = probe_to_line(answer);
  if (how == "old") line.replace(line.find("\"protocol\":1"), 12, "\"protocol\":0");
  return ::write(3, line.data(), line.size()) > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "probe") return probe();
  if (words.empty() || words.front() != "worker") return 64;
  const int code = run_rank({words.begin() + 1, words.end()}, environment_of_process(),
                            [](const RunPlan& plan, const RankPlace& place) {
                              return std::unique_ptr<RankTrainer>(std::make_unique<FakeTrainer>(plan, place));
                            });
  ::_exit(code);
}
