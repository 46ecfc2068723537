#include "hwrunner/launch/environment.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>

extern char** environ;

namespace lockstep {
namespace {

constexpr int kFirstDerivedPort = 20000, kDerivedPorts = 12000;  // below Linux's ephemeral ports (32768)

Error wrong(ErrorKind kind, std::string key, std::string found, std::string message, std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = "environment";
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

// The variables of one launcher; an empty name: it has none for that.
struct Names {
  const char *launcher, *rank, *size, *local_rank, *local_size;
};
constexpr Names kNames[] = {{"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
                            {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE"},
                            {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                            {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""}};

class PlaceReader {
 public:
  explicit PlaceReader(const Environment& environment) : environment_(environment) {}

  Expected<std::optional<RankPlace>> read() {
    for (const Names& names : kNames) {
      if (!has(names.rank) || !has(names.size)) continue;
      RankPlace place;
      place.launcher = names.launcher;
      number(names.rank, 0, place.rank);
      number(names.size, 1, place.world_size);
      if (errors_.empty() && place.rank >= place.world_size)
        errors_.push_back(wrong(ErrorKind::Range, names.rank, text(names.rank),
                                fmt::format("rank {} is not below {} = {}", place.rank, names.size, place.world_size)));
      if (!errors_.empty()) return tl::unexpected(std::move(errors_));
      if (&names == &kNames[3] && place.world_size == 1) return std::nullopt;
      local(names, place);
      agent(place);
      master(names, place);
      if (!errors_.empty()) return tl::unexpected(std::move(errors_));
      return place;
    }
    return std::nullopt;
  }

 private:
  bool has(const char* name) const {
    const auto at = environment_.find(name);
    return at != environment_.end() && !at->second.empty();
  }
  std::string text(const char* name) const { return has(name) ? environment_.at(name) : ""; }

  void number(const char* name, int least, int& value) {
    const std::string given = text(name);
    const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (code == std::errc{} && end == given.data() + given.size() && value >= least) return;
    errors_.push_back(
        wrong(ErrorKind::Type, name, given, fmt::format("`{}` must be a whole number from {}", name, least)));
  }

  // Without the variables all ranks are taken to be on this host only where there is one.
  void local(const Names& names, RankPlace& place) {
    place.local_size = place.world_size;
    if (has(names.local_size)) {
      number(names.local_size, 1, place.local_size);
    } else if (&names == &kNames[3] && has("SLURM_STEP_NUM_NODES")) {
      int nodes = 1;
      number("SLURM_STEP_NUM_NODES", 1, nodes);
      if (nodes > 1) place.local_size = (place.world_size + nodes - 1) / nodes;
    }
    place.local_rank = place.rank % place.local_size;
    if (has(names.local_rank)) number(names.local_rank, 0, place.local_rank);
  }

  void agent(RankPlace& place) {
    if (!has("TORCHELASTIC_RUN_ID")) return;
    place.launcher = "torchrun";
    place.agent_store = text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (!place.agent_store) return;
    const std::string attempt = has("TORCHELASTIC_RESTART_COUNT") ? text("TORCHELASTIC_RESTART_COUNT") : "0";
    place.store_prefix = "/worker/attempt_" + attempt;
  }

  void master(const Names& names, RankPlace& place) {
    place.master_address = text("MASTER_ADDR");
    if (has("MASTER_PORT")) {
      number("MASTER_PORT", 1, place.master_port);
      if (place.master_port > 65535)
        errors_.push_back(wrong(ErrorKind::Range, "MASTER_PORT", text("MASTER_PORT"), "a port is at most 65535"));
    } else if (has("SLURM_JOB_ID")) {
      int job = 0;  // two jobs on one host must not meet
      number("SLURM_JOB_ID", 0, job);
      place.master_port = kFirstDerivedPort + job % kDerivedPorts;
    }
    if (!place.master_address.empty()) return;
    if (&names == &kNames[3]) place.master_address = first_host_of(text("SLURM_STEP_NODELIST"));
    if (&names == &kNames[3] && place.master_address.empty())
      place.master_address = first_host_of(text("SLURM_JOB_NODELIST"));
    if (place.master_address.empty() && place.local_size == place.world_size) place.master_address = "127.0.0.1";
    if (place.master_address.empty())
      errors_.push_back(wrong(ErrorKind::Missing, "MASTER_ADDR", "",
                              fmt::format("{} started {} ranks on several hosts, and nobody says where rank 0 is",
                                          place.launcher, place.world_size),
                              "export MASTER_ADDR=HOST of rank 0, for example mpirun -x MASTER_ADDR=node01"));
  }

  const Environment& environment_;
  Errors errors_;
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Null with the resolver's reason.
Addresses resolve(const std::string& address, int port, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(address.c_str(), fmt::format("{}", port).c_str(), &wanted, &found);
  if (code != 0) reason = code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code);
  return Addresses(code == 0 ? found : nullptr);
}

// Empty: connected. Else the reason.
std::string connect_once(const addrinfo& address, int wait_ms) {
  const int socket = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::strerror(errno);
  int failure = ::connect(socket, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (failure == EINPROGRESS) {
    pollfd ready{socket, POLLOUT, 0};
    socklen_t size = sizeof failure;
    if (::poll(&ready, 1, wait_ms) <= 0)
      failure = ETIMEDOUT;
    else
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size);
  }
  ::close(socket);
  return failure == 0 ? "" : std::strerror(failure);
}

}  // namespace

Environment environment_of_process() {
  Environment all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string entry = *at;
    if (const std::size_t equals = entry.find('='); equals != std::string::npos)
      all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return all;
}

Expected<std::optional<RankPlace>> place_from_environment(const Environment& environment) {
  return PlaceReader(environment).read();
}

std::string first_host_of(const std::string& node_list) {
  const std::size_t bracket = node_list.find('['), comma = node_list.find(',');
  if (bracket == std::string::npos || comma < bracket) return node_list.substr(0, comma);
  const std::size_t end = node_list.find_first_of(",-]", bracket + 1);
  const std::size_t close = node_list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return "";
  const std::string first = node_list.substr(bracket + 1, end - bracket - 1);
  const std::string rest = node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return rest.find('[') == std::string::npos ? node_list.substr(0, bracket) + first + rest : "";
}

std::optional<Error> wrong_world_size(const RankPlace& place, int wanted) {
  if (place.world_size == wanted) return std::nullopt;
  return wrong(ErrorKind::Conflict, "WORLD_SIZE", fmt::format("{}", place.world_size),
               fmt::format("{} started {} rank{}, the scenario asks for {}", place.launcher, place.world_size,
                           place.world_size == 1 ? "" : "s", wanted),
               fmt::format("start {} ranks, or --set gpus={}", wanted, place.world_size));
}

std::optional<Error> unresolved(const std::string& address) {
  std::string reason;
  if (resolve(address, 1, reason)) return std::nullopt;
  return wrong(ErrorKind::Range, "MASTER_ADDR", address,
               fmt::format("the host of rank 0, `{}`, cannot be found: {}", address, reason),
               "give an address, or a name that this host resolves (getent hosts NAME)");
}

std::optional<Error> port_taken(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::nullopt;
  const int on = 1;  // as the store does: a port that waits for late packets of its last owner is free
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  any.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  const bool listens = bound && ::listen(socket, 1) == 0;
  const int failure = errno;
  ::close(socket);
  if (listens) return std::nullopt;
  return wrong(ErrorKind::RunFailed, "MASTER_PORT", fmt::format("{}", port),
               fmt::format("rank 0 cannot listen on port {}: {}", port, std::strerror(failure)),
               "export MASTER_PORT with a free port on all ranks");
}

std::optional<Error> unreachable(const std::string& address, int port, double patience_s) {
  using Clock = std::chrono::steady_clock;
  if (auto error = unresolved(address)) return error;
  const auto until = Clock::now() + std::chrono::duration<double>(patience_s);
  std::string reason;
  do {
    const Addresses all = resolve(address, port, reason);
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      reason = connect_once(*one, static_cast<int>(std::max<std::int64_t>(left, 1)));
      if (reason.empty()) return std::nullopt;
    }
    ::usleep(50'000);
  } while (Clock::now() < until);
  return wrong(ErrorKind::RunFailed, "MASTER_ADDR", fmt::format("{}:{}", address, port),
               fmt::format("rank 0 cannot be reached at {}:{}: {}", address, port, reason),
               "is rank 0 running, and does a firewall let this port through?");
}

}  // namespace lockstep
