// Where the processes of one run meet: `lockstep measure`, started once for each rank by torchrun, srun or mpirun, or
// once on each host with --rendezvous. All of them work it out by themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/environment.h"
#include "simulator/base/error.h"

namespace lockstep {

struct CrewPlace {
  std::string launcher;  // "torchrun", "Open MPI", "PMI", "Slurm", "RANK and WORLD_SIZE", "--rendezvous"
  std::string process;   // what one of them is called: "rank", with --rendezvous "node"
  int number = 0, members = 1;
  std::string address;     // of number 0
  std::vector<int> ports;  // it listens on the first of them that it gets; the others look for it at each
  std::string token;       // of this run
  // torchrun's store, where there is one: ranks of every launch meet in it, under a prefix of their own.
  std::optional<RankPlace> store;
};

// MASTER_PORT and the 15 ports above it (torchrun's agent holds the first of these itself); the token is made of the
// launcher's own name of the run.
CrewPlace meeting_of(const RankPlace& place, const Environment& environment);

// `--rendezvous HOST:PORT --nodes N --node-rank R`: exactly that port. Errors (file "command line"): Missing, Range,
// Syntax, with the option as the key.
Expected<CrewPlace> meeting_of(const std::string& rendezvous, std::optional<int> nodes, std::optional<int> node_rank);

}  // namespace lockstep
