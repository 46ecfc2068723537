// Random points for property tests with RapidCheck; every draw is named in the output of a failure.
#pragma once

#include <rapidcheck.h>

#include "tests/laws/support/points.h"

namespace lockstep::testing {

struct DrawOptions {
  std::vector<std::string> models = {"mlp", "resnet18", "resnet50", "vgg16", "bert-base", "gpt2"};
  std::vector<Strategy> strategies = {Strategy::Ddp};
  int most_gpus = 32;
  bool several_nodes = true;
  bool host_input = true;
  bool accumulation = true;
  bool loader = false;
};

// Call inside a property. The point is loaded.
TestPoint draw_point(const DrawOptions& options = {});

// True when `property` holds for `cases` random cases; the seed is that of RC_PARAMS, else a fixed one.
template <class Property>
bool holds(const std::string& law, int cases, Property&& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (std::getenv("RC_PARAMS") == nullptr) params.seed = 20231;
  params.maxSuccess = cases;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = law;
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) return true;
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << "\n";
  return false;
}

}  // namespace lockstep::testing
