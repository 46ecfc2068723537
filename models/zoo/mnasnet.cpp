// torchvision.models.mnasnet1_0 (torchvision 0.26).
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kFirst = 32, kSeparable = 16, kLast = 1280;
constexpr double kDropout = 0.2;

struct Stack {
  std::int64_t channels, kernel, stride, expansion;
  int blocks;
};
constexpr Stack kStacks[] = {{24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
                             {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1}};

// Convolution, batch norm and, for all but the last of a block, ReLU, one after the other in a torch.nn.Sequential.
class Sequence {
 public:
  Sequence(ModelBuilder& builder, std::string path) : b_(builder), path_(std::move(path)) {}

  OpId normalised(OpId x, const ConvSpec& spec) {
    x = b_.conv2d(x, next(), spec);
    return b_.batch_norm(x, next());
  }
  OpId activated(OpId x, const ConvSpec& spec) {
    x = normalised(x, spec);
    return b_.relu(x, next());
  }
  std::string next() { return fmt::format("{}.{}", path_, index_++); }

 private:
  ModelBuilder& b_;
  std::string path_;
  int index_ = 0;
};

ConvSpec depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  return {.out = channels, .kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = channels};
}

OpId inverted_residual(ModelBuilder& b, OpId x, const std::string& path, const Stack& stack, std::int64_t stride) {
  const std::int64_t in = b.shape(x)[0], hidden = in * stack.expansion;
  Sequence layers(b, path + ".layers");
  OpId y = layers.activated(x, {.out = hidden});
  y = layers.activated(y, depthwise(hidden, stack.kernel, stride));
  y = layers.normalised(y, {.out = stack.channels});
  return stride == 1 && in == stack.channels ? b.add(y, x) : y;
}

}  // namespace

Expected<Model> mnasnet(const std::string& name, const ModelOptions& options) {
  const std::int64_t image = options.image.value_or(224);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  Sequence layers(b, "layers");
  OpId x = layers.activated(b.input(), {.out = kFirst, .kernel = 3, .stride = 2, .padding = 1});
  x = layers.activated(x, depthwise(kFirst, 3, 1));
  x = layers.normalised(x, {.out = kSeparable});
  for (const Stack& stack : kStacks) {
    const std::string path = layers.next();
    for (int block = 0; block < stack.blocks; ++block) {
      x = inverted_residual(b, x, fmt::format("{}.{}", path, block), stack, block == 0 ? stack.stride : 1);
    }
  }
  x = b.global_mean(layers.activated(x, {.out = kLast}), "");
  x = b.dropout(x, "classifier.0", kDropout, true);
  b.cross_entropy(b.linear(x, "classifier.1", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
