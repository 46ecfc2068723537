// torchvision.models.resnet (torchvision 0.26): basic and bottleneck blocks, ResNeXt and wide variants.
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

class ResNetBuilder {
 public:
  ResNetBuilder(ModelBuilder& builder, const ResNetShape& shape) : b_(builder), shape_(shape) {}

  OpId stage(OpId x, int stage) {
    const std::int64_t planes = std::int64_t{64} << (stage - 1);
    for (int block = 0; block < shape_.blocks[static_cast<std::size_t>(stage - 1)]; ++block) {
      const std::int64_t stride = block == 0 && stage > 1 ? 2 : 1;
      x = residual_block(x, fmt::format("layer{}.{}", stage, block), planes, stride);
    }
    return x;
  }

 private:
  OpId residual_block(OpId x, const std::string& path, std::int64_t planes, std::int64_t stride) {
    const std::int64_t out = shape_.bottleneck ? 4 * planes : planes;
    OpId y = shape_.bottleneck ? bottleneck(x, path, planes, stride) : basic(x, path, planes, stride);
    OpId identity = x;
    if (stride != 1 || b_.shape(x)[0] != out) {
      identity = b_.conv2d(x, path + ".downsample.0", {.out = out, .stride = stride});
      identity = b_.batch_norm(identity, path + ".downsample.1");
    }
    return b_.relu(b_.add(y, identity, true), path + ".relu");
  }

  OpId basic(OpId x, const std::string& path, std::int64_t planes, std::int64_t stride) {
    OpId y = b_.conv2d(x, path + ".conv1", {.out = planes, .kernel = 3, .stride = stride, .padding = 1});
    y = b_.relu(b_.batch_norm(y, path + ".bn1"), path + ".relu");
    y = b_.conv2d(y, path + ".conv2", {.out = planes, .kernel = 3, .padding = 1});
    return b_.batch_norm(y, path + ".bn2");
  }

  // The stride sits in the 3x3 convolution ("ResNet v1.5").
  OpId bottleneck(OpId x, const std::string& path, std::int64_t planes, std::int64_t stride) {
    const std::int64_t width = planes * shape_.group_width / 64 * shape_.groups;
    OpId y = b_.conv2d(x, path + ".conv1", {.out = width});
    y = b_.relu(b_.batch_norm(y, path + ".bn1"), path + ".relu");
    const ConvSpec middle{.out = width, .kernel = 3, .stride = stride, .padding = 1, .groups = shape_.groups};
    y = b_.conv2d(y, path + ".conv2", middle);
    y = b_.relu(b_.batch_norm(y, path + ".bn2"), path + ".relu");
    y = b_.conv2d(y, path + ".conv3", {.out = 4 * planes});
    return b_.batch_norm(y, path + ".bn3");
  }

  ModelBuilder& b_;
  const ResNetShape& shape_;
};

}  // namespace

Expected<Model> resnet(const std::string& name, const ResNetShape& shape, const ModelOptions& options) {
  const bool cifar = options.stem == "cifar";
  const std::int64_t image = options.image.value_or(cifar ? 32 : 224);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  const ConvSpec stem = cifar ? ConvSpec{.out = 64, .kernel = 3, .stride = 1, .padding = 1}
                              : ConvSpec{.out = 64, .kernel = 7, .stride = 2, .padding = 3};
  OpId x = b.relu(b.batch_norm(b.conv2d(b.input(), "conv1", stem), "bn1"), "relu");
  if (!cifar) x = b.max_pool(x, "maxpool", 3, 2, 1);
  ResNetBuilder stages(b, shape);
  for (int stage = 1; stage <= 4; ++stage) x = stages.stage(x, stage);
  x = b.flatten(b.adaptive_avg_pool(x, "avgpool", 1, 1));
  b.cross_entropy(b.linear(x, "fc", options.classes.value_or(cifar ? 10 : 1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
