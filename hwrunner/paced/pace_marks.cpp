#include "hwrunner/paced/pace_marks.h"

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

class MarkFinder {
 public:
  MarkFinder(const StepProgram& program, int rank_class, const StepContext& context)
      : program_(program), items_(program.programs[static_cast<std::size_t>(rank_class)]), context_(context) {}

  ProgramMarks run() {
    for (int micro = 0; micro < program_.micro_steps; ++micro) {
      const bool last = micro + 1 == program_.micro_steps;
      marks_.micro.emplace_back();
      forward();
      const bool reduces =
          context_.request.strategy == Strategy::Ddp && (last || !context_.scenario.accumulate_no_sync);
      backward(reduces, context_.keeps_gradients || micro > 0);
      if (reduces) reduced();
      now().reduced = at_;
    }
    return std::move(marks_);
  }

 private:
  PaceMarks& now() { return marks_.micro.back(); }
  const Item& item(int at) const { return items_[static_cast<std::size_t>(at)]; }
  int count() const { return static_cast<int>(items_.size()); }
  bool is_kernel(int at, Cause cause) const {
    return at < count() && item(at).kind == ItemKind::Kernel && item(at).cause == cause;
  }
  bool is_bucket(int at, ItemKind kind) const {
    return at < count() && item(at).kind == kind &&
           program_.meetings[static_cast<std::size_t>(item(at).meeting)].bucket >= 0;
  }
  bool meets_others(int at) const {
    return item(at).kind == ItemKind::Arrive && !program_.meetings[static_cast<std::size_t>(item(at).meeting)].own;
  }

  // Behind the next `kernels` kernels of this cause; what stands between them belongs to them.
  void skip(std::size_t kernels, Cause cause) {
    for (; kernels > 0; --kernels) {
      while (at_ < count() && !is_kernel(at_, cause)) ++at_;
      LOCKSTEP_ENSURE(at_ < count(), "a program with too few kernels of {}", name_of(cause));
      at_ = past_syncs(at_ + 1);
    }
  }

  // Behind the waits of a host that computes itself.
  int past_syncs(int at) const {
    while (at < count() && item(at).kind == ItemKind::HostSync) ++at;
    return at;
  }

  void forward() {
    const auto& ops = context_.model.ops;
    PaceMarks& marks = now();
    marks.start = marks.meet = at_;
    for (marks.compute = at_; marks.compute < count() && !is_kernel(marks.compute, Cause::Forward); ++marks.compute)
      if (marks.meet == at_ && meets_others(marks.compute)) marks.meet = marks.compute + 1;
    at_ = marks.meet;
    marks.forward.assign(ops.size(), 0);
    std::size_t loss = ops.size();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (context_.is_loss(static_cast<OpId>(i))) {
        loss = i;
        continue;
      }
      skip(context_.op_costs[i].forward.size(), Cause::Forward);
      marks.forward[i] = at_;
    }
    if (loss == ops.size()) return;
    skip(context_.op_costs[loss].forward.size(), Cause::Forward);
    marks.forward[loss] = at_;
    skip(context_.op_costs[loss].backward.size(), Cause::Backward);
  }

  void backward(bool reduces, bool accumulates) {
    PaceMarks& marks = now();
    marks.gradient.assign(context_.model.parameters.size(), 0);
    for (const OpId id : context_.backward_order) {
      if (context_.is_loss(id)) continue;
      const auto op = static_cast<std::size_t>(id);
      skip(context_.op_costs[op].backward.size(), Cause::Backward);
      for (const ParameterId parameter : context_.ready_at[op]) {
        if (accumulates) skip(1, Cause::Backward);
        marks.gradient[static_cast<std::size_t>(parameter)] = at_;
        if (reduces) copied();
      }
    }
    marks.backward = at_;
  }

  // One copy into a bucket, and the launches that it brings.
  void copied() {
    skip(1, Cause::BucketCopies);
    while (is_kernel(at_, Cause::BucketCopies) && is_bucket(past_syncs(at_ + 1), ItemKind::Arrive)) {
      at_ = past_syncs(at_ + 1) + 1;
      marks_.launched.push_back(at_);
      marks_.buckets.push_back(item(at_ - 1).meeting);
    }
  }

  void reduced() {
    while (is_bucket(at_, ItemKind::StreamWait) || is_kernel(at_, Cause::BucketCopies)) at_ = past_syncs(at_ + 1);
  }

  const StepProgram& program_;
  const std::vector<Item>& items_;
  const StepContext& context_;
  int at_ = 0;
  ProgramMarks marks_;
};

}  // namespace

ProgramMarks pace_marks(const StepProgram& program, int rank_class, const StepContext& context) {
  return MarkFinder(program, rank_class, context).run();
}

}  // namespace lockstep
