// The axes of a sweep: the keys of a scenario file that hold a list of values, and every combination of them.
// A key that is a list by nature (`model.mlp.hidden`) sweeps as a list of lists; `gpus` and `strategy` are axes when
// they list more than one value. Axes stand in the order of the file, then of --set; the last one changes fastest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/reader.h"
#include "simulator/base/document.h"

namespace lockstep {

struct SweepAxis {
  std::string key;  // dotted; a plain value where a map is expected is named by the key that it is short for
  std::vector<std::size_t> path;  // of entries, from the root of the document to the list
  std::vector<Value> values;
  std::vector<std::string> texts;  // of the values, as they are shown
  bool of_numbers = false;         // numbers or quantities: such a value names no file and changes no other key
};

// Combinations are numbered from 0. One GPU without a wrapper is the same for every number of GPUs: where both
// `strategy` and `gpus` are axes, `single` stands with the first number only and the other combinations are left out.
class SweepAxes {
 public:
  SweepAxes(Document document, std::vector<SweepAxis> axes);

  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::size_t combinations() const { return combinations_; }  // product of the lengths, left-out ones included
  std::size_t points() const { return points_; }              // without those left out
  bool left_out(std::size_t combination) const;
  // Key and value of every axis.
  std::vector<std::pair<std::string, std::string>> point(std::size_t combination) const;
  // The scenario of one combination, as if the file had said so: values keep their line and column.
  Document document(std::size_t combination) const;
  // The combinations that between them hold every value of every axis: the first, and all that differ from it in one.
  std::vector<std::size_t> probes() const;
  // Without those that differ from the first in a number.
  std::vector<std::size_t> probes_of_words() const;
  // The swept scenario as it was given, lists included.
  std::string yaml() const;

 private:
  std::size_t index(std::size_t combination, std::size_t axis) const {
    return combination / strides_[axis] % axes_[axis].values.size();
  }

  Document bare_;  // without the lists: they may be long, and this is copied for each combination
  std::vector<SweepAxis> axes_;
  std::vector<std::size_t> strides_;
  std::size_t combinations_ = 1, points_ = 0;
  std::size_t gpus_axis_, strategy_axis_;  // axes_.size() when there is none
};

inline constexpr std::size_t kMostCombinations = 1'000'000;

// Errors: what is wrong with a value by itself (not with a combination), in file order; a list that is empty or names a
// value twice; more than kMostCombinations; a swept model, batch or precision beside calibrate.single_gpu.
Expected<SweepAxes> read_sweep_axes(std::string_view text, const std::string& file_name,
                                    const std::vector<std::string>& sets = {});

}  // namespace lockstep
