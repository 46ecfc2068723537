#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "simulator/answers/claims.h"
#include "simulator/base/field_table.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

const std::vector<std::pair<std::string, ClaimKind>> kKinds = {
    {"number", ClaimKind::Number}, {"mechanism", ClaimKind::Mechanism}, {"code", ClaimKind::Code}};

const std::vector<std::pair<std::string, ClaimKey>> kKeys = {
    {"step_time_s", ClaimKey::StepTime},
    {"epoch_time_s", ClaimKey::EpochTime},
    {"total_time_s", ClaimKey::TotalTime},
    {"throughput", ClaimKey::Throughput},
    {"speedup", ClaimKey::Speedup},
    {"efficiency", ClaimKey::Efficiency},
    {"gpu_utilization", ClaimKey::GpuUtilization},
    {"cpu_utilization", ClaimKey::CpuUtilization},
    {"launch_thread_utilization", ClaimKey::LaunchThreadUtilization},
    {"communication_share", ClaimKey::CommunicationShare},
    {"breakdown_share", ClaimKey::BreakdownShare}};

const std::vector<std::pair<std::string, ClaimRule>> kRules = {
    {"overlap", ClaimRule::Overlap},        {"host_gather", ClaimRule::HostGather},
    {"link_rate", ClaimRule::LinkRate},     {"other_backend", ClaimRule::OtherBackend},
    {"large_model", ClaimRule::LargeModel}, {"equal_shares", ClaimRule::EqualShares},
    {"timeout", ClaimRule::Timeout},        {"device_ids", ClaimRule::DeviceIds},
    {"no_sync", ClaimRule::NoSync},         {"zero_grad", ClaimRule::ZeroGrad}};

const std::vector<std::pair<std::string, Strategy>> kStrategies = {
    {"single", Strategy::Single}, {"dp", Strategy::Dp}, {"ddp", Strategy::Ddp}};

template <class E>
const char* name_in(const std::vector<std::pair<std::string, E>>& names, E value) {
  for (const auto& [name, one] : names)
    if (one == value) return name.c_str();
  return "?";
}

template <class E>
std::vector<std::string> names_in(const std::vector<std::pair<std::string, E>>& names) {
  std::vector<std::string> all;
  for (const auto& [name, one] : names) all.push_back(name);
  return all;
}

std::vector<std::pair<std::string, Cause>> causes() {
  std::vector<std::pair<std::string, Cause>> all;
  for (const Cause cause : kCauses) all.emplace_back(name_of(cause), cause);
  return all;
}

std::optional<Strategy> strategy_of(const std::string& name) {
  for (const auto& [text, strategy] : kStrategies)
    if (text == name) return strategy;
  return std::nullopt;
}

const FieldTable<ClaimFact>& fact_fields() {
  static const FieldTable<ClaimFact> table = [] {
    FieldTable<ClaimFact> t("fact");
    t.text("says", &ClaimFact::says).required().doc("The fact, in one sentence");
    t.text("source", &ClaimFact::source).required().doc("Where it can be read: a file of PyTorch, a manual");
    return t;
  }();
  return table;
}

const FieldTable<ClaimReading>& reading_fields() {
  static const FieldTable<ClaimReading> table = [] {
    FieldTable<ClaimReading> t("reading");
    t.text("name", &ClaimReading::name).doc("What this reading takes the claim to mean");
    t.choice("key", &ClaimReading::key, kKeys).required().example("total_time_s").doc("Key of a run in a result");
    t.choice_list("parts", &ClaimReading::parts, causes()).doc("Keys of breakdown_s, for breakdown_share");
    t.choice(
         "of.strategy", [](auto& r) -> auto& { return r.of.strategy; }, kStrategies)
        .required()
        .example("dp")
        .doc("Strategy of the run");
    t.integer(
         "of.gpus", [](auto& r) -> auto& { return r.of.gpus; })
        .range(1, 4096)
        .doc("GPUs of the run");
    t.texts(
         "of.sets", [](auto& r) -> auto& { return r.of.sets; })
        .doc("Further arguments of --set");
    t.bound(
         "over.strategy", FieldType::Choice,
         [](ClaimReading& r, const Scalars& s) {
           r.is_ratio = true;
           r.over.strategy = *strategy_of(std::get<std::string>(s.front()));
         },
         [](const ClaimReading& r) -> std::optional<Scalars> {
           if (!r.is_ratio) return std::nullopt;
           return Scalars{std::string(name_of(r.over.strategy))};
         })
        .choices(names_in(kStrategies))
        .doc("Strategy of the run that the first is divided by");
    t.integer(
         "over.gpus", [](auto& r) -> auto& { return r.over.gpus; })
        .range(1, 4096)
        .doc("GPUs of that run");
    t.texts(
         "over.sets", [](auto& r) -> auto& { return r.over.sets; })
        .doc("Further arguments of --set for that run");
    t.check({"over"}, [](const ClaimReading& r, TableCheck& c) {
      if (c.given("over") && !r.is_ratio)
        c.fail(ErrorKind::Missing, "over.strategy", "`over` needs the strategy of the run to divide by",
               "single, dp, ddp");
    });
    t.check({"key", "parts"}, [](const ClaimReading& r, TableCheck& c) {
      if ((r.key == ClaimKey::BreakdownShare) == r.parts.empty())
        c.fail(ErrorKind::Conflict, "parts", "`parts` belong to breakdown_share, and only to it",
               "keys of breakdown_s, e.g. [replicate, gather]");
    });
    t.check({"key", "over"}, [](const ClaimReading& r, TableCheck& c) {
      if (r.key == ClaimKey::Throughput && !r.is_ratio)
        c.fail(ErrorKind::Missing, "over", "a throughput is claimed relative to another run's", "a strategy",
               "for example `over: {strategy: single}`");
    });
    t.check({"of", "key"}, [](const ClaimReading& r, TableCheck& c) {
      if (r.of.strategy == Strategy::Single && r.of.gpus != 1 && c.given("of.gpus"))
        c.fail(ErrorKind::Conflict, "of.gpus", "`single` is one GPU without a wrapper", "1");
    });
    return t;
  }();
  return table;
}

int numbers_given(const Claim& c) {
  return (c.time_s ? 1 : 0) + (c.share ? 1 : 0) + (c.factor ? 1 : 0) + (c.rate ? 1 : 0);
}

const char* key_of(ClaimUnit unit) {
  switch (unit) {
    case ClaimUnit::Seconds:
      return "time";
    case ClaimUnit::Share:
      return "share";
    case ClaimUnit::Factor:
      return "factor";
    case ClaimUnit::BytesPerSecond:
      return "rate";
  }
  return "?";
}

// The rule that needs a number, and in which unit.
std::optional<ClaimUnit> unit_of_rule(ClaimRule rule) {
  switch (rule) {
    case ClaimRule::LinkRate:
      return ClaimUnit::BytesPerSecond;
    case ClaimRule::Timeout:
      return ClaimUnit::Seconds;
    case ClaimRule::OtherBackend:
    case ClaimRule::LargeModel:
      return ClaimUnit::Factor;
    default:
      return std::nullopt;
  }
}

void add_checks(FieldTable<Claim>& t) {
  t.check({"kind", "rule", "readings"}, [](const Claim& claim, TableCheck& c) {
    if (claim.rule != ClaimRule::None && !claim.readings.empty())
      c.fail(ErrorKind::Conflict, "rule", "a claim is decided by `readings` or by a `rule`", "",
             "leave one of them out");
    else if (claim.rule == ClaimRule::None && claim.kind != ClaimKind::Number)
      c.fail(ErrorKind::Missing, "rule", fmt::format("a claim of kind {} needs a `rule`", name_of(claim.kind)),
             fmt::format("{}", fmt::join(names_in(kRules), ", ")));
    else if (claim.rule == ClaimRule::None && claim.readings.empty())
      c.fail(ErrorKind::Missing, "readings", "a claim of a number needs `readings`: what it is a number of",
             "rows with key and of", "for example `readings: [{key: total_time_s, of: {strategy: dp, gpus: 8}}]`");
  });
  t.check({"time", "share", "factor", "rate", "readings", "rule"}, [](const Claim& claim, TableCheck& c) {
    std::optional<ClaimUnit> wanted = unit_of_rule(claim.rule);
    if (!claim.readings.empty()) wanted = claim.readings.front().unit();
    for (std::size_t i = 1; i < claim.readings.size(); ++i)
      if (claim.readings[i].unit() != *wanted)
        c.fail(ErrorKind::Unit, fmt::format("readings[{}].key", i), "all readings of a claim have the same unit",
               key_of(*wanted));
    if (!wanted) return;
    if (numbers_given(claim) != 1 || claim.unit() != *wanted)
      c.fail(numbers_given(claim) == 0 ? ErrorKind::Missing : ErrorKind::Unit,
             numbers_given(claim) == 0 ? key_of(*wanted) : key_of(claim.unit()),
             fmt::format("this claim needs one number, its `{}`", key_of(*wanted)), key_of(*wanted));
  });
  t.check({"rule", "phases", "devices", "zero_grad"}, [](const Claim& claim, TableCheck& c) {
    if (claim.rule == ClaimRule::Overlap && claim.phases.empty())
      c.fail(ErrorKind::Missing, "phases", "`overlap` needs `phases`", "forward, backward");
    for (const Cause phase : claim.phases)
      if (phase != Cause::Forward && phase != Cause::Backward)
        c.fail(ErrorKind::Range, "phases", "a phase is forward or backward", "forward, backward", "", name_of(phase));
    if (claim.rule == ClaimRule::DeviceIds && claim.devices == 0)
      c.fail(ErrorKind::Missing, "devices", "`device_ids` needs `devices`, how many are handed over", "from 1 on");
    if (claim.rule == ClaimRule::ZeroGrad && claim.zero_grad.empty())
      c.fail(ErrorKind::Missing, "zero_grad", "`zero_grad` needs to know where gradients are cleared",
             "each_step, each_micro_step, unstated");
  });
  t.check({"id"}, [](const Claim& claim, TableCheck& c) {
    const auto wrong = [](char letter) {
      return !((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-');
    };
    if (std::any_of(claim.id.begin(), claim.id.end(), wrong))
      c.fail(ErrorKind::Range, "id", "an id is for programs", "lower-case letters, digits and -", "", claim.id);
  });
}

const FieldTable<Claim>& claim_fields() {
  static const FieldTable<Claim> table = [] {
    FieldTable<Claim> t("claim");
    t.text("id", &Claim::id).required().example("dp-total-time").doc("Name for programs");
    t.choice("kind", &Claim::kind, kKinds).required().example("number").doc("What is claimed");
    t.text("says", &Claim::says).required().doc("The claim, in words of ours");
    t.quantity("time", Unit::Seconds, &Claim::time_s).doc("The claimed time");
    t.quantity("share", Unit::Fraction, &Claim::share).doc("The claimed share");
    t.number("factor", &Claim::factor).above(0).doc("The claimed factor");
    t.quantity("rate", Unit::BytesPerSecond, &Claim::rate).doc("The claimed rate");
    t.choice("relation", &Claim::relation,
             {{"about", ClaimRelation::About}, {"above", ClaimRelation::Above}, {"below", ClaimRelation::Below}})
        .doc("How the prediction has to lie to the number");
    t.choice("readings_are", &Claim::readings_are,
             {{"alternatives", ClaimReadings::Alternatives}, {"parts", ClaimReadings::Parts}})
        .doc("Several readings: one of them is meant, or all are claimed");
    t.rows("readings", &Claim::readings, reading_fields()).doc("What the number is a number of");
    t.texts("fixed", &Claim::fixed).doc("Settings that are not varied for this claim");
    t.choice("rule", &Claim::rule, kRules).doc("What decides a claim that is no number of a run");
    t.choice(
         "of.strategy", [](auto& c) -> auto& { return c.of.strategy; }, kStrategies)
        .doc("The rule's run");
    t.integer(
         "of.gpus", [](auto& c) -> auto& { return c.of.gpus; })
        .range(1, 4096)
        .doc("Its GPUs");
    t.texts(
         "of.sets", [](auto& c) -> auto& { return c.of.sets; })
        .doc("Further arguments of --set for it");
    t.choice_list("phases", &Claim::phases, causes()).doc("Where communication is claimed to overlap");
    t.flag("between_nodes", &Claim::between_nodes).doc("The rate is one between nodes, not between GPUs of a node");
    t.integer("devices", &Claim::devices).range(1, 1024).doc("Devices handed to one DistributedDataParallel");
    t.choice(
         "zero_grad", &Claim::zero_grad,
         std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"each_step", "each_step"}, {"each_micro_step", "each_micro_step"}, {"unstated", "unstated"}})
        .doc("Where gradients are cleared while they accumulate");
    t.rows("facts", &Claim::facts, fact_fields()).doc("What a decision without a simulation rests on");
    add_checks(t);
    return t;
  }();
  return table;
}

const FieldTable<ClaimAxisValue>& axis_value_fields() {
  static const FieldTable<ClaimAxisValue> table = [] {
    FieldTable<ClaimAxisValue> t("setting");
    t.text("name", &ClaimAxisValue::name).required().doc("Its name in tables");
    t.text("set", &ClaimAxisValue::set).required().example("precision=fp32").doc("An argument of --set");
    return t;
  }();
  return table;
}

const FieldTable<ClaimAxis>& axis_fields() {
  static const FieldTable<ClaimAxis> table = [] {
    FieldTable<ClaimAxis> t("list of settings");
    t.text("name", &ClaimAxis::name).required().doc("What varies");
    t.rows("values", &ClaimAxis::values, axis_value_fields()).required().doc("The first is the default");
    t.check({"values"}, [](const ClaimAxis& axis, TableCheck& c) {
      if (axis.values.empty()) c.fail(ErrorKind::Range, "values", "the list is empty", "rows with name and set");
    });
    return t;
  }();
  return table;
}

const FieldTable<ClaimScenario>& scenario_row_fields() {
  static const FieldTable<ClaimScenario> table = [] {
    FieldTable<ClaimScenario> t("scenario of claims");
    t.text("name", &ClaimScenario::name).required().doc("Its name in tables");
    t.text("file", &ClaimScenario::file).required().doc("A scenario file; relative paths start at the claims file");
    return t;
  }();
  return table;
}

void check_names(const ClaimsFile& file, TableCheck& c) {
  std::set<std::string> axes, ids;
  for (std::size_t i = 0; i < file.axes.size(); ++i)
    if (!axes.insert(file.axes[i].name).second)
      c.fail(ErrorKind::Conflict, fmt::format("settings[{}].name", i), "two lists of settings have this name", "", "",
             file.axes[i].name);
  for (std::size_t i = 0; i < file.claims.size(); ++i) {
    const Claim& claim = file.claims[i];
    if (!ids.insert(claim.id).second)
      c.fail(ErrorKind::Conflict, fmt::format("claims[{}].id", i), "two claims have this id", "", "", claim.id);
    for (const std::string& fixed : claim.fixed)
      if (axes.count(fixed) == 0) {
        const std::vector<std::string> names(axes.begin(), axes.end());
        c.fail(ErrorKind::Range, fmt::format("claims[{}].fixed", i), "there are no settings of this name",
               fmt::format("{}", fmt::join(names, ", ")), did_you_mean(fixed, names), fixed);
      }
  }
}

const FieldTable<ClaimsFile>& claims_fields() {
  static const FieldTable<ClaimsFile> table = [] {
    FieldTable<ClaimsFile> t("file of claims");
    t.text("article", &ClaimsFile::article).required().doc("What states the claims, and of what");
    t.rows("scenarios", &ClaimsFile::scenarios, scenario_row_fields()).required().doc("What the claims are tried on");
    t.rows("settings", &ClaimsFile::axes, axis_fields()).doc("What the article leaves open");
    t.rows("claims", &ClaimsFile::claims, claim_fields()).required().doc("One entry per claim");
    t.check({"scenarios"}, [](const ClaimsFile& file, TableCheck& c) {
      if (file.scenarios.empty()) c.fail(ErrorKind::Range, "scenarios", "the list is empty", "rows with name and file");
    });
    t.check({"settings", "claims"}, check_names);
    return t;
  }();
  return table;
}

int line_of(const Reading& reading, const std::string& key) {
  const auto at = reading.origins.find(key);
  return at == reading.origins.end() ? 0 : at->second.line;
}

}  // namespace

const char* name_of(ClaimKind kind) {
  return name_in(kKinds, kind);
}
const char* name_of(ClaimKey key) {
  return name_in(kKeys, key);
}
const char* name_of(ClaimRule rule) {
  return rule == ClaimRule::None ? "none" : name_in(kRules, rule);
}

ClaimUnit ClaimReading::unit() const {
  if (is_ratio) return ClaimUnit::Factor;
  switch (key) {
    case ClaimKey::StepTime:
    case ClaimKey::EpochTime:
    case ClaimKey::TotalTime:
      return ClaimUnit::Seconds;
    case ClaimKey::Throughput:
    case ClaimKey::Speedup:
      return ClaimUnit::Factor;
    default:
      return ClaimUnit::Share;
  }
}

std::optional<double> Claim::value() const {
  for (const auto& one : {time_s, share, factor, rate})
    if (one) return one;
  return std::nullopt;
}

ClaimUnit Claim::unit() const {
  if (time_s) return ClaimUnit::Seconds;
  if (share) return ClaimUnit::Share;
  return factor ? ClaimUnit::Factor : ClaimUnit::BytesPerSecond;
}

Expected<ClaimsFile> read_claims(std::string_view text, const std::string& path) {
  const auto document = parse_document(text, path);
  if (!document) return tl::unexpected(document.error());
  Reading reading;
  auto file = claims_fields().read(*document, &reading);
  if (!file) return file;
  file->path = path;
  for (std::size_t i = 0; i < file->claims.size(); ++i)
    file->claims[i].line = line_of(reading, fmt::format("claims[{}]", i));
  for (std::size_t a = 0; a < file->axes.size(); ++a)
    for (std::size_t v = 0; v < file->axes[a].values.size(); ++v)
      file->axes[a].values[v].line = line_of(reading, fmt::format("settings[{}].values[{}].set", a, v));
  for (Claim& claim : file->claims)
    for (ClaimReading& one : claim.readings) {
      if (one.of.strategy == Strategy::Single) one.of.gpus = 1;
      if (one.over.strategy == Strategy::Single) one.over.gpus = 1;
    }
  return file;
}

Expected<ClaimsFile> read_claims_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return tl::unexpected(text.error());
  return read_claims(*text, path);
}

}  // namespace lockstep
