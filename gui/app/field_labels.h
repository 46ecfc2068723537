// What the settings are called, and what is said of them, for people.
#pragma once

#include <QString>
#include <string>

#include "simulator/base/field_info.h"

namespace lockstep::gui {

// "Bucket cap" of ddp.bucket_cap; a key without a label is its own, and a test finds none.
QString label_of(const std::string& key);
bool has_label(const std::string& key);
// What it means and what may stand there, in the person's language (gui/i18n/engine_words.cpp).
QString doc_of(const FieldInfo& field);
QString allowed_of(const FieldInfo& field);
// What its number counts, to stand behind the box: "GPUs", "samples"; empty where the text has its unit itself.
QString unit_of(const FieldInfo& field);
// Every word that finds a setting.
QString search_text(const FieldInfo& field);

}  // namespace lockstep::gui
