// torchvision.models.efficientnet (torchvision 0.26), B variants. SiLU overwrites its input, of which autograd keeps a
// clone; stochastic depth drops the residual branch of whole samples, more often the deeper the block.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr double kMostDropped = 0.2;  // probability of the block after the last one
constexpr std::int64_t kSqueeze = 4;  // squeeze-excitation: input channels / 4

struct Stage {
  std::int64_t expansion, kernel, stride, in, out;
  int blocks;
};
constexpr Stage kStages[] = {{1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
                             {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};

// Nearest multiple of 8, not below 90 %.
std::int64_t scaled_channels(std::int64_t channels, double factor) {
  const double wanted = static_cast<double>(channels) * factor;
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

int scaled_depth(int blocks, double factor) {
  return static_cast<int>(std::ceil(blocks * factor));
}

OpId normalised(ModelBuilder& b, OpId x, const std::string& path, const ConvSpec& spec) {
  return b.batch_norm(b.conv2d(x, path + ".0", spec), path + ".1");
}

OpId activated(ModelBuilder& b, OpId x, const std::string& path, const ConvSpec& spec) {
  return b.unary(OpKind::Silu, normalised(b, x, path, spec), path + ".2", true);
}

OpId squeeze_excitation(ModelBuilder& b, OpId x, const std::string& path, std::int64_t squeezed) {
  OpId scale = b.adaptive_avg_pool(x, path + ".avgpool", 1, 1);
  scale = b.conv2d(scale, path + ".fc1", {.out = squeezed, .bias = true});
  scale = b.unary(OpKind::Silu, scale, path + ".activation", true);
  scale = b.conv2d(scale, path + ".fc2", {.out = b.shape(x)[0], .bias = true});
  return b.multiply(b.unary(OpKind::Sigmoid, scale, path + ".scale_activation"), x, path);
}

OpId block(ModelBuilder& b, OpId x, const std::string& path, const Stage& stage, double drop) {
  const std::int64_t hidden = stage.in * stage.expansion;
  int index = 0;
  const auto next = [&] { return fmt::format("{}.block.{}", path, index++); };
  OpId y = x;
  if (stage.expansion != 1) y = activated(b, y, next(), {.out = hidden});
  y = activated(
      b, y, next(),
      {.out = hidden, .kernel = stage.kernel, .stride = stage.stride, .padding = stage.kernel / 2, .groups = hidden});
  y = squeeze_excitation(b, y, next(), std::max<std::int64_t>(1, stage.in / kSqueeze));
  y = normalised(b, y, next(), {.out = stage.out});
  const bool residual = stage.stride == 1 && stage.in == stage.out;
  y = b.stochastic_depth(y, path + ".stochastic_depth", residual ? drop : 0);  // without a residual it is not called
  return residual ? b.add(y, x, true) : y;
}

}  // namespace

Expected<Model> efficientnet(const std::string& name, const EfficientNetShape& shape, const ModelOptions& options) {
  const std::int64_t image = options.image.value_or(shape.image);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  int total = 0, done = 0;
  for (const Stage& stage : kStages) total += scaled_depth(stage.blocks, shape.depth);
  const std::int64_t first = scaled_channels(kStages[0].in, shape.width);
  OpId x = activated(b, b.input(), "features.0", {.out = first, .kernel = 3, .stride = 2, .padding = 1});
  int index = 1;
  for (Stage stage : kStages) {
    stage.in = scaled_channels(stage.in, shape.width);
    stage.out = scaled_channels(stage.out, shape.width);
    for (int i = 0; i < scaled_depth(stage.blocks, shape.depth); ++i) {
      x = block(b, x, fmt::format("features.{}.{}", index, i), stage, kMostDropped * done++ / total);
      stage.in = stage.out;
      stage.stride = 1;
    }
    ++index;
  }
  x = activated(b, x, fmt::format("features.{}", index), {.out = 4 * b.shape(x)[0]});
  x = b.dropout(b.flatten(b.adaptive_avg_pool(x, "avgpool", 1, 1)), "classifier.0", shape.dropout, true);
  b.cross_entropy(b.linear(x, "classifier.1", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
