// Every sentence of an answer by its id, with the English text. Other languages translate this table; programs use the
// id and the values.
//
// A text holds `{name}` for a value as it stands and `{name:kind}` for one that is formatted for people: time, factor,
// percent, signed_percent (a gain), effect (a small one, either sign), count, bytes, words (a phrase of this catalogue
// with that id). Where the value `device` is `core`, a text whose id ends in `_core` stands in for the one without.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep {

// The text of an id with its values filled in. Values hold numbers in SI with all digits ("0.0561").
Sentence make_sentence(const std::string& id, std::map<std::string, std::string> values);

// A sentence that is there already, with other texts: `say` is given a text of this table and returns it in another
// language, with the same placeholders. Nothing where the id is not known or a value is missing or no number.
using SayText = std::function<std::string(const std::string& english)>;
std::optional<std::string> sentence_in(const Sentence& sentence, const SayText& say);

// A number as a value of a sentence: the shortest digits that read back to it.
std::string digits(double number);

// For checks of the table: all ids, and the {name, kind} of what a text needs.
std::vector<std::string> sentence_ids();
std::string text_of_sentence(const std::string& id);  // English, with its placeholders
std::vector<std::pair<std::string, std::string>> placeholders_of(const std::string& id);

}  // namespace lockstep
