// torchvision.models.shufflenet_v2_x1_0 (torchvision 0.26).
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kFirst = 24, kLast = 1024;
struct Stage {
  int blocks;
  std::int64_t channels;
};
constexpr Stage kStages[] = {{4, 116}, {8, 232}, {4, 464}};

// Entries `at` and `at + 1` of the torch.nn.Sequential `path`.
OpId normalised(ModelBuilder& b, OpId x, const std::string& path, int at, const ConvSpec& spec) {
  x = b.conv2d(x, fmt::format("{}.{}", path, at), spec);
  return b.batch_norm(x, fmt::format("{}.{}", path, at + 1));
}

OpId activated(ModelBuilder& b, OpId x, const std::string& path, int at, const ConvSpec& spec) {
  return b.relu(normalised(b, x, path, at, spec), fmt::format("{}.{}", path, at + 2));
}

ConvSpec depthwise(std::int64_t channels, std::int64_t stride) {
  return {.out = channels, .kernel = 3, .stride = stride, .padding = 1, .groups = channels};
}

OpId long_branch(ModelBuilder& b, OpId x, const std::string& path, std::int64_t channels, std::int64_t stride) {
  x = activated(b, x, path, 0, {.out = channels});
  x = normalised(b, x, path, 3, depthwise(channels, stride));
  return activated(b, x, path, 5, {.out = channels});
}

// Interleaves the two halves: a transposed view made contiguous.
OpId channel_shuffle(ModelBuilder& b, OpId x) {
  return b.copy(x, Shape(b.shape(x)));
}

// Halves the image: both branches read all channels.
OpId down_block(ModelBuilder& b, OpId x, const std::string& path, std::int64_t half) {
  OpId a = normalised(b, x, path + ".branch1", 0, depthwise(b.shape(x)[0], 2));
  a = activated(b, a, path + ".branch1", 2, {.out = half});
  return channel_shuffle(b, b.concat({a, long_branch(b, x, path + ".branch2", half, 2)}, path));
}

// One half of the channels passes by, through a module without ops.
OpId plain_block(ModelBuilder& b, OpId x, const std::string& path, std::int64_t half) {
  const Shape part{half, b.shape(x)[1], b.shape(x)[2]};
  const OpId halves = b.split(x);
  const OpId kept = b.view(halves, part);
  b.set_name(kept, path + ".branch1");
  const OpId y = long_branch(b, b.view(halves, part), path + ".branch2", half, 1);
  return channel_shuffle(b, b.concat({kept, y}, path));
}

}  // namespace

Expected<Model> shufflenet_v2(const std::string& name, const ModelOptions& options) {
  const std::int64_t image = options.image.value_or(224);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  OpId x = activated(b, b.input(), "conv1", 0, {.out = kFirst, .kernel = 3, .stride = 2, .padding = 1});
  x = b.max_pool(x, "maxpool", 3, 2, 1);
  int stage_index = 2;
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string path = fmt::format("stage{}.{}", stage_index, block);
      const std::int64_t half = stage.channels / 2;
      x = block == 0 ? down_block(b, x, path, half) : plain_block(b, x, path, half);
    }
    ++stage_index;
  }
  x = b.global_mean(activated(b, x, "conv5", 0, {.out = kLast}), "");
  b.cross_entropy(b.linear(x, "fc", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
