// torchvision.models.squeezenet1_0 (torchvision 0.26).
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr double kDropout = 0.5;
constexpr std::int64_t kSmallestImage = 29;

OpId activated(ModelBuilder& b, OpId x, const std::string& name, const ConvSpec& spec) {
  return b.relu(b.conv2d(x, name, spec), name + "_activation");
}

OpId fire(ModelBuilder& b, OpId x, int index, std::int64_t squeeze, std::int64_t expand) {
  const std::string path = fmt::format("features.{}", index);
  x = activated(b, x, path + ".squeeze", {.out = squeeze, .bias = true});
  const OpId one = activated(b, x, path + ".expand1x1", {.out = expand, .bias = true});
  const OpId three = activated(b, x, path + ".expand3x3", {.out = expand, .kernel = 3, .padding = 1, .bias = true});
  return b.concat({one, three}, path);
}

OpId pool(ModelBuilder& b, OpId x, const char* name) {
  return b.max_pool(x, name, 3, 2, 0, true);
}

}  // namespace

Expected<Model> squeezenet(const std::string& name, const ModelOptions& options) {
  const Expected<std::int64_t> image = image_of(options, 224, kSmallestImage);
  if (!image) return tl::make_unexpected(image.error());
  ModelBuilder b(name, "images", {3, *image, *image}, DType::Fp32, 1);
  OpId x = b.conv2d(b.input(), "features.0", {.out = 96, .kernel = 7, .stride = 2, .bias = true});
  x = pool(b, b.relu(x, "features.1"), "features.2");
  x = fire(b, x, 3, 16, 64);
  x = fire(b, x, 4, 16, 64);
  x = fire(b, x, 5, 32, 128);
  x = pool(b, x, "features.6");
  x = fire(b, x, 7, 32, 128);
  x = fire(b, x, 8, 48, 192);
  x = fire(b, x, 9, 48, 192);
  x = fire(b, x, 10, 64, 256);
  x = pool(b, x, "features.11");
  x = fire(b, x, 12, 64, 256);
  x = b.conv2d(b.dropout(x, "classifier.0", kDropout), "classifier.1",
               {.out = options.classes.value_or(1000), .bias = true});
  x = b.adaptive_avg_pool(b.relu(x, "classifier.2"), "classifier.3", 1, 1);
  b.cross_entropy(b.flatten(x));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
