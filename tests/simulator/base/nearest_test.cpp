#include "simulator/base/nearest.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Nearest, EditDistanceCountsASwapAsOneEdit) {
  EXPECT_EQ(edit_distance("bucket_cap", "bukcet_cap"), 1);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Nearest, CaseAndUnderscoresAreNoEdits) {
  EXPECT_EQ(edit_distance("DGX_A100", "dgx-a100"), 0);
  EXPECT_EQ(canonical_name("ResNeXt50_32x4d"), "resnext50-32x4d");
}

TEST(Nearest, FindsANearMissAndNothingForADistantOne) {
  const std::vector<std::string> names = {"resnet18", "resnet50", "vgg16"};
  EXPECT_EQ(nearest("resnet5", names), "resnet50");
  EXPECT_EQ(nearest("resent50", names), "resnet50");
  EXPECT_EQ(nearest("ResNet-50", names), "resnet50");
  EXPECT_EQ(nearest("bert", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'a'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("vgg61", names), "did you mean `vgg16`?");
  EXPECT_EQ(did_you_mean("bert", names), "");
}

}  // namespace
}  // namespace lockstep
