#include "topologies/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "simulator/base/document.h"
#include "simulator/base/nearest.h"
#include "topologies/fields.h"
#include "topologies/machine_checks.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

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
    Error error = request_error(ErrorKind::Conflict, key, found, message);
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

void note_file(std::vector<std::string>* files, const std::string& path) {
  if (files != nullptr && std::find(files->begin(), files->end(), path) == files->end()) files->push_back(path);
}

// `files`: where to note the files read; may be nullptr.
Expected<Node> read_node(const std::string& name, const PresetPaths& paths, const std::string& folder,
                         const std::string& key, std::vector<std::string>* files) {
  Reading reading;
  std::string path;
  Expected<Node> node = read_file(PresetKind::Node, node_fields(), name, paths, folder, key, &reading, &path);
  if (!node) return node;
  note_file(files, path);
  std::string gpu_path;
  Expected<GpuType> gpu =
      read_file(PresetKind::Gpu, gpu_fields(), node->gpu.name, paths, folder_of(path), "gpus.type", nullptr, &gpu_path);
  note_file(files, gpu_path);
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

// --- The request ------------------------------------------------------------------------------------------------

Expected<std::vector<Node>> read_nodes(const TopologyRequest& request, const PresetPaths& paths,
                                       std::vector<std::string>* files) {
  const std::vector<std::string>& names = request.nodes;
  if (!names.empty() && !request.node.empty())
    return tl::make_unexpected(
        Errors{request_error(ErrorKind::Conflict, "topology.nodes", "", "node and nodes exclude each other", "",
                             "node for any number of like ones, nodes for a list of all there are")});
  if (names.empty() && request.node.empty())
    return tl::make_unexpected(
        Errors{request_error(ErrorKind::Missing, "topology.node", "", "the machine is missing",
                             "a topology preset or the path of a topology file", "topology: dgx-a100-80gb")});
  if (names.empty()) {
    Expected<Node> node = read_node(request.node, paths, request.folder, "topology.node", files);
    if (!node) return tl::make_unexpected(node.error());
    return std::vector<Node>{*node};
  }
  Errors errors;
  std::vector<Node> nodes;
  std::map<std::string, Node> seen;  // by the name in the list
  for (const std::string& name : names) {
    auto found = seen.find(name);
    if (found == seen.end()) {
      Expected<Node> node = read_node(name, paths, request.folder, "topology.nodes", files);
      if (!node) append(errors, node.error());
      found = seen.emplace(name, node ? *node : Node{}).first;
    }
    nodes.push_back(found->second);
  }
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return nodes;
}

// `fabric: own`: the nodes' NICs on a switch that never blocks.
Expected<Fabric> own_fabric(const std::vector<Node>& nodes) {
  const auto fail = [](std::string message, std::string hint) {
    return tl::make_unexpected(
        Errors{request_error(ErrorKind::Conflict, "topology.fabric", "own", std::move(message), "", std::move(hint))});
  };
  Fabric fabric;
  fabric.name = "own NICs";
  fabric.source = nodes.front().source;
  fabric.nics = nodes.front().nics;
  fabric.kind = nodes.front().nic_kind;
  fabric.own_nics = true;
  for (const Node& node : nodes) {
    if (node.nics.count == 0)
      return fail(fmt::format("{} has no NICs of its own", node.name), "name a fabric, for example ib-hdr-8x200");
    const FabricKind kind = node.nic_kind;
    if (kind == fabric.kind) continue;
    // NCCL takes sockets where not all nodes have the same faster network.
    if (kind != FabricKind::Tcp && fabric.kind != FabricKind::Tcp)
      return fail(
          fmt::format("{} has {} and {} has {}", nodes.front().name, name_of(fabric.kind), node.name, name_of(kind)),
          "name one fabric for both");
    fabric.kind = FabricKind::Tcp;
  }
  fabric.latency = usual_border_latency(fabric.kind);
  if (fabric.kind == FabricKind::Tcp) {
    const TcpRate rate = tcp_rate_of_line(fabric.nics.rate);
    fabric.nccl_rate = rate.rate;
    fabric.nccl_rate_low = rate.low;
    fabric.nccl_rate_high = rate.high;
  }
  return fabric;
}

// A rank of several cores: all that grows with cores is multiplied, and there are fewer of them.
// False: there is not one such rank.
bool join_cores(Node& node, int cores) {
  if (node.gpu.vendor != "cpu" || cores <= 1) return true;
  if (cores > node.gpu_count) return false;
  node.gpu_count /= cores;
  node.gpu.sm_count *= cores;
  for (double* one : {&node.gpu.memory_bytes, &node.gpu.memory_bandwidth, &node.gpu.peak_fp64, &node.gpu.peak_fp32,
                      &node.gpu.peak_tf32, &node.gpu.peak_fp16, &node.gpu.peak_bf16})
    *one *= cores;
  return true;
}

// "2 x dgx-a100-80gb, dgx1-v100 + ib-hdr-8x200"
std::string name_of_machine(const std::vector<Node>& nodes, const std::optional<Fabric>& fabric) {
  std::vector<std::string> parts;
  for (std::size_t i = 0, next = 0; i < nodes.size(); i = next) {
    while (next < nodes.size() && nodes[next].name == nodes[i].name) ++next;
    parts.push_back(next - i > 1 ? fmt::format("{} x {}", next - i, nodes[i].name) : nodes[i].name);
  }
  const std::string all = fmt::format("{}", fmt::join(parts, ", "));
  return fabric ? fmt::format("{} + {}", all, fabric->name) : all;
}

}  // namespace

const std::vector<std::string>& override_keys() {
  static const std::vector<std::string> keys{"nvlink.rate", "nvlink.latency", "pcie.rate", "pcie.latency",
                                             "host.rate",   "host.latency",   "nic.rate",  "nic.latency",
                                             "uplink.rate", "uplink.latency", "wan.rate",  "wan.latency"};
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
  return read_node(name, paths, "", "topology.node", nullptr);
}
Expected<Fabric> load_fabric(const std::string& name, const PresetPaths& paths) {
  return read_file(PresetKind::Fabric, fabric_fields(), name, paths, "", "topology.fabric");
}

Expected<Topology> load_topology(const TopologyRequest& request, const PresetPaths& paths) {
  Errors errors;
  Topology topology;
  Expected<std::vector<Node>> nodes = read_nodes(request, paths, &topology.files);
  if (!nodes) append(errors, nodes.error());
  if (nodes)
    for (Node& node : *nodes)
      if (!join_cores(node, request.cores_per_rank))
        errors.push_back(
            request_error(ErrorKind::Range, "measure.threads_per_rank", std::to_string(request.cores_per_rank),
                          fmt::format("{} has {} cores", node.name, node.gpu_count), "", "fewer threads in a rank"));
  const std::string fabric_name = canonical_name(request.fabric);
  if (!fabric_name.empty() && (nodes || fabric_name != "own")) {
    std::string fabric_path;
    Expected<Fabric> fabric = fabric_name == "own"
                                  ? own_fabric(*nodes)
                                  : read_file(PresetKind::Fabric, fabric_fields(), request.fabric, paths,
                                              request.folder, "topology.fabric", nullptr, &fabric_path);
    if (!fabric_path.empty()) note_file(&topology.files, fabric_path);
    if (fabric)
      topology.fabric = *fabric;
    else
      append(errors, fabric.error());
  }
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  topology.node = nodes->front();
  if (!request.nodes.empty()) topology.nodes = *nodes;
  topology.name = name_of_machine(*nodes, topology.fabric);
  if (request.gpu_index) topology.gpu_index = *request.gpu_index;
  const bool all = !request.gpus_per_node && !request.gpu_index;
  topology.all_gpus = all && !topology.nodes.empty();
  topology.gpus_per_node =
      all ? topology.node.gpu_count : request.gpus_per_node.value_or(static_cast<int>(topology.gpu_index.size()));
  return with_request(std::move(topology), request);
}

Expected<Topology> with_request(Topology topology, const TopologyRequest& request) {
  topology.overrides.clear();
  Errors errors = check_machine(request, topology);
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  topology.overrides = request.overrides;
  return topology;
}

}  // namespace lockstep
