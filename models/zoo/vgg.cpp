// torchvision.models.vgg (torchvision 0.26).
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kPooled = 7;  // pixels a side that the classifier sees, whatever the image
constexpr std::int64_t kHidden = 4096;
constexpr double kDropout = 0.5;
constexpr std::int64_t kSmallestImage = 32;

OpId features(ModelBuilder& b, const VggShape& shape) {
  OpId x = b.input();
  int index = 0;  // position in torch.nn.Sequential
  const auto next = [&index] { return fmt::format("features.{}", index++); };
  for (const int channels : shape.channels) {
    if (channels == 0) {
      x = b.max_pool(x, next(), 2, 2);
      continue;
    }
    x = b.conv2d(x, next(), {.out = channels, .kernel = 3, .padding = 1, .bias = true});
    if (shape.batch_norm) x = b.batch_norm(x, next());
    x = b.relu(x, next());
  }
  return x;
}

}  // namespace

Expected<Model> vgg(const std::string& name, const VggShape& shape, const ModelOptions& options) {
  const Expected<std::int64_t> image = image_of(options, 224, kSmallestImage);
  if (!image) return tl::make_unexpected(image.error());
  ModelBuilder b(name, "images", {3, *image, *image}, DType::Fp32, 1);
  OpId x = b.flatten(b.adaptive_avg_pool(features(b, shape), "avgpool", kPooled, kPooled));
  x = b.dropout(b.relu(b.linear(x, "classifier.0", kHidden), "classifier.1"), "classifier.2", kDropout);
  x = b.dropout(b.relu(b.linear(x, "classifier.3", kHidden), "classifier.4"), "classifier.5", kDropout);
  b.cross_entropy(b.linear(x, "classifier.6", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
