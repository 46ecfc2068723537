// Times of the window on the platform it runs on: `./lockstep.sh bench` prints them, nothing asserts them.
#include <QApplication>
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "gui/app/main_window.h"
#include "gui/app/theme.h"
#include "gui/document/gallery.h"
#include "simulator/base/document.h"

namespace {

using namespace lockstep::gui;

double ms(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) * 1e-6;
}

// CPU time of this thread: other programs do not change it.
class CpuClock {
 public:
  CpuClock() : start_(now()) {}
  double ms() const { return now() - start_; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }
  double start_;
};

struct Times {
  std::vector<double> all;
  void print(const char* what) {
    std::sort(all.begin(), all.end());
    if (all.empty()) return;
    std::printf("%-52s median %6.1f ms  worst %6.1f ms  (n = %zu)\n", what, all[all.size() / 2], all.back(),
                all.size());
  }
};

void time_estimates() {
  Times estimates, first;
  for (const GalleryCard& card : gallery_cards()) {
    const auto text = lockstep::read_text_file(card.path.toStdString());
    if (!text) continue;
    lockstep::LoadedInputs loaded;
    const lockstep::ScenarioText source{*text, card.path.toStdString(), {}};
    for (Times* times : {&first, &estimates}) {
      const CpuClock clock;
      estimate_now(source, loaded);
      times->all.push_back(clock.ms());
    }
  }
  first.print("CPU: estimate of a scenario just opened");
  estimates.print("CPU: estimate after a change (files are loaded)");
}

void time_redraws(MainWindow& window) {
  Times redraw;
  for (const GalleryCard& card : gallery_cards()) {
    window.open_card(card);
    QApplication::processEvents();
    for (int i = 0; i < 5; ++i) {
      const CpuClock clock;
      emit window.session().shown_changed();
      QApplication::processEvents();
      redraw.all.push_back(clock.ms());
    }
  }
  redraw.print("CPU: a result into views, answer and panel, painted");
}

void time_drag(MainWindow& window) {
  window.open_any(QStringLiteral("dp-vs-ddp-resnet50-8xa100"));
  Times handled, ticks;
  QElapsedTimer since;
  QTimer tick;
  tick.setTimerType(Qt::PreciseTimer);
  QObject::connect(&tick, &QTimer::timeout, &window, [&] {
    ticks.all.push_back(ms(since));
    since.restart();
  });
  since.start();
  tick.start(5);
  for (int batch = 64; batch < 164; ++batch) {
    QElapsedTimer clock;
    clock.start();
    const CpuClock own;
    window.document().set("batch.per_gpu", std::to_string(batch), 1);
    handled.all.push_back(own.ms());
    while (clock.elapsed() < 16) QApplication::processEvents(QEventLoop::AllEvents, 4);
  }
  handled.print("CPU: one step of a slider: text, document, controls");
  ticks.print("wall: a timer of 5 ms while a slider is dragged");
  window.document().undo().setClean();
}

}  // namespace

int main(int argc, char** argv) {
  QElapsedTimer clock;
  clock.start();
  setenv("QT_QPA_PLATFORM", "offscreen", 0);
  QApplication application(argc, argv);
  QApplication::setApplicationName("lockstep-gui-bench");
  set_up_style();
  MainWindow window;
  window.show();
  QApplication::processEvents();
  window.grab();
  std::printf("%-52s %.0f ms\n", "wall: from main to the painted start page", ms(clock));
  time_estimates();
  time_redraws(window);
  time_drag(window);
  return 0;
}
