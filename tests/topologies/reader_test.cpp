// Reading topologies: what a request gives, and what each kind of bad input is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "tests/topologies/machines.h"
#include "topologies/fields.h"

namespace lockstep {
namespace {

using test::machine;
using test::source_presets;
using test::text_of;
using testing::AllOf;
using testing::HasSubstr;

// A folder of its own per test, removed at the end.
class TopologyFiles : public testing::Test {
 protected:
  TopologyFiles() {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("lockstep-" + std::to_string(getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~TopologyFiles() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
};

const char* const kNode = R"(name: mine
source: a test
hosts: {sockets: 2, cores: 64, cpu: {vendor: AMD, model: epyc}, memory_bandwidth: 300GB/s}
gpus: {type: a100-sxm4-80gb, count: 4}
)";

Errors errors_of(const TopologyRequest& request) {
  const Expected<Topology> loaded = load_topology(request, source_presets());
  return loaded ? Errors{} : loaded.error();
}
Errors errors_of_node(const std::string& file) {
  TopologyRequest request;
  request.node = file;
  return errors_of(request);
}
TopologyRequest request_of(const std::string& node, const std::string& fabric = "", int max_gpus = 1) {
  TopologyRequest request;
  request.node = node;
  request.fabric = fabric;
  request.max_gpus = max_gpus;
  return request;
}

TEST(LoadTopology, joins_nodes_by_a_fabric) {
  const Topology t = machine("dgx-a100-40gb", "ib-hdr-8x200", 4);
  EXPECT_EQ(t.name, "dgx-a100-40gb + ib-hdr-8x200");
  EXPECT_EQ(t.gpus_per_node, 4);
  EXPECT_EQ(t.nodes_for(16), 4);
  EXPECT_EQ(t.nodes_for(5), 2);
  EXPECT_EQ(t.node.gpu.memory_bytes, 40e9);
}

TEST(LoadTopology, takes_the_nodes_own_nics_as_a_fabric) {
  const Topology t = machine("dgx1-v100", "own");
  ASSERT_TRUE(t.fabric);
  EXPECT_EQ(t.fabric->kind, FabricKind::InfiniBand);
  EXPECT_EQ(t.fabric->nics.count, 4);
  EXPECT_DOUBLE_EQ(t.fabric->nics.rate, 12.5e9);
}

TEST_F(TopologyFiles, may_stand_beside_the_scenario_and_name_gpu_files_of_their_own) {
  write("gpu.yaml",
        "name: mygpu\nsource: a test\ncompute_capability: \"8.6\"\nsm_count: 10\nmemory: 8GB\n"
        "memory_bandwidth: 200GB/s\npeak: {fp32: 5TFLOP/s}\n");
  write("node.yaml", std::string(kNode).replace(std::string(kNode).find("a100-sxm4-80gb"), 14, "./gpu.yaml"));
  TopologyRequest request = request_of("node.yaml");
  request.folder = folder_.string();
  const Expected<Topology> loaded = load_topology(request, source_presets());
  ASSERT_TRUE(loaded) << text_of(loaded.error());
  EXPECT_EQ(loaded->node.gpu.name, "mygpu");
  EXPECT_DOUBLE_EQ(loaded->node.gpu.compute_capability, 8.6);
  EXPECT_EQ(loaded->node.host.cpu_vendor, "amd");
  EXPECT_EQ(loaded->node.pcie.generation, 3);  // the default
}

TEST(LoadTopology, tells_an_unknown_preset_the_names_and_the_nearest) {
  const Errors errors = errors_of(request_of("dgx-a100-80g", "ib-hdr-8x20"));
  ASSERT_EQ(errors.size(), 2u);  // both at once
  EXPECT_EQ(errors[0].key, "topology.node");
  EXPECT_EQ(errors[0].kind, ErrorKind::Range);
  EXPECT_EQ(errors[0].message, "there is no topology preset `dgx-a100-80g`");
  EXPECT_EQ(errors[0].hint, "did you mean `dgx-a100-80gb`?");
  EXPECT_THAT(errors[0].allowed, AllOf(HasSubstr("dgx1-v100"), HasSubstr("path of a YAML file")));
  EXPECT_EQ(errors[1].key, "topology.fabric");
  EXPECT_EQ(errors[1].hint, "did you mean `ib-hdr-8x200`?");
}

TEST(LoadTopology, refuses_more_gpus_than_one_node_holds_without_a_fabric) {
  const Errors errors = errors_of(request_of("dgx-a100-80gb", "", 16));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].kind, ErrorKind::Range);
  EXPECT_EQ(errors[0].key, "gpus");
  EXPECT_EQ(errors[0].found, "16");
  EXPECT_EQ(errors[0].allowed, "1 to 8");
  EXPECT_EQ(errors[0].message, "one dgx-a100-80gb holds 8 GPUs and no fabric joins several");
  EXPECT_THAT(errors[0].hint, HasSubstr("{node: dgx-a100-80gb, fabric: own}"));
  EXPECT_TRUE(errors_of(request_of("dgx-a100-80gb", "own", 16)).empty());
  EXPECT_TRUE(errors_of(request_of("dgx-a100-80gb", "", 8)).empty());
}

TEST(LoadTopology, refuses_more_gpus_per_node_than_there_are) {
  TopologyRequest request = request_of("dgx1-v100");
  request.gpus_per_node = 9;
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].key, "topology.gpus_per_node");
  EXPECT_EQ(errors[0].allowed, "1 to 8");
  request.gpus_per_node = 0;
  EXPECT_EQ(errors_of(request).size(), 1u);
}

TEST(Overrides, that_are_unknown_are_refused_with_the_list) {
  TopologyRequest request = request_of("dgx-a100-80gb");
  request.overrides = {{"nvlnk.rate", 1e9}, {"nic.bandwidth", 1e9}, {"wan.rate", 1e9}};
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].key, "topology.override.nic.bandwidth");
  EXPECT_THAT(errors[0].allowed, AllOf(HasSubstr("nvlink.rate"), HasSubstr("uplink.latency")));
  EXPECT_EQ(errors[1].hint, "did you mean `nvlink.rate`?");
  EXPECT_EQ(errors[2].kind, ErrorKind::Conflict);
  EXPECT_EQ(errors[2].message, "dgx-a100-80gb has no wide-area link");
  EXPECT_THAT(errors[2].hint, HasSubstr("wan-10g-50ms"));
}

TEST(Overrides, of_a_wide_area_link_are_its_own_and_not_its_nics) {
  TopologyRequest request = request_of("dgx1-v100", "wan-10g-50ms");
  request.overrides = {{"nic.latency", 1e-3}, {"nic.rate", 1e9}, {"wan.latency", 1e-3}, {"wan.rate", 1e9}};
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].key, "topology.override.nic.latency");
  EXPECT_EQ(errors[0].hint, "override wan.latency");
  EXPECT_EQ(errors[1].hint, "override wan.rate");
}

TEST(Overrides, of_links_the_machine_lacks_are_refused) {
  const auto message = [](const std::string& node, const std::string& key) {
    TopologyRequest request = request_of(node);
    request.overrides = {{key, 1.0}};
    const Errors errors = errors_of(request);
    return errors.size() == 1 ? errors[0].message : std::to_string(errors.size()) + " errors";
  };
  EXPECT_EQ(message("a100-pcie-8gpu", "nvlink.rate"), "a100-pcie-8gpu has no NVLink");
  EXPECT_EQ(message("hgx-a100-4gpu-40gb", "uplink.rate"), "hgx-a100-4gpu-40gb has no PCIe switches");
  EXPECT_EQ(message("cpu-host", "pcie.rate"), "cpu-host has no GPU in a PCIe slot");
  EXPECT_EQ(message("jetson-orin-nano-board", "pcie.rate"), "jetson-orin-nano-board has no GPU in a PCIe slot");
  EXPECT_EQ(message("dgx-a100-80gb", "nic.latency"), "one node alone has no latency between nodes");
}

TEST(Overrides, must_be_rates_above_zero) {
  TopologyRequest request = request_of("dgx-a100-80gb");
  request.overrides = {{"nvlink.rate", 0.0}};
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].kind, ErrorKind::Range);
}

TEST(Overrides, have_units_of_their_kind) {
  for (const std::string& key : override_keys())
    EXPECT_EQ(override_unit(key), key.find("latency") == std::string::npos ? Unit::BytesPerSecond : Unit::Seconds);
}

TEST_F(TopologyFiles, report_all_their_errors_in_file_order_with_line_and_column) {
  const std::string file = write("bad.yaml",
                                 "name: bad\n"
                                 "source: a test\n"
                                 "hosts: {sockets: 0, cores: 64, cpu: {vendor: amd}, memory_bandwidth: 300}\n"
                                 "gpus: {tipe: a100-sxm4-80gb, count: 4}\n"
                                 "nvlink: {kind: nvswich}\n"
                                 "pcie: {generation: 9}\n");
  const Errors errors = errors_of_node(file);
  const std::string text = text_of(errors);
  ASSERT_GE(errors.size(), 6u) << text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("bad.yaml:3:"), HasSubstr("hosts.sockets"), HasSubstr("hosts.memory_bandwidth"),
                    HasSubstr("bad.yaml:4:"), HasSubstr("did you mean `type`?"), HasSubstr("bad.yaml:5:16"),
                    HasSubstr("did you mean `nvswitch`?"), HasSubstr("bad.yaml:6:20"), HasSubstr("pcie.generation")));
  for (std::size_t i = 1; i < errors.size(); ++i)
    if (errors[i].line > 0) {
      EXPECT_LE(errors[i - 1].line, errors[i].line);
    }
}

struct BadNode {
  const char *lines, *key, *message;
};
TEST_F(TopologyFiles, that_contradict_themselves_are_refused) {
  const std::vector<BadNode> cases{
      {"nvlink: {kind: mesh}\n", "nvlink.links", "nvlink kind mesh needs its links"},
      {"nvlink: {kind: nvswitch, links: [[0, 1, 2]]}\n", "nvlink.links", "nvlink kind nvswitch takes no list of links"},
      {"nvlink: {kind: mesh, links: [[0, 0, 2]]}\n", "nvlink.links", "an NVLink joins two different GPUs"},
      {"nvlink: {kind: mesh, links: [[0, 4, 2]]}\n", "nvlink.links", "the node has GPUs 0 to 3"},
      {"nvlink: {kind: mesh, links: [[0, 1, 2], [1, 0, 2]]}\n", "nvlink.links", "this pair of GPUs is listed twice"},
      {"nvlink: {kind: mesh, links: [[0, 1, 13]]}\n", "nvlink.links",
       "GPU 0 has 13 NVLinks here; a100-sxm4-80gb has 12"},
      {"pcie: {switches: [{gpus: [0, 1, 2]}]}\n", "pcie.switches", "3 of 4 GPUs are placed"},
      {"pcie: {switches: [{gpus: [0, 1]}, {gpus: [1, 2, 3]}]}\n", "pcie.switches", "GPU 1 hangs on two switches"},
      {"pcie: {switches: [{gpus: [0, 1, 2, 3, 4]}]}\n", "pcie.switches", "the node has 4 GPUs"},
      {"pcie: {switches: [{gpus: [0, 1, 2, 3], nics: [0]}]}\n", "pcie.switches", "the node has 0 NICs"},
      {"pcie: {switches: [{socket: 2, gpus: [0, 1, 2, 3]}]}\n", "pcie.switches", "the node has 2 sockets"},
      {"pcie: {switches: [{socket: 0, gpus: [0, 1, 2, 3]}]}\nnics: {kind: wifi, count: 1, rate: 1Gb/s}\n", "nics.kind",
       nullptr},
      {"nics: {count: 2}\n", "nics", "count and rate belong together: both above 0, or no nics at all"},
  };
  for (const BadNode& one : cases) {
    const Errors errors = errors_of_node(write("bad.yaml", std::string(kNode) + one.lines));
    ASSERT_FALSE(errors.empty()) << one.lines;
    EXPECT_EQ(errors[0].key, one.key) << one.lines;
    if (!one.message) continue;
    EXPECT_EQ(errors[0].message, one.message) << one.lines;
    EXPECT_EQ(errors[0].line, 5) << one.lines;
    EXPECT_EQ(errors[0].file, path("bad.yaml"));
  }
}

TEST_F(TopologyFiles, with_an_unknown_gpu_say_where_it_stands) {
  std::string text = kNode;
  text.replace(text.find("a100-sxm4-80gb"), 14, "a100-sxm4-80");
  const Errors errors = errors_of_node(write("node.yaml", text));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].key, "gpus.type");
  EXPECT_EQ(errors[0].line, 4);
  EXPECT_EQ(errors[0].hint, "did you mean `a100-sxm4-80gb`?");
}

TEST_F(TopologyFiles, with_an_nvlink_on_a_gpu_without_are_refused) {
  std::string text = kNode;
  text.replace(text.find("a100-sxm4-80gb"), 14, "v100-pcie");
  const Errors errors = errors_of_node(write("node.yaml", text + "nvlink: nvswitch\n"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "v100-pcie has no NVLink");
  EXPECT_EQ(errors[0].line, 5);
}

TEST_F(TopologyFiles, of_fabrics_must_say_what_tcp_reaches_and_only_tcp) {
  const std::string head = "name: f\nsource: a test\nnics: {count: 1, rate: 100Gb/s}\n";
  const auto message = [&](const std::string& rest) {
    const Expected<Fabric> fabric = load_fabric(write("fabric.yaml", head + rest), source_presets());
    return fabric ? std::string("fine") : fabric.error().front().message;
  };
  EXPECT_EQ(message("kind: infiniband\n"), "fine");
  EXPECT_EQ(message("kind: tcp\n"), "a tcp fabric needs the rate that NCCL reaches");
  EXPECT_EQ(message("kind: tcp\nnccl: {rate: 2GB/s, low: 1GB/s, high: 3GB/s}\n"), "fine");
  EXPECT_EQ(message("kind: tcp\nnccl: {rate: 4GB/s, low: 1GB/s, high: 3GB/s}\n"), "the rate lies outside its band");
  EXPECT_EQ(message("kind: efa\nnccl: {rate: 4GB/s}\n"), "the rate of an RDMA fabric follows from its NICs");
  const std::string tcp = "kind: tcp\nnccl: {rate: 2GB/s, low: 1GB/s, high: 3GB/s}\n";
  EXPECT_EQ(message(tcp + "latency: 5ms\nwan: {window: 3MiB}\n"), "fine");
  EXPECT_EQ(message(tcp + "wan: {window: 3MiB}\n"), "a wide-area link needs its latency");
  EXPECT_EQ(message(tcp + "latency: 5ms\nwan: {sockets: 3}\n"), "a wide-area link needs the window of its sockets");
  EXPECT_EQ(message("kind: infiniband\nlatency: 5ms\nwan: {window: 3MiB}\n"), "a wide-area link carries TCP");
}

TEST_F(TopologyFiles, of_nodes_may_split_sockets_and_share_memory_with_one_gpu) {
  const std::string head =
      "name: n\nsource: a test\nhosts: {sockets: 2, NUMA cores: 8, cpu: {vendor: arm}, memory_bandwidth: 60GB/s}\n"
      "gpus: {type: jetson-orin-nano, count: COUNT}\n";
  const auto message = [&](const std::string& numa, const std::string& count, const std::string& rest) {
    std::string text = head;
    text.replace(text.find("NUMA"), 4, numa);
    text.replace(text.find("COUNT"), 5, count);
    const Expected<Node> node = load_node(write("node.yaml", text + rest), source_presets());
    return node ? std::string("fine") : node.error().front().message;
  };
  const std::string on_numa_3 = "pcie: {switches: [{socket: 3, gpus: [0]}]}\n";
  EXPECT_EQ(message("numa_nodes: 4,", "1", on_numa_3), "fine");
  EXPECT_EQ(message("", "1", on_numa_3), "the node has 2 sockets");
  EXPECT_EQ(message("numa_nodes: 2,", "1", on_numa_3), "the node has 2 NUMA nodes");
  EXPECT_EQ(message("numa_nodes: 3,", "1", ""), "every socket has the same number of NUMA nodes");
  EXPECT_EQ(message("", "1, integrated: true", ""), "fine");
  EXPECT_EQ(message("", "2, integrated: true", ""), "one GPU at most shares the host's memory");
  EXPECT_EQ(message("", "1, integrated: true", "pcie: {switches: [{gpus: [0]}]}\n"),
            "a GPU that shares the host's memory has no NVLink and no PCIe switch");
}

TEST_F(TopologyFiles, of_gpus_need_a_compute_capability_in_quotes) {
  const std::string head =
      "name: g\nsource: a test\nsm_count: 10\nmemory: 8GB\nmemory_bandwidth: 200GB/s\n"
      "peak: {fp32: 5TFLOP/s}\n";
  const auto first = [&](const std::string& rest) {
    const Expected<GpuType> gpu = load_gpu(write("gpu.yaml", head + rest), source_presets());
    return gpu ? Error{} : gpu.error().front();
  };
  EXPECT_EQ(first("").message, "a GPU needs its compute capability");
  EXPECT_EQ(first("compute_capability: \"3.5\"\n").kind, ErrorKind::Range);
  EXPECT_EQ(first("compute_capability: 8.0\n").key, "compute_capability");
  EXPECT_EQ(first("vendor: cpu\n").message, "");
  EXPECT_EQ(first("compute_capability: \"8.0\"\nnvlink: {links: 4}\n").key, "nvlink");
}

TEST_F(TopologyFiles, that_do_not_exist_or_are_no_yaml_are_told_so) {
  EXPECT_EQ(errors_of_node(path("nothing.yaml")).front().kind, ErrorKind::Io);
  EXPECT_EQ(errors_of_node(write("bad.yaml", "name: [\n")).front().kind, ErrorKind::Syntax);
}

TEST(LoadTopology, says_nothing_of_a_fabric_of_own_nics_when_the_node_is_missing) {
  TopologyRequest request = request_of("a-node.yaml", "own");
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 1u);  // the missing file alone: what it has is not known
  EXPECT_EQ(errors[0].kind, ErrorKind::Io);
}

TEST_F(TopologyFiles, without_nics_have_no_fabric_of_their_own) {
  const Errors errors = errors_of(request_of(write("node.yaml", kNode), "own"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "mine has no NICs of its own");
}

// --- Mixed nodes, chosen GPUs ------------------------------------------------------------------------------------

TopologyRequest request_of_nodes(const std::vector<std::string>& nodes, const std::string& fabric, int max_gpus = 1) {
  TopologyRequest request;
  request.nodes = nodes;
  request.fabric = fabric;
  request.max_gpus = max_gpus;
  return request;
}

TEST(LoadTopology, fills_mixed_nodes_in_order) {
  const Topology t = test::mixed({"dgx-a100-80gb", "hgx-a100-4gpu-40gb", "dgx1-v100"}, "ib-edr-1x100");
  EXPECT_EQ(t.name, "dgx-a100-80gb, hgx-a100-4gpu-40gb, dgx1-v100 + ib-edr-1x100");
  EXPECT_EQ(t.node.name, "dgx-a100-80gb");
  EXPECT_EQ(t.node_type(1).name, "hgx-a100-4gpu-40gb");
  EXPECT_EQ(t.most_gpus(), 20);
  const std::map<int, std::array<int, 2>> places{{0, {0, 0}},  {7, {0, 7}},  {8, {1, 0}},
                                                 {11, {1, 3}}, {12, {2, 0}}, {19, {2, 7}}};
  for (const auto& [rank, place] : places) {
    EXPECT_EQ(t.node_of(rank), place[0]) << rank;
    EXPECT_EQ(t.gpu_in_node(rank), place[1]) << rank;
  }
  EXPECT_EQ(t.nodes_for(8), 1);
  EXPECT_EQ(t.nodes_for(9), 2);
  EXPECT_EQ(t.nodes_for(13), 3);
  EXPECT_EQ(t.gpus_on(1), 4);
}

TEST(LoadTopology, of_like_nodes_has_no_bound_and_the_same_functions) {
  const Topology t = machine("dgx1-v100", "own", 6);
  EXPECT_EQ(t.most_gpus(), std::nullopt);
  EXPECT_EQ(machine("dgx1-v100").most_gpus(), 8);
  for (int rank = 0; rank < 40; ++rank) {
    EXPECT_EQ(t.node_of(rank), rank / 6);
    EXPECT_EQ(t.gpu_in_node(rank), rank % 6);
    EXPECT_EQ(t.nodes_for(rank + 1), t.node_of(rank) + 1);
  }
}

TEST(LoadTopology, takes_the_same_number_of_gpus_on_each_of_mixed_nodes_when_asked) {
  TopologyRequest request = request_of_nodes({"dgx-a100-80gb", "hgx-a100-4gpu-40gb"}, "own");
  request.gpus_per_node = 3;
  const Topology t = load_topology(request, source_presets()).value();
  EXPECT_EQ(t.most_gpus(), 6);
  EXPECT_EQ(t.node_of(3), 1);
  request.gpus_per_node = 5;
  const Errors errors = errors_of(request);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "hgx-a100-4gpu-40gb has 4 GPUs");
  EXPECT_EQ(errors[0].allowed, "1 to 4");
}

TEST(LoadTopology, uses_the_gpus_that_are_chosen_on_every_node) {
  const Topology t = test::chosen("dgx1-v100", {5, 0, 3}, "own");
  EXPECT_EQ(t.gpus_per_node, 3);
  EXPECT_EQ(t.nodes_for(7), 3);
  std::vector<int> gpus;
  for (int rank = 0; rank < 6; ++rank) gpus.push_back(t.gpu_in_node(rank));
  EXPECT_EQ(gpus, (std::vector<int>{5, 0, 3, 5, 0, 3}));
  EXPECT_EQ(t.used_gpus(0, 2), (std::vector<int>{5, 0}));
}

struct BadRequest {
  TopologyRequest request;
  ErrorKind kind;
  std::string key, message;
};
TopologyRequest with_index(std::vector<int> index, std::optional<int> per_node = std::nullopt, int max_gpus = 1) {
  TopologyRequest request = request_of("dgx1-v100", "", max_gpus);
  request.gpu_index = std::move(index);
  request.gpus_per_node = per_node;
  return request;
}
TEST(LoadTopology, refuses_every_misuse_with_a_way_out) {
  TopologyRequest both = request_of_nodes({"dgx1-v100"}, "own");
  both.node = "dgx1-v100";
  const std::vector<BadRequest> cases{
      {both, ErrorKind::Conflict, "topology.nodes", "node and nodes exclude each other"},
      {TopologyRequest{}, ErrorKind::Missing, "topology.node", "the machine is missing"},
      {request_of_nodes({"dgx1-v100", "dgx-a100-80gb"}, ""), ErrorKind::Missing, "topology.fabric",
       "several nodes need a fabric between them"},
      {request_of_nodes({"dgx1-v100", "dgx-a100"}, "own"), ErrorKind::Range, "topology.nodes",
       "there is no topology preset `dgx-a100`"},
      {request_of_nodes({"dgx1-v100", "cpu-host"}, "eth-10g"), ErrorKind::Conflict, "topology.nodes",
       "dgx1-v100 has v100-sxm2-32gb, cpu-host has cpu-core: one job has either GPUs or cpu ranks"},
      {request_of_nodes({"dgx1-v100", "dgx-a100-80gb"}, "own", 17), ErrorKind::Range, "gpus",
       "dgx1-v100, dgx-a100-80gb + own NICs hold 16 GPUs"},
      {with_index({}), ErrorKind::Range, "topology.gpu_index", "no GPUs would be used"},
      {with_index({0, 8}), ErrorKind::Range, "topology.gpu_index", "dgx1-v100 has 8 GPUs"},
      {with_index({-1}), ErrorKind::Range, "topology.gpu_index", "dgx1-v100 has 8 GPUs"},
      {with_index({3, 3}), ErrorKind::Conflict, "topology.gpu_index", "every index stands for one rank"},
      {with_index({0, 3}, 4), ErrorKind::Conflict, "topology.gpu_index", "2 GPUs are named, gpus_per_node says 4"},
      {with_index({0, 3}, 2, 3), ErrorKind::Range, "gpus", "one dgx1-v100 holds 2 GPUs and no fabric joins several"}};
  for (const BadRequest& one : cases) {
    const Errors errors = errors_of(one.request);
    ASSERT_EQ(errors.size(), 1u) << one.message << "\n" << text_of(errors);
    EXPECT_EQ(errors[0].kind, one.kind) << one.message;
    EXPECT_EQ(errors[0].key, one.key);
    EXPECT_EQ(errors[0].message, one.message);
    EXPECT_FALSE(errors[0].hint.empty() && errors[0].allowed.empty() && one.key != "topology.nodes") << one.message;
  }
}

TEST(LoadTopology, reports_all_nodes_of_a_list_that_are_missing) {
  const Errors errors = errors_of(request_of_nodes({"dgx1-v10", "dgx-a100-80gb", "dgx2-v10", "dgx1-v10"}, "ib-x"));
  ASSERT_EQ(errors.size(), 3u) << text_of(errors);
  EXPECT_EQ(errors[0].hint, "did you mean `dgx1-v100`?");
  EXPECT_EQ(errors[1].hint, "did you mean `dgx2-v100`?");
  EXPECT_EQ(errors[2].key, "topology.fabric");
}

TEST(LoadTopology, joins_own_nics_by_the_network_that_all_nodes_have) {
  EXPECT_EQ(machine("rtx3090-2gpu", "own").fabric->kind, FabricKind::Tcp);
  EXPECT_DOUBLE_EQ(machine("rtx3090-2gpu", "own").fabric->nccl_rate, 1.15e9);
  EXPECT_EQ(test::mixed({"dgx1-v100", "dgx-a100-80gb"}, "own").fabric->kind, FabricKind::InfiniBand);
  EXPECT_EQ(test::mixed({"dgx1-v100", "rtx3090-2gpu"}, "own").fabric->kind, FabricKind::Tcp);
}

}  // namespace
}  // namespace lockstep
