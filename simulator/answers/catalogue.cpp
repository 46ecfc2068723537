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
       "{strategy:words} on {gpus} {devices:words} trains {speedup:factor} as fast as one {device:words} "
       "({efficiency:percent} efficiency)."},
      {"speedup_one",
       "{strategy:words} on one {device:words} reaches {speedup:percent} of the speed without a wrapper."},
      {"single", "One {device:words} trains {throughput:count} {unit}, one step in {step_time_s:time}."},
      {"comparison", "On {gpus} {devices:words} {fast:words} is {factor:factor} as fast as {slow:words}."},
      {"superlinear",
       "{strategy:words} on {gpus} {devices:words} exceeds {gpus} times one {device:words}, because the baseline "
       "loses time to {cause:words}."},
      {"more_is_slower",
       "More {plural:words} are slower: {strategy:words} on {gpus} trains {throughput:count} {unit}, less than the "
       "{fewer_throughput:count} on {fewer}."},
      // Why. A loss is what a step takes beyond one GPU's.
      {"host_bound",
       "Launching kernels limits {strategy:words}: the {device:words} waits for the CPU during {share:percent} of the "
       "step."},
      {"host_bound_core",
       "Starting ops limits {strategy:words}: a rank waits for that during {share:percent} of the step."},
      {"host_bound_help",
       "Against waiting for the CPU help a larger batch, fewer ops or a faster CPU core; a faster GPU does not."},
      {"host_bound_help_core", "A larger batch or fewer ops help against that."},
      {"loader_bound",
       "The data loader limits {strategy:words}: the {device:words} waits for it during {share:percent} of the step. "
       "The "
       "{workers} of each process can make {supply:count} {unit}, of {demand:count} that the process could use."},
      {"loader_cores",
       "Not the number of workers is the limit but the CPU: the {processes} of a node share its {cores} cores, which "
       "keep "
       "{effective:count} workers of each at work."},
      {"loader_pin",
       "Not the workers are the limit but the one thread of each process that copies batches into pinned memory."},
      {"loader_in_process",
       "{strategy:words} waits for its batches during {share:percent} of the step: without workers "
       "(loader.workers_per_process) a process loads them itself, {host_s:time} for each."},
      {"largest_loss",
       "Compared with one {device:words}, {strategy:words} loses most to {cause:words}: {loss_s:time} more in a step "
       "of {step_time_s:time} ({share:percent})."},
      {"largest_loss_strong",
       "Compared with a fair share of one {device:words}'s step, {strategy:words} loses most to {cause:words}: "
       "{loss_s:time} more in a step of {step_time_s:time} ({share:percent})."},
      {"slower_kernels",
       "Compared with one {device:words}, {strategy:words} loses most to slower kernels of the {device:words} that it "
       "waits for: {loss_s:time} more in a step of {step_time_s:time} ({share:percent})."},
      {"slower_kernels_strong",
       "Compared with a fair share of one {device:words}'s step, {strategy:words} loses most to kernels that work on "
       "{per_gpu_batch} samples at a time and are less efficient: {loss_s:time} more in a step of {step_time_s:time} "
       "({share:percent})."},
      {"next_loss", "Next comes {cause:words}: {loss_s:time} ({share:percent})."},
      {"small_loss", "{strategy:words} loses less than 1 % of its step to anything but computing."},
      // What would help.
      {"best_lever",
       "What would help {strategy:words} most: {set} makes a step take {step_time_s:time}, "
       "{gain:signed_percent} throughput."},
      {"no_lever", "None of the changes tried for {strategy:words} brings 1 % more throughput."},
      {"bucket_cap",
       "No other bucket size brings {strategy:words} on {gpus} {devices:words} 1 %: ddp.bucket_cap from "
       "{smallest:bytes} to {largest:bytes} changes the throughput by {lowest:effect} to {highest:effect}."},
      // Doubts.
      {"does_not_fit",
       "{strategy:words} with {per_gpu_batch} samples per {device:words} needs {needed:bytes} where a {device:words} "
       "has {memory:bytes} of memory: it would not run."},
      {"baseline_accumulates",
       "The baseline of one {device:words} takes its {global_batch} samples in {micro_steps} micro-steps, "
       "because they do not fit its memory at once."},
      {"uncertainty",
       "Not calibrated: a step of {strategy:words} on {gpus} {devices:words} is expected between {low:time} and "
       "{high:time} in 8 of 10 cases; calibrate.single_gpu, the speed of one {device:words} measured on the machine, "
       "narrows that."},
      {"uncertainty_single",
       "Not calibrated: a step is expected between {low:time} and {high:time} in 8 of 10 cases; calibrate.single_gpu, "
       "the speed of one {device:words} measured on the machine, narrows that."},
      {"host_limits_calibration",
       "calibrate.single_gpu cannot be matched: the CPU alone takes longer than the measured "
       "step, so kernel times stay as they are; a host factor of {host_factor} would explain "
       "the measurement."},
      {"impossible_calibration",
       "calibrate.single_gpu cannot be matched: no kernel and no host is as fast as that, so kernel times stay as they "
       "are; is the number right?"},
      {"note", "{text}"},
      // The critical path.
      {"explain_step",
       "A step of {strategy:words} on {gpus} {devices:words} takes {step_time_s:time}: {computing:percent} of it is "
       "computing; the largest of the rest is {was:words}, {seconds:time} ({share:percent})."},
      {"explain_computing",
       "A step of {strategy:words} on {gpus} {devices:words} takes {step_time_s:time}, all of it computing."},
      {"explain_difference",
       "{slow:words} takes {difference_s:time} longer than {fast:words}; the largest difference is {row:words}, "
       "{seconds:time}."},
      {"explain_hidden",
       "{strategy:words} hides {hidden_s:time} of {communication_s:time} of all-reduce behind computing."},
      {"was_input", "waiting for the data loader"},
      {"was_copy_to_device", "waiting for the batch to be copied to the GPU"},
      {"was_copy_to_device_core", "waiting for the batch to be copied"},
      {"was_scatter", "waiting for its share of the batch on GPU 0"},
      {"was_scatter_core", "waiting for its share of the batch on rank 0"},
      {"was_replicate", "waiting for the model to be copied to every GPU"},
      {"was_replicate_core", "waiting for the model to be copied to every rank"},
      {"was_forward", "computing the forward pass"},
      {"was_gather", "gathering outputs on GPU 0"},
      {"was_gather_core", "gathering outputs on rank 0"},
      {"was_backward", "computing the backward pass"},
      {"was_gradient_reduce", "adding up gradients on GPU 0"},
      {"was_gradient_reduce_core", "adding up gradients on rank 0"},
      {"was_bucket_copies", "copying gradients into and out of buckets"},
      {"was_buffer_broadcast", "broadcasting buffers"},
      {"was_contention", "computing more slowly beside an all-reduce"},
      {"was_wait_for_peers", "waiting for the slowest rank"},
      {"was_exposed_communication", "idle until an all-reduce ended"},
      {"was_host_bound", "idle until the CPU had launched a kernel"},
      {"was_host_bound_core", "idle until an op was started"},
      {"was_optimizer", "updating the weights"},
      {"was_other", "anything else"},
      {"difference_replicate", "copying the model to every GPU in each step"},
      {"difference_replicate_core", "copying the model to every rank in each step"},
      {"difference_batch", "handing out the batch from one process"},
      {"difference_host", "launching for every GPU under one interpreter lock"},
      {"difference_host_core", "starting ops of every rank under one interpreter lock"},
      {"difference_gather", "outputs and loss on GPU 0"},
      {"difference_gather_core", "outputs and loss on rank 0"},
      {"difference_gradients", "adding up gradients not hidden by the backward pass"},
      {"difference_bucket_copies", "copying gradients into and out of buckets"},
      {"difference_overlap", "kernels slowed down by an all-reduce beside them"},
      {"difference_peers", "waiting for the slowest rank"},
      {"difference_buffers", "broadcasting buffers"},
      {"difference_computing", "kernels at full speed"},
      {"difference_other", "anything else"},
      // Solved for one key.
      {"solve_at_least", "{who} reaches {goal} with {with} or more{border}. {now}"},
      {"solve_at_most", "{who} reaches {goal} with {with} or {fewer}{border}. {now}"},
      {"solve_only", "{who} reaches {goal} with {with}{border}. {now}"},
      {"solve_border", " (the border lies between {low} and {high})"},
      {"solve_border_whole", "; with {beyond} it does not"},
      {"solve_now", "At present, with {present}, it reaches {reached}."},
      {"solve_now_not_run", "At present, with {present}, it cannot run."},
      {"solve_none",
       "No {key} from {from} to {to} gives {subject} {goal}. The best is {best}, with {with}; what then costs most is "
       "{cause:words}, {loss_s:time} of a step of {step_time_s:time}.{ceiling}"},
      {"solve_none_computing",
       "No {key} from {from} to {to} gives {subject} {goal}. The best is {best}, with {with}; hardly anything is then "
       "left but the step of one {device:words} itself.{ceiling}"},
      {"solve_ceiling",
       "This fabric is spoken to over TCP, where NCCL's sockets reach no more than {rate} per node however fast the "
       "NIC "
       "is; RDMA fabrics (InfiniBand, EFA) have no such limit."},
      {"solve_ceiling_window",
       "Here the line does not bound the rate but the window of its sockets ({window} per round trip each): they carry "
       "no more than {rate} per node. A larger `wan.window`, more `wan.sockets` or a nearer site lift that; RDMA "
       "fabrics "
       "(InfiniBand, EFA) have no such limit."},
      {"solve_always", "{who} reaches {goal} with every {key} tried, from {from} to {to}: there is no break-even."},
      {"solve_fed", "Efficiency is counted against one {device:words} whose batches are always ready."},
      {"solve_not_monotonic",
       "The answer does not rise or fall all the way with {the_key}: of the values tried, these reach it: {ranges}."},
      {"solve_not_monotonic_none",
       "The answer does not rise or fall all the way with {the_key}: a value between those tried may give another."},
      {"solve_fits",
       "One value of {key} explains {all} measurements: {common}. {implied}; in brackets the values for which a "
       "measurement lies inside the 80 % band of its prediction."},
      {"solve_fits_not",
       "No single value of {key} explains {all} measurements. {implied}; in brackets the values for which a "
       "measurement lies inside the 80 % band of its prediction.{trend}"},
      {"solve_falls_with_gpus",
       " The value that would fit falls as GPUs are added: something else than this key changes with them."},
      {"solve_rises_with_gpus",
       " The value that would fit rises as GPUs are added: something else than this key changes with them."},
      {"solve_falls", " The value that would fit falls from each measurement to the next."},
      {"solve_rises", " The value that would fit rises from each measurement to the next."},
      {"solve_subject", "{strategy:words}"},
      // Phrases.
      {"gpu", "GPU"},
      {"gpus", "GPUs"},
      {"core", "core"},
      {"cores", "cores"},
      {"single_words", "a single GPU"},
      {"single_words_core", "a single core"},
      {"dp", "DataParallel"},
      {"ddp", "DDP"},
      {"input", "waiting for the data loader"},
      {"copy_to_device", "copying the batch to the GPU"},
      {"copy_to_device_core", "copying the batch"},
      {"scatter", "handing out the batch from GPU 0"},
      {"scatter_core", "handing out the batch from rank 0"},
      {"replicate", "copying the model to every GPU before each forward pass"},
      {"replicate_core", "copying the model to every rank before each forward pass"},
      {"forward", "a slower forward pass"},
      {"gather", "gathering the outputs on GPU 0"},
      {"gather_core", "gathering the outputs on rank 0"},
      {"backward", "a slower backward pass"},
      {"gradient_reduce", "adding up the gradients on GPU 0 after the backward pass"},
      {"gradient_reduce_core", "adding up the gradients on rank 0 after the backward pass"},
      {"bucket_copies", "copying gradients into and out of buckets"},
      {"buffer_broadcast", "broadcasting buffers before the forward pass"},
      {"contention", "kernels slowed down by the all-reduce that runs beside them"},
      {"wait_for_peers", "waiting for the slowest GPU"},
      {"wait_for_peers_core", "waiting for the slowest rank"},
      {"exposed_communication", "all-reduce that the backward pass does not hide"},
      {"host_bound_words", "waiting for the CPU to launch kernels"},
      {"host_bound_words_core", "waiting for ops to be started"},
      {"optimizer", "the optimizer"},
      {"other", "other work"},
  };
  return texts;
}

// Plain text and the {name} after it (nothing at the end of a text).
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

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

// On CPU cores a text may have its own words, under `<id>_core`.
const std::string* text_of(const std::string& id, bool on_cores) {
  const auto& texts = english();
  auto found = on_cores ? texts.find(id + "_core") : texts.end();
  if (found == texts.end()) found = texts.find(id);
  return found == texts.end() ? nullptr : &found->second;
}

const std::string* phrase(const std::string& id, bool on_cores) {
  // Ids that are sentences as well have their phrase under another name.
  return text_of(id == "single" || id == "host_bound" ? id + "_words" : id, on_cores);
}

std::optional<std::string> formatted(const std::string& value, const std::string& kind, bool on_cores,
                                     const SayText& say) {
  if (kind.empty()) return value;
  if (kind == "words") {
    const std::string* text = phrase(value, on_cores);
    return text == nullptr ? std::nullopt : std::optional(say(*text));
  }
  const auto number = number_in(value);
  if (!number) return std::nullopt;
  if (kind == "time") return format_time(*number);
  if (kind == "factor") return format_factor(*number);
  if (kind == "percent") return format_percent(*number);
  if (kind == "signed_percent") return "+" + format_percent(*number);
  if (kind == "effect") return (*number < 0 ? "" : "+") + format_significant(*number * 100, 2) + " %";
  if (kind == "bytes") return format_bytes(*number);
  if (kind == "count") return format_significant(*number);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> sentence_in(const Sentence& sentence, const SayText& say) {
  const auto device = sentence.values.find("device");
  const bool on_cores = device != sentence.values.end() && device->second == "core";
  const std::string* pattern = text_of(sentence.id, on_cores);
  if (pattern == nullptr) return std::nullopt;
  std::string text;
  for (const Piece& piece : pieces_of(say(*pattern))) {
    text += piece.plain;
    if (piece.name.empty()) continue;
    const auto value = sentence.values.find(piece.name);
    const auto words =
        value == sentence.values.end() ? std::nullopt : formatted(value->second, piece.kind, on_cores, say);
    if (!words) return std::nullopt;
    text += *words;
  }
  return text;
}

Sentence make_sentence(const std::string& id, std::map<std::string, std::string> values) {
  Sentence sentence{id, std::move(values), {}};
  auto text = sentence_in(sentence, [](const std::string& english) { return english; });
  LOCKSTEP_ENSURE(text.has_value(), "sentence `{}` is not known, or a value of it is missing or no number", id);
  sentence.text = *std::move(text);
  return sentence;
}

std::string digits(double number) {
  return fmt::format("{}", number);
}

std::vector<std::string> sentence_ids() {
  std::vector<std::string> ids;
  for (const auto& [id, text] : english()) ids.push_back(id);
  return ids;
}

std::string text_of_sentence(const std::string& id) {
  const auto found = english().find(id);
  return found == english().end() ? std::string() : found->second;
}

std::vector<std::pair<std::string, std::string>> placeholders_of(const std::string& id) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Piece& piece : pieces_of(english().at(id)))
    if (!piece.name.empty()) all.emplace_back(piece.name, piece.kind);
  return all;
}

}  // namespace lockstep
