// What computes in a scenario: GPUs, or cores where ranks train on the CPU (topology cpu-host). Every picture takes its
// words from here.
#pragma once

#include <QString>

#include "gui/charts/view.h"

namespace lockstep::gui {

enum class Devices { Gpus, Cores };

// By the words of its sentences, else by the node of its scenario.
Devices devices_of(const Result& result);
// By the machine that is open, else by the prediction, else by what is loaded.
Devices devices_of(const Shown& shown);

QString device_word(Devices devices);               // "GPU", "core"
QString devices_word(Devices devices);              // "GPUs", "cores"
QString device_count(int count, Devices devices);   // "1 GPU", "8 GPUs", "2 cores"
QString cause_name(Cause cause, Devices devices);   // as cause_name, without GPUs where there are none
QString run_name(const Run& run, Devices devices);  // "1 GPU", "DDP ×8"

}  // namespace lockstep::gui
