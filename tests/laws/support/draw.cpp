#include "tests/laws/support/draw.h"

namespace lockstep::testing {
namespace {

template <class T>
T one_of(const char* name, const std::vector<T>& values) {
  return *rc::gen::elementOf(values).as(name);
}
bool flip(const char* name) {
  return *rc::gen::arbitrary<bool>().as(name);
}

struct Machine {
  const char *node, *fabric;
  int per_node;
};
const std::vector<Machine> kMachines = {{"dgx-a100-80gb", "ib-hdr-8x200", 8},
                                        {"dgx1-v100", "ib-edr-4x100", 8},
                                        {"dgx1-v100", "eth-10g", 8},
                                        {"hgx-a100-4gpu-40gb", "eth-100g", 4},
                                        {"a100-pcie-8gpu", "eth-100g", 8}};

void draw_machine(TestPoint& point, const DrawOptions& options) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < kMachines.size(); ++i) indices.push_back(i);
  const Machine& machine = kMachines[one_of("machine", indices)];
  point.node = machine.node;
  std::vector<int> gpus;
  for (const int n : {1, 2, 3, 4, 8, 12, 16, 24, 32, 64}) {
    if (n > options.most_gpus) continue;
    if (n > machine.per_node && (!options.several_nodes || n % machine.per_node != 0)) continue;
    if (n > machine.per_node && point.strategy == Strategy::Dp) continue;
    gpus.push_back(n);
  }
  point.gpus = one_of("gpus", gpus);
  if (point.strategy == Strategy::Single) point.gpus = 1;
  if (point.gpus > machine.per_node) point.fabric = machine.fabric;
}

void draw_model(TestPoint& point, const DrawOptions& options) {
  point.model_name = one_of("model", options.models);
  const bool text = point.model_name == "bert-base" || point.model_name == "gpt2";
  if (text) point.model_options.sequence = one_of<std::int64_t>("sequence", {16, 128, 512});
  if (point.model_name == "mlp")
    point.model_options.hidden = one_of<std::vector<std::int64_t>>("hidden", {{64}, {512, 512}, {8192, 8192, 8192}});
  point.batch = one_of<std::int64_t>(
      "batch", text ? std::vector<std::int64_t>{1, 4, 16} : std::vector<std::int64_t>{1, 12, 64, 256});
  point.scenario.precision = static_cast<Precision>(one_of<int>("precision", {0, 1, 2, 3}));
}

void draw_ddp(DdpOptions& ddp) {
  const auto cap = one_of<std::int64_t>("bucket cap MiB, 0 = default", {0, 1, 5, 25, 100});
  if (cap > 0) ddp.bucket_cap_bytes = cap << 20;
  ddp.gradient_as_bucket_view = flip("bucket view");
  ddp.broadcast_buffers = flip("broadcast buffers");
  ddp.find_unused_parameters = flip("find unused");
  ddp.static_graph = flip("static graph");
}

void draw_input(InputOptions& input) {
  input.source = flip("host input") ? InputSource::Host : InputSource::Device;
  input.memory = flip("pinned") ? HostMemory::Pinned : HostMemory::Pageable;
  input.non_blocking = flip("non-blocking");
  input.touched = flip("touched");
  input.dp_copy = flip("scatter on host") ? DpCopy::Scatter : DpCopy::Device0;
}

void draw_loader(TestPoint& point) {
  Scenario& s = point.scenario;
  s.input.source = InputSource::Host;
  // Short batches: SimGrid's clock goes on from case to case, and loses digits.
  const double batch_s = one_of<double>("one GPU's batch by one worker", {1e-5, 1e-3, 5e-3, 2e-2});
  s.loader.sample_cost_s = batch_s / static_cast<double>(point.batch);
  s.loader.workers_per_process = one_of<int>("workers", {0, 1, 3, 8, 40});
  s.loader.prefetch_factor = one_of<int>("prefetch factor", {1, 2, 4});
  s.loader.pin_memory = flip("loader pins");
  s.input.memory = s.loader.pin_memory ? HostMemory::Pinned : HostMemory::Pageable;
}

}  // namespace

TestPoint draw_point(const DrawOptions& options) {
  TestPoint point;
  point.strategy = static_cast<Strategy>(one_of("strategy", [&] {
    std::vector<int> numbers;
    for (const auto strategy : options.strategies) numbers.push_back(static_cast<int>(strategy));
    return numbers;
  }()));
  Scenario& s = point.scenario;
  draw_machine(point, options);
  draw_model(point, options);
  draw_ddp(s.ddp);
  if (options.host_input) draw_input(s.input);
  if (options.accumulation) {
    point.micro_steps = s.accumulate_steps = one_of<int>("micro-steps", {1, 1, 1, 2, 3});
    s.accumulate_no_sync = flip("no_sync");
  }
  s.optimizer = static_cast<OptimizerKind>(one_of<int>("optimizer", {0, 1, 2, 3, 4}));
  s.optimizer_implementation = static_cast<OptimizerImplementation>(one_of<int>("implementation", {0, 1, 2}));
  s.clip_grad_norm = flip("clip");
  s.zero_grad = flip("zeros") ? ZeroGrad::Zeros : ZeroGrad::None;
  s.torch_version = one_of<std::string>("torch", {"1.9", "1.13", "2.3", "2.11"});
  s.host_factor = one_of<double>("host factor", {0.3, 0.8, 1.3});
  s.noise.none = flip("no expected wait");
  if (options.loader) draw_loader(point);
  point.load();
  if (!s.noise.none) expect_stragglers(point);
  RC_TAG(std::string(name_of(point.strategy)));
  return point;
}

}  // namespace lockstep::testing
