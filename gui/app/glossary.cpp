#include "gui/app/glossary.h"

#include <QCoreApplication>
#include <map>

namespace lockstep::gui {
namespace {

struct Entry {
  const char *id, *word, *meaning, *formula, *why;
};

constexpr Entry kEntries[] = {
    {"dp", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "DataParallel (DP)"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "One Python process drives all GPUs of a machine: it copies the model to them in every step, "
                       "splits the batch, "
                       "and "
                       "collects gradients on GPU 0."),
     "",
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Glossary",
         "Simple to switch on, but one process launches everything, and GPU 0 has more to do and to hold.")},
    {"ddp", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "DistributedDataParallel (DDP)"),
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Glossary",
         "One process per GPU; each keeps its own copy of the model, and gradients are averaged by all-reduce while "
         "backward "
         "still runs."),
     "",
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "The usual way to train on several GPUs, on one machine or many.")},
    {"world_size", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "World size"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "The number of ranks that train together: one per GPU under DDP."),
     "", ""},
    {"efficiency", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Efficiency"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "The speed of a GPU among n against that of one GPU alone."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "throughput(n) / (n × throughput(1))"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "100 % means that nothing is lost; the rest is what you pay and do not get.")},
    {"speedup", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Speed-up"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "How many times as fast n GPUs train as one."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "throughput(n) / throughput(1)"), ""},
    {"step", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Step"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "One optimizer step with all its micro-steps: forward, backward, exchange, update."),
     "", ""},
    {"bucket", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Bucket"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "DDP gathers gradients into buckets and starts an all-reduce whenever one is full."),
     "",
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Glossary",
         "Small buckets start early but pay a fixed cost each; a large one uses the links well but starts late.")},
    {"all_reduce", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "All-reduce"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Afterwards every rank holds the sum of what all ranks brought."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "a ring moves 2 (n − 1) / n × bytes over each link"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Its time sets a floor under a step that has little to compute.")},
    {"exposed", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Exposed communication"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Communication during which a GPU has nothing to compute."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "communication − what runs beside backward"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Only this part makes the step longer.")},
    {"hidden", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Hidden communication"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Communication that runs while backward computes."), "",
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "It is free, but for a little contention.")},
    {"host_bound", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Waiting for the CPU"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "The GPU is idle because its next kernel has not been launched yet."),
     "",
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "More or faster GPUs do not help: larger batches or fewer, larger kernels do.")},
    {"accumulation", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Gradient accumulation"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Several micro-steps compute gradients before one optimizer step."),
     "", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "With no_sync only the last micro-step exchanges gradients.")},
    {"band", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "80 % band"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "Where the true value lies in 8 of 10 cases, by what is known of the constants."),
     "",
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "Measure one GPU, put its speed into `calibrate.single_gpu`, and the band shrinks.")},
    {"error", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Error of a prediction"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "How far a predicted step is from the measured median; + means that it was predicted too long."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "predicted / measured − 1"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "Within the spread of the measured steps no prediction could be told from the truth.")},
    {"baseline", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Pinned baseline"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "A result that stays in the charts while you change the scenario, with the difference from it."),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "now − pinned, and now / pinned − 1"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "What both do not know cancels; grey is what may as well be no difference.")},
    {"weak_scaling", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Weak scaling"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "The batch of a GPU stays the same, so that the batch of a step grows with the GPUs."),
     "", ""},
    {"strong_scaling", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Strong scaling"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "The batch of a step stays the same and is shared out among the GPUs."),
     "", ""},
    {"pinned", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Pinned memory"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "Host memory that the GPU can read by itself, without the copy of a driver in between."),
     "", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Copies of batches are faster and can run beside computing.")},
    {"override", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Another link rate"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "Replaces the rate of one class of links of the machine, per direction."),
     "", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "What would a faster network bring? Move it and see.")},
    {"jitter", QT_TRANSLATE_NOOP("lockstep::gui::Glossary", "Jitter"),
     QT_TRANSLATE_NOOP("lockstep::gui::Glossary",
                       "GPUs that differ a little from step to step; all wait for the slowest."),
     "", ""}};

QString say(const char* text) {
  return *text == '\0' ? QString() : QCoreApplication::translate("lockstep::gui::Glossary", text);
}

}  // namespace

std::vector<Term> glossary() {
  std::vector<Term> terms;
  for (const Entry& e : kEntries)
    terms.push_back({QString::fromLatin1(e.id), say(e.word), say(e.meaning), say(e.formula), say(e.why)});
  return terms;
}

QString term_text(const QString& id) {
  for (const Term& term : glossary()) {
    if (term.id != id) continue;
    QString text =
        QStringLiteral("<p><b>%1</b><br>%2</p>").arg(term.word.toHtmlEscaped(), term.meaning.toHtmlEscaped());
    if (!term.formula.isEmpty()) text += QStringLiteral("<p><code>%1</code></p>").arg(term.formula.toHtmlEscaped());
    if (!term.why.isEmpty()) text += QStringLiteral("<p><i>%1</i></p>").arg(term.why.toHtmlEscaped());
    return text;
  }
  return {};
}

QString term_for_key(const std::string& key) {
  static const std::map<std::string, const char*> terms = {{"batch.per_gpu", "weak_scaling"},
                                                           {"batch.global", "strong_scaling"},
                                                           {"ddp.bucket_cap", "bucket"},
                                                           {"ddp.first_bucket", "bucket"},
                                                           {"accumulate.steps", "accumulation"},
                                                           {"accumulate.no_sync", "accumulation"},
                                                           {"host.factor", "host_bound"},
                                                           {"input.memory", "pinned"},
                                                           {"loader.pin_memory", "pinned"},
                                                           {"calibrate.single_gpu", "band"},
                                                           {"gpus", "world_size"},
                                                           {"noise.jitter.sigma", "jitter"}};
  const auto known = terms.find(key);
  if (known != terms.end()) return term_text(QString::fromLatin1(known->second));
  if (key.rfind("topology.override.", 0) == 0 && key.ends_with(".rate")) return term_text(QStringLiteral("override"));
  return {};
}

}  // namespace lockstep::gui
