#include "simulator/answers/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "simulator/base/ensure.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

const std::map<std::string, std::string>& english() {
  static const std::map<std::string, std::string> texts = {
      // What came out.
      {"speedup",
       "{strategy:words} on {gpus} GPUs trains {speedup:factor} as fast as one GPU ({efficiency:percent} "
       "efficiency)."},
      {"speedup_one", "{strategy:words} on one GPU reaches {speedup:percent} of the speed without a wrapper."},
      {"single", "One GPU trains {throughput:count} {unit}, one step in {step_time_s:time}."},
      {"comparison", "On {gpus} GPUs {fast:words} is {factor:factor} as fast as {slow:words}."},
      {"superlinear",
       "{strategy:words} on {gpus} GPUs exceeds {gpus} times one GPU, because the baseline loses time "
       "to {cause:words}."},
      // Why.
      {"largest_loss",
       "The largest loss of {strategy:words} is {cause:words}: {loss_s:time} of a step of "
       "{step_time_s:time} ({share:percent})."},
      {"small_loss", "{strategy:words} loses less than 1 % of its step to anything but computing."},
      {"slower_kernels_weak",
       "Kernels of the GPU that {strategy:words} waits for take {loss_s:time} longer than one GPU's "
       "on average."},
      {"slower_kernels_strong",
       "Kernels work on {per_gpu_batch} samples of a GPU at a time and are less efficient: "
       "{strategy:words} loses {loss_s:time} of its step to that."},
      {"host_bound",
       "Launching kernels limits {strategy:words}: the GPU waits for the CPU during {share:percent} of the "
       "step. A larger batch, fewer ops or a faster CPU core would help; a faster GPU would not."},
      // What would help.
      {"best_lever",
       "What would help {strategy:words} most: {set} makes a step take {step_time_s:time}, "
       "{gain:signed_percent} throughput."},
      {"no_lever", "None of the changes tried for {strategy:words} brings 1 % more throughput."},
      // Doubts.
      {"does_not_fit",
       "{strategy:words} with {per_gpu_batch} samples per GPU needs {needed:bytes} of {memory:bytes} GPU "
       "memory: it would not run."},
      {"baseline_accumulates",
       "The baseline of one GPU takes its {global_batch} samples in {micro_steps} micro-steps, "
       "because they do not fit its memory at once."},
      {"uncertainty",
       "Not calibrated: a step of {strategy:words} on {gpus} GPUs is expected between {low:time} and "
       "{high:time} in 8 of 10 cases; calibrate.single_gpu, the speed of one GPU measured on the machine, "
       "narrows that."},
      {"host_limits_calibration",
       "calibrate.single_gpu cannot be matched: the CPU alone takes longer than the measured "
       "step, so kernel times stay as they are; a host factor of {host_factor} would explain "
       "the measurement."},
      {"note", "{text}"},
      // Phrases.
      {"single_name", "a single GPU"},
      {"dp", "DataParallel"},
      {"ddp", "DDP"},
      {"input", "waiting for input"},
      {"copy_to_device", "copying the batch to the GPU"},
      {"scatter", "handing out the batch from GPU 0"},
      {"replicate", "copying the model to every GPU before each forward pass"},
      {"forward", "a slower forward pass"},
      {"gather", "gathering the outputs on GPU 0"},
      {"backward", "a slower backward pass"},
      {"gradient_reduce", "adding up the gradients on GPU 0 after the backward pass"},
      {"bucket_copies", "copying gradients into and out of buckets"},
      {"buffer_broadcast", "broadcasting buffers before the forward pass"},
      {"contention", "kernels slowed down by the all-reduce that runs beside them"},
      {"wait_for_peers", "waiting for the slowest GPU"},
      {"exposed_communication", "all-reduce that the backward pass does not hide"},
      {"host_bound_words", "waiting for the CPU to launch kernels"},
      {"optimizer", "the optimizer"},
      {"other", "other work"},
  };
  return texts;
}

// Plain text and the placeholder after it (no name at the end of a text).
struct Piece {
  std::string plain, name, kind;
};

std::vector<Piece> pieces_of(const std::string& pattern) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = std::min(pattern.find('{', at), pattern.size());
    const std::size_t close = std::min(pattern.find('}', open), pattern.size());
    const std::string inside = open < close ? pattern.substr(open + 1, close - open - 1) : "";
    const std::size_t colon = std::min(inside.find(':'), inside.size());
    const std::string kind = colon < inside.size() ? inside.substr(colon + 1) : "";
    pieces.push_back({pattern.substr(at, open - at), inside.substr(0, colon), kind});
    at = close + 1;
  }
  return pieces;
}

double number_of(const std::string& text) {
  double value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  LOCKSTEP_ENSURE(read.ec == std::errc() && read.ptr == end, "a sentence needs a number, has `{}`", text);
  return value;
}

std::string phrase(const std::string& id) {
  const auto& texts = english();
  // Ids that are sentences as well have their phrase under another name.
  const auto found = texts.find(id == "single" || id == "host_bound" ? id + (id == "single" ? "_name" : "_words") : id);
  LOCKSTEP_ENSURE(found != texts.end(), "no phrase `{}`", id);
  return found->second;
}

std::string formatted(const std::string& value, const std::string& kind) {
  if (kind.empty()) return value;
  if (kind == "words") return phrase(value);
  const double number = number_of(value);
  if (kind == "time") return format_time(number);
  if (kind == "factor") return format_factor(number);
  if (kind == "percent") return format_percent(number);
  if (kind == "signed_percent") return "+" + format_percent(number);
  if (kind == "bytes") return format_bytes(number);
  LOCKSTEP_ENSURE(kind == "count", "no kind of value `{}`", kind);
  return format_significant(number);
}

}  // namespace

Sentence make_sentence(const std::string& id, std::map<std::string, std::string> values) {
  const auto found = english().find(id);
  LOCKSTEP_ENSURE(found != english().end(), "no sentence `{}`", id);
  std::string text;
  for (const Piece& piece : pieces_of(found->second)) {
    text += piece.plain;
    if (piece.name.empty()) continue;
    const auto value = values.find(piece.name);
    LOCKSTEP_ENSURE(value != values.end(), "sentence `{}` lacks `{}`", id, piece.name);
    text += formatted(value->second, piece.kind);
  }
  return {id, std::move(values), std::move(text)};
}

std::string digits(double number) {
  return fmt::format("{}", number);
}

std::vector<std::string> sentence_ids() {
  std::vector<std::string> ids;
  for (const auto& [id, text] : english()) ids.push_back(id);
  return ids;
}

std::vector<std::pair<std::string, std::string>> placeholders_of(const std::string& id) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Piece& piece : pieces_of(english().at(id)))
    if (!piece.name.empty()) all.emplace_back(piece.name, piece.kind);
  return all;
}

}  // namespace lockstep
