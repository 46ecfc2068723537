#include "simulator/answers/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
    std::vector<const Run*> used;
    for (const Run& run : results[i].result.runs) {
      if (run.not_run) continue;
      const auto& all = reference.result.runs;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Run& one) { return !one.not_run && same_row(one, run); });
      if (found == all.end()) {
        out.unmatched.push_back(fmt::format("{}: {}", results[i].name, row_name(run)));
        continue;
      }
      used.push_back(&*found);
      const std::string mine = family_of(run.implementation), other = family_of(found->implementation);
      if (mine != other && !mine.empty() && !other.empty() && !force)
        errors.push_back(wrong(ErrorKind::Conflict, results[i].name, run.implementation,
                               fmt::format("{} is `{}` here and `{}` in {}: not the same thing", row_name(run),
                                           run.implementation, found->implementation, reference.name),
                               "--force compares them all the same"));
      out.rows.push_back({row_name(run), results[i].name, run.step_time_s, found->step_time_s,
                          run.step_time_s / found->step_time_s - 1, parts_of(run, *found)});
    }
    for (const Run& run : reference.result.runs)
      if (!run.not_run && std::find(used.begin(), used.end(), &run) == used.end())
        out.unmatched.push_back(fmt::format("{}: {}", reference.name, row_name(run)));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (out.rows.empty())
    return tl::unexpected(Errors{wrong(ErrorKind::Missing, reference.name, "", "the results have no row in common",
                                       "compare results with the same strategies and numbers of GPUs")});
  return out;
}

}  // namespace lockstep
