#include "tests/simulator/strategies/hand_ddp.h"

#include <string>

namespace lockstep::testing {
namespace {

constexpr double kMs = 1e-3, kUs = 1e-6;

class Builder {
 public:
  explicit Builder(const HandDdp& hand) : hand_(hand), program_(graph_, programs()) {}

  StepGraph build() {
    graph_.classes = {{0, hand_.ring.ranks, true}};
    graph_.launch_latency_s = 0;
    graph_.contention = hand_.phi;
    kernel(hand_.broadcast_ms * kMs, Cause::BufferBroadcast);
    kernel(hand_.forward_ms * kMs, Cause::Forward);
    backward();
    for (std::size_t b = 0; b < hand_.buckets.size(); ++b) {
      const bool together = hand_.order == HandOrder::AfterBackward;
      if (!together) program_.stream_wait(static_cast<int>(b));
      if (together && b == 0) program_.stream_wait(static_cast<int>(hand_.buckets.size()) - 1);
      copy(hand_.buckets[b]);
    }
    kernel(hand_.optimizer_ms * kMs, Cause::Optimizer);
    kernel(hand_.wait_ms * kMs, Cause::WaitForPeers);
    return std::move(graph_);
  }

 private:
  std::vector<Item>& programs() {
    graph_.steady.programs.resize(1);
    return graph_.steady.programs[0];
  }
  void kernel(double seconds, Cause cause) {
    if (seconds > 0) program_.kernel(0, seconds, cause, "");
  }
  void copy(const HandBucket& bucket) {
    kernel(2 * static_cast<double>(bucket.bytes) / hand_.copy_rate + bucket.tensors * hand_.copy_per_tensor_us * kUs,
           Cause::BucketCopies);
  }
  void backward() {
    if (hand_.order == HandOrder::AfterBackward) {
      kernel(hand_.backward_ms * kMs, Cause::Backward);
      for (const auto& bucket : hand_.buckets) copy(bucket);
      for (std::size_t b = 0; b < hand_.buckets.size(); ++b) launch(b);
      return;
    }
    double done = 0;
    for (std::size_t b = 0; b < hand_.buckets.size(); ++b) {
      kernel((hand_.buckets[b].ready_fraction - done) * hand_.backward_ms * kMs, Cause::Backward);
      done = hand_.buckets[b].ready_fraction;
      copy(hand_.buckets[b]);
      launch(b);
    }
    kernel((1 - done) * hand_.backward_ms * kMs, Cause::Backward);
  }
  void launch(std::size_t b) {
    kernel(hand_.launch_us * kUs, Cause::BucketCopies);
    Meeting meeting;
    meeting.name = "all-reduce bucket " + std::to_string(b);
    meeting.on = ArriveOn::Communication;
    meeting.holds = {false};
    meeting.bucket = static_cast<int>(b);
    meeting.payload_bytes = hand_.buckets[b].bytes;
    put_plan(plan_collective(hand_.ring, CollectiveOperation::AllReduce, meeting.payload_bytes), hand_.ring, meeting,
             graph_);
    graph_.steady.meetings.push_back(meeting);
    program_.arrive(static_cast<int>(b), 0, meeting.name);
  }

  const HandDdp& hand_;
  StepGraph graph_;
  ProgramBuilder program_;
};

}  // namespace

StepGraph build(const HandDdp& hand) {
  return Builder(hand).build();
}

Ring hand_ring(int nodes, int ranks_per_node, double gigabytes_per_s, double border_us) {
  Ring ring;
  ring.path = ring.intra_path = PathClass::Tcp;
  ring.slowest = LinkClass::Nic;
  ring.nodes = nodes;
  ring.ranks_per_node = ranks_per_node;
  ring.ranks = nodes * ranks_per_node;
  ring.channel_rate = gigabytes_per_s * 1e9;
  ring.hop_latency = border_us * kUs;
  return ring;
}

}  // namespace lockstep::testing
