#include "topologies/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "simulator/base/document.h"
#include "simulator/base/nearest.h"
#include "topologies/fields.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

Error make_error(ErrorKind kind, std::string key, std::string found, std::string message, std::string allowed = "",
                 std::string hint = "") {
  Error error;
  error.kind = kind;
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

void append(Errors& all, const Errors& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

template <class T>
Expected<T> read_file(PresetKind kind, const FieldTable<T>& fields, const std::string& name, const PresetPaths& paths,
                      const std::string& folder, const std::string& key, Reading* reading = nullptr,
                      std::string* path = nullptr) {
  Expected<std::string> file = find_preset(kind, name, paths, folder, key);
  if (!file) return tl::make_unexpected(file.error());
  if (path) *path = *file;
  Expected<Document> document = read_document(*file);
  if (!document) return tl::make_unexpected(document.error());
  return fields.read(*document, reading);
}

// What only the GPU's own file can tell.
Errors check_gpu_in_node(const Node& node, const Reading& reading) {
  Errors errors;
  const auto fail = [&](const std::string& key, const std::string& found, const std::string& message) {
    Error error = make_error(ErrorKind::Conflict, key, found, message);
    place_error(error, reading);
    errors.push_back(error);
  };
  if (node.nvlink != NvLinkKind::None && node.gpu.nvlink_links == 0)
    fail("nvlink.kind", name_of(node.nvlink), fmt::format("{} has no NVLink", node.gpu.name));
  std::vector<int> used(static_cast<std::size_t>(node.gpu_count), 0);
  for (const NvLinkPair& pair : node.nvlink_pairs)
    for (const int gpu : {pair.a, pair.b}) used[static_cast<std::size_t>(gpu)] += pair.count;
  for (std::size_t gpu = 0; gpu < used.size(); ++gpu)
    if (node.gpu.nvlink_links > 0 && used[gpu] > node.gpu.nvlink_links)
      fail("nvlink.links", std::to_string(used[gpu]),
           fmt::format("GPU {} has {} NVLinks here; {} has {}", gpu, used[gpu], node.gpu.name, node.gpu.nvlink_links));
  return errors;
}

Expected<Node> read_node(const std::string& name, const PresetPaths& paths, const std::string& folder,
                         const std::string& key) {
  Reading reading;
  std::string path;
  Expected<Node> node = read_file(PresetKind::Node, node_fields(), name, paths, folder, key, &reading, &path);
  if (!node) return node;
  Expected<GpuType> gpu = read_file(PresetKind::Gpu, gpu_fields(), node->gpu.name, paths, folder_of(path), "gpus.type");
  if (!gpu) {
    Errors errors = gpu.error();
    for (Error& error : errors)
      if (error.file.empty()) place_error(error, reading);
    return tl::make_unexpected(std::move(errors));
  }
  node->gpu = *gpu;
  node->host.cpu_vendor = canonical_name(node->host.cpu_vendor);
  Errors errors = check_gpu_in_node(*node, reading);
  if (!errors.empty()) return tl::make_unexpected(in_file_order(std::move(errors)));
  return node;
}

// `fabric: own`: the node's NICs on a switch that never blocks, InfiniBand or RoCE.
Expected<Fabric> own_fabric(const Node& node) {
  if (node.nics.count == 0)
    return tl::make_unexpected(Errors{make_error(ErrorKind::Conflict, "topology.fabric", "own",
                                                 fmt::format("{} has no NICs of its own", node.name), "",
                                                 "name a fabric, for example ib-hdr-8x200")});
  Fabric fabric;
  fabric.name = "own NICs";
  fabric.source = node.source;
  fabric.nics = node.nics;
  return fabric;
}

std::string override_list() {
  return fmt::format("{}", fmt::join(override_keys(), ", "));
}

// What the machine lacks, as "no NVLink"; empty when the link class is there.
std::string lacks(const Topology& topology, const std::string& link_class) {
  const Node& node = topology.node;
  if (link_class == "nvlink" && node.nvlink == NvLinkKind::None) return "no NVLink";
  if (link_class == "pcie" && node.gpu.vendor == "cpu") return "no GPU in a PCIe slot";
  if (link_class == "uplink" && !has_uplinks(node)) return "no PCIe switches";
  if (link_class == "nic" && nics_of(topology).count == 0) return "no NICs";
  return "";
}

void check_override(const Topology& topology, const std::string& key, double value, Errors& errors) {
  const std::string full = "topology.override." + key;
  const std::vector<std::string>& keys = override_keys();
  const std::string link_class = key.substr(0, key.find('.'));
  if (link_class == "wan") {
    errors.push_back(
        make_error(ErrorKind::NotSupported, full, key, "overrides of a wide-area link come later", override_list()));
  } else if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    errors.push_back(make_error(ErrorKind::UnknownKey, full, key, fmt::format("no override has the key `{}`", key),
                                override_list(), did_you_mean(key, keys)));
  } else if (const std::string missing = lacks(topology, link_class); !missing.empty()) {
    errors.push_back(make_error(ErrorKind::Conflict, full, key, fmt::format("{} has {}", topology.name, missing)));
  } else if (key == "nic.latency" && !topology.fabric) {
    errors.push_back(make_error(ErrorKind::Conflict, full, key, "one node alone has no latency between nodes", "",
                                "give a fabric, or `fabric: own`"));
  } else if (const bool rate = override_unit(key) == Unit::BytesPerSecond; !(value >= 0) || (rate && value < 1)) {
    errors.push_back(make_error(ErrorKind::Range, full, quantity_text(value, override_unit(key)),
                                "an overridden rate must be above 0", rate ? "1B/s or more" : "0s or more"));
  }
}

void check_gpus(const TopologyRequest& request, const Topology& topology, Errors& errors) {
  const int held = topology.node.gpu_count;
  const char* gpus = topology.node.gpu.vendor == "cpu" ? "ranks" : "GPUs";
  if (request.gpus_per_node && (*request.gpus_per_node < 1 || *request.gpus_per_node > held)) {
    errors.push_back(make_error(ErrorKind::Range, "topology.gpus_per_node", std::to_string(*request.gpus_per_node),
                                fmt::format("{} has {} {}", topology.node.name, held, gpus),
                                fmt::format("1 to {}", held)));
  } else if (request.max_gpus > topology.gpus_per_node && !topology.fabric) {
    const std::string hint =
        topology.node.nics.count > 0
            ? "name a fabric to use several nodes, for example `topology: {node: " + topology.node.name +
                  ", fabric: own}`"
            : "name a fabric to use several nodes, for example `fabric: eth-100g`";
    errors.push_back(make_error(
        ErrorKind::Range, "gpus", std::to_string(request.max_gpus),
        fmt::format("one {} holds {} {} and no fabric joins several", topology.node.name, topology.gpus_per_node, gpus),
        fmt::format("1 to {}", topology.gpus_per_node), hint));
  }
}

}  // namespace

const std::vector<std::string>& override_keys() {
  static const std::vector<std::string> keys{"nvlink.rate", "nvlink.latency", "pcie.rate", "pcie.latency",
                                             "host.rate",   "host.latency",   "nic.rate",  "nic.latency",
                                             "uplink.rate", "uplink.latency"};
  return keys;
}

Unit override_unit(const std::string& key) {
  const std::string suffix = ".latency";
  const bool latency =
      key.size() >= suffix.size() && key.compare(key.size() - suffix.size(), suffix.size(), suffix) == 0;
  return latency ? Unit::Seconds : Unit::BytesPerSecond;
}

Expected<GpuType> load_gpu(const std::string& name, const PresetPaths& paths) {
  return read_file(PresetKind::Gpu, gpu_fields(), name, paths, "", "gpu");
}
Expected<Node> load_node(const std::string& name, const PresetPaths& paths) {
  return read_node(name, paths, "", "topology.node");
}
Expected<Fabric> load_fabric(const std::string& name, const PresetPaths& paths) {
  return read_file(PresetKind::Fabric, fabric_fields(), name, paths, "", "topology.fabric");
}

Expected<Topology> load_topology(const TopologyRequest& request, const PresetPaths& paths) {
  Errors errors;
  Topology topology;
  Expected<Node> node = read_node(request.node, paths, request.folder, "topology.node");
  if (!node) append(errors, node.error());
  const std::string fabric_name = canonical_name(request.fabric);
  if (!fabric_name.empty() && (node || fabric_name != "own")) {
    Expected<Fabric> fabric = fabric_name == "own" ? own_fabric(*node)
                                                   : read_file(PresetKind::Fabric, fabric_fields(), request.fabric,
                                                               paths, request.folder, "topology.fabric");
    if (fabric)
      topology.fabric = *fabric;
    else
      append(errors, fabric.error());
  }
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  topology.node = *node;
  topology.name = topology.fabric ? fmt::format("{} + {}", node->name, topology.fabric->name) : node->name;
  topology.gpus_per_node = request.gpus_per_node.value_or(node->gpu_count);
  for (const auto& [key, value] : request.overrides) check_override(topology, key, value, errors);
  check_gpus(request, topology, errors);
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  topology.overrides = request.overrides;
  return topology;
}

}  // namespace lockstep
