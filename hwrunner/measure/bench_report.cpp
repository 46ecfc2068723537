#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hwrunner/measure/bench.h"
#include "simulator/base/format.h"
#include "simulator/result/csv.h"
#include "simulator/result/json.h"
#include "simulator/result/result.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

bool is_rooted(const std::string& collective) {
  return collective != "all_reduce";
}
std::string redop_of(const std::string& collective) {
  return collective == "broadcast" ? "none" : "sum";
}

// nccl-tests prints times of up to seven characters, with as many decimals as fit.
std::string time_us(double seconds) {
  const double us = seconds * 1e6;
  const int decimals = us >= 10000 ? 0 : us >= 1000 ? 1 : 2;
  return fmt::format("{:7.{}f}", us, decimals);
}

std::string timed_columns(const BenchRow& row) {
  return fmt::format("  {}  {:6.2f}  {:6.2f}  {:6}", time_us(row.point.time_s), row.algbw / 1e9, row.busbw / 1e9,
                     row.point.wrong);
}

// Columns and their widths as src/common.cu of nccl-tests prints them. c10d has no call out of place: both groups of
// columns hold the one measurement, so that a reader of either finds it.
std::string collective_line(const BenchRow& row) {
  const BenchRecord& point = row.point;
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", point.bytes, point.count, point.type, redop_of(point.what),
                     is_rooted(point.what) ? 0 : -1) +
         timed_columns(row) + timed_columns(row) + '\n';
}

constexpr const char* kCollectiveHeader =
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
    "(GB/s)\n";

bool same_table(const BenchRow& a, const BenchRow& b) {
  return a.ranks == b.ranks && a.point.what == b.point.what && a.point.in_flight == b.point.in_flight;
}

std::string collectives_text(const BenchResult& result) {
  std::string text = fmt::format(
      "# minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} agg iters: 1 validation: 1 graph: 0\n",
      result.plan.min_bytes, result.plan.max_bytes, result.plan.step_factor, result.plan.warm_up,
      result.plan.iterations);
  text += "# iters is the most: fewer where the time budget asks for it. c10d works in place: both groups are that.\n";
  std::int64_t wrong = 0;
  double busbw = 0;
  int timed = 0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const BenchRow& row = result.rows[i];
    if (i == 0 || !same_table(result.rows[i - 1], row))
      text += fmt::format("#\n# {}, {} ranks, {}, {} in flight\n", row.point.what, row.ranks, name_of(result.backend),
                          row.point.in_flight) +
              kCollectiveHeader;
    if (!row.point.not_run.empty()) {
      text += fmt::format("# {} B: not run: {}\n", row.point.bytes, row.point.not_run);
      continue;
    }
    text += collective_line(row);
    wrong += row.point.wrong;
    busbw += row.busbw;
    ++timed;
  }
  if (timed > 0)
    text += fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n", wrong,
                        wrong == 0 ? "OK" : "FAILED", busbw / timed / 1e9);
  return text;
}

std::string rate_or_dash(double value, double unit) {
  return value > 0 ? format_column(value / unit) : "-";
}

std::string ops_text(const BenchResult& result) {
  std::string text = fmt::format("{:<12}{:<9} {:>24} {:>9} {:>9} {:>10} {:>9} {:>7}\n", "op", "pass", "shape", "type",
                                 "bytes", "time us", "GFLOP/s", "GB/s");
  for (const BenchRow& row : result.rows) {
    const BenchRecord& point = row.point;
    if (!point.not_run.empty()) {
      text += fmt::format("{:<12}{:<9} {} B: not run: {}\n", point.what, point.pass, point.bytes, point.not_run);
      continue;
    }
    text +=
        fmt::format("{:<12}{:<9} {:>24} {:>9} {:>9} {:>10} {:>9} {:>7}\n", point.what, point.pass, point.shape,
                    point.type, format_bytes(static_cast<double>(point.bytes)), format_column(point.time_s * 1e6, 4),
                    rate_or_dash(point.flop / point.time_s, 1e9), rate_or_dash(row.algbw, 1e9));
  }
  return text +
         "GFLOP/s count a multiply and an add as two; GB/s the bytes that the op must read and write at least.\n";
}

std::string copies_text(const BenchResult& result) {
  std::string text = fmt::format("{:<24} {:>12} {:>12} {:>10} {:>7} {:>7}\n", "copy", "size B", "iterations", "time us",
                                 "GB/s", "#wrong");
  for (const BenchRow& row : result.rows) {
    const BenchRecord& point = row.point;
    if (!point.not_run.empty())
      text += fmt::format("{:<24} not run: {}\n", point.what, point.not_run);
    else
      text += fmt::format("{:<24} {:>12} {:>12} {:>10} {:>7} {:>7}\n", point.what, point.bytes, point.iterations,
                          format_column(point.time_s * 1e6, 4), format_column(row.algbw / 1e9), point.wrong);
  }
  return text + "GB/s count each byte once: it is read and written.\n";
}

Json row_json(const BenchRow& row, BenchKind kind) {
  const BenchRecord& point = row.point;
  Json json = {{"what", point.what}};
  if (!point.pass.empty()) json["pass"] = point.pass;
  json["ranks"] = row.ranks;
  if (kind == BenchKind::Collectives) {
    json["in_flight"] = point.in_flight;
    json["redop"] = redop_of(point.what);
    json["root"] = is_rooted(point.what) ? 0 : -1;
  }
  if (!point.shape.empty()) json["shape"] = point.shape;
  if (point.bytes > 0) json["bytes"] = point.bytes;
  if (!point.not_run.empty()) {
    json["not_run"] = point.not_run;
    return json;
  }
  json["count"] = point.count;
  json["type"] = point.type;
  json["iterations"] = point.iterations;
  json["time_s"] = point.time_s;
  json["slowest_rank_s"] = row.slowest_s;
  if (kind == BenchKind::Ops) {
    if (point.flop > 0) json["flop_per_s"] = point.flop / point.time_s;
    json["moved_bytes"] = point.moved_bytes;
    json["bytes_per_s"] = row.algbw;
    return json;
  }
  json["algbw_bytes_per_s"] = row.algbw;
  if (kind == BenchKind::Collectives) json["busbw_bytes_per_s"] = row.busbw;
  json["wrong"] = point.wrong;
  return json;
}

}  // namespace

std::string bench_to_text(const BenchResult& result) {
  std::string text;
  const char* mark = result.plan.kind == BenchKind::Collectives ? "# " : "";
  if (const auto cpu = result.machine.find("cpu"); cpu != result.machine.end())
    text += fmt::format("{}Machine: {}\n", mark, cpu->second);
  if (result.plan.kind == BenchKind::Collectives) text += collectives_text(result);
  if (result.plan.kind == BenchKind::Ops) text += ops_text(result);
  if (result.plan.kind == BenchKind::Copies) text += copies_text(result);
  if (result.partial) text += fmt::format("{}Partial result: {}\n", mark, *result.partial);
  for (const std::string& note : result.notes) text += fmt::format("{}{}\n", mark, note);
  return text;
}

std::string bench_to_json(const BenchResult& result, bool one_line) {
  Json json = {{"format", "lockstep-bench"},
               {"format_version", 1},
               {"lockstep_version", lockstep_version()},
               {"kind", name_of(result.plan.kind)},
               {"backend", name_of(result.backend)},
               {"scenario", Json::parse(yaml_to_json(result.scenario_yaml))},
               {"machine", result.machine},
               {"software", result.software}};
  if (result.partial) json["partial"] = *result.partial;
  json["rows"] = Json::array();
  for (const BenchRow& row : result.rows) json["rows"].push_back(row_json(row, result.plan.kind));
  if (!result.notes.empty()) json["notes"] = result.notes;
  return json.dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string bench_to_csv(const BenchResult& result) {
  std::string text =
      "what,pass,ranks,in_flight,bytes,count,type,shape,iterations,time_s,slowest_rank_s,algbw_bytes_per_s,"
      "busbw_bytes_per_s,flop_per_s,wrong,not_run\n";
  for (const BenchRow& row : result.rows) {
    const BenchRecord& point = row.point;
    const auto number = [](double value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
    const bool ran = point.not_run.empty();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", point.what, point.pass, row.ranks,
                        result.plan.kind == BenchKind::Collectives ? fmt::format("{}", point.in_flight) : "",
                        point.bytes, ran ? fmt::format("{}", point.count) : "", point.type, csv_field(point.shape),
                        ran ? fmt::format("{}", point.iterations) : "", number(point.time_s), number(row.slowest_s),
                        number(row.algbw), number(row.busbw), number(point.time_s > 0 ? point.flop / point.time_s : 0),
                        ran && result.plan.kind != BenchKind::Ops ? fmt::format("{}", point.wrong) : "",
                        csv_field(point.not_run));
  }
  return text;
}

}  // namespace lockstep
