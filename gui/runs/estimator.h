// The instant answer: the scenario estimated without contention, in a thread of its own, the newest request only.
#pragma once

#include <QObject>
#include <QThread>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "simulator/answers/inputs.h"
#include "simulator/result/result.h"

namespace lockstep::gui {

struct Estimate {
  quint64 id = 0;
  std::shared_ptr<const Result> result;  // nullptr where the scenario is wrong
  std::shared_ptr<const Topology> topology;
  Errors errors;
  // What stands for keys that are not set, as YAML: topology.override.nic.rate -> 25GB/s, from the loaded machine.
  std::map<std::string, std::string> effective;
  double seconds = 0;  // reading included
};

// Without bands and levers: the simulation brings them. `loaded` keeps models and machines between calls. With
// `timeline` the result has timelines, which takes longer.
Estimate estimate_now(const ScenarioText& source, LoadedInputs& loaded, bool timeline = false);

class Estimator : public QObject {
  Q_OBJECT

 public:
  explicit Estimator(QObject* parent = nullptr);
  ~Estimator() override;
  // Returns the id that `done` will carry; earlier requests that have not begun are dropped.
  quint64 request(const ScenarioText& source);
  // Files may have changed: read them again.
  void forget_files() { forget_ = true; }

 signals:
  void done(std::shared_ptr<const lockstep::gui::Estimate> estimate);
  // The same again with timelines, a little after `done`, unless a newer request came.
  void detailed(std::shared_ptr<const lockstep::gui::Estimate> estimate);

 private:
  void add_detail(const ScenarioText& source, quint64 id);  // in the thread

  QThread thread_;
  QObject worker_;  // lives in the thread
  std::atomic<quint64> newest_{0};
  std::atomic<bool> forget_{false};
  std::unique_ptr<LoadedInputs> loaded_;  // of the thread
};

}  // namespace lockstep::gui
