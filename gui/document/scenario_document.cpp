#include "gui/document/scenario_document.h"

#include <fmt/format.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>
#include <QUndoCommand>
#include <utility>

#include "gui/document/text_edit.h"
#include "scenarios/fields.h"

namespace lockstep::gui {

// Texts before and after, because that undoes anything exactly; a file of a scenario is a few hundred bytes.
class TextStep : public QUndoCommand {
 public:
  TextStep(ScenarioDocument& document, std::string after, bool comments_kept, const QString& what, int drag)
      : QUndoCommand(what),
        document_(document),
        before_(document.text_),
        after_(std::move(after)),
        kept_before_(document.comments_kept_),
        kept_after_(comments_kept && document.comments_kept_),
        drag_(drag) {}

  void undo() override { document_.put(before_, kept_before_); }
  void redo() override { document_.put(after_, kept_after_); }
  int id() const override { return drag_ == 0 ? -1 : drag_; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const TextStep*>(other);
    after_ = next->after_;
    kept_after_ = next->kept_after_;
    return true;
  }

 private:
  ScenarioDocument& document_;
  std::string before_, after_;
  bool kept_before_, kept_after_;
  int drag_;
};

namespace {

Errors io_error(const QString& path, const QString& what) {
  Error error;
  error.kind = ErrorKind::Io;
  error.file = path.toStdString();
  error.message = what.toStdString();
  return {error};
}

std::map<std::string, ResolvedField> values_of(const ReadScenario& read) {
  std::map<std::string, ResolvedField> values;
  for (ResolvedField& field : scenario_fields().resolved(read.scenario, read.reading)) {
    std::string key = field.key;
    values.emplace(std::move(key), std::move(field));
  }
  return values;
}

// Origins apart: does this error speak of that key, or of a group around it?
bool is_about(const Error& error, const std::string& key) {
  return error.key == key || key.rfind(error.key + ".", 0) == 0 || error.key.rfind(key + ".", 0) == 0;
}

}  // namespace

QString shell_word(const QString& text) {
  static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
  if (plain.match(text).hasMatch()) return text;
  QString quoted = text;
  return '\'' + quoted.replace('\'', QStringLiteral("'\\''")) + '\'';
}

ScenarioDocument::ScenarioDocument(QObject* parent) : QObject(parent) {
  connect(&undo_, &QUndoStack::cleanChanged, this, &ScenarioDocument::place_changed);
}

Errors ScenarioDocument::open(const QString& path) {
  auto text = read_text_file(path.toStdString());
  if (!text) return text.error();
  start_anew(*std::move(text), path, path, {});
  return {};
}

Errors ScenarioDocument::open_example(const QString& origin_path, const QString& name) {
  auto text = read_text_file(origin_path.toStdString());
  if (!text) return text.error();
  start_anew(*std::move(text), {}, origin_path, name);
  return {};
}

void ScenarioDocument::open_text(std::string text, const QString& name) {
  start_anew(std::move(text), {}, {}, name);
}

void ScenarioDocument::start_anew(std::string text, const QString& path, const QString& origin, const QString& name) {
  checked_.reset();  // relative paths start elsewhere
  path_ = path;
  origin_path_ = origin;
  example_name_ = name;
  saved_text_ = text;
  undo_.clear();
  put(std::move(text), true);
  emit place_changed();
}

void ScenarioDocument::put(std::string text, bool comments_kept) {
  text_ = std::move(text);
  comments_kept_ = comments_kept;
  auto read = checked_ && checked_text_ == text_ ? Expected<ReadScenario>(*std::exchange(checked_, std::nullopt))
                                                 : read_scenario_with_origins(text_, source().file);
  errors_ = read ? Errors{} : std::move(read.error());
  read_.reset();
  if (read) read_ = *std::move(read);
  values_ = read_ ? values_of(*read_) : std::map<std::string, ResolvedField>{};
  written_ = read_ ? std::nullopt : written_values(text_, scenario_fields().info());
  emit changed();
}

Expected<ReadScenario> ScenarioDocument::read_text(const std::string& text) {
  auto read = read_scenario_with_origins(text, source().file);
  checked_text_ = text;
  checked_.reset();
  if (read) checked_ = *read;
  return read;
}

Errors ScenarioDocument::save(const QString& path) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return io_error(path, file.errorString());
  file.write(text_.data(), static_cast<qint64>(text_.size()));
  if (!file.commit()) return io_error(path, file.errorString());
  path_ = path;
  origin_path_ = path;
  example_name_.clear();
  saved_text_ = text_;
  undo_.setClean();
  emit place_changed();
  return {};
}

Errors ScenarioDocument::set(const std::string& key, const std::string& yaml, int drag) {
  const auto edited = set_in_text(text_, key, yaml, scenario_fields().info());
  if (!edited) return edited.error();
  if (edited->text == text_) return {};
  const auto read = read_text(edited->text);
  if (!read) {
    // What was wrong before is not the fault of this value.
    Errors own;
    for (const Error& error : read.error())
      if (is_about(error, key) || errors_.empty()) own.push_back(error);
    if (!own.empty()) return own;
  }
  undo_.push(new TextStep(*this, edited->text, edited->comments_kept,
                          tr("%1 = %2").arg(QString::fromStdString(key), QString::fromStdString(yaml)), drag));
  return {};
}

Errors ScenarioDocument::apply(const std::vector<std::string>& sets, const QString& what) {
  std::string text = text_;
  bool kept = true;
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) continue;
    auto edited = set_in_text(text, set.substr(0, equals), set.substr(equals + 1), scenario_fields().info());
    if (!edited) return edited.error();
    text = std::move(edited->text);
    kept = kept && edited->comments_kept;
  }
  if (text == text_) return {};
  if (auto read = read_text(text); !read) return read.error();
  undo_.push(new TextStep(*this, std::move(text), kept, what, 0));
  return {};
}

Errors ScenarioDocument::replace_text(std::string text) {
  if (text != text_) undo_.push(new TextStep(*this, std::move(text), true, tr("edit the file"), 0));
  return errors_;
}

Errors ScenarioDocument::reload() {
  auto text = read_text_file(path_.toStdString());
  if (!text) return text.error();
  Errors errors = replace_text(*text);
  saved_text_ = *std::move(text);
  undo_.setClean();
  return errors;
}

ScenarioText ScenarioDocument::source() const {
  return {text_, origin_path_.toStdString(), {}};
}

QString ScenarioDocument::name() const {
  if (!path_.isEmpty()) return QFileInfo(path_).fileName();
  return example_name_.isEmpty() ? tr("untitled") : example_name_;
}

QString ScenarioDocument::folder() const {
  return origin_path_.isEmpty() ? QDir::currentPath() : QFileInfo(origin_path_).absolutePath();
}

QString ScenarioDocument::command() const {
  QString line = QStringLiteral("lockstep predict ");
  line += shell_word(path_.isEmpty() && !example_name_.isEmpty() ? example_name_ : path_);
  const auto saved = read_scenario_with_origins(saved_text_, source().file);
  if (!saved || !read_) return line;
  const auto before = values_of(*saved);
  for (const auto& [key, field] : values_) {
    const auto at = before.find(key);
    if (at != before.end() && at->second.yaml == field.yaml) continue;
    if (at == before.end() && field.origin.from == Origin::From::Default) continue;  // shown only with another key
    line += QStringLiteral(" --set ") + shell_word(QString::fromStdString(fmt::format("{}={}", key, field.yaml)));
  }
  return line;
}

}  // namespace lockstep::gui
