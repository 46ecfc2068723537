#include "gui/app/theme.h"

#include <QApplication>
#include <QHash>
#include <QPainter>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <array>

// Resources of a static library are not there by themselves.
static void load_resources() {
  Q_INIT_RESOURCE(lockstep);
}

namespace lockstep::gui {
namespace {

Theme light_theme() {
  return {false,     "#f4f6f9", "#ffffff", "#f9fafc", "#d5dbe3", "#18212d", "#566273",
          "#1a66d0", "#ffffff", "#c0271c", "#9a5b00", "#12743f", "#e3e8ee"};
}

Theme dark_theme() {
  return {true,      "#12161c", "#1a2029", "#222a35", "#36414f", "#e8edf3", "#a3b0c0",
          "#62aaff", "#0b1017", "#ff8a80", "#ffc266", "#6fdc9f", "#2a333f"};
}

struct State {
  ThemeChoice choice = ThemeChoice::System;
  Theme theme = light_theme();
};
State& state() {
  static State one;
  return one;
}

bool system_is_dark() {
  const QPalette system = QApplication::style()->standardPalette();
  return system.color(QPalette::WindowText).lightness() > system.color(QPalette::Window).lightness();
}

QPalette palette_of(const Theme& t) {
  QPalette p;
  p.setColor(QPalette::Window, t.window);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.surface);
  p.setColor(QPalette::AlternateBase, t.raised);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::Button, t.surface);
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::ToolTipBase, t.raised);
  p.setColor(QPalette::ToolTipText, t.text);
  p.setColor(QPalette::PlaceholderText, t.muted);
  p.setColor(QPalette::Highlight, t.accent);
  p.setColor(QPalette::HighlightedText, t.on_accent);
  p.setColor(QPalette::Link, t.accent);
  p.setColor(QPalette::Mid, t.border);
  p.setColor(QPalette::Dark, t.border);
  p.setColor(QPalette::Light, t.raised);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, t.muted);
  return p;
}

// %1 window, %2 surface, %3 raised, %4 border, %5 text, %6 muted, %7 accent, %8 error, %9 on accent, %a warning
const char* const kSheet = R"(
QMainWindow, QScrollArea, QScrollArea > QWidget > QWidget#page { background: %1; }
QScrollArea { border: none; }
QFrame#card { background: %2; border: 1px solid %4; border-radius: 10px; }
QFrame#panel { background: %2; border: none; border-right: 1px solid %4; }
QToolBar { background: %2; border: none; border-bottom: 1px solid %4; padding: 4px 8px; spacing: 4px; }
QToolButton { border: 1px solid transparent; border-radius: 6px; padding: 5px 8px; }
QToolButton:hover, QToolButton:checked { background: %3; border-color: %4; }
QToolButton:focus { border-color: %7; }
QToolButton::menu-indicator { image: none; }
QPushButton { background: %3; border: 1px solid %4; border-radius: 6px; padding: 5px 12px; }
QPushButton:hover { border-color: %7; }
QPushButton:focus { border: 2px solid %7; padding: 4px 11px; }
QPushButton#lever { text-align: left; padding: 5px 10px; border-radius: 13px; }
QPushButton#lever:focus { padding: 4px 9px; }
QPushButton#segment { border-radius: 0; padding: 4px 12px; }
QPushButton#segment:checked { background: %7; color: %9; border-color: %7; }
QPushButton#link { background: transparent; border: none; color: %7; padding: 2px 4px; text-align: left; }
QPushButton#link:focus, QPushButton#link:hover { text-decoration: underline; }
QLineEdit, QComboBox, QSpinBox, QPlainTextEdit, QTableWidget, QListWidget {
  background: %1; border: 1px solid %4; border-radius: 6px; selection-background-color: %7; selection-color: %9; }
QLineEdit, QComboBox, QSpinBox { padding: 3px 6px; min-height: 20px; }
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QPlainTextEdit:focus, QTableWidget:focus, QListWidget:focus { border: 1px solid %7; }
QLineEdit[wrong="true"], QComboBox[wrong="true"] { border: 2px solid %8; color: %8; }
QLabel#wrong { color: %8; }
QLabel#doubt { color: %a; }
QLabel#muted { color: %6; }
QLabel#chip { background: %3; border: 1px solid %4; border-radius: 9px; padding: 1px 8px; color: %6; }
QTabWidget::pane { border: none; }
QTabBar::tab { padding: 7px 14px; border: none; border-bottom: 2px solid transparent; color: %6; background: transparent; }
QTabBar::tab:selected { color: %5; border-bottom: 2px solid %7; }
QTabBar::tab:focus { color: %7; }
QHeaderView::section { background: %3; color: %6; border: none; border-bottom: 1px solid %4; padding: 5px 8px; }
QTableWidget { gridline-color: %4; }
QTableWidget::item { padding: 2px 8px; }
QSlider { min-height: 24px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: %4; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: %7; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: %2;
  border: 2px solid %7; }
QSlider::handle:horizontal:focus { background: %7; }
QSlider::sub-page:horizontal:disabled { background: %4; }
QSlider::handle:horizontal:disabled { border-color: %4; }
QProgressBar { border: none; border-radius: 3px; background: %4; max-height: 6px; }
QProgressBar::chunk { background: %7; border-radius: 3px; }
QStatusBar { background: %2; border-top: 1px solid %4; }
QStatusBar::item { border: none; }
QSplitter::handle { background: transparent; }
QComboBox { padding-right: 24px; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url(:/lockstep/arrow-%theme.svg); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: %2; border: 1px solid %4; selection-background-color: %7;
  selection-color: %9; outline: none; padding: 4px; }
QCheckBox::indicator { width: 15px; height: 15px; border: 1px solid %6; border-radius: 4px; background: %1; }
QCheckBox::indicator:checked { background: %7; border-color: %7; image: url(:/lockstep/check-%theme.svg); }
QCheckBox::indicator:indeterminate { background: %4; }
QCheckBox::indicator:focus { border: 2px solid %7; }
QToolButton#reset { padding: 1px; }
QScrollBar:vertical { width: 11px; background: transparent; margin: 0; }
QScrollBar:horizontal { height: 11px; background: transparent; margin: 0; }
QScrollBar::handle { background: %4; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 36px; }
QScrollBar::handle:horizontal { min-width: 36px; }
QScrollBar::handle:hover { background: %6; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QToolTip { background: %3; color: %5; border: 1px solid %4; padding: 6px; }
QMenuBar { background: %2; }
)";

QString sheet_of(const Theme& t) {
  QString sheet = QString::fromLatin1(kSheet);
  sheet.replace(QStringLiteral("%theme"), t.dark ? QStringLiteral("dark") : QStringLiteral("light"));
  const std::array<QColor, 9> colours = {t.window, t.surface, t.raised, t.border,   t.text,
                                         t.muted,  t.accent,  t.error,  t.on_accent};
  sheet.replace(QStringLiteral("%a"), t.warning.name());
  for (std::size_t i = 0; i < colours.size(); ++i) sheet.replace(QString("%%1").arg(i + 1), colours[i].name());
  return sheet;
}

const QHash<QString, QString>& icon_paths() {
  static const QHash<QString, QString> paths = {
      {"open", "M3 6h6l2 2h10v11H3z"},
      {"save", "M5 3h11l3 3v15H5zM8 3v6h7V3M8 21v-7h8v7"},
      {"undo", "M9 6L4 11l5 5M4 11h10a5 5 0 0 1 0 10h-3"},
      {"redo", "M15 6l5 5-5 5M20 11H10a5 5 0 0 0 0 10h3"},
      {"run", "M7 4l13 8-13 8z"},
      {"stop", "M6 6h12v12H6z"},
      {"pin", "M6 3v18M6 4h12l-3 4 3 4H6"},
      {"export", "M12 3v12M7 10l5 5 5-5M4 20h16"},
      {"copy", "M9 9h11v11H9zM5 15H4V4h11v1"},
      {"gallery", "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z"},
      {"help", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M12 17h.01"},
      {"reset", "M4 12a8 8 0 1 0 3-6.2M4 4v5h5"},
      {"measure", "M12 7v6l4 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"},
      {"close", "M6 6l12 12M18 6L6 18"},
      {"table", "M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14"}};
  return paths;
}

}  // namespace

const Theme& theme() {
  return state().theme;
}
ThemeChoice theme_choice() {
  return state().choice;
}

void set_theme(ThemeChoice choice) {
  state().choice = choice;
  const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && system_is_dark());
  state().theme = dark ? dark_theme() : light_theme();
}

void set_up_style() {
  load_resources();
  if (QApplication::style()->name().compare("fusion", Qt::CaseInsensitive) != 0)
    QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(palette_of(theme()));
  qApp->setStyleSheet(sheet_of(theme()));
}

QColor Theme::strategy(Strategy s) const {
  switch (s) {
    case Strategy::Ddp:
      return dark ? "#56b4e9" : "#0072b2";
    case Strategy::Dp:
      return dark ? "#f0a236" : "#c45500";
    case Strategy::DpCpp:
      return dark ? "#e08fb8" : "#a3527d";
    case Strategy::Single:
      break;
  }
  return muted;
}

QColor Theme::cause(Cause c) const {
  switch (c) {
    case Cause::Input:
      return dark ? "#b8936a" : "#8a5a2b";
    case Cause::CopyToDevice:
      return "#009e73";
    case Cause::Scatter:
      return "#5cc4a3";
    case Cause::Replicate:
      return "#cc79a7";
    case Cause::Forward:
      return "#56b4e9";
    case Cause::Gather:
      return "#e3b1cd";
    case Cause::Backward:
      return dark ? "#2f86d6" : "#0067ab";
    case Cause::GradientReduce:
      return "#a3527d";
    case Cause::BucketCopies:
      return "#d9b400";
    case Cause::BufferBroadcast:
      return "#f0dc6e";
    case Cause::Contention:
      return dark ? "#9a7420" : "#8f6b00";
    case Cause::WaitForPeers:
      return dark ? "#7d8794" : "#9aa3ae";
    case Cause::ExposedCommunication:
      return "#d55e00";
    case Cause::HostBound:
      return "#e69f00";
    case Cause::Optimizer:
      return dark ? "#9b85dd" : "#6a4fb3";
    case Cause::Other:
      break;
  }
  return dark ? "#56606d" : "#c3cad2";
}

QColor Theme::span(Lane lane, Cause c) const {
  if (lane == Lane::Cpu && c == Cause::HostBound) return dark ? "#8fa3cc" : "#3b4a6b";
  if (lane == Lane::Communication && c == Cause::ExposedCommunication) return dark ? "#ffb999" : "#8c2d04";
  return cause(c);
}

QIcon icon(const QString& name) {
  const bool filled = name == "run" || name == "stop";
  QIcon out;
  for (const auto& [mode, colour] : {std::pair{QIcon::Normal, theme().text}, {QIcon::Disabled, theme().border}}) {
    const QString svg = QStringLiteral(
                            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><path d='%1' fill='%2' "
                            "stroke='%3' stroke-width='1.8' stroke-linecap='round' stroke-linejoin='round'/></svg>")
                            .arg(icon_paths().value(name), filled ? colour.name() : "none", colour.name());
    QSvgRenderer renderer(svg.toUtf8());
    for (const int size : {20, 40}) {
      QPixmap pixmap(size, size);
      pixmap.fill(Qt::transparent);
      QPainter painter(&pixmap);
      renderer.render(&painter);
      painter.end();
      if (size == 40) pixmap.setDevicePixelRatio(2);
      out.addPixmap(pixmap, mode);
    }
  }
  return out;
}

QString strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::Ddp:
      return QApplication::translate("lockstep", "DDP");
    case Strategy::Dp:
      return QApplication::translate("lockstep", "DP");
    case Strategy::DpCpp:
      return QApplication::translate("lockstep", "DP in C++");
    case Strategy::Single:
      break;
  }
  return QApplication::translate("lockstep", "no wrapper");
}

QString cause_name(Cause cause) {
  switch (cause) {
    case Cause::Input:
      return QApplication::translate("lockstep", "data loader");
    case Cause::CopyToDevice:
      return QApplication::translate("lockstep", "copy to GPU");
    case Cause::Scatter:
      return QApplication::translate("lockstep", "scatter batch");
    case Cause::Replicate:
      return QApplication::translate("lockstep", "replicate model");
    case Cause::Forward:
      return QApplication::translate("lockstep", "forward");
    case Cause::Gather:
      return QApplication::translate("lockstep", "gather outputs");
    case Cause::Backward:
      return QApplication::translate("lockstep", "backward");
    case Cause::GradientReduce:
      return QApplication::translate("lockstep", "reduce gradients");
    case Cause::BucketCopies:
      return QApplication::translate("lockstep", "bucket copies");
    case Cause::BufferBroadcast:
      return QApplication::translate("lockstep", "buffer broadcast");
    case Cause::Contention:
      return QApplication::translate("lockstep", "contention");
    case Cause::WaitForPeers:
      return QApplication::translate("lockstep", "wait for peers");
    case Cause::ExposedCommunication:
      return QApplication::translate("lockstep", "exposed communication");
    case Cause::HostBound:
      return QApplication::translate("lockstep", "waiting for CPU");
    case Cause::Optimizer:
      return QApplication::translate("lockstep", "optimizer");
    case Cause::Other:
      break;
  }
  return QApplication::translate("lockstep", "other");
}

}  // namespace lockstep::gui
