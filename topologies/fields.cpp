#include "topologies/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lockstep {
namespace {

constexpr int kMaxGpus = 4096;   // of one node; cpu ranks
constexpr int kMaxMeshGpus = 8;  // ring_search.h
constexpr double kMaxRate = 1e15;

// A version, but kept as the number that NCCL's tables compare with.
std::optional<Error> read_capability(GpuType& gpu, const Value& value) {
  const Expected<double> number = parse_number(value.text);
  if (value.kind == Value::Kind::Scalar && value.quoted && number) {
    gpu.compute_capability = *number;
    return std::nullopt;
  }
  Error error;
  error.kind = ErrorKind::Type;
  error.found = value.text;
  error.message = "a compute capability is a version in quotes";
  error.allowed = "for example \"8.0\"";
  if (number) error.hint = fmt::format("compute_capability: \"{}\"", value.text);
  return error;
}
std::optional<std::string> print_capability(const GpuType& gpu) {
  if (gpu.compute_capability <= 0) return std::nullopt;
  return fmt::format("\"{:.1f}\"", gpu.compute_capability);
}

FieldTable<GpuType> make_gpu_fields() {
  FieldTable<GpuType> t("GPU");
  t.text("name", &GpuType::name).required().doc("Name of the GPU type");
  t.text("source", &GpuType::source).required().doc("Where the figures come from");
  t.choice("vendor", &GpuType::vendor, {{"nvidia", "nvidia"}, {"cpu", "cpu"}})
      .doc("cpu: a core that stands in for a GPU");
  t.custom("compute_capability", read_capability, print_capability)
      .allowed("a version in quotes such as \"8.0\"")
      .doc("CUDA compute capability in quotes, \"8.0\"; none for a cpu core");
  t.integer("sm_count", &GpuType::sm_count).required().range(1, 10000).doc("Streaming multiprocessors");
  t.quantity("memory", Unit::Bytes, &GpuType::memory_bytes).required().range(1e6, 1e15).doc("Device memory");
  t.quantity("memory_bandwidth", Unit::BytesPerSecond, &GpuType::memory_bandwidth)
      .required()
      .range(1e8, kMaxRate)
      .doc("Data-sheet rate of the device memory");
  t.integer("nvlink.links", &GpuType::nvlink_links).range(0, 100).doc("NVLinks of the GPU");
  t.quantity("nvlink.per_link", Unit::BytesPerSecond, &GpuType::nvlink_per_link)
      .range(0, kMaxRate)
      .doc("Rate of one NVLink in one direction");
  const char* peak = "Dense peak at boost clock; 0 where the GPU has no such path";
  t.quantity("peak.fp64", Unit::FlopPerSecond, &GpuType::peak_fp64).doc(peak);
  t.quantity("peak.fp32", Unit::FlopPerSecond, &GpuType::peak_fp32).required().above(0).doc(peak);
  t.quantity("peak.tf32", Unit::FlopPerSecond, &GpuType::peak_tf32).doc(peak);
  t.quantity("peak.fp16", Unit::FlopPerSecond, &GpuType::peak_fp16).doc(peak);
  t.quantity("peak.bf16", Unit::FlopPerSecond, &GpuType::peak_bf16).doc(peak);
  t.check({"vendor", "compute_capability"}, [](const GpuType& g, TableCheck& c) {
    if (g.vendor == "nvidia" && !c.given("compute_capability"))
      c.fail(ErrorKind::Missing, "compute_capability", "a GPU needs its compute capability",
             "a version in quotes, 5.0 or later", "compute_capability: \"8.0\" for an A100");
    else if (g.vendor == "nvidia" && g.compute_capability < 5)
      c.fail(ErrorKind::Range, "compute_capability", "this compute capability is older than PyTorch knows",
             "5.0 or later");
    else if (g.vendor == "cpu" && c.given("compute_capability"))
      c.fail(ErrorKind::Conflict, "compute_capability", "a cpu core has no compute capability", "",
             "leave compute_capability out");
  });
  t.check({"nvlink.links", "nvlink.per_link"}, [](const GpuType& g, TableCheck& c) {
    if ((g.nvlink_links > 0) != (g.nvlink_per_link > 0))
      c.fail(ErrorKind::Conflict, "nvlink", "links and per_link belong together: both above 0, or no nvlink at all");
  });
  return t;
}

const FieldTable<NvLinkPair>& pair_fields() {
  static const FieldTable<NvLinkPair> table = [] {
    FieldTable<NvLinkPair> t("NVLink pair");
    t.integer("a", &NvLinkPair::a).required().range(0, kMaxMeshGpus - 1).doc("One GPU");
    t.integer("b", &NvLinkPair::b).required().range(0, kMaxMeshGpus - 1).doc("The other GPU");
    t.integer("count", &NvLinkPair::count).required().range(1, 100).doc("NVLinks between them");
    return t;
  }();
  return table;
}

const FieldTable<PcieSwitch>& switch_fields() {
  static const FieldTable<PcieSwitch> table = [] {
    FieldTable<PcieSwitch> t("PCIe switch");
    t.integer("socket", &PcieSwitch::socket)
        .range(0, 63)
        .doc("Socket it hangs on; the NUMA node, where hosts.numa_nodes is given");
    t.integers("gpus", &PcieSwitch::gpus).range(0, kMaxGpus - 1).doc("GPUs below it, by index in the node");
    t.integers("nics", &PcieSwitch::nics).range(0, 255).doc("NICs below it, by index in the node");
    return t;
  }();
  return table;
}

void check_nvlink(const Node& node, TableCheck& c) {
  const bool pairs = node.nvlink == NvLinkKind::Mesh || node.nvlink == NvLinkKind::Bridges;
  if (pairs && node.nvlink_pairs.empty())
    return c.fail(ErrorKind::Missing, "nvlink.links",
                  fmt::format("nvlink kind {} needs its links", name_of(node.nvlink)),
                  "a list of [gpu, gpu, number of NVLinks]", "links: [[0, 1, 2]]");
  if (!pairs && !node.nvlink_pairs.empty())
    return c.fail(ErrorKind::Conflict, "nvlink.links",
                  fmt::format("nvlink kind {} takes no list of links", name_of(node.nvlink)), "",
                  "kind: mesh, or leave links out");
  if (pairs && node.gpu_count > kMaxMeshGpus)
    c.fail(ErrorKind::NotSupported, "gpus.count",
           fmt::format("rings over directly linked GPUs are searched for up to {} of them", kMaxMeshGpus),
           fmt::format("1 to {} with nvlink mesh or bridges", kMaxMeshGpus), "", std::to_string(node.gpu_count));
  std::set<std::pair<int, int>> seen;
  for (const NvLinkPair& pair : node.nvlink_pairs) {
    const std::string text = fmt::format("[{}, {}, {}]", pair.a, pair.b, pair.count);
    if (pair.a == pair.b)
      c.fail(ErrorKind::Range, "nvlink.links", "an NVLink joins two different GPUs", "", "", text);
    else if (std::max(pair.a, pair.b) >= node.gpu_count)
      c.fail(ErrorKind::Range, "nvlink.links", fmt::format("the node has GPUs 0 to {}", node.gpu_count - 1), "", "",
             text);
    else if (!seen.insert(std::minmax(pair.a, pair.b)).second)
      c.fail(ErrorKind::Conflict, "nvlink.links", "this pair of GPUs is listed twice", "",
             "one entry with the whole count", text);
  }
}

// Every index once: `what` are GPUs or NICs.
void check_placed(const Node& node, TableCheck& c, std::vector<int> PcieSwitch::*list, int count, const char* what,
                  bool all) {
  std::set<int> seen;
  for (const PcieSwitch& one : node.pcie.switches) {
    for (const int index : one.*list) {
      if (index >= count)
        c.fail(ErrorKind::Range, "pcie.switches", fmt::format("the node has {} {}s", count, what),
               count > 0 ? fmt::format("0 to {}", count - 1) : "", "", std::to_string(index));
      else if (!seen.insert(index).second)
        c.fail(ErrorKind::Conflict, "pcie.switches", fmt::format("{} {} hangs on two switches", what, index), "", "",
               std::to_string(index));
    }
  }
  if (all && static_cast<int>(seen.size()) < count)
    c.fail(ErrorKind::Missing, "pcie.switches", fmt::format("{} of {} {}s are placed", seen.size(), count, what),
           fmt::format("every one of 0 to {}", count - 1), "list the rest, or leave switches out");
}

void check_switches(const Node& node, TableCheck& c) {
  if (node.pcie.switches.empty()) return;
  check_placed(node, c, &PcieSwitch::gpus, node.gpu_count, "GPU", true);
  check_placed(node, c, &PcieSwitch::nics, node.nics.count, "NIC", false);
  const int domains = node.host.memory_domains();
  const char* what = node.host.numa_nodes > 0 ? "NUMA nodes" : "sockets";
  for (const PcieSwitch& one : node.pcie.switches)
    if (one.socket >= domains)
      c.fail(ErrorKind::Range, "pcie.switches", fmt::format("the node has {} {}", domains, what),
             fmt::format("0 to {}", domains - 1), "", std::to_string(one.socket));
}

void check_integrated(const Node& node, TableCheck& c) {
  if (!node.integrated) return;
  if (node.gpu_count > 1)
    c.fail(ErrorKind::Conflict, "gpus.count", "one GPU at most shares the host's memory", "1", "",
           std::to_string(node.gpu_count));
  if (node.nvlink != NvLinkKind::None || !node.pcie.switches.empty())
    c.fail(ErrorKind::Conflict, "gpus.integrated",
           "a GPU that shares the host's memory has no NVLink and no PCIe switch", "", "leave nvlink and pcie out");
}

void check_nics(const Nics& nics, TableCheck& c) {
  if ((nics.count > 0) != (nics.rate > 0))
    c.fail(ErrorKind::Conflict, "nics", "count and rate belong together: both above 0, or no nics at all");
}

FieldTable<Node> make_node_fields() {
  FieldTable<Node> t("topology");
  t.text("name", &Node::name).required().doc("Name of the node type");
  t.text("source", &Node::source).required().doc("Where the figures come from");
  t.integer(
       "hosts.sockets", [](auto& n) -> auto& { return n.host.sockets; })
      .required()
      .range(1, 64)
      .doc("CPU sockets");
  t.integer(
       "hosts.cores", [](auto& n) -> auto& { return n.host.cores; })
      .required()
      .range(1, 65536)
      .doc("Physical cores of the node, all sockets together");
  t.text(
       "hosts.cpu.vendor", [](auto& n) -> auto& { return n.host.cpu_vendor; })
      .required()
      .doc("amd, intel, ibm, arm or other; with the model it gives NCCL's count for the link between sockets");
  t.text(
       "hosts.cpu.model", [](auto& n) -> auto& { return n.host.cpu_model; })
      .doc("For example xeon-e5-2698-v4");
  t.quantity(
       "hosts.memory_bandwidth", Unit::BytesPerSecond, [](auto& n) -> auto& { return n.host.memory_bandwidth; })
      .required()
      .range(1e8, kMaxRate)
      .doc("Of the node's memory, all sockets together");
  t.integer(
       "hosts.numa_nodes", [](auto& n) -> auto& { return n.host.numa_nodes; })
      .range(0, 64)
      .doc("NUMA nodes of the whole node, where the BIOS splits sockets; 0: one per socket");
  t.number(
       "hosts.factor", [](auto& n) -> auto& { return n.host.factor; })
      .range(0.05, 20)
      .doc("Host factor u: host costs relative to the server of 2020 on which they were measured");
  t.text(
       "gpus.type", [](auto& n) -> auto& { return n.gpu.name; })
      .required()
      .doc("A GPU preset, or the path of a GPU file");
  t.integer("gpus.count", &Node::gpu_count).required().range(1, kMaxGpus).doc("GPUs (cpu-core: ranks) of the node");
  t.flag("gpus.integrated", &Node::integrated).doc("true: the GPU shares the host's memory, no PCIe between them");
  t.choice("nvlink.kind", &Node::nvlink,
           {{"none", NvLinkKind::None},
            {"nvswitch", NvLinkKind::NvSwitch},
            {"mesh", NvLinkKind::Mesh},
            {"bridges", NvLinkKind::Bridges}})
      .doc("How NVLinks join the GPUs");
  t.rows("nvlink.links", &Node::nvlink_pairs, pair_fields())
      .positional()
      .doc("mesh and bridges: [gpu, gpu, number of NVLinks] for every linked pair");
  t.integer(
       "pcie.generation", [](auto& n) -> auto& { return n.pcie.generation; })
      .range(1, 6)
      .doc("PCIe generation");
  t.integer(
       "pcie.lanes", [](auto& n) -> auto& { return n.pcie.lanes; })
      .range(1, 32)
      .doc("Lanes of a GPU's slot and of a switch's uplink");
  t.flag(
       "pcie.switched", [](auto& n) -> auto& { return n.pcie.switched; })
      .doc("false: `switches` lists host bridges; no uplink is shared");
  t.flag("pcie.peer_access", &Node::peer_access).doc("GPUs may read each other's memory over PCIe");
  t.rows(
       "pcie.switches", [](auto& n) -> auto& { return n.pcie.switches; }, switch_fields())
      .doc("Which GPUs and NICs hang together; empty: every GPU on its socket's host bridge");
  t.integer(
       "nics.count", [](auto& n) -> auto& { return n.nics.count; })
      .range(0, 256)
      .doc("NICs of the node");
  t.quantity(
       "nics.rate", Unit::BytesPerSecond, [](auto& n) -> auto& { return n.nics.rate; })
      .range(0, kMaxRate)
      .doc("Of one NIC in one direction");
  t.choice("nics.kind", &Node::nic_kind,
           {{"infiniband", FabricKind::InfiniBand}, {"efa", FabricKind::Efa}, {"tcp", FabricKind::Tcp}})
      .doc("What `fabric: own` joins nodes by; infiniband also for RoCE, tcp: plain Ethernet");
  t.check({"hosts.sockets", "hosts.numa_nodes"}, [](const Node& node, TableCheck& c) {
    if (node.host.memory_domains() % node.host.sockets != 0)
      c.fail(ErrorKind::Conflict, "hosts.numa_nodes", "every socket has the same number of NUMA nodes",
             fmt::format("a multiple of {}", node.host.sockets), "", std::to_string(node.host.numa_nodes));
  });
  t.check({"gpus.count", "gpus.integrated", "nvlink.kind", "pcie.switches"}, check_integrated);
  t.check({"gpus.count", "nvlink.kind", "nvlink.links"}, check_nvlink);
  t.check({"gpus.count", "nics.count", "hosts.sockets", "hosts.numa_nodes", "pcie.switches"}, check_switches);
  t.check({"nics.count", "nics.rate"}, [](const Node& node, TableCheck& c) { check_nics(node.nics, c); });
  return t;
}

FieldTable<Fabric> make_fabric_fields() {
  FieldTable<Fabric> t("fabric");
  t.text("name", &Fabric::name).required().doc("Name of the fabric");
  t.text("source", &Fabric::source).required().doc("Where the figures come from");
  t.choice("kind", &Fabric::kind,
           {{"infiniband", FabricKind::InfiniBand}, {"efa", FabricKind::Efa}, {"tcp", FabricKind::Tcp}})
      .required()
      .doc("infiniband also for RoCE; tcp: NCCL over sockets");
  t.integer(
       "nics.count", [](auto& f) -> auto& { return f.nics.count; })
      .required()
      .range(1, 256)
      .doc("NICs per node");
  t.quantity(
       "nics.rate", Unit::BytesPerSecond, [](auto& f) -> auto& { return f.nics.rate; })
      .required()
      .range(1e5, kMaxRate)
      .doc("Of one NIC in one direction");
  t.quantity("latency", Unit::Seconds, &Fabric::latency)
      .range(0, 10)
      .doc("Extra time each time data cross from node to node, beyond what the all-reduce constants hold");
  t.quantity("nccl.rate", Unit::BytesPerSecond, &Fabric::nccl_rate)
      .range(0, kMaxRate)
      .doc("tcp: what NCCL reaches per node and direction");
  t.quantity("nccl.low", Unit::BytesPerSecond, &Fabric::nccl_rate_low)
      .range(0, kMaxRate)
      .doc("Low end of its 80 % band");
  t.quantity("nccl.high", Unit::BytesPerSecond, &Fabric::nccl_rate_high)
      .range(0, kMaxRate)
      .doc("High end of its 80 % band");
  t.quantity("wan.window", Unit::Bytes, &Fabric::window)
      .range(0, 1e15)
      .doc("A wide-area link between sites of one node each: bytes that one socket has on the way at most; 0: none");
  t.integer("wan.sockets", &Fabric::sockets).range(1, 1024).doc("Sockets that NCCL opens per node and direction");
  t.check({"kind", "latency", "wan.window", "wan.sockets"}, [](const Fabric& f, TableCheck& c) {
    if (c.given("wan.sockets") && !f.wide_area())
      c.fail(ErrorKind::Missing, "wan.window", "a wide-area link needs the window of its sockets",
             "a size such as 3MiB",
             "half of net.ipv4.tcp_rmem's largest value, or net.ipv4.tcp_wmem's where that is less");
    if (f.wide_area() && f.kind != FabricKind::Tcp)
      c.fail(ErrorKind::Conflict, "wan", "a wide-area link carries TCP", "", "kind: tcp");
    if (f.wide_area() && f.latency <= 0)
      c.fail(ErrorKind::Missing, "latency", "a wide-area link needs its latency", "half of the round trip",
             "latency: 25ms for a ping of 50 ms");
  });
  t.check({"kind", "nccl.rate", "nccl.low", "nccl.high"}, [](const Fabric& f, TableCheck& c) {
    if (f.kind != FabricKind::Tcp && (f.nccl_rate > 0 || f.nccl_rate_low > 0 || f.nccl_rate_high > 0))
      c.fail(ErrorKind::Conflict, "nccl", "the rate of an RDMA fabric follows from its NICs", "",
             "leave nccl out, or kind: tcp");
    else if (f.kind == FabricKind::Tcp && f.nccl_rate <= 0)
      c.fail(ErrorKind::Missing, "nccl.rate", "a tcp fabric needs the rate that NCCL reaches", "a rate above 0",
             "0.92 of the line up to 10 Gb/s, about 2 GB/s beyond 25 Gb/s");
    else if (f.kind == FabricKind::Tcp && !(f.nccl_rate_low <= f.nccl_rate && f.nccl_rate <= f.nccl_rate_high))
      c.fail(ErrorKind::Range, "nccl", "the rate lies outside its band", "low <= rate <= high");
  });
  return t;
}

}  // namespace

const FieldTable<GpuType>& gpu_fields() {
  static const FieldTable<GpuType> table = make_gpu_fields();
  return table;
}
const FieldTable<Node>& node_fields() {
  static const FieldTable<Node> table = make_node_fields();
  return table;
}
const FieldTable<Fabric>& fabric_fields() {
  static const FieldTable<Fabric> table = make_fabric_fields();
  return table;
}

}  // namespace lockstep
