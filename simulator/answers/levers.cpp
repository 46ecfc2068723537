#include "simulator/answers/levers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "simulator/base/format.h"
#include "simulator/base/quantity.h"
#include "topologies/rates.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

constexpr double kLeastGain = 0.01;
constexpr std::int64_t kMiB = 1 << 20;
constexpr int kFirstWorkers = 4;  // tried where a process loads by itself

// The rate that `override.<class>.rate` stands for now; 0 for classes without one.
double rate_now(const Topology& topology, const std::string& link_class) {
  if (link_class == name_of(LinkClass::Nvlink)) return nvlink_rate(topology);
  if (link_class == name_of(LinkClass::Pcie)) return pcie_slot_rate(topology);
  if (link_class == name_of(LinkClass::Uplink)) return pcie_uplink_rate(topology);
  if (link_class == name_of(LinkClass::Host)) return host_rate(topology);
  if (link_class == name_of(LinkClass::Nic) || link_class == name_of(LinkClass::Wan)) return nics_of(topology).rate;
  return 0;
}

// Three digits are enough of a rate that somebody is to buy.
double about_twice(double rate) {
  const double step = std::pow(10, std::floor(std::log10(2 * rate)) - 2);
  return std::round(2 * rate / step) * step;
}

class Candidates {
 public:
  Candidates(const Run& run, const Inputs& inputs) : run_(run), inputs_(inputs), scenario_(inputs.scenario()) {}

  std::vector<LeverCandidate> take() {
    if (run_.strategy == Strategy::Dp) {
      add("strategy=ddp", [](Scenario& s) { s.strategies = {Strategy::Ddp}; });
      candidates_.back().strategy = Strategy::Ddp;
      candidates_.back().same_single = true;
    }
    links();
    if (run_.strategy == Strategy::Ddp && run_.world_size > 1) buckets();
    if (run_.strategy == Strategy::Ddp && scenario_.accumulate_steps > 1 && !scenario_.accumulate_no_sync) {
      add("accumulate.no_sync=true", [](Scenario& s) { s.accumulate_no_sync = true; });
      candidates_.back().same_single = true;
    }
    memory();
    if (scenario_.loader.active() && run_.part_s(Cause::Input) >= kLeastGain * run_.step_time_s) loader();
    if (!scenario_.calibrate_single_gpu) batch();
    return std::move(candidates_);
  }

 private:
  void add(std::string set, std::function<void(Scenario&)> change) {
    candidates_.push_back({std::move(set), run_.strategy, std::move(change), 0, 0, false});
  }

  void memory() {
    if (scenario_.input.source != InputSource::Host || scenario_.input.memory == HostMemory::Pinned) return;
    const bool by_loader = scenario_.loader.active();
    add(by_loader ? "loader.pin_memory=true" : "input.memory=pinned", [by_loader](Scenario& s) {
      s.loader.pin_memory = by_loader;
      s.input.memory = HostMemory::Pinned;
    });
  }

  // Twice the workers, and twice the cores, which only help where they run out.
  void loader() {
    const int workers = scenario_.loader.workers_per_process;
    const int more = workers == 0 ? kFirstWorkers : 2 * workers;
    add(fmt::format("loader.workers_per_process={}", more),
        [more](Scenario& s) { s.loader.workers_per_process = more; });
    if (!loader_plan_of(run_, inputs_).cores_limit) return;
    const int cores = 2 * static_cast<int>(host_cores(scenario_, inputs_.topology));
    add(fmt::format("host.cores={}", cores), [cores](Scenario& s) { s.host_cores = cores; });
  }

  void links() {
    std::map<std::string, double> busy_s;  // class -> of its busiest link
    for (const LinkUse& link : run_.links)
      if (link.bytes > 0) busy_s[link.link_class] = std::max(busy_s[link.link_class], link.busy_s);
    // A ring that is not among the links: nothing is known of how busy it is.
    if (run_.gpus > 1) busy_s.try_emplace(name_of(ring_of(inputs_.topology, run_.gpus).slowest), run_.step_time_s);
    for (const auto& [link_class, busy] : busy_s) {
      const double rate = rate_now(inputs_.topology, link_class);
      if (rate <= 0) continue;
      add(fmt::format("topology.override.{}.rate={}", link_class,
                      quantity_text(about_twice(rate), Unit::BytesPerSecond)),
          {});
      candidates_.back().links_busy_s = busy;
    }
  }

  void buckets() {
    for (const std::int64_t mib : {1, 5, 10, 25, 50, 100})
      if (scenario_.ddp.bucket_cap_bytes != mib * kMiB) {
        add(fmt::format("ddp.bucket_cap={}MiB", mib), [mib](Scenario& s) { s.ddp.bucket_cap_bytes = mib * kMiB; });
        candidates_.back().same_single = true;
        candidates_.back().bucket_cap_bytes = mib * kMiB;
      }
  }

  void batch() {
    if (const auto size = scenario_.per_gpu_batch)
      add(fmt::format("batch.per_gpu={}", 2 * *size), [size](Scenario& s) { s.per_gpu_batch = 2 * *size; });
    if (const auto size = scenario_.global_batch)
      add(fmt::format("batch.global={}", 2 * *size), [size](Scenario& s) { s.global_batch = 2 * *size; });
  }

  const Run& run_;
  const Inputs& inputs_;
  const Scenario& scenario_;
  std::vector<LeverCandidate> candidates_;
};

// Under weak scaling the baseline is the single GPU at the run's own batch: no need to simulate it again.
void know_single(Points& points, const Run& run) {
  const Batch batch{run.per_gpu_batch, run.micro_steps};
  if (run.baseline && batch == Batch{run.baseline->per_gpu_batch, run.baseline->micro_steps})
    points.know_single_step(batch, run.baseline->step_time_s);
}

// Decides by the estimate which candidates are worth a simulation.
class Screen {
 public:
  Screen(const Run& run, const Inputs& inputs, const PointSource& source)
      : run_(run), inputs_(inputs), source_(source) {}

  // Throughput ratio - 1 without contention.
  Expected<double> gain(const LeverCandidate& candidate) {
    if (!before_) {
      auto before = throughput(inputs_, run_.strategy);
      if (!before) return tl::unexpected(std::move(before.error()));
      before_ = *before;
    }
    Inputs changed = inputs_;
    candidate.change(changed.read.scenario);
    const auto after = throughput(changed, candidate.strategy);
    if (!after) return tl::unexpected(after.error());
    return *after / *before_ - 1;
  }

 private:
  Expected<double> throughput(const Inputs& inputs, Strategy strategy) const {
    Points points(inputs, Method::Estimate, source_);
    if (strategy == Strategy::Ddp) know_single(points, run_);
    auto run = points.alone(strategy, run_.gpus);
    if (!run) return tl::unexpected(std::move(run.error()));
    return run->not_run ? 0 : run->throughput;
  }

  const Run& run_;
  const Inputs& inputs_;
  const PointSource& source_;
  std::optional<double> before_;
};

class Search {
 public:
  Search(const Run& run, const Inputs& inputs, Method method, const PointSource& source)
      : run_(run), inputs_(inputs), method_(method), source_(source), screen_(run, inputs, source) {}

  Expected<FoundLevers> find() {
    for (const LeverCandidate& candidate : lever_candidates(run_, inputs_))
      if (auto done = try_one(candidate); !done) return tl::unexpected(std::move(done.error()));
    auto& levers = found_.levers;
    std::stable_sort(levers.begin(), levers.end(), [](const Lever& a, const Lever& b) { return a.gain > b.gain; });
    return std::move(found_);
  }

 private:
  using Done = tl::expected<void, Errors>;

  Done try_one(const LeverCandidate& candidate) {
    if (!candidate.change) {
      if (candidate.links_busy_s < kLeastGain * run_.step_time_s) return {};
      return simulate(candidate, 0);
    }
    const auto estimated = screen_.gain(candidate);
    if (!estimated) return tl::unexpected(estimated.error());
    if (*estimated >= kLeastGain / 2) return simulate(candidate, *estimated);
    note_bucket_cap(candidate, *estimated);
    return {};
  }

  Done simulate(const LeverCandidate& candidate, double estimated) {
    const auto changed = load_inputs(inputs_.source.with(candidate.set));
    if (!changed) return {};  // e.g. a rate beyond what a scenario may hold
    Points points(*changed, method_, source_);
    if (candidate.same_single) know_single(points, run_);
    const auto faster = points.alone(candidate.strategy, run_.gpus);
    if (!faster) return tl::unexpected(faster.error());
    const double gain = faster->not_run ? estimated : faster->throughput / run_.throughput - 1;
    note_bucket_cap(candidate, gain);
    if (faster->not_run || gain < kLeastGain) return {};
    if (!fits_memory(*faster, changed->topology).value_or(true)) return {};
    found_.levers.push_back({candidate.set, faster->step_time_s, gain});
    return {};
  }

  void note_bucket_cap(const LeverCandidate& candidate, double gain) {
    const std::int64_t cap = candidate.bucket_cap_bytes;
    if (cap == 0) return;
    if (!found_.bucket_cap) found_.bucket_cap = BucketCapEffect{cap, cap, gain, gain};
    BucketCapEffect& effect = *found_.bucket_cap;
    effect.smallest_bytes = std::min(effect.smallest_bytes, cap);
    effect.largest_bytes = std::max(effect.largest_bytes, cap);
    effect.lowest_gain = std::min(effect.lowest_gain, gain);
    effect.highest_gain = std::max(effect.highest_gain, gain);
  }

  const Run& run_;
  const Inputs& inputs_;
  Method method_;
  const PointSource& source_;
  Screen screen_;
  FoundLevers found_;
};

}  // namespace

std::vector<LeverCandidate> lever_candidates(const Run& run, const Inputs& inputs) {
  return Candidates(run, inputs).take();
}

Expected<FoundLevers> find_levers(const Run& run, const Inputs& inputs, Method method, const PointSource& source) {
  return Search(run, inputs, method, source).find();
}

std::string lever_note(const std::string& set) {
  if (set.rfind("loader.workers_per_process=", 0) == 0) return "worker processes of each training process";
  if (set.rfind("host.cores=", 0) == 0) return "cores of each node";
  const std::string prefix = "topology.override.";
  if (set.rfind(prefix, 0) != 0) return "";
  const std::string link_class = set.substr(prefix.size(), set.find('.', prefix.size()) - prefix.size());
  if (link_class == name_of(LinkClass::Nvlink)) return "all NVLinks of a GPU";
  if (link_class == name_of(LinkClass::Pcie)) return "PCIe slots and their uplinks";
  if (link_class == name_of(LinkClass::Uplink)) return "uplinks of PCIe switches";
  if (link_class == name_of(LinkClass::Host)) return "memory and the link between sockets";
  if (link_class == name_of(LinkClass::Nic)) {  // people know network cards by their bits
    const auto rate = parse_quantity(set.substr(set.find('=') + 1), Unit::BytesPerSecond);
    return rate ? format_significant(*rate * 8e-9) + " Gb/s for each network card" : "each network card";
  }
  return "";
}

}  // namespace lockstep
