#include "scenarios/scenario.h"

#include <charconv>

#include "simulator/base/ensure.h"

namespace lockstep {

bool has_replicas(Strategy strategy) {
  return strategy == Strategy::Dp || strategy == Strategy::DpCpp;
}

const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::Single:
      return "single";
    case Strategy::Dp:
      return "dp";
    case Strategy::DpCpp:
      return "dp-cpp";
    case Strategy::Ddp:
      return "ddp";
  }
  LOCKSTEP_ENSURE(false, "strategy {}", static_cast<int>(strategy));
}

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::Fp32:
      return "fp32";
    case Precision::Tf32:
      return "tf32";
    case Precision::AmpFp16:
      return "amp-fp16";
    case Precision::AmpBf16:
      return "amp-bf16";
  }
  LOCKSTEP_ENSURE(false, "precision {}", static_cast<int>(precision));
}

Version torch_version(const Scenario& scenario) {
  const std::string& text = scenario.torch_version;
  const char* const end = text.data() + text.size();
  Version version;
  const auto [dot, code] = std::from_chars(text.data(), end, version.major);
  if (code == std::errc{} && dot != end) std::from_chars(dot + 1, end, version.minor);
  return version;
}

}  // namespace lockstep
