#include "simulator/cli/validate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "simulator/base/format.h"
#include "simulator/cli/table.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostGroups = 6;  // of settings, in words
constexpr std::size_t kNameColumns = 33;

std::string set_name(const ClaimsResult& result) {
  return std::filesystem::path(result.file.path).stem().string();
}

std::string unit_text(ClaimUnit unit) {
  switch (unit) {
    case ClaimUnit::Seconds:
      return "s";
    case ClaimUnit::BytesPerSecond:
      return "B/s";
    case ClaimUnit::Share:
    case ClaimUnit::Factor:
      return "1";
  }
  return "";
}

struct Range {
  double at_default = 0, low = 0, high = 0;
  std::size_t agreeing = 0, tried = 0;
};

Range range_of(const ReadingResult& reading) {
  Range range;
  range.tried = reading.predictions.size();
  if (reading.predictions.empty()) return range;
  range.at_default = range.low = range.high = reading.predictions.front().value;
  for (const ClaimPrediction& one : reading.predictions) {
    range.low = std::min(range.low, one.value);
    range.high = std::max(range.high, one.value);
    range.agreeing += one.agrees ? 1 : 0;
  }
  return range;
}

// The reading that speaks for the claim: the first that agrees at most settings.
const ReadingResult* spokesman(const ClaimResult& result) {
  const ReadingResult* best = nullptr;
  for (const ReadingResult& one : result.readings)
    if (!one.predictions.empty() && (best == nullptr || range_of(one).agreeing > range_of(*best).agreeing)) best = &one;
  return best;
}

std::string claimed_text(const Claim& claim) {
  if (!claim.value()) return "";
  const char* sign = claim.relation == ClaimRelation::Above ? "> " : claim.relation == ClaimRelation::Below ? "< " : "";
  return sign + claim_value_text(*claim.value(), claim.unit());
}

std::vector<std::string> cells_of(const ReadingResult& reading, const Claim& claim) {
  if (reading.predictions.empty()) return {"", "", "", ""};
  const Range range = range_of(reading);
  const auto text = [&](double value) { return claim_value_text(value, claim.unit()); };
  if (range.tried == 1) return {text(range.at_default), "", "", ""};
  return {text(range.at_default), text(range.low), text(range.high), fmt::format("{}/{}", range.agreeing, range.tried)};
}

void add_rows(TextTable& table, const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::vector<std::string> cells = {claim.id, claimed_text(claim)};
  const bool one = result.readings.size() == 1;
  std::vector<std::string> numbers = {"", "", "", ""};
  if (one)
    numbers = cells_of(result.readings.front(), claim);
  else if (result.tried.size() > 1 && !claim.readings.empty())
    numbers[3] = fmt::format("{}/{}", result.agreeing.size(), result.tried.size());
  cells.insert(cells.end(), numbers.begin(), numbers.end());
  cells.emplace_back(name_of(result.verdict));
  table.row(cells);
  if (one) return;
  for (const ReadingResult& reading : result.readings) {
    std::vector<std::string> row = {"  " + shortened(reading.name, kNameColumns - 2), ""};
    const auto values = cells_of(reading, claim);
    row.insert(row.end(), values.begin(), values.end());
    row.push_back("  " + std::string(name_of(reading.verdict)));
    table.row(row);
  }
}

std::string bullet(const std::string& text) {
  return "  " + wrapped(text, kColumns - 2, 4) + '\n';
}

// The settings that agree, as few lists as there are.
std::string where(const ClaimResult& result, const ClaimsFile& file) {
  const auto groups = setting_groups(file, result.agreeing, result.claim.fixed);
  std::string text = "agrees at: ";
  for (std::size_t i = 0; i < groups.size() && i < kMostGroups; ++i) text += (i == 0 ? "" : "; ") + groups[i];
  if (groups.size() > kMostGroups) text += fmt::format("; and {} more groups", groups.size() - kMostGroups);
  return text;
}

std::string details(const ClaimResult& result, const ClaimsFile& file, const Output& output) {
  const Claim& claim = result.claim;
  std::string text = '\n' + heading(fmt::format("{}: {}", claim.id, name_of(result.verdict)), output) + '\n';
  text += bullet(fmt::format("\"{}\"", claim.says));
  for (const std::string& sentence : result.evidence) text += bullet(sentence);
  if (!claim.readings.empty() && !result.agreeing.empty() && result.agreeing.size() < result.tried.size())
    text += bullet(where(result, file));
  for (const ClaimFact& fact : claim.facts) text += bullet(fmt::format("fact: {} ({})", fact.says, fact.source));
  return text;
}

// Supported claims about numbers: at the default setting, which is tried first, and only at other settings.
std::pair<int, int> numbers_supported(const ClaimsResult& result) {
  int at_default = 0, elsewhere = 0;
  for (const ClaimResult& one : result.results) {
    const bool number = std::any_of(one.readings.begin(), one.readings.end(),
                                    [](const ReadingResult& reading) { return !reading.predictions.empty(); });
    if (one.verdict != Verdict::Supported || !number || one.tried.empty()) continue;
    const bool first = std::find(one.agreeing.begin(), one.agreeing.end(), one.tried.front()) != one.agreeing.end();
    ++(first ? at_default : elsewhere);
  }
  return {at_default, elsewhere};
}

std::string summary_text(const ClaimsResult& result) {
  std::string text =
      fmt::format("\n{} supported, {} contradicted, {} not checkable.\n", result.count(Verdict::Supported),
                  result.count(Verdict::Contradicted), result.count(Verdict::NotCheckable));
  const auto [at_default, elsewhere] = numbers_supported(result);
  text +=
      wrapped(fmt::format("Of the numbers supported, {} hold at the default setting and {} only at others: read how "
                          "many settings agree.",
                          at_default, elsewhere),
              kColumns, 0) +
      '\n';
  if (result.comparable > 0 && result.best_setting)
    text += wrapped(fmt::format("No setting agrees with more than {} of the {} numbers that were tried at all of them; "
                                "{} does ({}).",
                                result.best_ids.size(), result.comparable,
                                setting_name(result.file, *result.best_setting), fmt::join(result.best_ids, ", ")),
                    kColumns, 0) +
            '\n';
  return text;
}

std::string rule_text() {
  return wrapped(
             fmt::format("A claimed number is supported where it lies in the prediction's 80 % band or within a factor "
                         "of {} of it; `>` and `<` where the prediction itself does.",
                         format_significant(kClaimTolerance)),
             kColumns, 0) +
         '\n';
}

// --- JSON ---

Json setting_json(const ClaimsFile& file, const ClaimSetting& setting) {
  Json settings = Json::object();
  settings["scenario"] = file.scenarios[setting[0]].name;
  for (std::size_t axis = 1; axis < setting.size(); ++axis)
    settings[file.axes[axis - 1].name] = file.axes[axis - 1].values[setting[axis]].name;
  return settings;
}

Json reading_json(const ReadingResult& reading, const ClaimsFile& file) {
  Json json = Json::object();
  if (!reading.name.empty()) json["name"] = reading.name;
  json["verdict"] = name_of(reading.verdict);
  if (reading.predictions.empty()) return json;
  const Range range = range_of(reading);
  json["predicted"] = range.at_default;
  json["predicted_low"] = range.low;
  json["predicted_high"] = range.high;
  for (const ClaimPrediction& one : reading.predictions)
    json["predictions"].push_back({{"setting", setting_json(file, one.setting)},
                                   {"predicted", one.value},
                                   {"low", one.low},
                                   {"high", one.high},
                                   {"agrees", one.agrees}});
  return json;
}

Json row_json(const ClaimResult& result, const ClaimsResult& all) {
  const Claim& claim = result.claim;
  Json row = {{"name", claim.id},
              {"set", set_name(all)},
              {"kind", name_of(claim.kind)},
              {"claim", claim.says},
              {"verdict", name_of(result.verdict)}};
  const ReadingResult* spoken = spokesman(result);
  if (spoken != nullptr) {
    const Range range = range_of(*spoken);
    row["predicted"] = range.at_default;
    row["predicted_low"] = range.low;
    row["predicted_high"] = range.high;
    if (claim.value() && claim.relation == ClaimRelation::About && *claim.value() > 0)
      row["error"] = range.at_default / *claim.value() - 1;
  }
  if (claim.value()) {
    row["claimed"] = *claim.value();
    row["relation"] = claim.relation == ClaimRelation::About   ? "about"
                      : claim.relation == ClaimRelation::Above ? "above"
                                                               : "below";
    row["unit"] = unit_text(claim.unit());
  }
  if (claim.rule != ClaimRule::None) row["rule"] = name_of(claim.rule);
  row["settings_tried"] = result.tried.size();
  row["settings"] = Json::array();
  for (const ClaimSetting& setting : result.agreeing) row["settings"].push_back(setting_json(all.file, setting));
  row["readings"] = Json::array();
  for (const ReadingResult& reading : result.readings) row["readings"].push_back(reading_json(reading, all.file));
  row["evidence"] = result.evidence;
  row["facts"] = Json::array();
  for (const ClaimFact& fact : claim.facts) row["facts"].push_back({{"says", fact.says}, {"source", fact.source}});
  return row;
}

Json summary_json(const std::vector<ClaimsResult>& results) {
  Json summary = {{"supported", 0}, {"contradicted", 0}, {"not_checkable", 0}, {"tolerance_factor", kClaimTolerance}};
  for (const ClaimsResult& one : results) {
    summary["supported"] = summary["supported"].get<int>() + one.count(Verdict::Supported);
    summary["contradicted"] = summary["contradicted"].get<int>() + one.count(Verdict::Contradicted);
    summary["not_checkable"] = summary["not_checkable"].get<int>() + one.count(Verdict::NotCheckable);
    if (!one.best_setting) continue;
    summary["best_settings"].push_back({{"set", set_name(one)},
                                        {"setting", setting_json(one.file, *one.best_setting)},
                                        {"agrees", one.best_ids},
                                        {"of", one.comparable}});
  }
  return summary;
}

}  // namespace

std::string claims_text(const ClaimsResult& result, const Output& output, bool table_only) {
  const auto settings = claim_settings(result.file);
  std::string text = wrapped(result.file.article, kColumns, 0) + '\n';
  text += wrapped(fmt::format("{} claim{}, tried at up to {} settings; the default is {}", result.results.size(),
                              result.results.size() == 1 ? "" : "s", settings.size(),
                              setting_name(result.file, settings.front())),
                  kColumns, 0) +
          "\n\n";
  TextTable table;
  table.column("claim", "", Align::Left);
  table.column("claimed", "", Align::Right);
  table.column("predicted", "default", Align::Right);
  table.column("lowest", "of all", Align::Right);
  table.column("highest", "of all", Align::Right);
  table.column("agree", "", Align::Right);
  table.column("verdict", "", Align::Left);
  for (const ClaimResult& one : result.results) add_rows(table, one);
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
  text += summary_text(result);
  if (table_only) return text;
  text += rule_text();
  for (const ClaimResult& one : result.results) text += details(one, result.file, output);
  for (const std::string& note : result.notes) text += '\n' + wrapped("Note: " + note, kColumns, 6) + '\n';
  return text;
}

std::string claims_json(const std::vector<ClaimsResult>& results) {
  Json document = {{"rows", Json::array()}, {"summary", summary_json(results)}};
  for (const ClaimsResult& one : results)
    for (const ClaimResult& result : one.results) document["rows"].push_back(row_json(result, one));
  for (const ClaimsResult& one : results)
    for (const std::string& note : one.notes) document["notes"].push_back(note);
  return document.dump(2) + '\n';
}

std::string claims_json_lines(const ClaimsResult& result) {
  std::string text;
  for (const ClaimResult& one : result.results) {
    Json line = {{"type", "claim"}};
    line.update(row_json(one, result));
    text += line.dump() + '\n';
  }
  for (const std::string& note : result.notes) text += Json{{"type", "note"}, {"text", note}}.dump() + '\n';
  return text;
}

std::string claims_csv(const std::vector<ClaimsResult>& results) {
  std::string text =
      "name,set,kind,verdict,claimed,predicted,predicted_low,predicted_high,unit,settings_agreeing,settings_tried\n";
  for (const ClaimsResult& one : results)
    for (const ClaimResult& result : one.results) {
      const ReadingResult* spoken = spokesman(result);
      const Range range = spoken != nullptr ? range_of(*spoken) : Range{};
      const Claim& claim = result.claim;
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", claim.id, set_name(one), name_of(claim.kind),
                          name_of(result.verdict), claim.value() ? fmt::format("{}", *claim.value()) : "",
                          spoken ? fmt::format("{}", range.at_default) : "", spoken ? fmt::format("{}", range.low) : "",
                          spoken ? fmt::format("{}", range.high) : "", claim.value() ? unit_text(claim.unit()) : "",
                          result.agreeing.size(), result.tried.size());
    }
  return text;
}

}  // namespace lockstep
