// The runner: a program beside this one that is linked with LibTorch, and is not there in a build without it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hwrunner/launch/plan.h"
#include "simulator/base/error.h"

namespace lockstep {

// What `lockstep-hwrunner probe` says on one line of JSON: that it starts, and what it can do here.
struct RunnerProbe {
  std::string program;                          // its path
  std::vector<std::string> words;               // that stand before `worker` (launcher.h)
  std::map<std::string, std::string> software;  // torch, gloo, nccl, cuda: versions
  std::vector<std::string> backends;            // gloo, nccl
  std::vector<std::string> devices;             // names of the GPUs
  std::map<std::string, std::string> machine;   // what the GPUs add to the key `machine` of a result
  std::string missing;                          // why no GPU can be used; empty when one can
};

// $LOCKSTEP_HWRUNNER, else lockstep-hwrunner (on GPUs lockstep-hwrunner-cuda) beside this program.
std::string runner_path(bool on_gpus);

// Starts it once. Errors (RunFailed): it is not there, its libraries are not, it speaks another protocol, it cannot use
// the backend; each with what to run.
Expected<RunnerProbe> probe_runner(Backend backend, bool on_gpus);
// The same of the Python front end: hwrunner/python/lockstep_train.py, installed or in the source tree, by
// $LOCKSTEP_PYTHON, else the Python of .lockstep/libtorch, else python3, the first that can import torch.
Expected<RunnerProbe> probe_python_runner(Backend backend);

// Of the line: `{"protocol":1,"software":{...},"backends":[...],"devices":[...],"machine":{...},"missing":"..."}`.
Expected<RunnerProbe> probe_from_line(const std::string& line);
std::string probe_to_line(const RunnerProbe& probe);

}  // namespace lockstep
