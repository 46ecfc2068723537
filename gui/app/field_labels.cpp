#include "gui/app/field_labels.h"

#include <QCoreApplication>
#include <map>

namespace lockstep::gui {
namespace {

const std::map<std::string, const char*>& labels() {
  static const std::map<std::string, const char*> all = {
      {"question", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Question")},
      {"model.name", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Model")},
      {"model.image", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Image size")},
      {"model.classes", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Classes")},
      {"model.stem", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "First layers")},
      {"model.sequence", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Tokens per sample")},
      {"model.mlp.inputs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "MLP: input features")},
      {"model.mlp.hidden", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "MLP: hidden layers")},
      {"model.mlp.outputs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "MLP: classes")},
      {"model.transformer.layers", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: blocks")},
      {"model.transformer.width", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: width")},
      {"model.transformer.heads", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: heads")},
      {"model.transformer.feed_forward",
       QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: feed-forward width")},
      {"model.transformer.vocabulary", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: vocabulary")},
      {"model.transformer.sequence", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Transformer: tokens per sample")},
      {"batch.per_gpu", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Batch per GPU")},
      {"batch.global", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Global batch")},
      {"precision", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Precision")},
      {"tf32.conv", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "TF32 in convolutions")},
      {"tf32.matmul", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "TF32 in matrix products")},
      {"topology.node", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Machine")},
      {"topology.fabric", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Network between machines")},
      {"topology.gpus_per_node", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "GPUs per machine")},
      {"topology.gpu_index", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Which GPUs of a machine")},
      {"topology.nodes", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Unlike machines")},
      {"topology.override.nvlink.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "NVLink rate")},
      {"topology.override.nvlink.latency", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "NVLink latency")},
      {"topology.override.pcie.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "PCIe rate")},
      {"topology.override.pcie.latency", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "PCIe latency")},
      {"topology.override.host.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Host memory rate")},
      {"topology.override.host.latency", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Host memory latency")},
      {"topology.override.nic.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Network adapter rate")},
      {"topology.override.nic.latency", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Network adapter latency")},
      {"topology.override.uplink.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "PCIe switch uplink rate")},
      {"topology.override.uplink.latency",
       QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "PCIe switch uplink latency")},
      {"topology.override.wan.rate", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Wide-area line rate")},
      {"topology.override.wan.latency", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Wide-area line latency")},
      {"gpus", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "GPUs")},
      {"strategy", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Strategy")},
      {"ddp.bucket_cap", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Bucket cap")},
      {"ddp.first_bucket", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "First bucket")},
      {"ddp.gradient_as_bucket_view", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Gradients live in buckets")},
      {"ddp.broadcast_buffers", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Broadcast buffers")},
      {"ddp.find_unused_parameters", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Find unused parameters")},
      {"ddp.static_graph", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Static graph")},
      {"ddp.hook", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Communication hook")},
      {"accumulate.steps", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Accumulation steps")},
      {"accumulate.no_sync", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "no_sync while accumulating")},
      {"optimizer.name", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Optimizer")},
      {"optimizer.implementation", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Optimizer kernels")},
      {"optimizer.zero_grad", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Clearing gradients")},
      {"optimizer.weight_decay", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Weight decay")},
      {"optimizer.clip_grad_norm", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Gradient clipping")},
      {"front_end", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "What launches kernels")},
      {"host.factor", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "CPU time factor")},
      {"host.cores", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "CPU cores per machine")},
      {"loop.host_sync", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Loss read back by the loop")},
      {"input.source", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Batches start on")},
      {"input.memory", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Host memory of a batch")},
      {"input.non_blocking", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Copies do not block")},
      {"input.dtype", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Type of images")},
      {"input.touched", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Host memory touched before")},
      {"input.dp_copy", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "DataParallel copies batches")},
      {"data.samples", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Samples per epoch")},
      {"data.epochs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Epochs")},
      {"data.validation_samples", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Validation samples")},
      {"data.startup", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Time before the first step")},
      {"loader.workers_per_process", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Loader workers per process")},
      {"loader.sample_cost.mean", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Loading one sample")},
      {"loader.prefetch_factor", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Batches ahead per worker")},
      {"loader.pin_memory", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Loader pins memory")},
      {"loader.in_order", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Batches in order")},
      {"loader.drop_last", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Drop the last batch")},
      {"software.torch", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "PyTorch version")},
      {"software.nccl", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "NCCL version")},
      {"software.cuda", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "CUDA version")},
      {"calibrate.single_gpu", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Measured speed of one GPU")},
      {"gloo.threads", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Gloo collectives in flight")},
      {"noise", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Expected wait for peers")},
      {"noise.jitter.sigma", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "GPU jitter")},
      {"noise.jitter.per", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Jitter drawn per")},
      {"noise.jitter.distribution", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Form of the jitter")},
      {"noise.runs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Steps with jitter")},
      {"measure.steps", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Measured steps")},
      {"measure.warm_up", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Warm-up steps")},
      {"measure.repeats", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Measured repeats")},
      {"measure.threads_per_rank", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "CPU threads per rank")},
      {"measure.timeout", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Timeout of a rank")},
      {"measure.gil", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Interpreter lock per op")},
      {"price_per_gpu_hour", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Price of a GPU hour")},
      {"seed", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "Seed of random numbers")}};
  return all;
}

// Of plain numbers; a quantity says its unit itself.
const std::map<std::string, const char*>& units() {
  static const std::map<std::string, const char*> all = {
      {"model.image", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "px")},
      {"model.sequence", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "tokens")},
      {"model.transformer.sequence", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "tokens")},
      {"batch.per_gpu", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "samples")},
      {"batch.global", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "samples")},
      {"accumulate.steps", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "micro-steps")},
      {"host.cores", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "cores")},
      {"data.samples", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "samples")},
      {"data.validation_samples", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "samples")},
      {"loader.workers_per_process", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "workers")},
      {"loader.prefetch_factor", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "batches")},
      {"measure.steps", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "steps")},
      {"measure.warm_up", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "steps")},
      {"noise.runs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "steps")},
      {"measure.threads_per_rank", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "threads")},
      {"gloo.threads", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "threads")},
      {"topology.gpus_per_node", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "GPUs")},
      {"gpus", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "GPUs")},
      {"data.epochs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "epochs")},
      {"measure.repeats", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "launches")},
      {"host.factor", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "×")},
      {"model.classes", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "classes")},
      {"model.mlp.outputs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "classes")},
      {"model.mlp.inputs", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "features")},
      {"model.mlp.hidden", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "features")},
      {"model.transformer.layers", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "blocks")},
      {"model.transformer.width", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "features")},
      {"model.transformer.heads", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "heads")},
      {"model.transformer.feed_forward", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "features")},
      {"model.transformer.vocabulary", QT_TRANSLATE_NOOP("lockstep::gui::FieldLabels", "tokens")}};
  return all;
}

}  // namespace

bool has_label(const std::string& key) {
  return labels().count(key) != 0;
}

QString label_of(const std::string& key) {
  const auto known = labels().find(key);
  if (known == labels().end()) return QString::fromStdString(key);
  return QCoreApplication::translate("lockstep::gui::FieldLabels", known->second);
}

QString doc_of(const FieldInfo& field) {
  return QCoreApplication::translate("lockstep::gui::FieldDocs", field.doc.c_str());
}

QString allowed_of(const FieldInfo& field) {
  return QCoreApplication::translate("lockstep::gui::FieldDocs", allowed_text(field).c_str());
}

QString unit_of(const FieldInfo& field) {
  const auto known = units().find(field.key);
  return known == units().end() ? QString() : QCoreApplication::translate("lockstep::gui::FieldLabels", known->second);
}

QString search_text(const FieldInfo& field) {
  return QString::fromStdString(field.key + ' ' + field.doc).toLower() + ' ' + label_of(field.key).toLower() + ' ' +
         doc_of(field).toLower();
}

}  // namespace lockstep::gui
