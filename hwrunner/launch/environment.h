// Which rank a process is, when torchrun, mpirun, srun or our own launcher started it: read from environment variables
// by a pure function. Checks that a rank makes itself before it joins, so that the message names the cause.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "simulator/base/error.h"

namespace lockstep {

using Environment = std::map<std::string, std::string>;
Environment environment_of_process();

struct RankPlace {
  std::string launcher;  // "torchrun", "Open MPI", "PMI", "Slurm", or "RANK and WORLD_SIZE"
  int rank = 0, world_size = 1;
  int local_rank = 0, local_size = 1;  // on this host
  std::string master_address;          // empty: nobody said, and nothing to derive it from
  int master_port = 29500;             // PyTorch's default
  // torchrun's agent already listens on the port: every rank is a client, under this prefix of keys.
  bool agent_store = false;
  std::string store_prefix;  // "/worker/attempt_0", or empty
  bool operator==(const RankPlace&) const = default;
};

// The first that gives rank *and* size of: RANK and WORLD_SIZE (torchrun, our own), OMPI_COMM_WORLD_*, PMI_*,
// SLURM_PROCID and SLURM_NTASKS. Nothing: this process is alone. A Slurm step of one task is alone too: an interactive
// shell of Slurm has these variables. Errors (file "environment", key: the variable): no whole number, a rank outside
// its size, a size without MASTER_ADDR that spans several hosts.
Expected<std::optional<RankPlace>> place_from_environment(const Environment& environment);

// The first host of a Slurm list: "node[03-07,9],x" is node03; empty when it cannot be read.
std::string first_host_of(const std::string& node_list);

// Nothing, or what is wrong: the plan needs another number of ranks than were started.
std::optional<Error> wrong_world_size(const RankPlace& place, int wanted);

// Nothing, or: the name of the master does not resolve (asked here, because a store only says "timed out").
std::optional<Error> unresolved(const std::string& address);

// For rank 0 without an agent: nothing, or the port is held by another service, or is not ours to take.
std::optional<Error> port_taken(int port);

// For the other ranks: nothing, or nobody listens at address:port after `patience_s`, with the reason of the last try.
std::optional<Error> unreachable(const std::string& address, int port, double patience_s);

}  // namespace lockstep
