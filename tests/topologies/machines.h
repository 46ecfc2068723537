// Machines for the tests of this folder: presets from the source tree, and two built by hand that ship as no preset.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "topologies/reader.h"

namespace lockstep::test {

inline PresetPaths source_presets() {
  return {{LOCKSTEP_SOURCE_DIR "/topologies"}};
}

inline std::string text_of(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) text += to_text(error) + "\n";
  return text;
}

inline Topology machine(const std::string& node, const std::string& fabric = "", int gpus_per_node = 0,
                        const std::map<std::string, double>& overrides = {}) {
  TopologyRequest request;
  request.node = node;
  request.fabric = fabric;
  if (gpus_per_node > 0) request.gpus_per_node = gpus_per_node;
  request.overrides = overrides;
  Expected<Topology> loaded = load_topology(request, source_presets());
  if (!loaded) {
    ADD_FAILURE() << text_of(loaded.error());
    return {};
  }
  return *loaded;
}

// Nodes that differ, all of each used.
inline Topology mixed(const std::vector<std::string>& nodes, const std::string& fabric,
                      const std::map<std::string, double>& overrides = {}) {
  TopologyRequest request;
  request.nodes = nodes;
  request.fabric = fabric;
  request.overrides = overrides;
  Expected<Topology> loaded = load_topology(request, source_presets());
  if (!loaded) {
    ADD_FAILURE() << text_of(loaded.error());
    return {};
  }
  return *loaded;
}

// The GPUs `index` of every node.
inline Topology chosen(const std::string& node, const std::vector<int>& index, const std::string& fabric = "") {
  TopologyRequest request;
  request.node = node;
  request.fabric = fabric;
  request.gpu_index = index;
  Expected<Topology> loaded = load_topology(request, source_presets());
  if (!loaded) {
    ADD_FAILURE() << text_of(loaded.error());
    return {};
  }
  return *loaded;
}

// Eight H100 on NVSwitches, one 400 Gb/s NIC per GPU behind one PCIe Gen5 switch, two Sapphire Rapids.
inline Topology hgx_h100(int gpus_per_node) {
  Topology t;
  t.node.name = "hgx-h100";
  t.node.gpu = load_gpu("h100-sxm5", source_presets()).value();
  t.node.gpu_count = 8;
  t.node.host = {2, 112, "intel", "sapphire-rapids", 500e9, 0.8};
  t.node.nvlink = NvLinkKind::NvSwitch;
  t.node.pcie.generation = 5;
  for (int i = 0; i < 8; ++i) t.node.pcie.switches.push_back({i / 4, {i}, {i}});
  t.node.nics = {8, 50e9};
  t.fabric = Fabric{};
  t.fabric->nics = t.node.nics;
  t.gpus_per_node = gpus_per_node;
  return t;
}

// A100 PCIe cards in root ports of their own, `per_socket` on each Ice Lake socket; one 100 Gb/s NIC on socket 0.
inline Topology a100_pcie_intel(int gpus, int per_socket, int gpus_per_node) {
  Topology t;
  t.node.name = "a100-pcie-intel";
  t.node.gpu = load_gpu("a100-pcie-40gb", source_presets()).value();
  t.node.gpu_count = gpus;
  t.node.host = {2, 64, "intel", "xeon-platinum-8358", 300e9, 0.8};
  t.node.pcie.generation = 4;
  t.node.pcie.switched = false;
  t.node.pcie.switches.resize(2);
  t.node.pcie.switches[1].socket = 1;
  for (int i = 0; i < gpus; ++i) t.node.pcie.switches[i < per_socket ? 0 : 1].gpus.push_back(i);
  t.node.pcie.switches[0].nics = {0};
  t.node.nics = {1, 12.5e9};
  t.fabric = Fabric{};
  t.fabric->nics = t.node.nics;
  t.gpus_per_node = gpus_per_node;
  return t;
}

}  // namespace lockstep::test
