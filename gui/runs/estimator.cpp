#include "gui/runs/estimator.h"

#include <QElapsedTimer>
#include <QMetaObject>
#include <QTimer>
#include <algorithm>

#include "simulator/answers/predict.h"
#include "simulator/base/quantity.h"
#include "topologies/machine_checks.h"
#include "topologies/rates.h"

namespace lockstep::gui {
namespace {

constexpr int kQuietMs = 60;  // a slider that moves brings the next request sooner

std::map<std::string, std::string> effective_values(const Inputs& inputs) {
  std::map<std::string, std::string> values;
  const Topology& topology = inputs.topology;
  const auto rate = [&](const char* key, double bytes_per_s) {
    TopologyRequest request;  // what it says of links that the machine lacks is refused
    request.overrides[key] = bytes_per_s;
    if (bytes_per_s > 0 && check_machine(request, topology).empty())
      values[std::string("topology.override.") + key] = quantity_text(bytes_per_s, Unit::BytesPerSecond);
  };
  rate("nvlink.rate", nvlink_rate(topology));
  rate("pcie.rate", pcie_slot_rate(topology));
  rate("host.rate", host_rate(topology));
  if (topology.nodes_for(*std::max_element(inputs.scenario().gpus.begin(), inputs.scenario().gpus.end())) > 1)
    for (const char* key : {"nic.rate", "wan.rate"}) rate(key, nics_of(topology).rate);
  values["ddp.bucket_cap"] = "25MiB";
  values["topology.gpus_per_node"] = std::to_string(topology.gpus_on(0));
  return values;
}

}  // namespace

Estimate estimate_now(const ScenarioText& source, LoadedInputs& loaded, bool timeline) {
  QElapsedTimer clock;
  clock.start();
  Estimate estimate;
  const auto ended = [&]() -> Estimate {
    estimate.seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
    return std::move(estimate);
  };
  auto document = parse_document(source.text, source.file);
  if (!document) {
    estimate.errors = std::move(document.error());
    return ended();
  }
  for (const std::string& set : source.sets)
    if (auto done = apply_set(*document, set); !done) estimate.errors = std::move(done.error());
  if (!estimate.errors.empty()) return ended();
  auto inputs = load_inputs(*document, loaded);
  if (!inputs) {
    estimate.errors = std::move(inputs.error());
    return ended();
  }
  estimate.effective = effective_values(*inputs);
  estimate.topology = std::make_shared<Topology>(inputs->topology);
  PredictOptions options;
  options.method = Method::Estimate;
  options.levers = options.uncertainty = false;
  options.timeline = options.parts = timeline;
  auto result = predict(*inputs, options);
  if (result)
    estimate.result = std::make_shared<Result>(*std::move(result));
  else
    estimate.errors = std::move(result.error());
  return ended();
}

Estimator::Estimator(QObject* parent) : QObject(parent) {
  thread_.setObjectName(QStringLiteral("estimate"));
  worker_.moveToThread(&thread_);
  thread_.start();
}

Estimator::~Estimator() {
  newest_ = 0;
  thread_.quit();
  thread_.wait();
}

quint64 Estimator::request(const ScenarioText& source) {
  const quint64 id = ++newest_;
  QMetaObject::invokeMethod(
      &worker_,
      [this, source, id] {
        if (newest_ != id) return;
        if (forget_.exchange(false) || !loaded_) loaded_ = std::make_unique<LoadedInputs>();
        auto estimate = std::make_shared<Estimate>(estimate_now(source, *loaded_));
        estimate->id = id;
        QMetaObject::invokeMethod(
            this, [this, estimate] { emit done(estimate); }, Qt::QueuedConnection);
        if (estimate->result) QTimer::singleShot(kQuietMs, &worker_, [this, source, id] { add_detail(source, id); });
      },
      Qt::QueuedConnection);
  return id;
}

void Estimator::add_detail(const ScenarioText& source, quint64 id) {
  if (newest_ != id) return;
  auto estimate = std::make_shared<Estimate>(estimate_now(source, *loaded_, true));
  estimate->id = id;
  QMetaObject::invokeMethod(
      this, [this, estimate] { emit detailed(estimate); }, Qt::QueuedConnection);
}

}  // namespace lockstep::gui
