// Inside launch: the folder of one launch on one host, with the plan in it.
#pragma once

#include <string>

#include "hwrunner/launch/plan.h"

namespace lockstep {

// A new folder `lockstep-ranks-XXXXXX` where temporary files go, gone when this is. One that a killed launcher left is
// removed by the next: while its launcher lives, a lock on the file `owner` in it is held, and nobody else's is
// touched.
class LaunchFolder {
 public:
  explicit LaunchFolder(RunPlan& plan);  // sets plan.rendezvous
  ~LaunchFolder();
  LaunchFolder(const LaunchFolder&) = delete;
  LaunchFolder& operator=(const LaunchFolder&) = delete;
  bool good() const { return written_; }
  const std::string& problem() const { return problem_; }  // why not
  std::string plan_file() const { return path_ + "/plan.json"; }

 private:
  std::string path_, problem_;
  int owner_ = -1;
  bool written_ = false;
};

}  // namespace lockstep
