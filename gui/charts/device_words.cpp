#include "gui/charts/device_words.h"

#include <QCoreApplication>

#include "gui/app/theme.h"

namespace lockstep::gui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Devices", text);
}

}  // namespace

Devices devices_of(const Result& result) {
  for (const Sentence& sentence : result.answer.sentences)
    if (const auto device = sentence.values.find("device"); device != sentence.values.end())
      return device->second == "core" ? Devices::Cores : Devices::Gpus;
  return result.scenario_yaml.find("node: cpu-host") != std::string::npos ? Devices::Cores : Devices::Gpus;
}

Devices devices_of(const Shown& shown) {
  if (shown.topology) return shown.topology->node.gpu.vendor == "cpu" ? Devices::Cores : Devices::Gpus;
  if (shown.result) return devices_of(*shown.result);
  return shown.measured.empty() ? Devices::Gpus : devices_of(*shown.measured.front().result);
}

QString device_word(Devices devices) {
  return devices == Devices::Cores ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "core"))
                                   : tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "GPU"));
}

QString devices_word(Devices devices) {
  return devices == Devices::Cores ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "cores"))
                                   : tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "GPUs"));
}

QString device_count(int count, Devices devices) {
  return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? device_word(devices) : devices_word(devices));
}

QString cause_name(Cause cause, Devices devices) {
  if (devices == Devices::Cores && cause == Cause::CopyToDevice)
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "copy of the batch"));
  if (devices == Devices::Cores && cause == Cause::HostBound)
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Devices", "waiting for the next op"));
  return gui::cause_name(cause);
}

QString run_name(const Run& run, Devices devices) {
  if (run.strategy == Strategy::Single) return device_count(run.gpus, devices);
  return QStringLiteral("%1 ×%2").arg(strategy_name(run.strategy)).arg(run.gpus);
}

}  // namespace lockstep::gui
