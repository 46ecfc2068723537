#include "simulator/cli/measure_bench.h"

#include <algorithm>
#include <ostream>

#include "hwrunner/measure/bench.h"
#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

// 1MiB as everywhere here; 8, 64K and 1M as nccl-tests reads them (powers of 1024).
Expected<std::int64_t> size_of(const std::string& text) {
  const auto with_unit = [&](const char* unit) { return parse_bytes(text.substr(0, text.size() - 1) + unit); };
  if (!text.empty() && std::string("KMG").find(text.back()) != std::string::npos)
    return with_unit(text.back() == 'K' ? "KiB" : text.back() == 'M' ? "MiB" : "GiB");
  if (auto plain = parse_integer(text)) return plain;
  return parse_bytes(text);
}

class PlanReader {
 public:
  explicit PlanReader(const MeasureArguments& arguments) : arguments_(arguments) {}

  Expected<BenchPlan> plan() {
    for (const BenchKind kind : {BenchKind::Collectives, BenchKind::Ops, BenchKind::Copies})
      if (arguments_.bench == name_of(kind)) plan_ = default_bench(kind);
    if (!arguments_.min_bytes.empty()) take("--minbytes", size_of(arguments_.min_bytes), plan_.min_bytes);
    if (!arguments_.max_bytes.empty()) take("--maxbytes", size_of(arguments_.max_bytes), plan_.max_bytes);
    if (!arguments_.budget.empty()) take("--budget", parse_quantity(arguments_.budget, Unit::Seconds), plan_.budget_s);
    if (arguments_.step_factor > 0) plan_.step_factor = arguments_.step_factor;
    if (arguments_.iterations > 0) plan_.iterations = arguments_.iterations;
    if (arguments_.warm_up >= 0) plan_.warm_up = arguments_.warm_up;
    if (errors_.empty()) sizes();
    if (!errors_.empty()) return tl::unexpected(errors_);
    return plan_;
  }

 private:
  // Only one of the two may have been given.
  void sizes() {
    if (plan_.min_bytes < 4) return fail("--minbytes", "a value has 4 bytes", "4 or more");
    if (plan_.max_bytes < 4) return fail("--maxbytes", "a value has 4 bytes", "4 or more");
    if (plan_.min_bytes <= plan_.max_bytes) return;
    if (arguments_.max_bytes.empty()) return void(plan_.max_bytes = plan_.min_bytes);
    if (arguments_.min_bytes.empty()) return void(plan_.min_bytes = plan_.max_bytes);
    fail("--maxbytes", "the largest size is below the smallest", "");
  }
  void fail(const char* option, const char* message, const char* allowed) {
    Error error;
    error.kind = ErrorKind::Range;
    error.file = "command line";
    error.key = option;
    error.message = message;
    error.allowed = allowed;
    errors_.push_back(std::move(error));
  }
  template <class T>
  void take(const char* option, Expected<T> value, T& into) {
    if (value) {
      into = *value;
      return;
    }
    for (Error& error : value.error()) {
      error.file = "command line";
      error.key = option;
      errors_.push_back(std::move(error));
    }
  }

  const MeasureArguments& arguments_;
  BenchPlan plan_;
  Errors errors_;
};

std::string in_form_of(Form form, const BenchResult& result) {
  switch (form) {
    case Form::Json:
      return bench_to_json(result);
    case Form::JsonLines:
      return R"({"type":"result",)" + bench_to_json(result, true).substr(1);
    case Form::Csv:
      return bench_to_csv(result);
    case Form::Text:
      break;
  }
  return bench_to_text(result);
}

}  // namespace

int run_bench(const MeasureArguments& arguments, const Inputs& inputs, const MeasureRequest& request, Output& output) {
  const auto plan = PlanReader(arguments).plan();
  if (!plan) return report_errors(plan.error(), arguments.common.form, output);
  const BenchResult result = bench(inputs, request, *plan);
  clear_progress(output);
  if (!write_result(in_form_of(arguments.common.form, result), arguments.common, output)) return kRunFailed;
  if (result.partial && (arguments.common.form != Form::Text || !arguments.common.output_file.empty()))
    output.err << "lockstep: partial result: " << *result.partial << '\n';
  if (result.interrupted) return kInterrupted;
  const bool any = std::any_of(result.rows.begin(), result.rows.end(),
                               [](const BenchRow& row) { return row.point.not_run.empty(); });
  return result.partial || !any ? kRunFailed : kGood;
}

}  // namespace lockstep
