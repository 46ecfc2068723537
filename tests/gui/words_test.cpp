// That every word of the window can be translated: labels of all keys, the engine's words that the window shows, and no
// text anywhere that does not go through Qt's translation.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QProcess>
#include <QRegularExpression>
#include <QTabBar>
#include <QTableWidget>
#include <QTextDocument>
#include <QTimer>
#include <QTranslator>
#include <cstdlib>
#include <fstream>
#include <set>

#include "gui/app/field_labels.h"
#include "gui/app/gallery_page.h"
#include "gui/app/main_window.h"
#include "gui/app/pages.h"
#include "gui/app/sentences.h"
#include "gui/app/what_if_panel.h"
#include "models/zoo/zoo.h"
#include "simulator/answers/catalogue.h"
#include "tests/gui/support.h"
#include "topologies/presets.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

TEST(Labels, NoKeyOfThePanelFallsBackToItsName) {
  int keys = 0;
  std::set<QString> seen;
  for (const FieldGroup& group : field_groups())
    for (const FieldInfo* field : group.fields) {
      EXPECT_TRUE(has_label(field->key)) << field->key;
      EXPECT_LE(label_of(field->key).size(), 32) << field->key;
      EXPECT_TRUE(seen.insert(label_of(field->key)).second) << field->key << ": two keys have this label";
      ++keys;
    }
  EXPECT_GT(keys, 80);
}

TEST(Labels, ACountSaysWhatItCounts) {
  for (const FieldGroup& group : field_groups())
    for (const FieldInfo* field : group.fields)
      if (field->type == FieldType::Integer && field->key != "seed" && field->key != "topology.gpu_index") {
        EXPECT_FALSE(unit_of(*field).isEmpty()) << field->key;
      }
}

// --- Words of the engine ---

std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string engine_words() {
  std::string out =
      "// Words of the engine that the window shows, for lupdate to find: texts of sentences (simulator/answers), "
      "what\n"
      "// settings mean and what may stand there (scenarios/fields.cpp). Made by test_gui_words with "
      "LOCKSTEP_UPDATE=1.\n"
      "#include <QtGlobal>\n\n// clang-format off\nnamespace {\n[[maybe_unused]] const char* const kWords[] = {\n";
  const auto add = [&](const char* context, const std::string& text) {
    out += "    QT_TRANSLATE_NOOP(\"lockstep::gui::" + std::string(context) + "\", " + literal(text) + "),\n";
  };
  std::set<std::string> known;
  for (const std::string& id : sentence_ids())
    if (id.rfind("solve_", 0) != 0 && id.rfind("explain_", 0) != 0 && known.insert(text_of_sentence(id)).second)
      add("Sentences", text_of_sentence(id));
  known.clear();
  for (const FieldGroup& group : field_groups())
    for (const FieldInfo* field : group.fields)
      for (const std::string& text : {field->doc, allowed_text(*field)})
        if (!text.empty() && known.insert(text).second) add("FieldDocs", text);
  return out + "};\n}  // namespace\n";
}

TEST(EngineWords, AreThoseThatLupdateFinds) {
  const std::string path = testing::source_path("gui/i18n/engine_words.cpp");
  const std::string words = engine_words();
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr) std::ofstream(path, std::ios::binary) << words;
  EXPECT_EQ(testing::text_of_file(path), words) << "LOCKSTEP_UPDATE=1 test_gui_words writes it anew";
}

TEST(Sentences, AreTheEnginesOwnInEnglish) {
  int sentences = 0;
  for (const GalleryCard& card : gallery_cards()) {
    const auto answer = stored_answer(card);
    ASSERT_NE(answer, nullptr) << card.name.toStdString();
    for (const Sentence& sentence : answer->answer.sentences) {
      EXPECT_EQ(text_of(sentence).toStdString(), sentence.text) << card.name.toStdString() << ' ' << sentence.id;
      ++sentences;
    }
  }
  EXPECT_GT(sentences, 60);
}

TEST(Sentences, OfAnotherVersionKeepTheirOwnText) {
  EXPECT_EQ(text_of({"of_the_future", {}, "Something new."}), "Something new.");
  EXPECT_EQ(text_of({"speedup", {{"gpus", "8"}}, "Values are missing."}), "Values are missing.");
  EXPECT_EQ(text_of({"speedup_one", {{"strategy", "ddp"}, {"device", "gpu"}, {"speedup", "fast"}}, "No number."}),
            "No number.");
}

// --- A language that nobody speaks: every text in brackets ---

class Brackets : public QTranslator {
 public:
  QString translate(const char*, const char* source, const char*, int) const override {
    return QStringLiteral("⟦%1⟧").arg(QString::fromUtf8(source));
  }
  bool isEmpty() const override { return false; }
};

// What stands outside of brackets.
QString outside(const QString& text) {
  QString out;
  int depth = 0;
  for (const QChar c : text) {
    if (c == QChar(0x27E6)) ++depth;
    if (depth == 0) out += c;
    if (c == QChar(0x27E7)) --depth;
  }
  return out;
}

// Names that come from files and tables: nobody translates them.
const std::set<QString>& names() {
  static const std::set<QString> all = [] {
    std::set<QString> out = {"lockstep"};
    const auto add = [&](const QString& text) {
      for (const QString& word : text.split(QRegularExpression("[^A-Za-z0-9]+"), Qt::SkipEmptyParts)) out.insert(word);
    };
    for (const GalleryCard& card : gallery_cards())
      for (const QString& text : {card.name, card.question, card.setting, card.to_try, card.to_notice}) add(text);
    for (const ZooEntry& entry : zoo()) add(QString::fromStdString(entry.name));
    for (const PresetKind kind : {PresetKind::Node, PresetKind::Fabric})
      for (const std::string& name : preset_names(kind)) add(QString::fromStdString(name));
    for (const FieldGroup& group : field_groups())
      for (const FieldInfo* field : group.fields) {
        add(QString::fromStdString(field->key));
        for (const FieldChoice& choice : field->choices) add(QString::fromStdString(choice.name));
      }
    return out;
  }();
  return all;
}

// Keys of the keyboard, numbers with units, markup, names and paths of files: what may stand outside of brackets. The
// first word that may not; empty: there is none.
QString own_word(const QString& text) {
  if (Qt::mightBeRichText(text)) {
    QTextDocument document;
    document.setHtml(text);
    return own_word(document.toPlainText());
  }
  static const QRegularExpression path(R"(\S*/\S+|\S+\.(yaml|json))");
  static const QRegularExpression number(
      R"((?<![A-Za-z0-9])[\d.,]+\s?(%|x|[mµun]?s|min|h|d|[kMGT]i?B(/s)?|B(/s)?|Gb/s|it/s|s/it)?(?![A-Za-z0-9]))");
  static const QRegularExpression unit(R"(\((ms|s|µs|us|GB/s|MB|GB|%)\))");
  static const QRegularExpression keys(R"(\((Ctrl|Alt|Shift|F\d+|[A-Z0-9?+=/-]|\+| )*\))");
  QString rest = outside(text);
  rest.remove(path).remove(keys).remove(unit);
  for (const QString& word : rest.remove(number).split(QRegularExpression("[^A-Za-z0-9]+"), Qt::SkipEmptyParts))
    if (word.size() > 1 && names().count(word) == 0) return word;
  return {};
}

class Texts {
 public:
  void add(const QString& where, const QString& text) {
    ++count;
    const QString word = own_word(text);
    if (!word.isEmpty()) wrong << where + ", " + word + ": " + text;
  }
  void add(const QWidget& window) {
    for (const QWidget* widget : window.findChildren<QWidget*>()) add_widget(*widget);
    for (const QAction* action : window.findChildren<QAction*>()) {
      add("action", action->text());
      add("tip of an action", action->toolTip());
    }
    add("title", window.windowTitle());
  }
  QStringList wrong;
  int count = 0;

 private:
  void add_widget(const QWidget& widget) {
    add("tool tip", widget.toolTip());
    add("accessible name", widget.accessibleName());
    add("accessible description", widget.accessibleDescription());
    // What the engine says is wrong has no id: it is shown as it comes.
    if (const auto* label = qobject_cast<const QLabel*>(&widget); label != nullptr && label->objectName() != "wrong")
      add("label", label->text());
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) add("button", button->text());
    if (const auto* box = qobject_cast<const QGroupBox*>(&widget)) add("group", box->title());
    if (const auto* menu = qobject_cast<const QMenu*>(&widget)) add("menu", menu->title());
    if (const auto* line = qobject_cast<const QLineEdit*>(&widget)) add("placeholder", line->placeholderText());
    if (const auto* tabs = qobject_cast<const QTabBar*>(&widget))
      for (int i = 0; i < tabs->count(); ++i) add("tab", tabs->tabText(i));
    if (const auto* table = qobject_cast<const QTableWidget*>(&widget))
      for (int i = 0; i < table->columnCount(); ++i)
        if (table->horizontalHeaderItem(i) != nullptr) add("column", table->horizontalHeaderItem(i)->text());
  }
};

class Translated : public ::testing::Test {
 protected:
  void SetUp() override { QApplication::installTranslator(&brackets_); }
  void TearDown() override {
    QApplication::removeTranslator(&brackets_);
    const QStringList unique = QSet<QString>(texts_.wrong.begin(), texts_.wrong.end()).values();
    EXPECT_TRUE(unique.isEmpty()) << unique.size() << " texts:\n" << unique.join('\n').toStdString();
  }
  // Looks at the dialog that `open` brings, and closes it.
  void look_at_dialog(const std::function<void()>& open) {
    bool seen = false;
    QTimer::singleShot(50, [&] {
      auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      texts_.add(*dialog);
      seen = true;
      dialog->reject();
    });
    open();
    EXPECT_TRUE(seen);
  }
  Brackets brackets_;
  Texts texts_;
};

TEST_F(Translated, TheWindowHasNoWordOfItsOwn) {
  MainWindow window;
  window.show();
  wait_until([] { return false; }, 50);
  texts_.add(window);
  window.open_any("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(wait_until([&] { return window.session().has_details(); }));
  for (const FieldGroup& group : field_groups()) window.panel().control(group.fields.front()->key);
  for (ViewFrame* frame : window.frames()) frame->show_table(true);
  auto* tabs = window.findChild<QTabWidget*>();
  for (int i = 0; i < tabs->count(); ++i) {
    tabs->setCurrentIndex(i);
    wait_until([] { return false; }, 20);
    texts_.add(window);
  }
  for (const View* view : window.views()) {
    texts_.add("view", view->title());
    texts_.add("view's sentence", view->description());
    for (const QString& column : view->table().header) texts_.add("column", column);
  }
  EXPECT_GT(texts_.count, 1000);
}

TEST_F(Translated, NorHaveItsDialogsAndItsTroubles) {
  MainWindow window;
  window.show();
  window.open_any("pcie-box");
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Done; }));
  for (const char* name : {"terms", "keys", "palette"})
    look_at_dialog([&] { window.action(QString::fromLatin1(name))->trigger(); });
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner", 1);
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return !window.measurement().active(); }));
  texts_.add(window);
  unsetenv("LOCKSTEP_HWRUNNER");
}

// --- lupdate ---

TEST(Lupdate, FindsEveryTextOfTheSources) {
#ifndef LOCKSTEP_LUPDATE
  GTEST_SKIP() << "lupdate is not there (Debian's qt6-l10n-tools)";
#else
  const QString catalogue = testing::temporary_path("all.ts");
  QProcess lupdate;
  lupdate.start(LOCKSTEP_LUPDATE, {QString::fromStdString(testing::source_path("gui")), "-extensions", "cpp,h",
                                   "-silent", "-ts", catalogue});
  ASSERT_TRUE(lupdate.waitForFinished(120'000));
  EXPECT_EQ(lupdate.exitCode(), 0) << lupdate.readAllStandardError().toStdString();
  const std::string ts = testing::text_of_file(catalogue.toStdString());
  const auto holds = [&](const std::string& text) {
    return ts.find("<source>" + QString::fromStdString(text).toHtmlEscaped().replace('\'', "&apos;").toStdString()) !=
           std::string::npos;
  };
  for (const FieldGroup& group : field_groups())
    for (const FieldInfo* field : group.fields) {
      EXPECT_TRUE(holds(label_of(field->key).toStdString())) << field->key;
      EXPECT_TRUE(holds(field->doc)) << field->key;
    }
  for (const char* id : {"speedup", "largest_loss", "uncertainty", "gpus"})
    EXPECT_TRUE(holds(text_of_sentence(id))) << id;
  EXPECT_TRUE(holds("exposed communication"));
  std::size_t messages = 0;
  for (std::size_t at = ts.find("<message"); at != std::string::npos; at = ts.find("<message", at + 1)) ++messages;
  EXPECT_GT(messages, 500U);
#endif
}

}  // namespace
}  // namespace lockstep::gui
