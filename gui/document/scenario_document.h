// The open scenario: its text, where it lies, what it says, what is wrong with it. Every change is a step that can be
// undone, and changes the text in place, so that a saved file keeps its comments.
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scenarios/reader.h"
#include "simulator/answers/inputs.h"
#include "simulator/base/document.h"

namespace lockstep::gui {

class ScenarioDocument : public QObject {
  Q_OBJECT

 public:
  explicit ScenarioDocument(QObject* parent = nullptr);

  // Nothing changes when the file cannot be read. A file that reads but is wrong opens, with its errors.
  Errors open(const QString& path);
  // A copy of an example: it has no file of its own until it is saved, but relative paths start at `origin_path`.
  Errors open_example(const QString& origin_path, const QString& name);
  // A text without a file of its own, as the scenario in a result.
  void open_text(std::string text, const QString& name);
  // Written beside the target and renamed.
  Errors save(const QString& path);

  // Puts `key` at a YAML value as one undo step; `drag` joins steps of one movement of a slider. Values that the reader
  // refuses are returned and change nothing; the errors are those of this key.
  Errors set(const std::string& key, const std::string& yaml, int drag = 0);
  // Several keys at once: an argument of --set each.
  Errors apply(const std::vector<std::string>& sets, const QString& what);

  // The whole text as one step. A text that is wrong is taken too, as open() takes such a file; its errors are
  // returned.
  Errors replace_text(std::string text);

  // What its file says now, as a step that can be undone; saved from then on.
  Errors reload();

  const std::string& saved_text() const { return saved_text_; }
  const std::string& text() const { return text_; }
  ScenarioText source() const;            // as a prediction reads it
  QString path() const { return path_; }  // empty: never saved
  QString name() const;                   // for the title: file name, or the example's name
  QString folder() const;                 // where relative paths start
  bool modified() const { return !undo_.isClean(); }
  bool comments_kept() const { return comments_kept_; }  // since it was opened
  QUndoStack& undo() { return undo_; }

  // What the reader makes of the text, without files that it names.
  const std::optional<ReadScenario>& read() const { return read_; }
  const Errors& errors() const { return errors_; }
  // Every key with its value in YAML and where it comes from; empty while the scenario is wrong.
  const std::map<std::string, ResolvedField>& values() const { return values_; }

  // While the scenario is wrong: the keys that its text gives, as they were written; nothing where it is no YAML.
  const std::optional<std::map<std::string, std::string>>& written() const { return written_; }

  // The line that predicts the same on a command line: the saved file and what was changed since, as --set.
  QString command() const;

 signals:
  void changed();        // text, and what follows from it
  void place_changed();  // path, name or the unsaved marker

 private:
  friend class TextStep;
  void put(std::string text, bool comments_kept);
  Expected<ReadScenario> read_text(const std::string& text);  // and keeps what it read for put()
  void start_anew(std::string text, const QString& path, const QString& origin, const QString& name);

  std::string text_, saved_text_;
  QString path_, origin_path_, example_name_;
  bool comments_kept_ = true;
  QUndoStack undo_;
  std::optional<ReadScenario> read_, checked_;
  std::string checked_text_;  // that checked_ was read from
  Errors errors_;
  std::map<std::string, ResolvedField> values_;
  std::optional<std::map<std::string, std::string>> written_;
};

// One word of a POSIX shell: quoted only where it has to be.
QString shell_word(const QString& text);

}  // namespace lockstep::gui
