// Where LibTorch 2.6 to 2.11 differ. Includes LibTorch.
#pragma once

#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <type_traits>
#include <utility>

namespace lockstep {

// The Reducer's constructor has 9 parameters in 2.6; later versions added two switches, then a list of caps.
template <class Reducer = c10d::Reducer, class... First>
std::shared_ptr<Reducer> make_reducer(First&&... first) {
  using Caps = std::vector<std::int64_t>;
  if constexpr (std::is_constructible_v<Reducer, First..., bool, bool, Caps>) {
    return std::make_shared<Reducer>(std::forward<First>(first)..., false, false, Caps{});
  } else if constexpr (std::is_constructible_v<Reducer, First..., bool, bool>) {
    return std::make_shared<Reducer>(std::forward<First>(first)..., false, false);
  } else {
    return std::make_shared<Reducer>(std::forward<First>(first)...);
  }
}

}  // namespace lockstep
