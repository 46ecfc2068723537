// A Result as the JSON document of docs/interface.md ("A result"), and a Run as the message that a forked child hands
// to its parent. Every double is printed with the shortest digits that read back to the same bits. A key whose value is
// not known is absent; readers ignore keys that they do not know.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/error.h"
#include "simulator/result/result.h"

namespace lockstep {

inline constexpr int kResultFormatVersion = 1;

enum class JsonLayout { OneLine, Indented };

// The whole document, ending in a newline. Indented: two spaces.
std::string result_to_json(const Result& result, JsonLayout layout = JsonLayout::Indented);

// Reads a document of any format_version up to kResultFormatVersion. The scenario object comes back as block YAML in
// `scenario_yaml` (same values, without the comments about their origin). Errors: Syntax (with place), Missing, Type,
// Range (what no result can say: no GPUs, a step of 0 s, negative parts), NotSupported (a newer format, or no lockstep
// result), each with `file` and the dotted key.
Expected<Result> result_from_json(std::string_view text, const std::string& file);

// One run of `runs` on one line, without newline: the contract's keys only.
std::string run_to_json(const Run& run);
// Back again: every value that the contract has.
Expected<Run> run_from_json(std::string_view text);

// The private form between a forked child and its parent: the contract's keys and, under "private", what the contract
// leaves out (timeline, parts, communication_s, values that are still zero). Reading gives back every field bit by bit.
std::string run_to_message(const Run& run);
Expected<Run> run_from_message(std::string_view text);

// Any YAML value as JSON text: plain numbers and booleans become such, quoted ones stay strings. Used for `scenario`.
std::string yaml_to_json(std::string_view yaml, JsonLayout layout = JsonLayout::Indented);

// A text as a JSON string, in quotes.
std::string json_text(std::string_view text);

// The document of `--json` when something is wrong: {"error": {first}, "errors": [all, in order]}, ending in a newline.
std::string errors_to_json(const Errors& errors, JsonLayout layout = JsonLayout::Indented);

}  // namespace lockstep
