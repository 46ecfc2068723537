// All-reduce, broadcast and reduce over the process group that DDP uses, as nccl-tests times them: warm-up, a barrier,
// iterations back to back, their mean; then once more with known data, every element checked.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <deque>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/trainers/torch_bench.h"

namespace lockstep {
namespace {

// Values repeat after so many elements, so that a segment in another's place is seen.
constexpr std::int64_t kPeriod = 1021;

class CollectivesBench : public Bench {
 public:
  CollectivesBench(const BenchPlan& plan, const TrainerOptions& options)
      : plan_(plan),
        rank_(options.group.rank),
        world_(options.group.world),
        device_(device_of(options)),
        on_(device_->of_replica()),
        group_(device_->make_group(options.group, nullptr)),
        period_(at::arange(0, kPeriod, on_float())) {
    const std::vector<int> in_flight = options.group.gloo_threads > 1 ? std::vector<int>{1, 2} : std::vector<int>{1};
    for (const char* what : {"all_reduce", "broadcast", "reduce"})
      for (const int n : in_flight) series_.push_back({what, n});
    sizes_ = bench_sizes(plan);
  }

  Expected<std::optional<BenchRecord>> next() override {
    return guarded("the bench failed", [this]() -> Expected<std::optional<BenchRecord>> {
      if (at_ == series_.size() * sizes_.size()) return std::optional<BenchRecord>();
      const Series& series = series_[at_ / sizes_.size()];
      const std::size_t size = at_ % sizes_.size();
      ++at_;
      if (size == 0) budget_ = BenchBudget(plan_.budget_s / static_cast<double>(series_.size()), plan_.iterations);
      return std::optional<BenchRecord>(point(series, sizes_[size]));
    });
  }

 private:
  struct Series {
    std::string what;
    int in_flight = 1;
  };

  BenchRecord point(const Series& series, std::int64_t bytes) {
    BenchRecord record;
    record.what = series.what;
    record.in_flight = series.in_flight;
    record.count = std::max<std::int64_t>(1, bytes / 4);
    record.bytes = record.count * 4;
    record.type = element_name(at::kFloat);
    if (!budget_.allows(record.bytes)) {
      record.not_run = BenchBudget::kUsedUp;
      return record;
    }
    const double start = monotonic_s();
    make_room(series.in_flight, record.count);
    timed(series, record.count, series.in_flight);  // the first touch of memory, and connections
    const double one_s = agreed(timed(series, record.count, series.in_flight));
    timed(series, record.count, std::min(budget_.iterations(one_s), plan_.warm_up));
    record.iterations = std::max(budget_.iterations(one_s), series.in_flight);
    record.time_s = timed(series, record.count, record.iterations);
    record.wrong = wrong_elements(series, record.count);
    budget_.spend(agreed(monotonic_s() - start), one_s, record.bytes);
    return record;
  }

  void make_room(int in_flight, std::int64_t count) {
    for (at::Tensor& buffer : buffers_)
      if (buffer.numel() < count) buffer = at::zeros({count}, on_float());
    while (static_cast<int>(buffers_.size()) < in_flight) buffers_.push_back(at::zeros({count}, on_float()));
  }

  at::TensorOptions on_float() const { return at::TensorOptions(at::kFloat).device(on_); }

  // Mean seconds of one, `in_flight` at a time: the oldest is waited for before the next one starts.
  double timed(const Series& series, std::int64_t count, int iterations) {
    if (iterations == 0) return 0;
    std::vector<at::Tensor> messages;
    for (const at::Tensor& buffer : buffers_) messages.push_back(buffer.narrow(0, 0, count).zero_());
    agreed(0);
    device_->synchronise();
    const double start = monotonic_s();
    std::deque<c10::intrusive_ptr<c10d::Work>> under_way;
    for (int i = 0; i < iterations; ++i) {
      if (static_cast<int>(under_way.size()) == series.in_flight) {
        under_way.front()->wait();
        under_way.pop_front();
      }
      under_way.push_back(launched(series.what, messages[static_cast<std::size_t>(i % series.in_flight)]));
    }
    for (const auto& work : under_way) work->wait();
    device_->synchronise();  // waiting for NCCL holds up its stream alone
    return (monotonic_s() - start) / iterations;
  }

  c10::intrusive_ptr<c10d::Work> launched(const std::string& what, const at::Tensor& message) {
    std::vector<at::Tensor> list{message};
    if (what == "broadcast") return group_->broadcast(list);
    if (what == "reduce") return group_->reduce(list);
    return group_->allreduce(list);
  }

  // Whole numbers below 2^24 are exact in fp32, in whatever order they are added.
  at::Tensor pattern(std::int64_t count, double factor, double plus) const {
    at::Tensor values = at::zeros({(count + kPeriod - 1) / kPeriod, kPeriod}, on_float());
    values.copy_(period_.mul(factor).add_(plus));
    return values.view({-1}).narrow(0, 0, count);
  }
  std::int64_t wrong_elements(const Series& series, std::int64_t count) {
    at::Tensor message = buffers_.front().narrow(0, 0, count);
    message.copy_(pattern(count, 1, rank_));
    launched(series.what, message)->wait();
    if (series.what == "reduce" && rank_ != 0) return 0;  // what stands elsewhere is not defined
    const bool sums = series.what != "broadcast";
    const at::Tensor expected = sums ? pattern(count, world_, 0.5 * world_ * (world_ - 1)) : pattern(count, 1, 0);
    return message.ne(expected).sum().item<std::int64_t>();
  }

  // The largest value of all ranks, so that all decide alike; a barrier as well.
  double agreed(double value) {
    std::vector<at::Tensor> list{at::tensor({value}, at::kDouble).to(on_)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    group_->allreduce(list, options)->wait();
    return list.front().item<double>();
  }

  BenchPlan plan_;
  int rank_, world_;
  std::shared_ptr<TorchDevice> device_;
  at::Device on_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  at::Tensor period_;
  std::vector<Series> series_;
  std::vector<std::int64_t> sizes_;
  std::size_t at_ = 0;
  BenchBudget budget_{0, 1};
  std::vector<at::Tensor> buffers_;
};

}  // namespace

std::unique_ptr<Bench> make_collectives_bench(const BenchPlan& plan, const TrainerOptions& options) {
  return std::make_unique<CollectivesBench>(plan, options);
}

}  // namespace lockstep
