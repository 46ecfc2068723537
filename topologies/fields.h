// Keys of the three kinds of topology file: GPU, node, fabric (format: docs/interface.md, "The other files"). They
// drive the reader (topologies/reader.h) and the JSON Schema.
#pragma once

#include "simulator/base/field_table.h"
#include "topologies/topology.h"

namespace lockstep {

const FieldTable<GpuType>& gpu_fields();
// `gpus.type` fills only Node::gpu.name; the reader loads the GPU.
const FieldTable<Node>& node_fields();
const FieldTable<Fabric>& fabric_fields();

}  // namespace lockstep
