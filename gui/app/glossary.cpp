#include "gui/app/glossary.h"

#include <QCoreApplication>
#include <map>

namespace lockstep::gui {
namespace {

struct Entry {
  const char *id, *word, *meaning, *formula, *why;
};

#define T(text) QT_TRANSLATE_NOOP("lockstep::gui::Glossary", text)
constexpr Entry kEntries[] = {
    {"dp", T("DataParallel (DP)"),
     T("One Python process drives all GPUs of a machine: it copies the model to them in every step, splits the batch, "
       "and "
       "collects gradients on GPU 0."),
     "", T("Simple to switch on, but one process launches everything, and GPU 0 has more to do and to hold.")},
    {"ddp", T("DistributedDataParallel (DDP)"),
     T("One process per GPU; each keeps its own copy of the model, and gradients are averaged by all-reduce while "
       "backward "
       "still runs."),
     "", T("The usual way to train on several GPUs, on one machine or many.")},
    {"world_size", T("World size"), T("The number of ranks that train together: one per GPU under DDP."), "", ""},
    {"efficiency", T("Efficiency"), T("The speed of a GPU among n against that of one GPU alone."),
     T("throughput(n) / (n × throughput(1))"),
     T("100 % means that nothing is lost; the rest is what you pay and do not get.")},
    {"speedup", T("Speed-up"), T("How many times as fast n GPUs train as one."), T("throughput(n) / throughput(1)"),
     ""},
    {"step", T("Step"), T("One optimizer step with all its micro-steps: forward, backward, exchange, update."), "", ""},
    {"bucket", T("Bucket"), T("DDP gathers gradients into buckets and starts an all-reduce whenever one is full."), "",
     T("Small buckets start early but pay a fixed cost each; a large one uses the links well but starts late.")},
    {"all_reduce", T("All-reduce"), T("Afterwards every rank holds the sum of what all ranks brought."),
     T("a ring moves 2 (n − 1) / n × bytes over each link"),
     T("Its time sets a floor under a step that has little to compute.")},
    {"exposed", T("Exposed communication"), T("Communication during which a GPU has nothing to compute."),
     T("communication − what runs beside backward"), T("Only this part makes the step longer.")},
    {"hidden", T("Hidden communication"), T("Communication that runs while backward computes."), "",
     T("It is free, but for a little contention.")},
    {"host_bound", T("Waiting for the CPU"), T("The GPU is idle because its next kernel has not been launched yet."),
     "", T("More or faster GPUs do not help: larger batches or fewer, larger kernels do.")},
    {"accumulation", T("Gradient accumulation"), T("Several micro-steps compute gradients before one optimizer step."),
     "", T("With no_sync only the last micro-step exchanges gradients.")},
    {"band", T("80 % band"), T("Where the true value lies in 8 of 10 cases, by what is known of the constants."), "",
     T("Measure one GPU, put its speed into `calibrate.single_gpu`, and the band shrinks.")},
    {"weak_scaling", T("Weak scaling"),
     T("The batch of a GPU stays the same, so that the batch of a step grows with the GPUs."), "", ""},
    {"strong_scaling", T("Strong scaling"), T("The batch of a step stays the same and is shared out among the GPUs."),
     "", ""},
    {"pinned", T("Pinned memory"),
     T("Host memory that the GPU can read by itself, without the copy of a driver in between."), "",
     T("Copies of batches are faster and can run beside computing.")},
    {"override", T("Another link rate"), T("Replaces the rate of one class of links of the machine, per direction."),
     "", T("What would a faster network bring? Move it and see.")},
    {"jitter", T("Jitter"), T("GPUs that differ a little from step to step; all wait for the slowest."), "", ""}};
#undef T

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
