// What one GPU without a wrapper takes, remembered for whoever asks for many points: the baseline is the same for all
// scenarios that differ only in what it does not feel (GPUs, strategy, DDP's options, the network).
#pragma once

#include <deque>
#include <map>
#include <string>

#include "simulator/answers/points.h"

namespace lockstep {

// True for a key of the scenario that cannot change a point of Strategy::Single, nor its calibration. A key that is not
// known here is felt.
bool one_gpu_feels(const std::string& key);

class SingleMemo {
 public:
  // Answers as `source` does, to the bit. The files that a scenario names must stay as they are meanwhile. This object
  // must outlive what it returns.
  PointSource around(PointSource source);

 private:
  static constexpr std::size_t kMost = 256;  // runs kept; the oldest goes first
  template <class V>
  struct Kept {
    std::map<std::string, V> values;
    std::deque<std::string> order;
    void put(const std::string& key, const V& value);
  };
  Kept<Run> runs_;
  Kept<KernelCalibration> calibrations_;
};

}  // namespace lockstep
