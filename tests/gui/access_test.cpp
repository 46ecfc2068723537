// The window without a mouse, without eyes, and with weak ones.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QSlider>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <cmath>
#include <map>
#include <set>

#include "gui/app/answer_bar.h"
#include "gui/app/command_palette.h"
#include "gui/app/font_size.h"
#include "gui/app/keys.h"
#include "gui/app/main_window.h"
#include "gui/app/theme.h"
#include "gui/app/what_if_panel.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

class Access : public ::testing::Test {
 protected:
  void SetUp() override {
    window.show();
    window.open_any("dp-vs-ddp-resnet50-8xa100");
    ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Done; }));
  }
  void TearDown() override {
    window.document().undo().setClean();
    set_font_step(0);
  }
  MainWindow window;
};

// --- For a screen reader ---

bool is_for_people(const QWidget& widget) {
  return qobject_cast<const QAbstractButton*>(&widget) != nullptr ||
         qobject_cast<const QLineEdit*>(&widget) != nullptr || qobject_cast<const QComboBox*>(&widget) != nullptr ||
         qobject_cast<const QSlider*>(&widget) != nullptr || widget.inherits("QAbstractSpinBox") ||
         widget.inherits("QAbstractItemView") || widget.inherits("QPlainTextEdit") || widget.inherits("QGraphicsView");
}

TEST_F(Access, EverythingThatCanBeUsedHasANameThatAReaderFinds) {
  for (const FieldGroup& group : field_groups()) window.panel().control(group.fields.front()->key);
  int named = 0;
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    const std::string kind = widget->metaObject()->className();
    // Parts that Qt makes: of boxes with choices, of scroll bars, of tool bars that are too narrow.
    if (!is_for_people(*widget) || widget->isHidden() || widget->objectName().startsWith("qt_") ||
        widget->inherits("QHeaderView"))
      continue;
    if (kind == "QComboBoxPrivateContainer" || kind == "QComboBoxListView" || kind == "QTableCornerButton") continue;
    if (widget->parentWidget()->inherits("QComboBox") || widget->parentWidget()->inherits("QAbstractSpinBox") ||
        widget->parentWidget()->inherits("QLineEdit") || widget->parentWidget()->inherits("QAbstractScrollArea") ||
        widget->parentWidget()->inherits("QTabBar") || widget->parentWidget()->inherits("QAbstractItemView"))
      continue;
    QAccessibleInterface* reader = QAccessible::queryAccessibleInterface(widget);
    ASSERT_NE(reader, nullptr) << kind;
    EXPECT_FALSE(reader->text(QAccessible::Name).isEmpty())
        << kind << ' ' << widget->objectName().toStdString() << " in "
        << widget->parentWidget()->metaObject()->className() << ' ' << widget->toolTip().toStdString();
    ++named;
  }
  EXPECT_GT(named, 100);
}

TEST_F(Access, ChartsAndControlsDescribeThemselvesInASentence) {
  ASSERT_TRUE(wait_until([&] { return window.session().has_details(); }));
  for (View* view : window.views()) {
    QAccessibleInterface* reader = QAccessible::queryAccessibleInterface(view->widget());
    ASSERT_NE(reader, nullptr);
    EXPECT_FALSE(reader->text(QAccessible::Name).isEmpty()) << view->id().toStdString();
    EXPECT_GT(view->description().size(), 10) << view->id().toStdString();
  }
  for (const char* key : {"batch.per_gpu", "precision", "ddp.bucket_cap", "strategy", "model.name"}) {
    QStringList descriptions;
    for (QWidget* widget : window.panel().control(key)->findChildren<QWidget*>())
      if (!widget->accessibleDescription().isEmpty()) descriptions << widget->accessibleDescription();
    EXPECT_FALSE(descriptions.isEmpty()) << key;
  }
}

// --- By the keyboard ---

TEST_F(Access, NoTwoActionsShareAKeyAndAllAreOnThePageOfKeys) {
  std::map<QString, QString> taken;
  const QString page = keys_text(window.findChildren<QAction*>());
  int keys = 0;
  for (const QAction* action : window.findChildren<QAction*>())
    for (const QKeySequence& key : action->shortcuts()) {
      const QString text = key.toString();
      EXPECT_TRUE(taken.emplace(text, action->objectName()).second)
          << text.toStdString() << ": " << taken[text].toStdString() << " and " << action->objectName().toStdString();
      ++keys;
    }
  EXPECT_GT(keys, 25);
  for (const KeyRow& row : key_rows(window.findChildren<QAction*>())) {
    EXPECT_TRUE(page.contains(row.what.toHtmlEscaped())) << row.what.toStdString();
    EXPECT_FALSE(row.what.contains('&'));
  }
  for (const char* word : {"Home, End", "Page Up", "Ctrl+L", "F6", "?"})
    EXPECT_TRUE(page.contains(QString::fromLatin1(word))) << word;
}

TEST_F(Access, ControlAndANumberShowATab) {
  auto* tabs = window.findChild<QTabWidget*>();
  ASSERT_GE(tabs->count(), 3);
  for (int i = tabs->count() - 1; i >= 0; --i) {
    window.action(QStringLiteral("tab%1").arg(i + 1))->trigger();
    EXPECT_EQ(tabs->currentIndex(), i);
    EXPECT_EQ(window.action(QStringLiteral("tab%1").arg(i + 1))->shortcut(),
              QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)));
  }
}

TEST_F(Access, ControlLGoesToTheFirstLeverAndSpaceTriesIt) {
  window.activateWindow();
  window.action("levers")->trigger();
  auto* lever = qobject_cast<QPushButton*>(window.focusWidget());
  ASSERT_NE(lever, nullptr);
  EXPECT_TRUE(lever->text().startsWith(QString::fromStdString(window.session().shown().result->answer.levers[0].set)));
  QTest::keyClick(lever, Qt::Key_Space);
  EXPECT_TRUE(window.document().modified());
}

TEST_F(Access, TabWalksThroughThePanelTheAnswerAndTheCharts) {
  window.activateWindow();
  std::set<QWidget*> seen;
  window.action("find")->trigger();
  QWidget* first = window.focusWidget();
  bool in_panel = false, in_answer = false, in_view = false;
  for (int i = 0; i < 200; ++i) {
    QTest::keyClick(window.focusWidget(), Qt::Key_Tab);
    QWidget* now = window.focusWidget();
    if (now == first) break;
    seen.insert(now);
    in_panel = in_panel || window.panel().isAncestorOf(now);
    in_answer = in_answer || window.answer().isAncestorOf(now);
    for (View* view : window.views()) in_view = in_view || view->widget() == now || view->widget()->isAncestorOf(now);
  }
  EXPECT_TRUE(in_panel && in_answer && in_view) << in_panel << in_answer << in_view;
  EXPECT_GT(seen.size(), 25U);
}

TEST_F(Access, TheSettingsAndTheDetailsAreTicksOfTheMenu) {
  window.action("panel")->trigger();
  EXPECT_FALSE(window.panel().isVisible());
  window.action("panel")->trigger();
  EXPECT_TRUE(window.panel().isVisible());
  QPushButton* more = nullptr;
  for (auto* button : window.answer().findChildren<QPushButton*>())
    if (button->isCheckable()) more = button;
  ASSERT_NE(more, nullptr);
  window.action("details")->trigger();
  EXPECT_TRUE(more->isChecked());
  more->click();
  EXPECT_FALSE(window.action("details")->isChecked());
}

TEST_F(Access, AnActionIsFoundByAPartOfItsName) {
  CommandPalette palette(window.findChildren<QAction*>(), &window);
  auto* words = palette.findChild<QLineEdit*>();
  auto* list = palette.findChild<QListWidget*>();
  const int all = list->count();
  EXPECT_GT(all, 15);
  words->setText("larger");
  ASSERT_EQ(list->count(), 1);
  QTest::keyClick(words, Qt::Key_Return);
  ASSERT_NE(palette.chosen(), nullptr);
  EXPECT_EQ(palette.chosen()->objectName(), "larger");
  words->setText("no such thing");
  EXPECT_EQ(list->count(), 0);
}

// --- For weak eyes ---

TEST_F(Access, TextGrowsShrinksAndIsRememberedAndTheLayoutComesBack) {
  const double normal = QApplication::font().pointSizeF();
  QLabel* answer = nullptr;
  for (auto* label : window.answer().findChildren<QLabel*>())
    if (label->font().bold()) answer = label;
  ASSERT_NE(answer, nullptr);
  const double before = answer->font().pointSizeF();
  std::map<QWidget*, double> sizes;  // of all that has words
  for (auto* widget : window.findChildren<QWidget*>())
    if (widget->isVisible() &&
        (qobject_cast<QMenuBar*>(widget) || qobject_cast<QTabBar*>(widget) || qobject_cast<QAbstractButton*>(widget) ||
         qobject_cast<QLineEdit*>(widget) || qobject_cast<QComboBox*>(widget) || qobject_cast<QLabel*>(widget)))
      sizes[widget] = widget->font().pointSizeF();
  ASSERT_GT(sizes.size(), 40U);
  window.action("larger")->trigger();
  window.action("larger")->trigger();
  for (const auto& [widget, size] : sizes) {
    EXPECT_NEAR(widget->font().pointSizeF(), size * (normal + 2) / normal, 0.1)
        << widget->metaObject()->className() << ' ' << widget->accessibleName().toStdString();
  }
  EXPECT_EQ(QApplication::font().pointSizeF(), normal + 2);
  EXPECT_NEAR(answer->font().pointSizeF(), before * (normal + 2) / normal, 0.1);
  EXPECT_EQ(QSettings().value("font_step").toInt(), 2);
  window.action("smaller")->trigger();
  EXPECT_EQ(font_step(), 1);
  for (int i = 0; i < 40; ++i) window.action("larger")->trigger();
  EXPECT_EQ(font_step(), kLargestFontStep);
  window.action("panel")->trigger();
  window.action("restore")->trigger();
  EXPECT_EQ(font_step(), 0);
  EXPECT_TRUE(window.panel().isVisible());
  EXPECT_NEAR(answer->font().pointSizeF(), before, 0.1);
}

double luminance(const QColor& colour) {
  const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

// WCAG 2: (L1 + 0.05) / (L2 + 0.05).
double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a), lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

TEST(Contrast, IsTheFormulaOfWcag) {
  EXPECT_NEAR(contrast(Qt::white, Qt::black), 21, 1e-9);
  EXPECT_NEAR(contrast("#777777", "#ffffff"), 4.48, 0.005);
}

TEST(Contrast, TextIsReadableInBothThemes) {
  for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
    set_theme(choice);
    const Theme& t = theme();
    for (const auto& [name, ink] : std::map<std::string, QColor>{{"text", t.text},
                                                                 {"muted", t.muted},
                                                                 {"accent", t.accent},
                                                                 {"error", t.error},
                                                                 {"warning", t.warning},
                                                                 {"good", t.good}})
      for (const QColor& paper : {t.window, t.surface, t.raised})
        EXPECT_GE(contrast(ink, paper), 4.5) << name << " on " << paper.name().toStdString();
    EXPECT_GE(contrast(t.on_accent, t.accent), 4.5);
    for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp})
      EXPECT_GE(contrast(t.strategy(strategy), t.surface), 4.5) << name_of(strategy);  // names of lines
    for (const QColor& paper : {t.window, t.surface})
      EXPECT_GE(contrast(t.accent, paper), 3) << "the ring of what has the keyboard";
  }
  set_theme(ThemeChoice::Light);
}

}  // namespace
}  // namespace lockstep::gui
