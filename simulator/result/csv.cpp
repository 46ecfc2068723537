#include "simulator/result/csv.h"

#include <fmt/format.h>

#include <set>

namespace lockstep {
namespace {

class Row {
 public:
  void text(const std::string& value) {
    if (!line_.empty() || started_) line_ += ',';
    started_ = true;
    line_ += csv_field(value);
  }
  void whole(std::int64_t value) { text(value == 0 ? "" : fmt::format("{}", value)); }
  void number(double value) { text(value == 0 ? "" : fmt::format("{}", value)); }  // 0 = not known
  std::string take() { return std::move(line_) + '\n'; }

 private:
  std::string line_;
  bool started_ = false;
};

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

std::string csv_header(const std::vector<std::string>& swept) {
  Row row;
  for (const auto& key : swept) row.text(key);
  for (const char* name : {"strategy", "implementation", "gpus", "nodes", "world_size", "per_gpu_batch", "global_batch",
                           "micro_steps", "step_time_s", "throughput", "throughput_unit", "speedup", "efficiency"})
    row.text(name);
  for (const Cause cause : kCauses) row.text(fmt::format("breakdown_s.{}", name_of(cause)));
  row.text("not_run");
  row.text("fits_memory");
  return row.take();
}

std::string csv_line(const Run& run, const std::vector<std::string>& swept) {
  Row row;
  for (const auto& key : swept) {
    const auto found = run.point.find(key);
    row.text(found == run.point.end() ? "" : found->second);
  }
  row.text(name_of(run.strategy));
  row.text(run.implementation);
  row.whole(run.gpus);
  row.whole(run.nodes);
  row.whole(run.world_size);
  row.whole(run.per_gpu_batch);
  row.whole(run.global_batch);
  row.whole(run.not_run ? 0 : run.micro_steps);
  row.number(run.step_time_s);
  row.number(run.throughput);
  row.text(run.throughput_unit);
  row.number(run.speedup);
  row.number(run.efficiency);
  for (const Cause cause : kCauses) row.text(run.not_run ? "" : fmt::format("{}", run.part_s(cause)));
  row.text(run.not_run.value_or(""));
  row.text(!run.fits_memory ? "" : *run.fits_memory ? "true" : "false");
  return row.take();
}

std::string result_to_csv(const Result& result) {
  std::set<std::string> keys;
  for (const Run& run : result.runs)
    for (const auto& [key, value] : run.point) keys.insert(key);
  const std::vector<std::string> swept(keys.begin(), keys.end());
  std::string csv = csv_header(swept);
  for (const Run& run : result.runs) csv += csv_line(run, swept);
  return csv;
}

}  // namespace lockstep
