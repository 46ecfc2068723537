// From the events of a profiler to seconds by class of op and pass. Plain C++: what an event is called is all that it
// knows of LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// One call on a thread of the host, or one kernel of a GPU.
struct ProfiledEvent {
  std::string name;  // aten::conv2d, autograd::engine::evaluate_function: ConvolutionBackward0, ...
  double start_s = 0, end_s = 0;
  std::uint64_t thread = 0;
  std::uint64_t id = 0;  // of a call; a kernel's is that of the call that launched it
  bool kernel = false;
};

// conv2d, linear, matmul, batch_norm, layer_norm, attention, softmax, embedding, pooling, elementwise, loss, copy,
// optimizer, communication, gradients (accumulated or handed to DDP), bucket_copies, other.
std::string op_class_of(const std::string& event_name);

// By class, then by `forward`, `backward` or `step`: seconds of the outermost calls of each thread, so that nothing is
// counted twice; DDP's copies into and out of buckets are taken out of the calls around them. Where there are kernels,
// their seconds instead, under the outermost call that launched them.
using SecondsByClass = std::map<std::string, std::map<std::string, double>>;
SecondsByClass seconds_by_class(std::vector<ProfiledEvent> events);

}  // namespace lockstep
