#include "hwrunner/trainers/op_classes.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::string_view kBackward = "autograd::engine::evaluate_function: ";

bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

std::string lower(const std::string& text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// In this order: the first class one of whose words the name contains.
struct ClassWords {
  const char* name;
  std::initializer_list<const char*> words;
};
const ClassWords kClassWords[] = {
    {"communication", {"c10d", "gloo:", "nccl", "allreduce", "all_reduce"}},
    {"optimizer", {"_foreach", "_fused_sgd", "_fused_adam", "_amp_", "optimizer"}},
    {"gradients", {"accumulategrad"}},
    {"attention", {"scaled_dot", "scaleddot", "flash_attention", "flashattention"}},
    {"conv2d", {"conv"}},
    {"batch_norm", {"batch_norm", "batchnorm"}},
    {"layer_norm", {"layer_norm", "layernorm"}},
    {"embedding", {"embedding"}},
    {"pooling", {"pool"}},
    {"loss", {"nll", "cross_entropy", "log_softmax", "logsoftmax", "mse_loss", "mseloss"}},
    {"softmax", {"softmax"}},
    {"linear", {"linear", "addmm"}},
    {"matmul", {"matmul", "bmm", "::mm", " mmbackward"}},
    {"elementwise",
     {"relu", "hardtanh", "clamp", "gelu", "tanh", "sigmoid", "silu", "dropout", "add", "sub", "mul", "div", "pow",
      "mean", "sum", "bernoulli", "threshold"}},
    {"copy",
     {"copy", "clone", "view", "reshape", "permute", "transpose", "contiguous", "split", "slice", "cat", "expand",
      "narrow", "select", "flatten", "::to", "::t", " tbackward", "alias", "squeeze"}}};

struct Call {
  const ProfiledEvent* event;
  std::size_t outermost;
};

// The Reducer's own names for its copies: mul_out and copy_ into a bucket, copy_bucket_to_grad out of it.
bool is_bucket_copy(const std::string& name) {
  const std::size_t at = name.find("reducer::");
  return at != std::string::npos &&
         (name.find("mul_out", at) != std::string::npos || name.find("copy", at) != std::string::npos);
}

std::string pass_of(const std::string& name, const std::string& op_class) {
  if (op_class == "optimizer") return "step";
  if (starts_with(name, kBackward) || is_bucket_copy(name) || op_class == "communication") return "backward";
  return "forward";
}

// Calls in the order of their starts, each with the outermost one around it.
std::vector<Call> nested(const std::vector<ProfiledEvent>& events) {
  std::vector<Call> calls;
  std::vector<std::size_t> open;  // indices into calls, of one thread
  for (const ProfiledEvent& event : events) {
    if (event.kernel) continue;
    if (!calls.empty() && calls.back().event->thread != event.thread) open.clear();
    while (!open.empty() && calls[open.back()].event->end_s <= event.start_s) open.pop_back();
    calls.push_back({&event, open.empty() ? calls.size() : open.front()});
    open.push_back(calls.size() - 1);
  }
  return calls;
}

}  // namespace

std::string op_class_of(const std::string& event_name) {
  if (is_bucket_copy(event_name)) return "bucket_copies";
  const std::string name =
      lower(starts_with(event_name, kBackward) ? ' ' + event_name.substr(kBackward.size()) : event_name);
  for (const ClassWords& one : kClassWords)
    for (const char* word : one.words)
      if (name.find(word) != std::string::npos) return one.name;
  return "other";
}

SecondsByClass seconds_by_class(std::vector<ProfiledEvent> events) {
  std::sort(events.begin(), events.end(), [](const ProfiledEvent& a, const ProfiledEvent& b) {
    return std::tuple(a.thread, a.start_s, -a.end_s) < std::tuple(b.thread, b.start_s, -b.end_s);
  });
  const std::vector<Call> calls = nested(events);
  const auto sum = [](SecondsByClass& sums, const std::string& name, double seconds) {
    const std::string op_class = op_class_of(name);
    sums[op_class][pass_of(name, op_class)] += seconds;
  };
  SecondsByClass of_calls, of_kernels;
  std::map<std::uint64_t, const ProfiledEvent*> launchers;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ProfiledEvent& call = *calls[i].event;
    const ProfiledEvent& around = *calls[calls[i].outermost].event;
    const double seconds = call.end_s - call.start_s;
    launchers[call.id] = is_bucket_copy(call.name) ? &call : &around;
    if (calls[i].outermost == i || is_bucket_copy(call.name)) sum(of_calls, call.name, seconds);
    if (calls[i].outermost != i && is_bucket_copy(call.name)) sum(of_calls, around.name, -seconds);
  }
  for (const ProfiledEvent& event : events) {
    if (!event.kernel) continue;
    const auto found = launchers.find(event.id);
    sum(of_kernels, found == launchers.end() ? event.name : found->second->name, event.end_s - event.start_s);
  }
  return of_kernels.empty() ? of_calls : of_kernels;
}

}  // namespace lockstep
