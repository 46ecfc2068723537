// Bucket sizes of PyTorch's reducer. The ResNet-18 rows of the default cap and of cap 35 were measured by a user
// (pytorch/pytorch#48880); the others follow from the same algorithm over torchvision's parameter lists.
#include "simulator/steps/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/derived.h"
#include "models/zoo/zoo.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr Version kToday{2, 7};

Model zoo_model(const std::string& name) {
  return build_zoo_model(name, {}).value();
}

std::vector<std::int64_t> bytes_of_each(const std::vector<Bucket>& buckets) {
  std::vector<std::int64_t> bytes;
  for (const auto& bucket : buckets) bytes.push_back(bucket.bytes);
  return bytes;
}

std::vector<int> tensors_of_each(const std::vector<Bucket>& buckets) {
  std::vector<int> tensors;
  for (const auto& bucket : buckets) tensors.push_back(static_cast<int>(bucket.parameters.size()));
  return tensors;
}

BucketPhases phases(const std::string& model, const DdpOptions& options = {}, Version torch = kToday) {
  return bucket_phases(zoo_model(model), options, torch);
}

DdpOptions with_cap(std::int64_t mebibytes) {
  DdpOptions options;
  options.bucket_cap_bytes = mebibytes << 20;
  return options;
}

DdpOptions find_unused() {
  DdpOptions options;
  options.find_unused_parameters = true;
  return options;
}

TEST(RebuiltBuckets, OfResNet18AreThoseThatAUserMeasured) {
  const auto rebuilt = phases("resnet18").rebuilt;
  EXPECT_THAT(bytes_of_each(rebuilt), ElementsAre(2052000, 28852224, 15853824));
  EXPECT_THAT(tensors_of_each(rebuilt), ElementsAre(2, 12, 48));
}

TEST(RebuiltBuckets, OfDeeperResNetsFollowTheSameRule) {
  EXPECT_THAT(bytes_of_each(phases("resnet34").rebuilt), ElementsAre(2052000, 28323840, 26494976, 26700800, 3619072));
  EXPECT_THAT(tensors_of_each(phases("resnet34").rebuilt), ElementsAre(2, 9, 15, 45, 39));
  EXPECT_THAT(bytes_of_each(phases("resnet50").rebuilt), ElementsAre(8196000, 31502336, 26255360, 26550272, 9724160));
  EXPECT_THAT(tensors_of_each(phases("resnet50").rebuilt), ElementsAre(2, 15, 12, 51, 81));
  EXPECT_THAT(bytes_of_each(phases("resnet101").rebuilt),
              ElementsAre(8196000, 31502336, 26255360, 27863040, 26812416, 26812416, 26361856, 4393216));
  EXPECT_THAT(tensors_of_each(phases("resnet101").rebuilt), ElementsAre(2, 15, 12, 54, 54, 54, 63, 60));
}

TEST(RebuiltBuckets, OfACapThatTheUserGaveHaveNoSmallFirstBucket) {
  EXPECT_THAT(bytes_of_each(phases("resnet18", with_cap(25)).rebuilt), ElementsAre(30904224, 15853824));
  EXPECT_THAT(bytes_of_each(phases("resnet34", with_cap(25)).rebuilt),
              ElementsAre(30375840, 26494976, 26700800, 3619072));
  EXPECT_THAT(bytes_of_each(phases("resnet50", with_cap(25)).rebuilt),
              ElementsAre(30257056, 26255360, 28366848, 17348864));
  EXPECT_THAT(bytes_of_each(phases("resnet101", with_cap(25)).rebuilt),
              ElementsAre(30257056, 26255360, 28366848, 26812416, 26812416, 26812416, 12880128));
}

TEST(RebuiltBuckets, OfSmallCapsCloseAfterTheTensorThatReachesTheCap) {
  EXPECT_THAT(bytes_of_each(phases("resnet18", with_cap(10)).rebuilt),
              ElementsAre(11493280, 19410944, 11939840, 3913984));
  EXPECT_THAT(tensors_of_each(phases("resnet18", with_cap(10)).rebuilt), ElementsAre(5, 9, 15, 33));
  EXPECT_THAT(bytes_of_each(phases("resnet18", with_cap(1)).rebuilt),
              ElementsAre(2052000, 9441280, 9441280, 9969664, 4722688, 2361344, 2361344, 2494464, 1181696, 1181696,
                          1068544, 482048));
}

TEST(RebuiltBuckets, OfOldTorchKeepTheSmallFirstBucketWithAUserCap) {
  EXPECT_THAT(bytes_of_each(phases("resnet18", with_cap(35), {2, 3}).rebuilt), ElementsAre(2052000, 38297600, 6408448));
  EXPECT_GE(bytes_of_each(phases("resnet18", with_cap(35), {2, 4}).rebuilt)[0], 35 << 20);
}

TEST(RebuiltBuckets, TakeAFirstBucketThatTheUserGave) {
  DdpOptions options = with_cap(25);
  options.first_bucket_bytes = 1 << 20;
  EXPECT_EQ(bytes_of_each(phases("resnet18", options).rebuilt), bytes_of_each(phases("resnet18").rebuilt));
}

TEST(BucketsOfTheFirstStep, AreOneSinceTorch112) {
  const auto both = phases("resnet18");
  EXPECT_THAT(bytes_of_each(both.initial), ElementsAre(46758048));
  EXPECT_TRUE(both.is_rebuilt);
}

TEST(BucketsOfTheFirstStep, AreReversedRegistrationOrderInOlderTorch) {
  const auto both = phases("resnet18", {}, {1, 11});
  EXPECT_THAT(bytes_of_each(both.initial), ElementsAre(2052000, 28852224, 15853824));
}

TEST(BucketsOfFindUnused, AreNeverRebuiltAndEndWithTheSmallOne) {
  const auto both = phases("resnet18", find_unused());
  EXPECT_FALSE(both.is_rebuilt);
  EXPECT_THAT(bytes_of_each(both.rebuilt), ElementsAre(11497376, 33744896, 1515776));
  EXPECT_THAT(tensors_of_each(both.rebuilt), ElementsAre(7, 36, 19));
  EXPECT_EQ(bytes_of_each(both.initial), bytes_of_each(both.rebuilt));
  EXPECT_THAT(bytes_of_each(phases("resnet34", find_unused()).rebuilt),
              ElementsAre(2056096, 28323840, 28854272, 26735616, 1220864));
  EXPECT_THAT(bytes_of_each(phases("resnet50", find_unused()).rebuilt),
              ElementsAre(12410784, 31502336, 29669376, 27022336, 1623296));
  EXPECT_THAT(bytes_of_each(phases("resnet101", find_unused()).rebuilt),
              ElementsAre(12410784, 27291648, 29411328, 26812416, 26812416, 26812416, 27022336, 1623296));
}

TEST(BucketsOfAStaticGraph, AreRebuiltEvenWithFindUnused) {
  DdpOptions options = find_unused();
  options.static_graph = true;
  const auto both = phases("resnet18", options);
  EXPECT_TRUE(both.is_rebuilt);
  EXPECT_THAT(bytes_of_each(both.initial), ElementsAre(46758048));
  EXPECT_THAT(bytes_of_each(both.rebuilt), ElementsAre(2052000, 28852224, 15853824));
}

TEST(EveryBucketing, PutsEachUsedParameterInOneBucket) {
  for (const std::string name : {"resnet18", "resnet50", "vgg16", "bert-base", "gpt2", "mlp"}) {
    const Model model = zoo_model(name);
    for (const auto& options : {DdpOptions{}, with_cap(1), with_cap(100), find_unused()}) {
      const auto both = bucket_phases(model, options, kToday);
      for (const auto& buckets : {both.initial, both.rebuilt}) {
        std::vector<int> seen(model.parameters.size(), 0);
        std::int64_t bytes = 0;
        for (const auto& bucket : buckets) {
          bytes += bucket.bytes;
          for (const auto p : bucket.parameters) ++seen[static_cast<std::size_t>(p)];
        }
        for (std::size_t p = 0; p < seen.size(); ++p) EXPECT_EQ(seen[p], model.parameters[p].used ? 1 : 0) << name;
        EXPECT_EQ(bytes, parameter_bytes(model)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
