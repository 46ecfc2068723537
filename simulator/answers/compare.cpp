#include "simulator/answers/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace lockstep {
namespace {

Error wrong(ErrorKind kind, std::string file, std::string found, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = std::move(file);
  error.found = std::move(found);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

std::string row_name(const Run& run) {
  std::string name = fmt::format("{} on {}", name_of(run.strategy), run.gpus);
  for (const auto& [key, value] : run.point) name += fmt::format(", {}={}", key, value);
  return name;
}

bool same_row(const Run& a, const Run& b) {
  return a.strategy == b.strategy && a.gpus == b.gpus && a.point == b.point;
}

bool has_breakdown(const Run& run) {
  return std::any_of(run.breakdown_s.begin(), run.breakdown_s.end(), [](double part) { return part != 0; });
}

std::vector<StepPart> parts_of(const Run& run, const Run& reference) {
  std::vector<StepPart> parts;
  if (!has_breakdown(run) || !has_breakdown(reference)) return parts;
  for (const Cause cause : kCauses)
    if (const double seconds = run.part_s(cause) - reference.part_s(cause); seconds != 0)
      parts.push_back({cause, "", seconds});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const StepPart& a, const StepPart& b) { return std::abs(a.seconds) > std::abs(b.seconds); });
  return parts;
}

std::size_t reference_of(const std::vector<NamedResult>& results) {
  std::size_t reference = 0, measured = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].result.kind == "measured") {
      if (measured++ == 0) reference = i;
    }
  return measured == 1 ? reference : 0;
}

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Two predictions may differ in a setting: that is what a what-if is. A measurement must be of the very scenario.
void warn(Comparison& out, const NamedResultView& result, const NamedResultView& reference) {
  for (const NamedResultView* one : {&result, &reference})
    if (one->result.scenario_yaml.empty())
      out.warnings.push_back(
          fmt::format("{} does not say of what scenario it is: it may be of another model or machine", one->name));
  UnlikeResult unlike{result.name, unlike_keys(result.result, reference.result, out.against_measured)};
  for (const ComparedRow& row : out.rows)
    if (!row.same_batch() && unlike.keys.empty())
      unlike.keys.push_back({fmt::format("per_gpu_batch of {}", row.name), fmt::format("{}", row.per_gpu_batch),
                             fmt::format("{}", row.reference_batch)});
  if (unlike.keys.empty()) return;
  out.warnings.push_back(fmt::format("{} and {} are of different scenarios: {}", result.name, reference.name,
                                     differences_text(unlike.keys)));
  out.unlike.push_back(std::move(unlike));
}

}  // namespace

double Comparison::worst_error() const {
  double worst = 0;
  for (const ComparedRow& row : rows) worst = std::max(worst, std::abs(row.error));
  return worst;
}

double Comparison::mean_error() const {
  double sum = 0;
  for (const ComparedRow& row : rows) sum += std::abs(row.error);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

std::string family_of(const std::string& implementation) {
  static const std::map<std::string, std::string> families = {{"model of one GPU", "single"},
                                                              {"LibTorch module", "single"},
                                                              {"model of DDP", "ddp"},
                                                              {"c10d Reducer", "ddp"},
                                                              {"torch DistributedDataParallel", "ddp"},
                                                              {"model of DataParallel", "dp"},
                                                              {"coalesced", "dp"},
                                                              {"torch.nn.DataParallel", "dp"},
                                                              {"model of data_parallel", "dp-cpp"},
                                                              {"LibTorch data_parallel", "dp-cpp"},
                                                              {"model of the stand-in", "stand-in"},
                                                              {"cpu stand-in", "stand-in"}};
  // "c10d Reducer, paced": computing was paced, the family is the same.
  const std::size_t paced = implementation.find("paced");
  std::string name = implementation.substr(0, paced);
  name.erase(name.find_last_not_of(" ,(") + 1);
  const auto found = families.find(name);
  return found == families.end() ? name : found->second;
}

Comparison compare_pair(const NamedResultView& result, const NamedResultView& reference) {
  Comparison out;
  out.reference = reference.name;
  out.against_measured = reference.result.kind == "measured";
  std::vector<const Run*> used;
  const std::vector<Run>& all = reference.result.runs;
  for (std::size_t i = 0; i < result.result.runs.size(); ++i) {
    const Run& run = result.result.runs[i];
    if (run.not_run) continue;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Run& one) { return !one.not_run && same_row(one, run); });
    if (found == all.end()) {
      out.unmatched.push_back(fmt::format("{}: {}", result.name, row_name(run)));
      continue;
    }
    used.push_back(&*found);
    const std::string mine = family_of(run.implementation), other = family_of(found->implementation);
    ComparedRow row{row_name(run),
                    result.name,
                    run.step_time_s,
                    found->step_time_s,
                    run.step_time_s / found->step_time_s - 1,
                    parts_of(run, *found),
                    i,
                    static_cast<std::size_t>(found - all.begin()),
                    run.per_gpu_batch,
                    found->per_gpu_batch,
                    mine != other && !mine.empty() && !other.empty()};
    out.rows.push_back(std::move(row));
  }
  for (const Run& run : all)
    if (!run.not_run && std::find(used.begin(), used.end(), &run) == used.end())
      out.unmatched.push_back(fmt::format("{}: {}", reference.name, row_name(run)));
  out.constant = constant_errors(out.rows, reference.result);
  warn(out, result, reference);
  return out;
}

std::optional<ConstantErrors> constant_errors(const std::vector<ComparedRow>& rows, const Result& reference) {
  const auto is_single = [](const Run& run) { return run.strategy == Strategy::Single && run.gpus == 1; };
  ConstantErrors out;
  for (const ComparedRow& row : rows) {
    const Run& run = reference.runs[row.reference_run];
    if (is_single(run)) continue;
    const auto single = std::find_if(reference.runs.begin(), reference.runs.end(), [&](const Run& one) {
      return is_single(one) && !one.not_run && one.point == run.point;
    });
    if (single == reference.runs.end()) continue;
    const double constant_s = single->step_time_s / (run.scaling == "strong" ? run.gpus : 1);
    const double error = std::abs(constant_s / row.reference_s - 1);
    ++out.rows;
    out.mean_error += std::abs(row.error);
    out.constant_mean_error += error;
    out.constant_worst_error = std::max(out.constant_worst_error, error);
  }
  if (out.rows == 0) return std::nullopt;
  out.mean_error /= static_cast<double>(out.rows);
  out.constant_mean_error /= static_cast<double>(out.rows);
  return out;
}

Expected<Comparison> compare_results(const std::vector<NamedResult>& results, bool force) {
  if (results.size() < 2)
    return tl::unexpected(Errors{wrong(ErrorKind::Missing, "command line", "", "two results or more are needed",
                                       "lockstep predict FILE --json -o RESULT writes one")});
  const std::size_t at = reference_of(results);
  const NamedResult& reference = results[at];
  Comparison out;
  out.reference = reference.name;
  out.against_measured = reference.result.kind == "measured";
  Errors errors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == at) continue;
    Comparison pair = compare_pair({results[i].name, results[i].result}, {reference.name, reference.result});
    for (const ComparedRow& row : pair.rows)
      if (row.mixed && !force) {
        const std::string& mine = results[i].result.runs[row.run].implementation;
        errors.push_back(wrong(ErrorKind::Conflict, results[i].name, mine,
                               fmt::format("{} is `{}` here and `{}` in {}: not the same thing", row.name, mine,
                                           reference.result.runs[row.reference_run].implementation, reference.name),
                               "--force compares them all the same"));
      }
    append(out.rows, std::move(pair.rows));
    append(out.unmatched, std::move(pair.unmatched));
    append(out.unlike, std::move(pair.unlike));
    append(out.warnings, std::move(pair.warnings));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (out.rows.empty())
    return tl::unexpected(Errors{wrong(ErrorKind::Missing, reference.name, "", "the results have no row in common",
                                       "compare results with the same strategies and numbers of GPUs")});
  out.constant = constant_errors(out.rows, reference.result);
  return out;
}

}  // namespace lockstep
