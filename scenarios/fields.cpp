#include "scenarios/fields.h"

#include <algorithm>

#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

using Table = FieldTable<Scenario>;

// The model takes this option; written `image: default` where it is not set.
bool takes(const Scenario& s, const char* option) {
  const ZooEntry* entry = find_zoo_entry(s.model_name);
  return entry != nullptr && std::find(entry->options.begin(), entry->options.end(), option) != entry->options.end();
}
bool takes_image(const Scenario& s) {
  return takes(s, "image");
}
bool takes_classes(const Scenario& s) {
  return takes(s, "classes");
}
bool takes_stem(const Scenario& s) {
  return takes(s, "stem");
}
bool is_mlp(const Scenario& s) {
  return s.model_name == "mlp";
}
bool is_transformer(const Scenario& s) {
  return s.model_name == "transformer";
}
bool takes_sequence(const Scenario& s) {
  return takes(s, "sequence") && !is_transformer(s);
}
bool has_mixed_nodes(const Scenario& s) {
  return !s.topology_nodes.empty();
}
bool has_one_node_type(const Scenario& s) {
  return s.topology_nodes.empty();
}
bool has_gpu_index(const Scenario& s) {
  return !s.gpu_index.empty();
}
bool has_noise(const Scenario& s) {
  return !s.noise.none;
}
bool has_no_noise(const Scenario& s) {
  return s.noise.none;
}
bool has_jitter(const Scenario& s) {
  return s.noise.jitter.has_value();
}

void add_model(Table& t) {
  t.text("model.name", &Scenario::model_name)
      .allowed("a model such as resnet50 or bert-base, or the path of a model file")
      .doc("A model of `lockstep list models`, or the path of a model file");
  const auto size = [&t](const char* key, auto access, bool (*shown)(const Scenario&), const char* doc) {
    t.integer(key, access).range(1, 1e9).unset("default").shown_if(shown).doc(doc);
  };
  size(
      "model.image", [](auto& s) -> auto& { return s.model_options.image; }, takes_image,
      "Height and width of the square input in pixels");
  size(
      "model.classes", [](auto& s) -> auto& { return s.model_options.classes; }, takes_classes,
      "Outputs of the class head");
  t.choice("model.stem", [](auto& s) -> auto& { return s.model_options.stem; },
           {{"default", std::nullopt}, {"imagenet", "imagenet"}, {"cifar", "cifar"}})
      .shown_if(takes_stem)
      .doc("ResNet's first layers: `imagenet` = 7x7 stride 2 and max pool, `cifar` = 3x3 stride 1");
  size(
      "model.sequence", [](auto& s) -> auto& { return s.model_options.sequence; }, takes_sequence,
      "Tokens per sample of a language model");
  size(
      "model.mlp.inputs", [](auto& s) -> auto& { return s.model_options.inputs; }, is_mlp, "Input features");
  t.integers(
       "model.mlp.hidden", [](auto& s) -> auto& { return s.model_options.hidden; })
      .range(1, 1e9)
      .unset("default")
      .shown_if(is_mlp)
      .doc("Widths of the hidden layers");
  size(
      "model.mlp.outputs", [](auto& s) -> auto& { return s.model_options.outputs; }, is_mlp, "Classes");
  size(
      "model.transformer.layers", [](auto& s) -> auto& { return s.model_options.layers; }, is_transformer, "Blocks");
  size(
      "model.transformer.width", [](auto& s) -> auto& { return s.model_options.width; }, is_transformer,
      "Features per token");
  size(
      "model.transformer.heads", [](auto& s) -> auto& { return s.model_options.heads; }, is_transformer,
      "Attention heads; they divide the width");
  size(
      "model.transformer.feed_forward", [](auto& s) -> auto& { return s.model_options.feed_forward; }, is_transformer,
      "Features inside the feed-forward layers");
  size(
      "model.transformer.vocabulary", [](auto& s) -> auto& { return s.model_options.vocabulary; }, is_transformer,
      "Rows of the embedding table");
  size(
      "model.transformer.sequence", [](auto& s) -> auto& { return s.model_options.sequence; }, is_transformer,
      "Tokens per sample");
  t.no_shorthand("model.mlp");
  t.no_shorthand("model.transformer");
}

void add_training(Table& t) {
  t.integer("batch.per_gpu", &Scenario::per_gpu_batch)
      .range(1, 1e6)
      .doc("Samples of one GPU in one micro-step: grows with the GPUs (weak scaling)");
  t.integer("batch.global", &Scenario::global_batch)
      .range(1, 1e9)
      .doc("Samples of all GPUs in one step: shared out among them (strong scaling)");
  t.no_shorthand("batch");
  t.choice("precision", &Scenario::precision,
           {{"fp32", Precision::Fp32},
            {"tf32", Precision::Tf32},
            {"amp-fp16", Precision::AmpFp16},
            {"amp-bf16", Precision::AmpBf16}})
      .later_choice("fp64")
      .later_choice("fp16")
      .later_choice("bf16")
      .doc("Number format; `amp-*` = torch.autocast, `tf32` = fp32 with both TF32 switches on");
  const std::vector<std::pair<std::string, Switch>> switches = {
      {"auto", Switch::Auto}, {"true", Switch::On}, {"false", Switch::Off}};
  t.choice("tf32.conv", &Scenario::tf32_conv, switches)
      .doc("torch.backends.cudnn.allow_tf32; auto = PyTorch's default");
  t.choice("tf32.matmul", &Scenario::tf32_matmul, switches)
      .doc("torch.backends.cuda.matmul.allow_tf32; auto = PyTorch's default (off from torch 1.12)");
  t.no_shorthand("tf32");
  t.later("memory_format", "Layout of images in memory");
  t.later("mode", "train, or forward only");
}

void add_machine(Table& t) {
  t.text("topology.node", &Scenario::topology_node)
      .required_unless("topology.nodes")
      .shown_if(has_one_node_type)
      .example("dgx-a100-80gb")
      .allowed("a machine such as dgx-a100-80gb or dgx1-v100, or the path of a topology file")
      .doc("A machine of `lockstep list topologies`, or the path of a topology file");
  t.text("topology.fabric", &Scenario::topology_fabric)
      .unset("none")
      .allowed("a fabric such as ib-hdr-8x200 or eth-10g, the path of a fabric file, `own`")
      .doc("Network between nodes: one of `lockstep list fabrics`, a path, `own` (the node's own NICs), or none");
  t.integer("topology.gpus_per_node", &Scenario::gpus_per_node)
      .range(1, 1024)
      .unset("all")
      .doc("GPUs used on each node");
  t.integers("topology.gpu_index", &Scenario::gpu_index)
      .range(0, 1023)
      .shown_if(has_gpu_index)
      .doc("Which GPUs of each node are used, by their index there and in the order of the ranks");
  t.texts("topology.nodes", &Scenario::topology_nodes)
      .shown_if(has_mixed_nodes)
      .allowed("machines such as [dgx-a100-80gb, dgx1-v100], or paths of topology files")
      .doc("In place of `node`: nodes that differ, in the order in which they are filled");
  const std::pair<const char*, const char*> classes[] = {
      {"nvlink", "all NVLinks of a GPU together"},
      {"pcie", "a PCIe slot; the uplinks of its switches follow unless given"},
      {"host", "the memory of a node; the link between its sockets follows"},
      {"nic", "one NIC"},
      {"uplink", "the link of a PCIe switch to its socket"},
      {"wan", "the line of a site of a wide-area fabric"}};
  for (const auto& [part, what] : classes) {
    for (const bool rate : {true, false}) {
      const std::string name = std::string(part) + (rate ? ".rate" : ".latency");
      t.bound(
           "topology.override." + name, FieldType::Quantity,
           [name](Scenario& s, const Scalars& v) { s.topology_override[name] = std::get<double>(v.front()); },
           [name](const Scenario& s) -> std::optional<Scalars> {
             const auto at = s.topology_override.find(name);
             if (at == s.topology_override.end()) return std::nullopt;
             return Scalars{at->second};
           })
          .unit(rate ? Unit::BytesPerSecond : Unit::Seconds)
          .range(rate ? 1e3 : 0, rate ? 1e16 : 10)
          .doc(rate ? std::string("Another rate of ") + what + ", per direction" : "Another latency for these links");
    }
  }
  t.no_shorthand("topology.override");
  for (const char* part : {"nvlink", "pcie", "host", "nic", "uplink", "wan"})
    t.no_shorthand(std::string("topology.override.") + part);
  t.integers("gpus", &Scenario::gpus)
      .one_or_many()
      .required()
      .example("[1, 2, 4, 8]")
      .range(1, 1e6)
      .doc("GPUs in all, nodes filled in order; a list is swept");
}

void add_ddp(Table& t) {
  t.choice_list(
       "strategy", &Scenario::strategies,
       {{"single", Strategy::Single}, {"dp", Strategy::Dp}, {"dp-cpp", Strategy::DpCpp}, {"ddp", Strategy::Ddp}})
      .one_or_many()
      .later_choice("zero1")
      .later_choice("fsdp")
      .later_choice("local-sgd")
      .later_choice("parameter-server")
      .doc(
          "dp = torch.nn.DataParallel, ddp = DistributedDataParallel, dp-cpp = LibTorch's data_parallel (for `lockstep "
          "measure` on GPUs only, predictions refuse it); a list is swept; single is always added");
  t.quantity(
       "ddp.bucket_cap", Unit::Bytes, [](auto& s) -> auto& { return s.ddp.bucket_cap_bytes; })
      .above(0)
      .unset("default")
      .doc("bucket_cap_mb; default = 25 MiB after a first bucket of 1 MiB, any other value has no small first bucket");
  t.quantity(
       "ddp.first_bucket", Unit::Bytes, [](auto& s) -> auto& { return s.ddp.first_bucket_bytes; })
      .above(0)
      .unset("default")
      .doc("Limit of the first bucket");
  t.flag(
       "ddp.gradient_as_bucket_view", [](auto& s) -> auto& { return s.ddp.gradient_as_bucket_view; })
      .doc("Gradients live in the buckets: no copies out of them");
  t.flag(
       "ddp.broadcast_buffers", [](auto& s) -> auto& { return s.ddp.broadcast_buffers; })
      .doc("Buffers (batch norm's statistics) of rank 0 go to all before each forward");
  t.flag(
       "ddp.find_unused_parameters", [](auto& s) -> auto& { return s.ddp.find_unused_parameters; })
      .doc("Search the graph for parameters without gradient; buckets are then never rebuilt");
  t.flag(
       "ddp.static_graph", [](auto& s) -> auto& { return s.ddp.static_graph; })
      .doc("The graph is the same in every step; takes over find_unused_parameters, as in PyTorch");
  t.choice("ddp.hook", [](auto& s) -> auto& { return s.ddp.hook; },
           {{"none", CommHook::None},
            {"allreduce", CommHook::AllReduce},
            {"fp16", CommHook::Fp16},
            {"bf16", CommHook::Bf16}})
      .later_choice("powersgd")
      .later_choice("noop")
      .doc("Communication hook; for `lockstep measure` only, predictions know none yet");
  t.later("ddp.sync_batch_norm", "SyncBatchNorm");
  t.later("ddp.bucket_cap_list", "One cap per bucket");
  t.later("ddp.powersgd", "PowerSGD's rank and start");
  t.later("ddp.compile_optimizer", "DDPOptimizer of torch.compile");
  t.later("ddp.join", "Join for uneven inputs");
  t.later("ddp.high_priority_stream", "NCCL's stream with high priority");
  t.integer("accumulate.steps", &Scenario::accumulate_steps).range(1, 1000).doc("Micro-steps per optimizer step");
  t.flag("accumulate.no_sync", &Scenario::accumulate_no_sync)
      .doc("DDP skips the all-reduce on all but the last micro-step");
}

void add_loop(Table& t) {
  t.choice("optimizer.name", &Scenario::optimizer,
           {{"none", OptimizerKind::None},
            {"sgd", OptimizerKind::Sgd},
            {"sgd-momentum", OptimizerKind::SgdMomentum},
            {"adam", OptimizerKind::Adam},
            {"adamw", OptimizerKind::AdamW}})
      .doc("torch.optim");
  t.choice("optimizer.implementation", &Scenario::optimizer_implementation,
           {{"for-loop", OptimizerImplementation::ForLoop},
            {"foreach", OptimizerImplementation::Foreach},
            {"fused", OptimizerImplementation::Fused}})
      .doc("How its kernels are launched");
  t.choice("optimizer.zero_grad", &Scenario::zero_grad,
           {{"auto", ZeroGrad::Auto}, {"none", ZeroGrad::None}, {"zeros", ZeroGrad::Zeros}})
      .doc("Gradients are set to none or filled with zeros; auto = none from torch 2.0");
  t.flag("optimizer.weight_decay", &Scenario::weight_decay).doc("The optimizer has a weight decay");
  t.flag("optimizer.clip_grad_norm", &Scenario::clip_grad_norm).doc("Gradient clipping before the optimizer");
  t.later("checkpointing", "Activation checkpointing");
  t.choice("front_end", &Scenario::front_end,
           {{"auto", FrontEnd::Auto}, {"python", FrontEnd::Python}, {"cpp", FrontEnd::Cpp}})
      .later_choice("compile")
      .later_choice("cuda-graphs")
      .doc(
          "What launches the kernels: `lockstep measure` trains with torch's Python modules or in C++ (auto: C++); "
          "predictions are of Python and refuse cpp");
  t.number("host.factor", &Scenario::host_factor)
      .range(0.01, 100)
      .unset("auto")
      .doc("Host time relative to a DGX A100 of 2020; auto = the node's");
  t.integer("host.cores", &Scenario::host_cores)
      .range(1, 4096)
      .unset("auto")
      .doc("Physical cores of each node that training may use; auto = all of the node's");
  t.choice("loop.host_sync", &Scenario::host_sync, {{"none", HostSync::None}, {"each_step", HostSync::EachStep}})
      .doc("each_step: the loop reads the loss after every step, as loss.item(); predictions refuse it");
  t.no_shorthand("loop");
}

void add_input(Table& t) {
  t.choice("input.source", [](auto& s) -> auto& { return s.input.source; },
           {{"device", InputSource::Device}, {"host", InputSource::Host}})
      .later_choice("disk")
      .doc("Where a batch is when the step starts");
  t.choice("input.memory", [](auto& s) -> auto& { return s.input.memory; },
           {{"pageable", HostMemory::Pageable}, {"pinned", HostMemory::Pinned}})
      .doc("Host memory of the batch");
  t.flag(
       "input.non_blocking", [](auto& s) -> auto& { return s.input.non_blocking; })
      .doc("x.cuda(non_blocking=True)");
  t.choice("input.dtype", [](auto& s) -> auto& { return s.input.dtype; },
           {{"fp32", DType::Fp32}, {"fp16", DType::Fp16}, {"bf16", DType::Bf16}})
      .doc("Element type of images; token ids are always int64");
  t.flag(
       "input.touched", [](auto& s) -> auto& { return s.input.touched; })
      .doc("false: the copy also pays for the first touch of a loader's shared memory");
  t.choice("input.dp_copy", [](auto& s) -> auto& { return s.input.dp_copy; },
           {{"device0", DpCopy::Device0}, {"scatter", DpCopy::Scatter}})
      .doc("Under dp: copy the batch to GPU 0 and scatter from there, or scatter from the host");
  t.later("input.sample_bytes", "Bytes of a sample on disk");
  t.later("input.storage_rate", "Rate of the storage");
  t.integer("data.samples", &Scenario::data_samples).range(1, 1e15).unset("none").doc("Samples of an epoch");
  t.integer("data.epochs", &Scenario::data_epochs).range(1, 1e9).doc("Epochs of the run");
  t.integer("data.validation_samples", &Scenario::data_validation_samples)
      .range(0, 1e15)
      .doc("Samples of the validation after each epoch, forward only");
  t.quantity("data.startup", Unit::Seconds, &Scenario::data_startup_s)
      .range(0, 3.6e9)
      .doc("Time before the first step");
}

// torch.utils.data.DataLoader. Storage is not modelled: a sample costs CPU time, wherever it spends it.
void add_loader(Table& t) {
  t.integer(
       "loader.workers_per_process", [](auto& s) -> auto& { return s.loader.workers_per_process; })
      .range(0, 1024)
      .doc("num_workers of each process's DataLoader; 0 = the process itself loads, between its steps");
  t.quantity(
       "loader.sample_cost.mean", Unit::Seconds, [](auto& s) -> auto& { return s.loader.sample_cost_s; })
      .above(0)
      .unset("none")
      .doc("Time that one worker takes for one sample, 1 / (its img/s); none = batches are always ready");
  t.later("loader.sample_cost.sigma", "Samples that cost unlike amounts");
  t.integer(
       "loader.prefetch_factor", [](auto& s) -> auto& { return s.loader.prefetch_factor; })
      .range(1, 10000)
      .doc("Batches that are in the making or waiting, for each worker");
  t.flag(
       "loader.pin_memory", [](auto& s) -> auto& { return s.loader.pin_memory; })
      .doc("A thread of each process copies every batch into pinned memory: `input.memory` is then pinned");
  t.flag(
       "loader.in_order", [](auto& s) -> auto& { return s.loader.in_order; })
      .doc("Batches arrive in the order of their indices");
  t.flag(
       "loader.drop_last", [](auto& s) -> auto& { return s.loader.drop_last; })
      .doc("An epoch leaves out its last step where samples are too few for it");
  t.later("loader.persistent_workers", "Workers that live on into the next epoch");
  t.no_shorthand("loader");
}

std::optional<Error> read_speed(Scenario& s, const Value& value) {
  if (value.kind != Value::Kind::Scalar) {
    Error error;
    error.kind = ErrorKind::Type;
    error.message = value.kind == Value::Kind::Null ? "the key has no value" : "one speed is needed here";
    error.allowed = allowed_units(Unit::SampleRate);
    return error;
  }
  s.calibrate_single_gpu.reset();
  s.calibrate_word = SampleWord::Any;
  s.calibrate_in_iterations = false;
  if (canonical_name(value.text) == "none") return std::nullopt;
  const Expected<SampleRate> rate = parse_sample_rate(value.text);
  if (!rate) return rate.error().front();
  s.calibrate_single_gpu = rate->per_second;
  s.calibrate_word = rate->word;
  s.calibrate_in_iterations = rate->iterations;
  return std::nullopt;
}

void add_constants(Table& t) {
  t.version("software.torch", &Scenario::torch_version).doc("PyTorch; rules of buckets and defaults follow it");
  t.version("software.nccl", &Scenario::nccl_version).doc("NCCL; its choices follow it");
  t.version("software.cuda", &Scenario::cuda_version).doc("CUDA toolkit");
  t.custom("calibrate.single_gpu", read_speed,
           [](const Scenario& s) -> std::optional<std::string> {
             if (!s.calibrate_single_gpu) return "none";
             return quantity_text(*s.calibrate_single_gpu, Unit::SampleRate);
           })
      .unset("none")
      .unit(Unit::SampleRate)
      .allowed("a speed such as 900img/s")
      .doc("Measured speed of one GPU with this model, batch and precision: scales the GPU's kernel times");
  t.later("nccl", "NCCL's environment variables");
  t.integer(
       "gloo.threads", [](auto& s) -> auto& { return s.measure.gloo_threads; })
      .range(1, 64)
      .doc("Collectives that Gloo has in flight in one rank; for `lockstep measure`");
  t.no_shorthand("gloo");
}

void add_noise(Table& t) {
  t.choice("noise", [](auto& s) -> auto& { return s.noise.none; }, {{"none", true}})
      .shown_if(has_no_noise)
      .doc("none: not even the expected wait for the slowest of equal ranks");
  t.bound(
       "noise.jitter.sigma", FieldType::Quantity,
       [](Scenario& s, const Scalars& v) {
         if (!s.noise.jitter) s.noise.jitter.emplace();
         s.noise.jitter->sigma = std::get<double>(v.front());
       },
       [](const Scenario& s) -> std::optional<Scalars> {
         if (!s.noise.jitter) return std::nullopt;
         return Scalars{s.noise.jitter->sigma};
       })
      .unit(Unit::Fraction)
      .range(0, 1)
      .doc("Sigma of the factor on a rank's GPU kernels; its mean is 1");
  t.bound(
       "noise.jitter.per", FieldType::Choice,
       [](Scenario& s, const Scalars& v) {
         if (!s.noise.jitter) s.noise.jitter.emplace();
         s.noise.jitter->per = std::get<std::string>(v.front()) == "rank" ? JitterPer::Rank : JitterPer::Step;
       },
       [](const Scenario& s) -> std::optional<Scalars> {
         if (!s.noise.jitter) return std::nullopt;
         return Scalars{std::string(s.noise.jitter->per == JitterPer::Rank ? "rank" : "step")};
       })
      .choices({"step", "rank"})
      .later_choice("op")
      .doc("A new draw for every step of a rank, or one for each rank");
  t.only("noise.jitter.distribution", "lognormal", {}).shown_if(has_jitter).doc("Form of the distribution");
  t.integer(
       "noise.runs", [](auto& s) -> auto& { return s.noise.runs; })
      .range(1, 1e6)
      .shown_if(has_noise)
      .doc("Steady-state steps when there is jitter");
  for (const char* key : {"slow", "tail", "slow_links", "background", "work_per_rank", "fail"})
    t.later(std::string("noise.") + key, "Ranks, links or steps that differ");
}

void add_measure(Table& t) {
  t.integer(
       "measure.steps", [](auto& s) -> auto& { return s.measure.steps; })
      .range(1, 1e6)
      .doc("Steps that `lockstep measure` times in each repeat");
  t.integer(
       "measure.warm_up", [](auto& s) -> auto& { return s.measure.warm_up; })
      .range(2, 1e6)
      .doc("Steps before them: DDP has its final buckets from the second on");
  t.integer(
       "measure.repeats", [](auto& s) -> auto& { return s.measure.repeats; })
      .range(1, 1000)
      .doc("Times that each strategy is started anew, in turns with the others");
  t.integer(
       "measure.threads_per_rank", [](auto& s) -> auto& { return s.measure.threads_per_rank; })
      .range(1, 1024)
      .doc("Threads that compute in one rank on a CPU; there it is also the cores of a rank for `predict`");
  t.quantity(
       "measure.timeout", Unit::Seconds, [](auto& s) -> auto& { return s.measure.timeout_s; })
      .range(0.1, 3600)
      .doc("A rank that others wait for so long hangs; 20 expected steps where that is longer");
  t.quantity(
       "measure.gil", Unit::Seconds, [](auto& s) -> auto& { return s.measure.gil_hold_s; })
      .above(0)
      .unset("none")
      .doc("Of dp on CPUs: each op of a replica holds a lock of all replicas so long first, as Python's interpreter");
  t.no_shorthand("measure");
}

}  // namespace

bool is_model_path(const std::string& name) {
  const auto ends_with = [&](std::string_view end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  return name.find('/') != std::string::npos || ends_with(".yaml") || ends_with(".yml") || ends_with(".json");
}

const ZooEntry* find_zoo_entry(const std::string& name) {
  // ResNet_50 is resnet50, wide_resnet50_2 wide-resnet50-2.
  const auto letters = [](const std::string& text) {
    std::string bare = canonical_name(text);
    bare.erase(std::remove(bare.begin(), bare.end(), '-'), bare.end());
    return bare;
  };
  for (const ZooEntry& entry : zoo())
    if (letters(entry.name) == letters(name)) return &entry;
  return nullptr;
}

const FieldTable<Scenario>& scenario_fields() {
  static const Table table = [] {
    Table t("scenario");
    t.text("question", &Scenario::question).doc("What the scenario is to answer, for people");
    add_model(t);
    add_training(t);
    add_machine(t);
    add_ddp(t);
    add_loop(t);
    add_input(t);
    add_loader(t);
    add_constants(t);
    for (const char* key : {"fsdp", "local_sgd", "parameter_server"}) t.later(key, "Options of a later strategy");
    add_noise(t);
    add_measure(t);
    t.number("price_per_gpu_hour", &Scenario::price_per_gpu_hour)
        .above(0)
        .unset("none")
        .doc("What one GPU costs for an hour, in any currency: gives the cost of an epoch and of the run");
    t.integer("seed", &Scenario::seed).doc("Of the random numbers");
    t.refuse_sweeps("a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
                    "keep one value, or run every combination with `lockstep sweep`");
    return t;
  }();
  return table;
}

}  // namespace lockstep
