// torchvision.models.densenet (torchvision 0.26), without memory_efficient.
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kGrowth = 32, kBottleneck = 4 * kGrowth, kFirst = 64;
constexpr std::int64_t kSmallestImage = 29;

OpId normalised(ModelBuilder& b, OpId x, const std::string& norm, const std::string& relu) {
  return b.relu(b.batch_norm(x, norm), relu);
}

// Reads all that came before in its block, joined anew for each layer.
OpId dense_layer(ModelBuilder& b, const std::vector<OpId>& before, const std::string& path) {
  OpId x = normalised(b, b.concat(before, path), path + ".norm1", path + ".relu1");
  x = normalised(b, b.conv2d(x, path + ".conv1", {.out = kBottleneck}), path + ".norm2", path + ".relu2");
  return b.conv2d(x, path + ".conv2", {.out = kGrowth, .kernel = 3, .padding = 1});
}

OpId dense_block(ModelBuilder& b, OpId x, const std::string& path, int layers) {
  std::vector<OpId> features{x};
  for (int layer = 1; layer <= layers; ++layer) {
    features.push_back(dense_layer(b, features, fmt::format("{}.denselayer{}", path, layer)));
  }
  return b.concat(features, path);
}

OpId transition(ModelBuilder& b, OpId x, const std::string& path) {
  const std::int64_t halved = b.shape(x)[0] / 2;
  x = b.conv2d(normalised(b, x, path + ".norm", path + ".relu"), path + ".conv", {.out = halved});
  return b.avg_pool(x, path + ".pool", 2, 2);
}

}  // namespace

Expected<Model> densenet(const std::string& name, const std::vector<int>& layers, const ModelOptions& options) {
  const Expected<std::int64_t> image = image_of(options, 224, kSmallestImage);
  if (!image) return tl::make_unexpected(image.error());
  ModelBuilder b(name, "images", {3, *image, *image}, DType::Fp32, 1);
  OpId x = b.conv2d(b.input(), "features.conv0", {.out = kFirst, .kernel = 7, .stride = 2, .padding = 3});
  x = b.max_pool(normalised(b, x, "features.norm0", "features.relu0"), "features.pool0", 3, 2, 1);
  for (std::size_t block = 1; block <= layers.size(); ++block) {
    x = dense_block(b, x, fmt::format("features.denseblock{}", block), layers[block - 1]);
    if (block < layers.size()) x = transition(b, x, fmt::format("features.transition{}", block));
  }
  x = b.flatten(b.adaptive_avg_pool(normalised(b, x, "features.norm5", ""), "", 1, 1));
  b.cross_entropy(b.linear(x, "classifier", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
