// torchvision.models.mobilenet_v2 (torchvision 0.26).
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kFirst = 32, kLast = 1280;
constexpr double kDropout = 0.2;

struct Stage {
  std::int64_t expansion, channels;
  int blocks;
  std::int64_t stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

OpId activated(ModelBuilder& b, OpId x, const std::string& path, const ConvSpec& spec) {
  return b.unary(OpKind::Relu6, b.batch_norm(b.conv2d(x, path + ".0", spec), path + ".1"), path + ".2", true);
}

OpId inverted_residual(ModelBuilder& b, OpId x, const std::string& path, const Stage& stage, std::int64_t stride) {
  const std::int64_t in = b.shape(x)[0], hidden = in * stage.expansion;
  int index = 0;
  const auto next = [&] { return fmt::format("{}.conv.{}", path, index++); };
  OpId y = x;
  if (stage.expansion != 1) y = activated(b, y, next(), {.out = hidden});
  y = activated(b, y, next(), {.out = hidden, .kernel = 3, .stride = stride, .padding = 1, .groups = hidden});
  y = b.conv2d(y, next(), {.out = stage.channels});
  y = b.batch_norm(y, next());
  return stride == 1 && in == stage.channels ? b.add(x, y) : y;
}

}  // namespace

Expected<Model> mobilenet_v2(const std::string& name, const ModelOptions& options) {
  const std::int64_t image = options.image.value_or(224);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  OpId x = activated(b, b.input(), "features.0", {.out = kFirst, .kernel = 3, .stride = 2, .padding = 1});
  int index = 1;
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const std::int64_t stride = block == 0 ? stage.stride : 1;
      x = inverted_residual(b, x, fmt::format("features.{}", index++), stage, stride);
    }
  }
  x = activated(b, x, fmt::format("features.{}", index), {.out = kLast});
  x = b.dropout(b.flatten(b.adaptive_avg_pool(x, "", 1, 1)), "classifier.0", kDropout);
  b.cross_entropy(b.linear(x, "classifier.1", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
