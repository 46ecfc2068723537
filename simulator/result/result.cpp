#include "simulator/result/result.h"

namespace lockstep {
namespace {

constexpr std::array<const char*, kCauseCount> kCauseNames = {"input",
                                                              "copy_to_device",
                                                              "scatter",
                                                              "replicate",
                                                              "forward",
                                                              "gather",
                                                              "backward",
                                                              "gradient_reduce",
                                                              "bucket_copies",
                                                              "buffer_broadcast",
                                                              "contention",
                                                              "wait_for_peers",
                                                              "exposed_communication",
                                                              "host_bound",
                                                              "optimizer",
                                                              "other"};

constexpr std::array<const char*, 4> kLaneNames = {"cpu", "compute", "communication", "copy"};

}  // namespace

const char* name_of(Cause cause) {
  return kCauseNames[static_cast<std::size_t>(cause)];
}

std::optional<Cause> cause_of(std::string_view name) {
  for (const Cause cause : kCauses)
    if (name == name_of(cause)) return cause;
  return std::nullopt;
}

const char* name_of(Lane lane) {
  return kLaneNames[static_cast<std::size_t>(lane)];
}

std::optional<Lane> lane_of(std::string_view name) {
  for (const Lane lane : {Lane::Cpu, Lane::Compute, Lane::Communication, Lane::Copy})
    if (name == name_of(lane)) return lane;
  return std::nullopt;
}

const char* lockstep_version() {
  return LOCKSTEP_VERSION;
}

}  // namespace lockstep
