// torchvision.models.alexnet (torchvision 0.26).
#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kPooled = 6;  // pixels a side that the classifier sees, whatever the image
constexpr std::int64_t kHidden = 4096;
constexpr double kDropout = 0.5;
constexpr std::int64_t kSmallestImage = 63;

OpId features(ModelBuilder& b) {
  const auto conv = [&b](OpId x, const char* name, const ConvSpec& spec, const char* relu) {
    return b.relu(b.conv2d(x, name, spec), relu);
  };
  OpId x = b.input();
  x = conv(x, "features.0", {.out = 64, .kernel = 11, .stride = 4, .padding = 2, .bias = true}, "features.1");
  x = b.max_pool(x, "features.2", 3, 2);
  x = conv(x, "features.3", {.out = 192, .kernel = 5, .padding = 2, .bias = true}, "features.4");
  x = b.max_pool(x, "features.5", 3, 2);
  x = conv(x, "features.6", {.out = 384, .kernel = 3, .padding = 1, .bias = true}, "features.7");
  x = conv(x, "features.8", {.out = 256, .kernel = 3, .padding = 1, .bias = true}, "features.9");
  x = conv(x, "features.10", {.out = 256, .kernel = 3, .padding = 1, .bias = true}, "features.11");
  return b.max_pool(x, "features.12", 3, 2);
}

}  // namespace

Expected<Model> alexnet(const std::string& name, const ModelOptions& options) {
  const Expected<std::int64_t> image = image_of(options, 224, kSmallestImage);
  if (!image) return tl::make_unexpected(image.error());
  ModelBuilder b(name, "images", {3, *image, *image}, DType::Fp32, 1);
  OpId x = b.flatten(b.adaptive_avg_pool(features(b), "avgpool", kPooled, kPooled));
  x = b.relu(b.linear(b.dropout(x, "classifier.0", kDropout), "classifier.1", kHidden), "classifier.2");
  x = b.relu(b.linear(b.dropout(x, "classifier.3", kDropout), "classifier.4", kHidden), "classifier.5");
  b.cross_entropy(b.linear(x, "classifier.6", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
