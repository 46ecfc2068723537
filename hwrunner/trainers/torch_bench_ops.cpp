// Forward and backward times of one op of each class, over sizes. FLOP count a multiply and an add as two; bytes are
// what the op must read and write at least: each tensor once.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <functional>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/trainers/torch_bench.h"
#include "hwrunner/trainers/torch_optimizer.h"

namespace lockstep {
namespace {

constexpr std::int64_t kChannels = 64, kImage = 56;                     // a stage of a ResNet
constexpr std::int64_t kWidth = 1024;                                   // a linear layer
constexpr std::int64_t kHeads = 12, kPositions = 128, kHeadWidth = 64;  // BERT base
constexpr std::int64_t kVocabulary = 30522, kRowWidth = 768;

struct OpWork {
  std::string shape;
  std::int64_t bytes = 0, count = 0;  // of the tensor that grows
  at::ScalarType type = at::kFloat;
  std::function<at::Tensor()> forward;
  std::vector<at::Tensor> leaves;      // that get gradients
  double flop = 0, backward_flop = 0;  // 0: not counted
  double moved_bytes = 0, backward_bytes = 0;
};

double bytes_of(std::initializer_list<at::Tensor> tensors) {
  double sum = 0;
  for (const at::Tensor& one : tensors) sum += static_cast<double>(one.nbytes());
  return sum;
}

// Where the tensors of this bench lie, and of which type those are that autocast would cast.
struct Where {
  at::Device device;
  at::ScalarType type;
};

at::Tensor leaf(at::IntArrayRef shape, const Where& where, at::ScalarType type) {
  return at::randn(shape, at::kFloat).mul_(0.1).to(where.device, type).requires_grad_(true);
}

std::int64_t rows_for(std::int64_t bytes, std::int64_t row_elements, at::ScalarType type) {
  return std::max<std::int64_t>(1, bytes / (row_elements * static_cast<std::int64_t>(c10::elementSize(type))));
}

OpWork sized(std::string shape, const at::Tensor& growing) {
  OpWork work;
  work.shape = std::move(shape);
  work.bytes = static_cast<std::int64_t>(growing.nbytes());
  work.count = growing.numel();
  work.type = growing.scalar_type();
  return work;
}

at::Tensor images(std::int64_t bytes, const Where& where, at::ScalarType type) {
  return leaf({rows_for(bytes, kChannels * kImage * kImage, type), kChannels, kImage, kImage}, where, type);
}
std::string image_shape(const at::Tensor& x) {
  return fmt::format("{}x{}x{}x{}", x.size(0), kChannels, kImage, kImage);
}

OpWork conv(std::int64_t bytes, const Where& where) {
  const at::Tensor x = images(bytes, where, where.type), w = leaf({kChannels, kChannels, 3, 3}, where, where.type);
  OpWork work = sized(image_shape(x) + " 3x3", x);
  work.forward = [x, w] { return at::conv2d(x, w, {}, 1, 1); };
  work.leaves = {x, w};
  work.flop = 2.0 * static_cast<double>(x.numel()) * 9 * kChannels;
  work.backward_flop = 2 * work.flop;
  work.moved_bytes = bytes_of({x, x, w});
  work.backward_bytes = bytes_of({x, x, x, x, w, w});  // x and the output are of one size; each gradient reads both
  return work;
}

OpWork linear(std::int64_t bytes, const Where& where) {
  const at::Tensor x = leaf({rows_for(bytes, kWidth, where.type), kWidth}, where, where.type),
                   w = leaf({kWidth, kWidth}, where, where.type);
  OpWork work = sized(fmt::format("{}x{}", x.size(0), kWidth), x);
  work.forward = [x, w] { return at::linear(x, w); };
  work.leaves = {x, w};
  work.flop = 2.0 * static_cast<double>(x.numel()) * kWidth;
  work.backward_flop = 2 * work.flop;
  work.moved_bytes = bytes_of({x, x, w});
  work.backward_bytes = bytes_of({x, x, x, x, w, w});
  return work;
}

OpWork batch_norm(std::int64_t bytes, const Where& where) {
  const at::Tensor x = images(bytes, where, at::kFloat), scale = leaf({kChannels}, where, at::kFloat),
                   shift = leaf({kChannels}, where, at::kFloat);
  const at::Tensor mean = at::zeros({kChannels}).to(where.device), variance = at::ones({kChannels}).to(where.device);
  OpWork work = sized(image_shape(x), x);
  work.forward = [=] { return at::batch_norm(x, scale, shift, mean, variance, true, 0.1, 1e-5, true); };
  work.leaves = {x, scale, shift};
  work.moved_bytes = bytes_of({x, x});
  work.backward_bytes = bytes_of({x, x, x});
  return work;
}

OpWork layer_norm(std::int64_t bytes, const Where& where) {
  const at::Tensor x = leaf({rows_for(bytes, kRowWidth, at::kFloat), kRowWidth}, where, at::kFloat),
                   scale = leaf({kRowWidth}, where, at::kFloat), shift = leaf({kRowWidth}, where, at::kFloat);
  OpWork work = sized(fmt::format("{}x{}", x.size(0), kRowWidth), x);
  work.forward = [=] { return at::layer_norm(x, {kRowWidth}, scale, shift); };
  work.leaves = {x, scale, shift};
  work.moved_bytes = bytes_of({x, x});
  work.backward_bytes = bytes_of({x, x, x});
  return work;
}

OpWork elementwise(std::int64_t bytes, const Where& where) {
  const at::Tensor x = images(bytes, where, where.type);
  OpWork work = sized(image_shape(x) + " relu", x);
  work.forward = [x] { return at::relu(x); };
  work.leaves = {x};
  work.flop = work.backward_flop = static_cast<double>(x.numel());
  work.moved_bytes = bytes_of({x, x});
  work.backward_bytes = bytes_of({x, x, x});
  return work;
}

OpWork pooling(std::int64_t bytes, const Where& where) {
  const at::Tensor x = images(bytes, where, where.type);
  OpWork work = sized(image_shape(x) + " max 3x3/2", x);
  work.forward = [x] { return at::max_pool2d(x, 3, 2, 1); };
  work.leaves = {x};
  work.moved_bytes = work.backward_bytes = 1.25 * bytes_of({x});  // a quarter of the elements comes out
  return work;
}

OpWork attention(std::int64_t bytes, const Where& where) {
  const std::int64_t n = rows_for(bytes, kHeads * kPositions * kHeadWidth, where.type);
  const auto part = [&] { return leaf({n, kHeads, kPositions, kHeadWidth}, where, where.type); };
  const at::Tensor q = part(), k = part(), v = part();
  OpWork work = sized(fmt::format("{}x{}x{}x{}", n, kHeads, kPositions, kHeadWidth), q);
  work.forward = [=] { return at::scaled_dot_product_attention(q, k, v); };
  work.leaves = {q, k, v};
  work.flop = 2 * 2.0 * static_cast<double>(q.numel()) * kPositions;  // two products
  work.backward_flop = 2 * work.flop;                                 // four
  work.moved_bytes = bytes_of({q, q, q, q});
  work.backward_bytes = bytes_of({q, q, q, q, q, q, q, q});
  return work;
}

OpWork softmax(std::int64_t bytes, const Where& where) {
  const at::Tensor x = leaf({rows_for(bytes, kPositions, at::kFloat), kPositions}, where, at::kFloat);
  OpWork work = sized(fmt::format("{}x{}", x.size(0), kPositions), x);
  work.forward = [x] { return at::softmax(x, -1); };
  work.leaves = {x};
  work.moved_bytes = bytes_of({x, x});
  work.backward_bytes = bytes_of({x, x, x});
  return work;
}

OpWork embedding(std::int64_t bytes, const Where& where) {
  const at::Tensor table = leaf({kVocabulary, kRowWidth}, where, at::kFloat);
  const at::Tensor rows =
      at::randint(kVocabulary, {rows_for(bytes, kRowWidth, at::kFloat)}, at::kLong).to(where.device);
  OpWork work = sized(fmt::format("{} of {}x{}", rows.numel(), kVocabulary, kRowWidth), rows);
  work.count = rows.numel() * kRowWidth;
  work.bytes = work.count * 4;
  work.type = at::kFloat;
  work.forward = [=] { return at::embedding(table, rows); };
  work.leaves = {table};
  work.moved_bytes = 2 * static_cast<double>(work.bytes);
  work.backward_bytes = static_cast<double>(work.bytes) + bytes_of({table});  // the gradient of all rows is written
  return work;
}

using MakeWork = OpWork (*)(std::int64_t, const Where&);
struct OpClass {
  const char* name;
  MakeWork make;
};
constexpr OpClass kClasses[] = {{"conv2d", conv},           {"linear", linear},           {"batch_norm", batch_norm},
                                {"layer_norm", layer_norm}, {"elementwise", elementwise}, {"pooling", pooling},
                                {"attention", attention},   {"softmax", softmax},         {"embedding", embedding}};
constexpr std::size_t kClassCount = std::size(kClasses);

// Values that an optimizer reads and writes for each parameter: the parameter twice, its gradient, its states twice.
double words_per_parameter(OptimizerKind kind) {
  if (kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW) return 7;
  return kind == OptimizerKind::SgdMomentum ? 5 : 3;
}

at::ScalarType tensor_type(Precision precision) {
  if (precision == Precision::AmpBf16) return at::kBFloat16;
  return precision == Precision::AmpFp16 ? at::kHalf : at::kFloat;
}

class OpsBench : public Bench {
 public:
  OpsBench(const BenchPlan& plan, const TrainerOptions& options, Precision precision)
      : plan_(plan),
        options_(options),
        device_(device_of(options)),
        where_{device_->of_replica(), tensor_type(precision)},
        sizes_(bench_sizes(plan)) {
    at::set_num_threads(options.threads);
    at::manual_seed(options.seed);
  }

  Expected<std::optional<BenchRecord>> next() override {
    return guarded("the bench failed", [this]() -> Expected<std::optional<BenchRecord>> {
      if (ready_.empty()) measure_next();
      if (ready_.empty()) return std::optional<BenchRecord>();
      BenchRecord record = std::move(ready_.front());
      ready_.erase(ready_.begin());
      return std::optional<BenchRecord>(std::move(record));
    });
  }

 private:
  void measure_next() {
    const bool steps = options_.optimizer != OptimizerKind::None;
    const std::size_t classes = kClassCount + (steps ? 1 : 0);
    if (at_ == classes * sizes_.size()) return;
    const std::size_t which = at_ / sizes_.size(), size = at_ % sizes_.size();
    ++at_;
    if (size == 0) budget_ = BenchBudget(plan_.budget_s / static_cast<double>(classes), plan_.iterations);
    if (which == kClassCount) return optimizer(sizes_[size]);
    op(kClasses[which], sizes_[size]);
  }

  void op(const OpClass& kind, std::int64_t bytes) {
    BenchRecord forward;
    forward.what = kind.name;
    forward.pass = "forward";
    forward.bytes = bytes;
    if (!budget_.allows(bytes)) return left_out({forward, as_pass(forward, "backward")});
    const double start = monotonic_s();
    OpWork work = kind.make(bytes, where_);
    const at::Tensor gradient = at::ones_like(work.forward());
    const auto both = [&] {
      let_gradients_go(work);
      work.forward().backward(gradient);
    };
    timed_s(*device_, 1, both);
    const double one_s = timed_s(*device_, 1, both);
    const int iterations = budget_.iterations(one_s);
    timed_s(*device_, std::min(iterations, plan_.warm_up), both);
    BenchRecord backward = as_pass(forward, "backward");
    forward.time_s = timed_s(*device_, iterations, work.forward);
    for (int i = 0; i < iterations; ++i) {
      let_gradients_go(work);
      const at::Tensor out = work.forward();
      backward.time_s += timed_s(*device_, 1, [&] { out.backward(gradient); });
    }
    for (BenchRecord* one : {&forward, &backward}) {
      const bool back = one == &backward;
      describe(*one, work, iterations);
      one->flop = back ? work.backward_flop : work.flop;
      one->moved_bytes = back ? work.backward_bytes : work.moved_bytes;
    }
    budget_.spend(monotonic_s() - start, one_s, work.bytes);
    ready_ = {forward, backward};
  }

  // As zero_grad does: a backward pass then writes gradients, and adds nothing.
  static void let_gradients_go(OpWork& work) {
    for (at::Tensor& leaf : work.leaves) leaf.mutable_grad().reset();
  }

  // One tensor of that size, stepped by the scenario's optimizer.
  void optimizer(std::int64_t bytes) {
    BenchRecord record;
    record.what = "optimizer";
    record.pass = "step";
    record.bytes = bytes;
    if (!budget_.allows(bytes)) return left_out({record});
    const double start = monotonic_s();
    at::Tensor parameter = leaf({std::max<std::int64_t>(1, bytes / 4)}, where_, at::kFloat);
    parameter.mutable_grad() = at::ones_like(parameter).detach();
    TorchOptimizer stepper(options_, {parameter});
    const auto step = [&] { stepper.step(); };
    timed_s(*device_, 1, step);
    const double one_s = timed_s(*device_, 1, step);
    const int iterations = budget_.iterations(one_s);
    timed_s(*device_, std::min(iterations, plan_.warm_up), step);
    record.time_s = timed_s(*device_, iterations, step);
    describe(record, sized(fmt::format("{}", parameter.numel()), parameter), iterations);
    record.moved_bytes = words_per_parameter(options_.optimizer) * static_cast<double>(record.bytes);
    budget_.spend(monotonic_s() - start, one_s, record.bytes);
    ready_ = {record};
  }

  static void describe(BenchRecord& record, const OpWork& work, int iterations) {
    record.time_s /= iterations;
    record.iterations = iterations;
    record.shape = work.shape;
    record.bytes = work.bytes;
    record.count = work.count;
    record.type = element_name(work.type);
  }
  static BenchRecord as_pass(BenchRecord record, const char* pass) {
    record.pass = pass;
    return record;
  }
  void left_out(std::vector<BenchRecord> records) {
    for (BenchRecord& one : records) one.not_run = BenchBudget::kUsedUp;
    ready_ = std::move(records);
  }

  BenchPlan plan_;
  TrainerOptions options_;
  std::shared_ptr<TorchDevice> device_;
  Where where_;
  std::vector<std::int64_t> sizes_;
  std::size_t at_ = 0;
  BenchBudget budget_{0, 1};
  std::vector<BenchRecord> ready_;
};

}  // namespace

std::unique_ptr<Bench> make_ops_bench(const BenchPlan& plan, const TrainerOptions& options, Precision precision) {
  return std::make_unique<OpsBench>(plan, options, precision);
}

Expected<std::unique_ptr<Bench>> make_bench(const BenchPlan& plan, const TrainerOptions& options, Precision precision) {
  return guarded("the bench could not start", [&]() -> Expected<std::unique_ptr<Bench>> {
    if (plan.kind == BenchKind::Collectives) return make_collectives_bench(plan, options);
    if (plan.kind == BenchKind::Ops) return make_ops_bench(plan, options, precision);
    return make_copies_bench(plan, options);
  });
}

}  // namespace lockstep
