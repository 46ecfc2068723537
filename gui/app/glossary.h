// The words of the field: one sentence, a formula, why one cares. For tool tips and Help > Terms.
#pragma once

#include <QString>
#include <string>
#include <vector>

namespace lockstep::gui {

struct Term {
  QString id, word, meaning, formula, why;
};

std::vector<Term> glossary();
QString term_text(const QString& id);          // as rich text; empty for an unknown id
QString term_for_key(const std::string& key);  // the term that explains a key of a scenario, if any

}  // namespace lockstep::gui
