#include "topologies/machine_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "simulator/base/nearest.h"
#include "topologies/rates.h"

namespace lockstep {

Error request_error(ErrorKind kind, std::string key, std::string found, std::string message, std::string allowed,
                    std::string hint) {
  Error error;
  error.kind = kind;
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

namespace {

const char* noun(const Topology& topology) {
  return topology.node.gpu.vendor == "cpu" ? "ranks" : "GPUs";
}

std::string override_list() {
  return fmt::format("{}", fmt::join(override_keys(), ", "));
}

// What a node lacks, as "no NVLink"; empty when the link class is there.
std::string lacks(const Topology& seen, const std::string& link_class) {
  const Node& node = seen.node;
  if (link_class == "nvlink" && node.nvlink == NvLinkKind::None) return "no NVLink";
  if (link_class == "pcie" && (node.gpu.vendor == "cpu" || node.integrated)) return "no GPU in a PCIe slot";
  if (link_class == "uplink" && !has_uplinks(node)) return "no PCIe switches";
  if (link_class == "nic" && nics_of(seen).count == 0) return "no NICs";
  if (link_class == "wan" && !(seen.fabric && seen.fabric->wide_area())) return "no wide-area link";
  return "";
}

// Of a mixed machine: what all its nodes lack.
std::string all_lack(const Topology& topology, const std::string& link_class) {
  std::string missing = lacks(seen_from(topology, 0), link_class);
  for (int node = 1; node < static_cast<int>(topology.nodes.size()) && !missing.empty(); ++node)
    missing = lacks(seen_from(topology, node), link_class);
  return missing;
}

void check_override(const Topology& topology, const std::string& key, double value, Errors& errors) {
  const std::string full = "topology.override." + key;
  const std::vector<std::string>& keys = override_keys();
  const std::string link_class = key.substr(0, key.find('.'));
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    errors.push_back(request_error(ErrorKind::UnknownKey, full, key, fmt::format("no override has the key `{}`", key),
                                   override_list(), did_you_mean(key, keys)));
  } else if (const std::string missing = all_lack(topology, link_class); !missing.empty()) {
    errors.push_back(request_error(ErrorKind::Conflict, full, key, fmt::format("{} has {}", topology.name, missing), "",
                                   link_class == "wan" ? "name such a fabric, for example wan-10g-50ms" : ""));
  } else if (link_class == "nic" && topology.fabric && topology.fabric->wide_area()) {
    errors.push_back(request_error(ErrorKind::Conflict, full, key,
                                   fmt::format("{} is a wide-area link, which bounds its NICs", topology.fabric->name),
                                   "", "override wan." + key.substr(key.find('.') + 1)));
  } else if (key == "nic.latency" && !topology.fabric) {
    errors.push_back(request_error(ErrorKind::Conflict, full, key, "one node alone has no latency between nodes", "",
                                   "give a fabric, or `fabric: own`"));
  } else if (const bool rate = override_unit(key) == Unit::BytesPerSecond; !(value >= 0) || (rate && value < 1)) {
    errors.push_back(request_error(ErrorKind::Range, full, quantity_text(value, override_unit(key)),
                                   "an overridden rate must be above 0", rate ? "1B/s or more" : "0s or more"));
  }
}

// The smallest of the nodes.
const Node& smallest(const Topology& topology) {
  if (topology.nodes.empty()) return topology.node;
  return *std::min_element(topology.nodes.begin(), topology.nodes.end(),
                           [](const Node& a, const Node& b) { return a.gpu_count < b.gpu_count; });
}

void check_used_gpus(const TopologyRequest& request, const Topology& topology, Errors& errors) {
  const Node& node = smallest(topology);
  const int held = node.gpu_count;
  const char* gpus = noun(topology);
  if (request.gpus_per_node && (*request.gpus_per_node < 1 || *request.gpus_per_node > held))
    errors.push_back(request_error(ErrorKind::Range, "topology.gpus_per_node", std::to_string(*request.gpus_per_node),
                                   fmt::format("{} has {} {}", node.name, held, gpus), fmt::format("1 to {}", held)));
  if (!request.gpu_index) return;
  const std::vector<int>& chosen = *request.gpu_index;
  const std::string key = "topology.gpu_index", found = fmt::format("[{}]", fmt::join(chosen, ", "));
  if (chosen.empty())
    errors.push_back(request_error(ErrorKind::Range, key, found, fmt::format("no {} would be used", gpus),
                                   "one index or more", "leave gpu_index out to use all of them"));
  for (const int gpu : std::set<int>(chosen.begin(), chosen.end()))
    if (gpu < 0 || gpu >= held)
      errors.push_back(request_error(ErrorKind::Range, key, std::to_string(gpu),
                                     fmt::format("{} has {} {}", node.name, held, gpus),
                                     fmt::format("0 to {}", held - 1)));
  if (std::set<int>(chosen.begin(), chosen.end()).size() < chosen.size())
    errors.push_back(
        request_error(ErrorKind::Conflict, key, found, "every index stands for one rank", "", "name each index once"));
  if (request.gpus_per_node && *request.gpus_per_node != static_cast<int>(chosen.size()))
    errors.push_back(request_error(
        ErrorKind::Conflict, key, found,
        fmt::format("{} {} are named, gpus_per_node says {}", chosen.size(), gpus, *request.gpus_per_node), "",
        "leave gpus_per_node out"));
}

void check_mix(const Topology& topology, Errors& errors) {
  for (const Node& node : topology.nodes)
    if (node.gpu.vendor != topology.node.gpu.vendor) {
      errors.push_back(
          request_error(ErrorKind::Conflict, "topology.nodes", node.name,
                        fmt::format("{} has {}, {} has {}: one job has either GPUs or cpu ranks", topology.node.name,
                                    topology.node.gpu.name, node.name, node.gpu.name)));
      break;
    }
  if (topology.nodes.size() > 1 && !topology.fabric)
    errors.push_back(request_error(ErrorKind::Missing, "topology.fabric", "",
                                   "several nodes need a fabric between them", "a fabric preset, a path, or own",
                                   "fabric: own joins the NICs that the nodes have"));
}

void check_enough(const TopologyRequest& request, const Topology& topology, Errors& errors) {
  const std::optional<int> most = topology.most_gpus();
  if (!most || request.max_gpus <= *most) return;
  const char* gpus = noun(topology);
  std::string message = fmt::format("one {} holds {} {} and no fabric joins several", topology.node.name, *most, gpus);
  std::string hint = topology.node.nics.count > 0
                         ? "name a fabric to use several nodes, for example `topology: {node: " + topology.node.name +
                               ", fabric: own}`"
                         : "name a fabric to use several nodes, for example `fabric: eth-100g`";
  if (!topology.nodes.empty()) {
    message = fmt::format("{} hold{} {} {}", topology.name, topology.nodes.size() > 1 ? "" : "s", *most, gpus);
    hint = "list more nodes";
  }
  errors.push_back(request_error(ErrorKind::Range, "gpus", std::to_string(request.max_gpus), std::move(message),
                                 fmt::format("1 to {}", *most), std::move(hint)));
}

}  // namespace

Errors check_machine(const TopologyRequest& request, const Topology& topology) {
  Errors errors;
  check_mix(topology, errors);
  for (const auto& [key, value] : request.overrides) check_override(topology, key, value, errors);
  const std::size_t before = errors.size();
  check_used_gpus(request, topology, errors);
  if (errors.size() == before) check_enough(request, topology, errors);
  return errors;
}

}  // namespace lockstep
