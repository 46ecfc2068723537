// Timelines as a Chrome trace in the dialect of PyTorch's profiler (Kineto), so that Perfetto, chrome://tracing,
// TensorBoard's plugin and HolisticTraceAnalysis open it: cpu_op and cuda_runtime events on a host thread, kernel and
// gpu_memcpy events on streams, `ac2g` flows from launch to kernel, `ProfilerStep#n` around each step.
//
// Each run becomes one host process and one GPU; the shown step starts at the same place of the time axis in all of
// them. One run in a file is what TensorBoard expects; more than one is for comparing in Perfetto.
#pragma once

#include <string>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep {

// Runs without a timeline are left out. JSON text, ending in a newline; times in us with three decimals, durations
// rounded so that spans of one stream never overlap.
std::string chrome_trace(const std::vector<const Run*>& runs, const Result& result);

}  // namespace lockstep
