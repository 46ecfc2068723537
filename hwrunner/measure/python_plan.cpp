#include "hwrunner/measure/python_plan.h"

#include <nlohmann/json.hpp>

#include "models/model_file.h"
#include "scenarios/fields.h"
#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// A choice in the scenario's own words.
std::string word_of(const Scenario& scenario, const char* key) {
  const FieldInfo* field = scenario_fields().info().find(key);
  LOCKSTEP_ENSURE(field != nullptr, "no key {}", key);
  return std::get<std::string>(field->fetch(&scenario)->front());
}

Json bytes_or_null(const std::optional<std::int64_t>& bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

}  // namespace

std::string python_plan(const Scenario& s, const Model& model) {
  Json training = {{"precision", name_of(s.precision)},
                   {"tf32_conv", word_of(s, "tf32.conv")},
                   {"tf32_matmul", word_of(s, "tf32.matmul")},
                   {"optimizer", word_of(s, "optimizer.name")},
                   {"optimizer_implementation", word_of(s, "optimizer.implementation")},
                   {"weight_decay", s.weight_decay},
                   {"zero_grad", word_of(s, "optimizer.zero_grad")},
                   {"clip_grad_norm", s.clip_grad_norm},
                   {"host_sync", s.host_sync == HostSync::EachStep},
                   {"no_sync", s.accumulate_no_sync},
                   {"bucket_cap_bytes", bytes_or_null(s.ddp.bucket_cap_bytes)},
                   {"first_bucket_bytes", bytes_or_null(s.ddp.first_bucket_bytes)},
                   {"gradient_as_bucket_view", s.ddp.gradient_as_bucket_view},
                   {"broadcast_buffers", s.ddp.broadcast_buffers},
                   {"find_unused_parameters", s.ddp.find_unused_parameters},
                   {"static_graph", s.ddp.static_graph},
                   {"comm_hook", word_of(s, "ddp.hook")},
                   {"input_source", word_of(s, "input.source")},
                   {"input_memory", word_of(s, "input.memory")},
                   {"input_non_blocking", s.input.non_blocking},
                   {"input_dtype", name_of(s.input.dtype)},
                   {"dp_copy", word_of(s, "input.dp_copy")},
                   {"seed", s.seed}};
  // Refused by name: there is no data loader yet, and Python's process group takes no number of threads.
  if (s.loader.active()) training["loader"] = true;
  if (s.input.source == InputSource::Host && !s.input.touched) training["input.touched"] = false;
  if (s.measure.gloo_threads != MeasureOptions().gloo_threads) training["gloo_threads"] = s.measure.gloo_threads;
  return Json{{"model", Json::parse(to_model_json(model))}, {"training", std::move(training)}}.dump();
}

}  // namespace lockstep
