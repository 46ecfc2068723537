#include "models/zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "models/zoo/families.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace zoo_detail {

Error option_error(ErrorKind kind, const std::string& option, std::string found, std::string allowed,
                   std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.key = "model." + option;
  error.found = std::move(found);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  error.message = std::move(message);
  return error;
}

Expected<std::int64_t> image_of(const ModelOptions& options, std::int64_t otherwise, std::int64_t smallest) {
  const std::int64_t image = options.image.value_or(otherwise);
  if (image >= smallest) return image;
  return tl::make_unexpected(
      Errors{option_error(ErrorKind::Range, "image", fmt::format("{}", image), fmt::format("at least {}", smallest),
                          fmt::format("the network's windows leave nothing of a {0}x{0} image", image))});
}

}  // namespace zoo_detail

namespace {

using zoo_detail::option_error;

struct Builder {
  ZooEntry entry;
  std::int64_t longest_sequence = kLongestSequence;
  std::function<Expected<Model>(const std::string&, const ModelOptions&)> build;
  static constexpr std::int64_t kLongestSequence = 65536;
};

struct Range {
  const char* option;
  std::int64_t low, high;
};
// Products of the upper ends stay far below 2^63 FLOP.
constexpr Range kRanges[] = {{"image", 1, 4096},          {"classes", 1, 1'000'000}, {"inputs", 1, 1'000'000},
                             {"hidden", 1, 1'000'000},    {"outputs", 1, 1'000'000}, {"layers", 1, 512},
                             {"width", 1, 32768},         {"heads", 1, 1024},        {"feed_forward", 1, 131072},
                             {"vocabulary", 1, 1'000'000}};

std::vector<Builder> convolutional_builders() {
  using zoo_detail::ResNetShape;
  using zoo_detail::VggShape;
  std::vector<Builder> all;
  const auto resnet = [&all](const char* name, const char* summary, ResNetShape shape) {
    all.push_back({{name, summary, {"image", "classes", "stem"}},
                   Builder::kLongestSequence,
                   [shape](const std::string& n, const ModelOptions& o) { return zoo_detail::resnet(n, shape, o); }});
  };
  resnet("resnet18", "ResNet-18, torchvision", {false, {2, 2, 2, 2}});
  resnet("resnet34", "ResNet-34, torchvision", {false, {3, 4, 6, 3}});
  resnet("resnet50", "ResNet-50, torchvision", {true, {3, 4, 6, 3}});
  resnet("resnet101", "ResNet-101, torchvision", {true, {3, 4, 23, 3}});
  resnet("resnet152", "ResNet-152, torchvision", {true, {3, 8, 36, 3}});
  resnet("resnext50-32x4d", "ResNeXt-50, 32 groups of width 4, torchvision", {true, {3, 4, 6, 3}, 32, 4});
  resnet("resnext101-32x8d", "ResNeXt-101, 32 groups of width 8, torchvision", {true, {3, 4, 23, 3}, 32, 8});
  resnet("wide-resnet50-2", "Wide ResNet-50-2, torchvision", {true, {3, 4, 6, 3}, 1, 128});

  const auto vgg = [&all](int layers, std::vector<int> channels) {
    for (const bool batch_norm : {false, true}) {
      const VggShape shape{channels, batch_norm};
      all.push_back({{fmt::format("vgg{}{}", layers, batch_norm ? "-bn" : ""),
                      fmt::format("VGG-{}{}, torchvision", layers, batch_norm ? " with batch norm" : ""),
                      {"image", "classes"}},
                     Builder::kLongestSequence,
                     [shape](const std::string& n, const ModelOptions& o) { return zoo_detail::vgg(n, shape, o); }});
    }
  };
  vgg(11, {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0});
  vgg(13, {64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0});
  vgg(16, {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0});
  vgg(19, {64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0});
  return all;
}

std::vector<Builder> compact_builders() {
  using zoo_detail::EfficientNetShape;
  std::vector<Builder> all;
  const auto add = [&all](const char* name, const char* summary, auto build) {
    all.push_back({{name, fmt::format("{}, torchvision", summary), {"image", "classes"}},
                   Builder::kLongestSequence,
                   std::move(build)});
  };
  add("alexnet", "AlexNet", zoo_detail::alexnet);
  add("squeezenet1-0", "SqueezeNet 1.0", zoo_detail::squeezenet);
  add("mobilenet-v2", "MobileNet V2", zoo_detail::mobilenet_v2);
  add("mnasnet1-0", "MNASNet 1.0", zoo_detail::mnasnet);
  add("shufflenet-v2-x1-0", "ShuffleNet V2, width 1.0", zoo_detail::shufflenet_v2);
  add("inception-v3", "Inception v3 with its auxiliary classifier, images of 299", zoo_detail::inception_v3);

  const auto densenet = [&add](const char* name, const char* summary, std::vector<int> layers) {
    add(name, summary,
        [layers](const std::string& n, const ModelOptions& o) { return zoo_detail::densenet(n, layers, o); });
  };
  densenet("densenet121", "DenseNet-121", {6, 12, 24, 16});
  densenet("densenet169", "DenseNet-169", {6, 12, 32, 32});

  const auto efficientnet = [&add](const char* name, const char* summary, EfficientNetShape shape) {
    add(name, summary,
        [shape](const std::string& n, const ModelOptions& o) { return zoo_detail::efficientnet(n, shape, o); });
  };
  efficientnet("efficientnet-b0", "EfficientNet-B0", {1, 1, 0.2, 224});
  efficientnet("efficientnet-b4", "EfficientNet-B4, images of 380", {1.4, 1.8, 0.4, 380});

  add("vit-b-16", "Vision Transformer, base, patches of 16, fused attention",
      [](const std::string& n, const ModelOptions& o) {
        return zoo_detail::vit(n, {16, 12, 12, 768, 3072}, o);
      });
  return all;
}

std::vector<Builder> other_builders() {
  using zoo_detail::TransformerShape;
  std::vector<Builder> all;
  const auto bert = [&all](const char* name, const char* summary, TransformerShape shape) {
    all.push_back({{name, summary, {"sequence"}},
                   shape.positions,
                   [shape](const std::string& n, const ModelOptions& o) { return zoo_detail::bert(n, shape, o); }});
  };
  bert("bert-base", "BERT base (uncased), masked-language-model head, Hugging Face", {12, 768, 12, 3072, 30522, 512});
  bert("bert-large", "BERT large (uncased), masked-language-model head, Hugging Face",
       {24, 1024, 16, 4096, 30522, 512});

  const auto gpt2 = [&all](const char* name, const char* summary, std::int64_t layers, std::int64_t width,
                           std::int64_t heads) {
    const TransformerShape shape{layers, width, heads, 4 * width, 50257, 1024};
    all.push_back({{name, summary, {"sequence"}},
                   shape.positions,
                   [shape](const std::string& n, const ModelOptions& o) { return zoo_detail::gpt2(n, shape, o); }});
  };
  gpt2("gpt2", "GPT-2 small, Hugging Face", 12, 768, 12);
  gpt2("gpt2-medium", "GPT-2 medium, Hugging Face", 24, 1024, 16);
  gpt2("gpt2-large", "GPT-2 large, Hugging Face", 36, 1280, 20);
  gpt2("gpt2-xl", "GPT-2 XL, Hugging Face", 48, 1600, 25);

  all.push_back({{"mlp", "Fully connected layers with ReLU", {"inputs", "hidden", "outputs"}},
                 Builder::kLongestSequence,
                 zoo_detail::mlp});
  all.push_back({{"transformer",
                  "Pre-norm decoder of the given sizes, tied embedding, no dropout",
                  {"layers", "width", "heads", "feed_forward", "vocabulary", "sequence"}},
                 Builder::kLongestSequence,
                 zoo_detail::transformer});
  return all;
}

// "resnet18" before "resnet101": runs of digits compare as numbers.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digits = [](const std::string& s, std::size_t from) {
    std::size_t end = from;
    while (end < s.size() && s[end] >= '0' && s[end] <= '9') ++end;
    return end - from;
  };
  while (i < a.size() && j < b.size()) {
    const std::size_t in_a = digits(a, i), in_b = digits(b, j);
    if (in_a > 0 && in_b > 0) {
      if (in_a != in_b) return in_a < in_b;  // no name has leading zeros
      const int order = a.compare(i, in_a, b, j, in_b);
      if (order != 0) return order < 0;
      i += in_a;
      j += in_b;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  return a.size() - i < b.size() - j;
}

const std::vector<Builder>& builders() {
  static const std::vector<Builder> all = [] {
    std::vector<Builder> list = convolutional_builders();
    for (auto more : {compact_builders(), other_builders()}) list.insert(list.end(), more.begin(), more.end());
    std::sort(list.begin(), list.end(),
              [](const Builder& a, const Builder& b) { return natural_less(a.entry.name, b.entry.name); });
    return list;
  }();
  return all;
}

struct GivenOption {
  std::string name;
  std::int64_t value = 0;  // sizes only
  bool is_size = true;
};

std::vector<GivenOption> given_options(const ModelOptions& o) {
  std::vector<GivenOption> given;
  const auto add = [&given](const char* name, const std::optional<std::int64_t>& value) {
    if (value) given.push_back({name, *value});
  };
  add("image", o.image);
  add("classes", o.classes);
  if (o.stem) given.push_back({"stem", 0, false});
  add("sequence", o.sequence);
  add("inputs", o.inputs);
  for (const std::int64_t width : o.hidden) given.push_back({"hidden", width});
  add("outputs", o.outputs);
  add("layers", o.layers);
  add("width", o.width);
  add("heads", o.heads);
  add("feed_forward", o.feed_forward);
  add("vocabulary", o.vocabulary);
  return given;
}

std::optional<Error> check_size(const Builder& builder, const GivenOption& option) {
  Range range{"sequence", 1, builder.longest_sequence};
  for (const Range& one : kRanges) {
    if (option.name == one.option) range = one;
  }
  if (option.value >= range.low && option.value <= range.high) return std::nullopt;
  return option_error(ErrorKind::Range, option.name, fmt::format("{}", option.value),
                      fmt::format("{} to {}", range.low, range.high),
                      fmt::format("{} does not come with {} {}", builder.entry.name, option.name, option.value));
}

Errors check_options(const Builder& builder, const ModelOptions& options) {
  Errors errors;
  std::string last_unknown;
  const std::vector<std::string>& known = builder.entry.options;
  for (const GivenOption& option : given_options(options)) {
    if (std::find(known.begin(), known.end(), option.name) == known.end()) {
      if (option.name == last_unknown) continue;  // one error for a list
      last_unknown = option.name;
      errors.push_back(option_error(
          ErrorKind::UnknownKey, option.name, option.name, fmt::format("{}", fmt::join(known, ", ")),
          fmt::format("{} has no option {}", builder.entry.name, option.name), did_you_mean(option.name, known)));
    } else if (option.is_size) {
      if (std::optional<Error> error = check_size(builder, option)) errors.push_back(std::move(*error));
    }
  }
  if (options.stem && errors.empty() && *options.stem != "imagenet" && *options.stem != "cifar") {
    errors.push_back(option_error(ErrorKind::Range, "stem", *options.stem, "imagenet, cifar",
                                  fmt::format("{} is not a stem", *options.stem),
                                  did_you_mean(*options.stem, {"imagenet", "cifar"})));
  }
  constexpr std::size_t kMostLayers = 1000;
  if (options.hidden.size() > kMostLayers) {
    errors.push_back(option_error(ErrorKind::Range, "hidden", fmt::format("{} layers", options.hidden.size()),
                                  fmt::format("at most {} layers", kMostLayers), "too many hidden layers"));
  }
  return errors;
}

}  // namespace

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = [] {
    std::vector<ZooEntry> list;
    for (const Builder& builder : builders()) list.push_back(builder.entry);
    return list;
  }();
  return entries;
}

Expected<Model> build_zoo_model(const std::string& name, const ModelOptions& options) {
  const std::string wanted = canonical_name(name);
  for (const Builder& builder : builders()) {
    if (builder.entry.name != wanted) continue;
    Errors errors = check_options(builder, options);
    if (!errors.empty()) return tl::make_unexpected(std::move(errors));
    return builder.build(builder.entry.name, options);
  }
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return tl::make_unexpected(
      Errors{option_error(ErrorKind::Range, "name", name, fmt::format("{}", fmt::join(names, ", ")),
                          fmt::format("there is no model {}", name), did_you_mean(name, names))});
}

}  // namespace lockstep
