// Of what a rank told, the records of one kind.
#pragma once

#include <variant>
#include <vector>

#include "hwrunner/launch/launcher.h"

namespace lockstep::testing {

template <class T>
std::vector<T> records_of(const RankLog& log) {
  std::vector<T> found;
  for (const Record& record : log.records)
    if (const T* one = std::get_if<T>(&record)) found.push_back(*one);
  return found;
}

}  // namespace lockstep::testing
