#include "gui/document/gallery.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "simulator/base/document.h"
#include "simulator/result/json.h"

namespace lockstep::gui {
namespace {

struct Words {
  const char *name, *set, *to_try, *to_notice;
};

constexpr Words kWords[] = {
    {"dp-vs-ddp-resnet50-8xa100", "input.memory=pinned",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Put the batch into pinned memory."),
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Gallery",
         "Under DataParallel one process copies the batches of all GPUs: its step grows with every GPU, DDP's hardly "
         "does.")},
    {"second-node-10gbe", "topology.fabric=eth-100g",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Give the two machines 100 Gbit/s Ethernet."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "The step is mostly waiting for the all-reduce that backward cannot hide.")},
    {"bert-bucket-cap", "ddp.bucket_cap=5MiB",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Make the buckets smaller, then larger."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "Over PCIe the bytes themselves take longest: no bucket size hides them.")},
    {"tiny-mlp-launch-bound", "batch.per_gpu=4096",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Give each GPU a larger batch."),
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Gallery",
         "GPUs wait for the CPU to launch kernels: one process does it for all of them under DataParallel, under "
         "DDP each has its own.")},
    {"strong-scaling", "batch.global=2048",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Make the global batch eight times as large."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "Each GPU has ever less to compute while the gradients stay as many.")},
    {"pcie-box", "topology.node=dgx-a100-80gb",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Put the same GPUs into a machine with NVLink."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "What is lost goes to the links, and more of it with every GPU.")},
    {"data-loader-limit", "host.cores=64", QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Give the machine 64 cores."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "Every GPU is fed by eight workers, but all of them share the same cores.")},
    {"vgg16-data-parallel", "strategy=ddp",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Train the same network under DDP."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "DataParallel sends all parameters out and all gradients back in every step.")},
    {"gpt2-accumulation", "accumulate.no_sync=true",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Let the loop use no_sync."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Seven of eight exchanges of gradients are for nothing.")},
    {"noisy-ranks", "noise.jitter.sigma=1%", QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Make the GPUs steadier."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "All wait for the slowest: the more GPUs, the slower the slowest of them.")},
    {"infiniband-scaling", "topology.fabric=ib-edr-4x100",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Halve the adapters and their rate."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "With eight adapters per machine a step hardly grows from one machine to eight.")},
    {"old-node-beside-new", "batch.per_gpu=32",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Give each GPU a smaller batch."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Every step lasts as long as that of the slower machine.")},
    {"v100-dgx1", "precision=fp32", QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Train in fp32, without tensor cores."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "Slower computing hides more of the communication: efficiency goes up while speed goes down.")},
    {"cifar-resnet18-one-machine", "batch.per_gpu=1024",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Make the batch four times as large."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Small images leave little to compute between two exchanges.")},
    {"calibrated-single-gpu", "calibrate.single_gpu=1000img/s",
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Put in another speed of one GPU."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "One measured number narrows the band of every prediction on that machine.")},
    {"cpu-two-ranks", "batch.per_gpu=32", QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Give each rank a larger batch."),
     QT_TRANSLATE_NOOP("lockstep::gui::Gallery",
                       "The ranks are CPU cores: this scenario can be measured on the machine in front of you.")},
    {"own-model", "gpus=[1, 2]", QT_TRANSLATE_NOOP("lockstep::gui::Gallery", "Use two GPUs only."),
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Gallery",
         "A network of your own is a file of layers: nearly all parameters of this one are in one layer.")}};

QString say(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Gallery", text);
}

QStringList scenario_folders() {
  const QString installed =
      QDir::cleanPath(QCoreApplication::applicationDirPath() + QStringLiteral("/../share/lockstep/scenarios"));
  const QString source = QStringLiteral(LOCKSTEP_SOURCE_SCENARIOS);
  const QString root = QFileInfo(installed).isDir() ? installed : source;
  return {root, root + QStringLiteral("/gallery")};
}

QString answer_of(const QString& name) {
  const QString relative = QStringLiteral("/../share/lockstep/answers/%1.json").arg(name);
  const QString path = QDir::cleanPath(QCoreApplication::applicationDirPath() + relative);
  return QFileInfo::exists(path) ? path : QString();
}

QString text_at(const Value* value, const char* first_key) {
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::Map) {
    const Value* inner = value->find(first_key);
    return text_at(inner != nullptr         ? inner
                   : value->entries.empty() ? nullptr
                                            : &value->entries.front().value,
                   first_key);
  }
  if (value->kind == Value::Kind::List) {
    QStringList items;
    for (const Value& item : value->items) items << QString::fromStdString(item.text);
    return items.join(QStringLiteral(", "));
  }
  return QString::fromStdString(value->text);
}

QString model_text(const Value* model) {
  if (model == nullptr) return {};
  if (model->kind == Value::Kind::Map && !model->entries.empty() && model->find("name") == nullptr)
    return QString::fromStdString(model->entries.front().key);
  const QString name = text_at(model, "name");
  return name.contains('/') ? QFileInfo(name).completeBaseName() : name;
}

void read_into(GalleryCard& card) {
  const auto document = read_document(card.path.toStdString());
  if (!document) return;
  card.question = text_at(document->root.find("question"), "");
  const Value* topology = document->root.find("topology");
  QStringList parts = {model_text(document->root.find("model")), text_at(topology, "node")};
  if (topology != nullptr && topology->kind == Value::Kind::Map)
    if (const Value* fabric = topology->find("fabric")) parts << QString::fromStdString(fabric->text);
  if (topology != nullptr)
    if (const Value* nodes = topology->find("nodes")) parts[1] = text_at(nodes, "");
  card.setting = parts.join(QStringLiteral("  ·  "));
}

}  // namespace

std::vector<GalleryCard> gallery_cards() {
  std::vector<GalleryCard> cards, others;
  QStringList files;
  for (const QString& folder : scenario_folders())
    for (const QFileInfo& file : QDir(folder).entryInfoList({QStringLiteral("*.yaml")}, QDir::Files, QDir::Name))
      files << file.filePath();
  const auto add = [&](std::vector<GalleryCard>& to, const QString& path, const Words* words) {
    GalleryCard card;
    card.name = QFileInfo(path).completeBaseName();
    card.path = path;
    if (words != nullptr) {
      card.to_try = say(words->to_try);
      card.to_notice = say(words->to_notice);
      card.try_set = QString::fromLatin1(words->set);
    }
    card.answer_path = answer_of(card.name);
    read_into(card);
    to.push_back(std::move(card));
  };
  for (const Words& words : kWords)
    for (const QString& file : files)
      if (QFileInfo(file).completeBaseName() == QLatin1String(words.name)) add(cards, file, &words);
  for (const QString& file : files) {
    const QString name = QFileInfo(file).completeBaseName();
    const bool known = std::any_of(cards.begin(), cards.end(), [&](const GalleryCard& c) { return c.name == name; });
    if (!known) add(others, file, nullptr);
  }
  cards.insert(cards.end(), others.begin(), others.end());
  return cards;
}

std::shared_ptr<const Result> stored_answer(const GalleryCard& card) {
  if (card.answer_path.isEmpty()) return nullptr;
  const auto text = read_text_file(card.answer_path.toStdString());
  if (!text) return nullptr;
  auto result = result_from_json(*text, card.answer_path.toStdString());
  if (!result) return nullptr;
  return std::make_shared<Result>(*std::move(result));
}

}  // namespace lockstep::gui
