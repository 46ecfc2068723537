// Times of the window on the platform it runs on: `./lockstep.sh bench` prints them, nothing asserts them.
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "gui/app/main_window.h"
#include "gui/app/theme.h"
#include "gui/document/gallery.h"
#include "gui/sweep/heat_picture.h"
#include "gui/timeline/timeline_view.h"
#include "gui/topology/machine_drawing.h"
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
  Times painted;
  bool shown = false;
  const auto seen = QObject::connect(&window.session(), &Session::shown_changed, &window, [&] { shown = true; });
  for (int batch = 164; batch < 264; ++batch) {
    QElapsedTimer clock;
    clock.start();
    shown = false;
    window.document().set("batch.per_gpu", std::to_string(batch), 1);
    while (!shown) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    QApplication::processEvents();
    painted.all.push_back(ms(clock));
    while (clock.elapsed() < 40) QApplication::processEvents(QEventLoop::AllEvents, 4);
  }
  QObject::disconnect(seen);
  painted.print("wall: from a slider's step to the painted estimate");
  handled.print("CPU: one step of a slider: text, document, controls");
  ticks.print("wall: a timer of 5 ms while a slider is dragged");
  window.document().undo().setClean();
}

// Six kinds of ranks with four lanes each, `count` spans in all.
lockstep::Result many_spans(int count) {
  lockstep::Result result;
  lockstep::Run run;
  run.strategy = lockstep::Strategy::Ddp;
  run.gpus = 8;
  run.step_time_s = 0.1;
  const int each = count / 24;
  const auto of_rank = [&](int rank) {
    std::vector<lockstep::Span> spans;
    for (int i = 0; i < each; ++i)
      for (const lockstep::Lane lane :
           {lockstep::Lane::Cpu, lockstep::Lane::Compute, lockstep::Lane::Communication, lockstep::Lane::Copy}) {
        const double length = run.step_time_s / each;
        const double from = (i + 0.1 * ((i * 7 + rank) % 5)) * length;
        spans.push_back({lane, lockstep::kCauses[static_cast<std::size_t>((i / 3) % lockstep::kCauseCount)],
                         "op " + std::to_string(i % 200), from, from + 0.55 * length, 1024});
      }
    return spans;
  };
  run.timeline = of_rank(0);
  run.timeline_ranks = "0";
  for (int rank = 1; rank < 6; ++rank) run.other_timelines.push_back({std::to_string(rank), of_rank(rank)});
  result.runs.push_back(std::move(run));
  return result;
}

void time_timeline(int count) {
  Shown shown;
  shown.result = std::make_shared<lockstep::Result>(many_spans(count));
  TimelineView view;
  view.widget()->resize(1200, 760);
  Times built, whole, zoomed;
  for (int i = 0; i < 5; ++i) {
    const CpuClock clock;
    view.show_result(shown);
    view.timeline();
    built.all.push_back(clock.ms());
  }
  view.widget()->grab();
  QImage image(view.timeline().size(), QImage::Format_RGB32);
  const auto repaint = [&](Times& times) {
    const CpuClock clock;
    view.timeline().render(&image);
    times.all.push_back(clock.ms());
  };
  for (int i = 0; i < 30; ++i) repaint(whole);
  view.timeline().zoom(0.01, 0.5);
  for (int i = 0; i < 30; ++i) repaint(zoomed);
  const std::string name = "CPU: timeline of " + std::to_string(view.timeline().picture().timeline().spans) + " spans";
  built.print((name + ", built").c_str());
  whole.print((name + ", repainted").c_str());
  zoomed.print((name + ", repainted at 100x").c_str());
}

void time_details() {
  Times details;
  for (const GalleryCard& card : gallery_cards()) {
    const auto text = lockstep::read_text_file(card.path.toStdString());
    if (!text) continue;
    lockstep::LoadedInputs loaded;
    const lockstep::ScenarioText source{*text, card.path.toStdString(), {}};
    estimate_now(source, loaded);
    const CpuClock clock;
    estimate_now(source, loaded, true);
    details.all.push_back(clock.ms());
  }
  details.print("CPU: estimate with timelines");
  Times model, machine;
  for (const GalleryCard& card : gallery_cards()) {
    const auto text = lockstep::read_text_file(card.path.toStdString());
    if (!text) continue;
    lockstep::LoadedInputs loaded;
    const Estimate estimate = estimate_now({*text, card.path.toStdString(), {}}, loaded, true);
    Shown shown;
    shown.result = estimate.result;
    shown.topology = estimate.topology;
    const CpuClock first;
    timeline_of(shown);
    model.all.push_back(first.ms());
    const lockstep::Run& run = estimate.result->runs.back();
    if (run.not_run) continue;
    const CpuClock second;
    machine_drawing(*estimate.topology, run.gpus, &run);
    machine.all.push_back(second.ms());
  }
  model.print("CPU: timeline of a scenario, built");
  machine.print("CPU: machine of a scenario, placed");
}

// What the window's own thread does for a sweep: its plan, and a map of 40 cells painted.
void time_sweeps() {
  Times plans, points, paints;
  for (const GalleryCard& card : gallery_cards()) {
    const auto text = lockstep::read_text_file(card.path.toStdString());
    if (!text) continue;
    const lockstep::ScenarioText source{*text, card.path.toStdString(), {}};
    std::vector<PlanAxis> axes = {{"gpus", {"1", "2", "3", "4", "5", "6", "7", "8"}, {}},
                                  {"ddp.bucket_cap", {"default", "1MiB", "10MiB", "25MiB", "100MiB"}, {}}};
    const CpuClock clock;
    const auto plan = make_plan(source, lockstep::Strategy::Ddp, 8, axes);
    plans.all.push_back(clock.ms());
    if (!plan) continue;
    SweepGrid grid;
    grid.axes = plan->axes;
    lockstep::LoadedInputs loaded;
    for (std::size_t i = 0; i < plan->size(); ++i) {
      const CpuClock one;
      grid.cells.push_back(estimate_cell(*plan, i, loaded));
      if (i > 0) points.all.push_back(one.ms());
    }
    QImage image(900, 520, QImage::Format_ARGB32_Premultiplied);
    QPainter painter(&image);
    const CpuClock paint;
    paint_heat(painter, image.rect(), heat_picture(grid, SweepMetric::Efficiency), true);
    paints.all.push_back(paint.ms());
  }
  plans.print("CPU: sweep planned");
  points.print("CPU: a point of a sweep, estimated");
  paints.print("CPU: map of 40 cells, painted");
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
  time_details();
  time_sweeps();
  for (const int spans : {10'000, 100'000, 1'000'000}) time_timeline(spans);
  return 0;
}
