// torchvision.models.inception_v3 (torchvision 0.26), auxiliary classifier on, transform_input off.
#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr std::int64_t kSmallestImage = 299;  // the auxiliary classifier's windows of 5 need 17 pixels of Mixed_6e
constexpr double kDropout = 0.5;

// Height and width of a window; padding keeps the size unless it is `Valid`.
struct Window {
  std::int64_t height = 1, width = 1, stride = 1;
  bool padded = true;
};
constexpr Window kOne{1, 1}, kThree{3, 3}, kFive{5, 5}, kRow3{1, 3}, kColumn3{3, 1}, kRow7{1, 7}, kColumn7{7, 1};
constexpr Window kValid3{3, 3, 1, false}, kHalving3{3, 3, 2, false}, kValid5{5, 5, 1, false};

class InceptionBuilder {
 public:
  explicit InceptionBuilder(ModelBuilder& builder) : b_(builder) {}

  // BasicConv2d: convolution, batch norm, functional ReLU.
  OpId conv(OpId x, const std::string& path, std::int64_t out, const Window& window) {
    ConvAttributes c;
    c.kernel_h = window.height;
    c.kernel_w = window.width;
    c.stride_h = c.stride_w = window.stride;
    c.padding_h = window.padded ? window.height / 2 : 0;
    c.padding_w = window.padded ? window.width / 2 : 0;
    return b_.relu(b_.batch_norm(b_.conv2d(x, path + ".conv", out, c), path + ".bn"), "");
  }

  OpId stem(OpId x) {
    x = conv(x, "Conv2d_1a_3x3", 32, kHalving3);
    x = conv(x, "Conv2d_2a_3x3", 32, kValid3);
    x = b_.max_pool(conv(x, "Conv2d_2b_3x3", 64, kThree), "maxpool1", 3, 2);
    x = conv(x, "Conv2d_3b_1x1", 80, kOne);
    return b_.max_pool(conv(x, "Conv2d_4a_3x3", 192, kValid3), "maxpool2", 3, 2);
  }

  OpId block_a(OpId x, const std::string& path, std::int64_t pooled) {
    const OpId one = conv(x, path + ".branch1x1", 64, kOne);
    const OpId five = conv(conv(x, path + ".branch5x5_1", 48, kOne), path + ".branch5x5_2", 64, kFive);
    OpId twice = conv(x, path + ".branch3x3dbl_1", 64, kOne);
    twice = conv(twice, path + ".branch3x3dbl_2", 96, kThree);
    twice = conv(twice, path + ".branch3x3dbl_3", 96, kThree);
    return b_.concat({one, five, twice, pool_branch(x, path, pooled)}, path);
  }

  OpId block_b(OpId x, const std::string& path) {
    const OpId three = conv(x, path + ".branch3x3", 384, kHalving3);
    OpId twice = conv(x, path + ".branch3x3dbl_1", 64, kOne);
    twice = conv(twice, path + ".branch3x3dbl_2", 96, kThree);
    twice = conv(twice, path + ".branch3x3dbl_3", 96, kHalving3);
    return b_.concat({three, twice, b_.max_pool(x, "", 3, 2)}, path);
  }

  OpId block_c(OpId x, const std::string& path, std::int64_t width) {
    const OpId one = conv(x, path + ".branch1x1", 192, kOne);
    OpId seven = conv(x, path + ".branch7x7_1", width, kOne);
    seven = conv(seven, path + ".branch7x7_2", width, kRow7);
    seven = conv(seven, path + ".branch7x7_3", 192, kColumn7);
    OpId twice = conv(x, path + ".branch7x7dbl_1", width, kOne);
    twice = conv(twice, path + ".branch7x7dbl_2", width, kColumn7);
    twice = conv(twice, path + ".branch7x7dbl_3", width, kRow7);
    twice = conv(twice, path + ".branch7x7dbl_4", width, kColumn7);
    twice = conv(twice, path + ".branch7x7dbl_5", 192, kRow7);
    return b_.concat({one, seven, twice, pool_branch(x, path, 192)}, path);
  }

  OpId block_d(OpId x, const std::string& path) {
    const OpId three = conv(conv(x, path + ".branch3x3_1", 192, kOne), path + ".branch3x3_2", 320, kHalving3);
    OpId seven = conv(x, path + ".branch7x7x3_1", 192, kOne);
    seven = conv(seven, path + ".branch7x7x3_2", 192, kRow7);
    seven = conv(seven, path + ".branch7x7x3_3", 192, kColumn7);
    seven = conv(seven, path + ".branch7x7x3_4", 192, kHalving3);
    return b_.concat({three, seven, b_.max_pool(x, "", 3, 2)}, path);
  }

  OpId block_e(OpId x, const std::string& path) {
    const OpId one = conv(x, path + ".branch1x1", 320, kOne);
    const OpId three = fork(conv(x, path + ".branch3x3_1", 384, kOne), path + ".branch3x3_2");
    OpId twice = conv(x, path + ".branch3x3dbl_1", 448, kOne);
    twice = fork(conv(twice, path + ".branch3x3dbl_2", 384, kThree), path + ".branch3x3dbl_3");
    return b_.concat({one, three, twice, pool_branch(x, path, 192)}, path);
  }

  OpId auxiliary(OpId x, std::int64_t classes) {
    x = conv(b_.avg_pool(x, "", 5, 3), "AuxLogits.conv0", 128, kOne);
    x = conv(x, "AuxLogits.conv1", 768, kValid5);
    return b_.linear(b_.flatten(b_.adaptive_avg_pool(x, "", 1, 1)), "AuxLogits.fc", classes);
  }

 private:
  OpId pool_branch(OpId x, const std::string& path, std::int64_t out) {
    return conv(b_.avg_pool(x, "", 3, 1, 1), path + ".branch_pool", out, kOne);
  }

  // A row and a column of three over the same tensor, joined.
  OpId fork(OpId x, const std::string& path) {
    const OpId row = conv(x, path + "a", 384, kRow3);
    return b_.concat({row, conv(x, path + "b", 384, kColumn3)});
  }

  ModelBuilder& b_;
};

}  // namespace

Expected<Model> inception_v3(const std::string& name, const ModelOptions& options) {
  const Expected<std::int64_t> image = image_of(options, 299, kSmallestImage);
  if (!image) return tl::make_unexpected(image.error());
  const std::int64_t classes = options.classes.value_or(1000);
  ModelBuilder b(name, "images", {3, *image, *image}, DType::Fp32, 1);
  InceptionBuilder net(b);
  OpId x = net.stem(b.input());
  x = net.block_a(x, "Mixed_5b", 32);
  x = net.block_a(x, "Mixed_5c", 64);
  x = net.block_a(x, "Mixed_5d", 64);
  x = net.block_b(x, "Mixed_6a");
  x = net.block_c(x, "Mixed_6b", 128);
  x = net.block_c(x, "Mixed_6c", 160);
  x = net.block_c(x, "Mixed_6d", 160);
  x = net.block_c(x, "Mixed_6e", 192);
  const OpId auxiliary = net.auxiliary(x, classes);
  x = net.block_d(x, "Mixed_7a");
  x = net.block_e(x, "Mixed_7b");
  x = net.block_e(x, "Mixed_7c");
  x = b.flatten(b.dropout(b.adaptive_avg_pool(x, "avgpool", 1, 1), "dropout", kDropout));
  b.cross_entropy({b.linear(x, "fc", classes), auxiliary});
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
