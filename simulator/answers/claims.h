// What an article states, tried: each claim of a claims file is judged at every setting that the article leaves open.
//
// Numbers are simulated; mechanisms and code are decided by running the model where it can tell, else by a fact of
// PyTorch's source that the file names. Nothing in the model depends on a claim.
//
// When a number counts as supported at one setting:
//   about         the claimed value lies in the prediction's 80 % band (times and rates), or within a factor of 1.25.
//                 The factor, because a number of an article has a spread, a start-up and settings that it does not
//                 tell, and kernel times without calibration are known to 15 % (answers/bands.h)
//   above, below  the prediction itself lies beyond the claimed value
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/answers/points.h"

namespace lockstep {

inline constexpr double kClaimTolerance = 1.25;  // factor, both ways

enum class ClaimKind { Number, Mechanism, Code };
enum class ClaimUnit { Seconds, Share, Factor, BytesPerSecond };
enum class ClaimRelation { About, Above, Below };
enum class ClaimReadings { Alternatives, Parts };  // one of them is meant | all of them are claimed
const char* name_of(ClaimKind kind);               // number, mechanism, code

enum class ClaimKey {
  StepTime,
  EpochTime,
  TotalTime,
  Throughput,
  Speedup,
  Efficiency,
  GpuUtilization,           // mean over the ranks
  CpuUtilization,           // of all cores
  LaunchThreadUtilization,  // of the busiest process' launching thread
  CommunicationShare,       // time of all collectives of the critical rank, hidden or not, of the step
  BreakdownShare,           // the named parts of breakdown_s, of the step
};
const char* name_of(ClaimKey key);

enum class ClaimRule {
  None,
  Overlap,       // collectives of one step lie in the claimed phases of the compute lane
  HostGather,    // gradients cross links of the host
  LinkRate,      // a rate between GPUs or between nodes, from the topology
  OtherBackend,  // NCCL against something that this version does not simulate
  LargeModel,    // a model that every GPU holds whole, against its memory
  EqualShares,   // ranks with equally many samples wait for each other no more
  Timeout,       // a process group's timeout against PyTorch's default
  DeviceIds,     // devices handed to one DistributedDataParallel
  NoSync,        // micro-steps exchange less than steps do
  ZeroGrad,      // where gradients are cleared while they accumulate
};
const char* name_of(ClaimRule rule);

// A run that a claim speaks of: a strategy on some GPUs, with further arguments of --set.
struct ClaimPoint {
  Strategy strategy = Strategy::Ddp;
  int gpus = 8;
  std::vector<std::string> sets;
};

// One way to read a number: a result key of a run, or its ratio to the same key of another run.
struct ClaimReading {
  std::string name;  // empty when it is the only one
  ClaimKey key = ClaimKey::StepTime;
  std::vector<Cause> parts;  // BreakdownShare
  ClaimPoint of;
  bool is_ratio = false;
  ClaimPoint over;  // when is_ratio
  ClaimUnit unit() const;
};

struct ClaimFact {
  std::string says, source;
};

struct Claim {
  std::string id, says;
  ClaimKind kind = ClaimKind::Number;
  // The claimed number: one of the four.
  std::optional<double> time_s, share, factor, rate;
  ClaimRelation relation = ClaimRelation::About;
  ClaimReadings readings_are = ClaimReadings::Alternatives;
  std::vector<ClaimReading> readings;
  std::vector<std::string> fixed;  // axes that stay at their first value
  // For rules.
  ClaimRule rule = ClaimRule::None;
  ClaimPoint of;
  std::vector<Cause> phases;   // Overlap: forward, backward
  bool between_nodes = false;  // LinkRate
  int devices = 0;             // DeviceIds
  std::string zero_grad;       // ZeroGrad: each_step, each_micro_step, unstated
  std::vector<ClaimFact> facts;
  int line = 0;  // of the entry

  std::optional<double> value() const;
  ClaimUnit unit() const;  // of value()
};

struct ClaimAxisValue {
  std::string name, set;
  int line = 0;
};
struct ClaimAxis {
  std::string name;
  std::vector<ClaimAxisValue> values;
};
struct ClaimScenario {
  std::string name, file;  // beside the claims file
};

struct ClaimsFile {
  std::string path, article;
  std::vector<ClaimScenario> scenarios;  // the first axis
  std::vector<ClaimAxis> axes;           // every combination is tried; first values are the default
  std::vector<Claim> claims;
};

// Errors: all of the file in file order.
Expected<ClaimsFile> read_claims_file(const std::string& path);
Expected<ClaimsFile> read_claims(std::string_view text, const std::string& path);

// A combination: index of the scenario, then of each axis' value.
using ClaimSetting = std::vector<std::size_t>;
// All of them, the last axis fastest; axes named in `fixed` stay at their first value.
std::vector<ClaimSetting> claim_settings(const ClaimsFile& file, const std::vector<std::string>& fixed = {});
// "image 224, 128 per GPU, fp32, host"
std::string setting_name(const ClaimsFile& file, const ClaimSetting& setting);
// A set of settings as few lists: "image 224; 64 or 128 per GPU; fp32; any input", joined by " | ".
std::vector<std::string> setting_groups(const ClaimsFile& file, const std::vector<ClaimSetting>& settings,
                                        const std::vector<std::string>& fixed = {});

enum class Verdict { Supported, Contradicted, NotCheckable };
const char* name_of(Verdict verdict);  // supported, contradicted, not checkable

struct ClaimPrediction {
  ClaimSetting setting;
  double value = 0;
  double low = 0, high = 0;  // claimed values in between are supported (about)
  bool agrees = false;
};

struct ReadingResult {
  std::string name;
  Verdict verdict = Verdict::NotCheckable;
  std::vector<ClaimPrediction> predictions;  // of numbers; the default setting first
};

struct ClaimResult {
  Claim claim;
  Verdict verdict = Verdict::NotCheckable;
  std::vector<ReadingResult> readings;        // numbers: as in the claim; rules: the parts that they judge, if several
  std::vector<ClaimSetting> tried, agreeing;  // settings
  std::vector<std::string> evidence;          // sentences
};

struct ClaimsResult {
  ClaimsFile file;
  std::vector<ClaimResult> results;
  // Of the claims whose numbers are tried at all settings: the setting that agrees with most of them.
  std::optional<ClaimSetting> best_setting;
  std::vector<std::string> best_ids;  // claims that agree there
  std::size_t comparable = 0;         // claims that could
  std::vector<std::string> notes;     // what ClaimsOptions::sets do not change, or change for every setting alike
  int count(Verdict verdict) const;
};

struct ClaimsOptions {
  Method method = Method::Simulate;
  PointSource source;
  std::vector<std::string> sets;  // laid over every scenario, last
  std::function<void(int done, int total, const std::string& text)> progress;
};

// Errors: a scenario that cannot be read, a `set` that a scenario refuses (placed at the entry), a simulation that
// died.
Expected<ClaimsResult> try_claims(const ClaimsFile& file, const ClaimsOptions& options = {});

// Sentences about arguments of --set that claims say otherwise or that overrule settings (claims_notes.cpp).
std::vector<std::string> claims_notes(const ClaimsFile& file, const std::vector<std::string>& sets);

// A value as people read it: "28.5 min", "65 %", "2.2x", "600 GB/s".
std::string claim_value_text(double value, ClaimUnit unit);

}  // namespace lockstep
