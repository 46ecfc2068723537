#include "hwrunner/trainers/torch_ddp.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <limits>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <tuple>
#include <utility>

#include "hwrunner/trainers/torch_compat.h"
#include "simulator/steps/buckets.h"

namespace lockstep {
namespace {

constexpr std::size_t kBroadcastBytes = 250 << 20;  // DistributedDataParallel.broadcast_bucket_size

// A hook for casts, for the log, or both. It divides, as every hook must.
class CastingHook : public c10d::CommHookInterface {
 public:
  CastingHook(c10::intrusive_ptr<c10d::ProcessGroup> group, CommHook kind, std::shared_ptr<BucketLog> log,
              const std::vector<at::Tensor>& parameters)
      : group_(std::move(group)), kind_(kind), log_(std::move(log)) {
    for (std::size_t i = 0; i < parameters.size(); ++i) index_[parameters[i].unsafeGetTensorImpl()] = i;
  }

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::size_t entry = 0;
    if (log_) entry = log_->started(entry_of(bucket));
    at::Tensor& gradients = bucket.getBufferRef();
    at::Tensor sent = gradients;
    if (kind_ == CommHook::Fp16) sent = gradients.to(at::kHalf);
    if (kind_ == CommHook::Bf16) sent = gradients.to(at::kBFloat16);
    sent.div_(group_->getSize());
    std::vector<at::Tensor> list{sent};
    const auto future = group_->allreduce(list)->getFuture();
    if (log_) log_->launched(entry);
    const bool cast = kind_ == CommHook::Fp16 || kind_ == CommHook::Bf16;
    return future->then(
        [log = log_, entry, gradients, cast](c10::ivalue::Future& done) -> c10::IValue {
          if (log) log->ended(entry);
          if (!cast) return done.value();
          gradients.copy_(c10d::detail::parseCppCommHookResult(done.value()));
          return gradients;
        },
        cast ? c10::AnyClassType::get() : future->elementType());
  }

  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensor() ? result.toTensor() : c10d::detail::parseCppCommHookResult(result);
  }

 private:
  BucketLog::Entry entry_of(const c10d::GradBucket& bucket) const {
    BucketLog::Entry entry;
    entry.times.index = static_cast<int>(bucket.getIndex());
    entry.times.bytes = static_cast<std::int64_t>(bucket.getBuffer().nbytes());
    for (const at::Tensor& p : bucket.getParameters()) entry.parameters.push_back(index_.at(p.unsafeGetTensorImpl()));
    return entry;
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  CommHook kind_;
  std::shared_ptr<BucketLog> log_;
  std::unordered_map<const void*, std::size_t> index_;
};

// The names of torch.distributed.algorithms.ddp_comm_hooks.default_hooks, for the log; the Python front end tells it
// so.
const char* hook_name(CommHook hook) {
  if (hook == CommHook::Fp16) return "fp16_compress_hook";
  return hook == CommHook::Bf16 ? "bf16_compress_hook" : "allreduce_hook";
}

std::size_t first_cap(const DdpOptions& options) {
  const std::int64_t otherwise = options.bucket_cap_bytes.value_or(kDefaultFirstBucketBytes);
  return static_cast<std::size_t>(options.first_bucket_bytes.value_or(otherwise));
}

std::size_t cap(const DdpOptions& options) {
  return static_cast<std::size_t>(options.bucket_cap_bytes.value_or(kDefaultBucketCapBytes));
}

}  // namespace

void BucketLog::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::size_t BucketLog::started(Entry entry) {
  entry.ready = device_->mark();
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  return entries_.size() - 1;
}

void BucketLog::launched(std::size_t entry) {
  DeviceMark now = device_->mark();
  const std::lock_guard lock(mutex_);
  entries_[entry].launch = std::move(now);
}

void BucketLog::ended(std::size_t entry) {
  DeviceMark now = device_->mark();
  const std::lock_guard lock(mutex_);
  if (entry < entries_.size()) entries_[entry].end = std::move(now);
}

std::vector<BucketLog::Entry> BucketLog::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

Ddp::Ddp(OpModule& module, const TrainerOptions& options)
    : module_(module),
      options_(options.ddp),
      device_(options.device),
      instrument_(options.instrument),
      bucket_log_(std::make_shared<BucketLog>(device_)) {
  for (const at::Tensor& p : module.parameters_in_order())
    if (p.requires_grad()) parameters_.push_back(p);
  group_ = device_->make_group(options.group, options.pace);
  c10d::verify_params_across_processes(group_, parameters_, std::nullopt);
  send_rank_0_state();
  make_reducer(options);
  register_hook(options);
}

Ddp::~Ddp() = default;

void Ddp::send_rank_0_state() {
  std::vector<at::Tensor> state;
  for (const at::Tensor& p : module_.parameters_in_order()) state.push_back(p.detach());
  for (const at::Tensor& b : module_.buffers_in_order()) state.push_back(b);
  c10d::broadcast_coalesced(group_, state, kBroadcastBytes, 0);
}

void Ddp::make_reducer(const TrainerOptions& options) {
  const bool dynamic = options_.find_unused_parameters && !options_.static_graph;
  const std::vector<std::size_t> limits =
      dynamic ? std::vector<std::size_t>{first_cap(options_), cap(options_)}
              : std::vector<std::size_t>{static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())};
  const std::vector<bool> sparse(parameters_.size(), false);
  ReducerArguments a;
  std::tie(a.buckets, a.limits) = c10d::compute_bucket_assignment_by_size(parameters_, limits, sparse);
  std::reverse(a.buckets.begin(), a.buckets.end());  // last layers first
  std::reverse(a.limits.begin(), a.limits.end());
  a.parameters = parameters_;
  a.group = group_;
  a.cap = static_cast<std::int64_t>(cap(options_));
  a.first_cap = static_cast<std::int64_t>(first_cap(options_));
  a.find_unused = options_.find_unused_parameters;
  a.bucket_views = options_.gradient_as_bucket_view;
  std::size_t index = 0;
  for (const Parameter& p : module_.model().parameters)
    if (at::isFloatingType(torch_type(p.dtype))) a.names[index++] = p.name;
  reducer_ = lockstep::make_reducer(a);
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  logger_->set_construction_data_and_log(module_.model().name, {}, -1, options_.broadcast_buffers, false,
                                         options_.static_graph);
  reducer_->set_logger(logger_);
  if (options.instrument) reducer_->set_ddp_runtime_logging_sample_rate(1);
  if (options_.static_graph) reducer_->set_static_graph();
}

void Ddp::register_hook(const TrainerOptions& options) {
  if (options.ddp.hook != CommHook::None) logger_->set_comm_hook(hook_name(options.ddp.hook));
  if (!options.instrument && options.ddp.hook == CommHook::None) return;
  if (!options.instrument && options.ddp.hook == CommHook::AllReduce)
    return reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::ALLREDUCE);
  if (!options.instrument && options.ddp.hook == CommHook::Fp16)
    return reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
  reducer_->register_comm_hook(
      std::make_unique<CastingHook>(group_, options.ddp.hook, options.instrument ? bucket_log_ : nullptr, parameters_));
}

void Ddp::before_forward(bool sync) {
  if (sync) {
    reducer_->prepare_for_forward();
    ++synced_passes_;
  }
  reducer_->rebuild_buckets();
}

void Ddp::broadcast_buffers() {
  if (!options_.broadcast_buffers || !broadcasts_next_ || module_.buffers_in_order().empty()) return;
  c10d::broadcast_coalesced(group_, module_.buffers_in_order(), kBroadcastBytes, 0);
}

void Ddp::before_backward(const std::vector<at::Tensor>& outputs, bool sync) {
  broadcasts_next_ = sync;
  if (!sync) return;
  bucket_log_->clear();
  const bool search = options_.find_unused_parameters && !options_.static_graph;
  reducer_->prepare_for_backward(search ? outputs : std::vector<at::Tensor>{});
  backward_start_s_ = monotonic_s();
}

// In the first pass of a static graph the Reducer only counts; somebody must start its reductions afterwards, else the
// gradients of every later step are wrong without a word.
void Ddp::queue_end_of_backward() {
  if (!options_.static_graph || synced_passes_ != 1) return;
  torch::autograd::Engine::get_default_engine().queue_callback([reducer = reducer_] { reducer->delay_all_reduce(); });
}

void Ddp::after_step() {
  if (instrument_) logger_->set_runtime_stats_and_log();
}

std::vector<MeasuredBucket> Ddp::buckets(double step_start_s) const {
  const std::vector<std::int64_t> ready_ns = reducer_->get_backward_stats();
  std::vector<MeasuredBucket> list;
  for (const BucketLog::Entry& entry : bucket_log_->entries()) {
    MeasuredBucket bucket = entry.times;
    std::int64_t last = 0;
    for (const std::size_t p : entry.parameters) last = std::max(last, ready_ns[p]);
    // The Reducer's own times are those of its calls: where they are queued, the hook's mark says when it was so.
    bucket.ready_s = device_->asynchronous() ? device_->seconds(entry.ready) - step_start_s
                                             : backward_start_s_ + static_cast<double>(last) * 1e-9 - step_start_s;
    bucket.launch_s = device_->seconds(entry.launch) - step_start_s;
    bucket.end_s = device_->seconds(entry.end) - step_start_s;
    list.push_back(bucket);
  }
  return list;
}

std::vector<std::int64_t> Ddp::bucket_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const c10d::GradBucket& bucket : reducer_->get_grad_buckets(false))
    bytes.push_back(static_cast<std::int64_t>(bucket.getBuffer().nbytes()));
  return bytes;
}

std::map<std::string, std::string> Ddp::log() const {
  const at::DDPLoggingData data = logger_->get_ddp_logging_data();
  std::map<std::string, std::string> log = data.strs_map;
  for (const auto& [name, value] : data.ints_map) log[name] = fmt::format("{}", value);
  return log;
}

}  // namespace lockstep
