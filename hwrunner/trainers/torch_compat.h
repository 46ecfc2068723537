// Where LibTorch 2.6 to 2.11 differ. Includes LibTorch.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace lockstep {

struct ReducerArguments {
  std::vector<at::Tensor> parameters;
  std::vector<std::vector<std::size_t>> buckets;  // indices of parameters, in launch order
  std::vector<std::size_t> limits;                // of each bucket
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::int64_t cap = 0, first_cap = 0;
  bool find_unused = false, bucket_views = false;
  std::unordered_map<std::size_t, std::string> names;
};

// 2.6 wants the limit of each bucket; later versions dropped that and added two switches, then a list of caps.
template <class Reducer = c10d::Reducer>
std::shared_ptr<Reducer> make_reducer(const ReducerArguments& a) {
  using Tensors = std::vector<at::Tensor>;
  using Indices = std::vector<std::vector<std::size_t>>;
  using Limits = std::vector<std::size_t>;
  using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
  using Flags = std::vector<bool>;
  using Names = std::unordered_map<std::size_t, std::string>;
  using Caps = std::vector<std::int64_t>;
  using Int = std::int64_t;
  const Flags sparse(a.parameters.size(), false);
  const auto with = [&](auto... more) {
    return std::make_shared<Reducer>(a.parameters, a.buckets, a.group, sparse, a.cap, a.find_unused, a.bucket_views,
                                     a.names, a.first_cap, more...);
  };
  if constexpr (std::is_constructible_v<Reducer, Tensors, Indices, Group, Flags, Int, bool, bool, Names, Int, bool,
                                        bool, Caps>) {
    return with(false, false, Caps{});
  } else if constexpr (std::is_constructible_v<Reducer, Tensors, Indices, Group, Flags, Int, bool, bool, Names, Int,
                                               bool, bool>) {
    return with(false, false);
  } else if constexpr (std::is_constructible_v<Reducer, Tensors, Indices, Limits, Group, Flags, Int, bool, bool, Names,
                                               Int>) {
    return std::make_shared<Reducer>(a.parameters, a.buckets, a.limits, a.group, sparse, a.cap, a.find_unused,
                                     a.bucket_views, a.names, a.first_cap);
  } else {
    return with();
  }
}

}  // namespace lockstep
