#include "simulator/cli/help.h"

#include <fmt/format.h>

#include "simulator/cli/commands.h"

namespace lockstep {

const std::vector<CommandHelp>& command_help() {
  static const std::vector<CommandHelp> help = {
      {"predict", "How long a training step takes, why, and what would make it faster",
       "  lockstep predict dp-vs-ddp-resnet50-8xa100\n"
       "  lockstep predict dp-vs-ddp-resnet50-8xa100 --set gpus=8 --set strategy=ddp --trace trace.json\n"
       "  lockstep predict dp-vs-ddp-resnet50-8xa100 --set input.memory=pinned --json -o result.json\n"
       "  lockstep show scenario dp-vs-ddp-resnet50-8xa100 | lockstep predict - --csv\n"
       "  lockstep predict pcie-box v100-dgx1 strong-scaling --csv   # several: each answered, the column `file` in "
       "front\n"},
      {"explain",
       "The critical path of a step in pieces that add up, and DataParallel against DDP difference by difference",
       "  lockstep explain dp-vs-ddp-resnet50-8xa100\n"
       "  lockstep explain dp-vs-ddp-resnet50-8xa100 --set strategy=ddp --set gpus=4 --json\n"},
      {"solve", "The value of one key that gives a wanted step time, throughput or efficiency",
       "  lockstep solve infiniband-scaling --for topology.override.nic.rate --given efficiency=0.9\n"
       "  lockstep solve second-node-10gbe --for topology.override.nic.rate --given efficiency=90% --json\n"
       "  lockstep solve second-node-10gbe --for batch.per_gpu --given efficiency=0.8\n"
       "  lockstep solve second-node-10gbe --for topology.override.nic.rate --given gpus=16:efficiency=0.5 --given "
       "gpus=24:efficiency=0.3\n"},
      {"compare", "Results held against each other, row by row: the error and its parts",
       "  lockstep predict strong-scaling --json -o before.json\n"
       "  lockstep predict strong-scaling --set ddp.bucket_cap=5MiB --json -o after.json\n"
       "  lockstep compare before.json after.json\n"
       "  lockstep compare before.json after.json --fail-above 50% --json\n"},
      {"measure", "The same scenario, run for real on this machine: the measured twin of `predict`",
       "  lockstep measure cpu-two-ranks --here --json -o measured.json\n"
       "  lockstep measure cpu-two-ranks --here --set measure.steps=10 --set measure.repeats=1 --jsonl\n"
       "  lockstep measure tiny-mlp-launch-bound --here\n"
       "  lockstep measure second-node-10gbe --paced --dilate 100 --set gpus=4\n"
       "  lockstep measure cpu-two-ranks --here --bench collectives --minbytes 8 --maxbytes 64M\n"
       "  lockstep measure cpu-two-ranks --here --bench ops --csv\n"},
      {"sweep", "Every combination of the values that a scenario lists; -o keeps them, and goes on if stopped",
       "  lockstep sweep dp-vs-ddp-resnet50-8xa100\n"
       "  lockstep sweep dp-vs-ddp-resnet50-8xa100 --set batch.per_gpu=[32,64,128] --set gpus=[2,8] --csv\n"
       "  lockstep sweep dp-vs-ddp-resnet50-8xa100 --set ddp.bucket_cap=[1MiB,25MiB] -o caps\n"
       "  lockstep sweep dp-vs-ddp-resnet50-8xa100 --set ddp.bucket_cap=[1MiB,25MiB] -o caps --jsonl\n"
       "  lockstep sweep -o caps --csv\n"},
      {"list", "Names of the models, topologies, fabrics, GPUs and scenarios that come with lockstep",
       "  lockstep list models\n"
       "  lockstep list scenarios --json\n"
       "  lockstep list gpus --quiet   # the names alone\n"},
      {"show", "Look inside a scenario (every value and where it came from), a model, a topology, a fabric or a GPU",
       "  lockstep show scenario dp-vs-ddp-resnet50-8xa100 --set gpus=4\n"
       "  lockstep show model resnet50 --set model.image=32\n"
       "  lockstep show model resnet50 --json -o resnet50.json\n"
       "  lockstep show topology dgx-a100-80gb --set topology.fabric=ib-hdr-8x200\n"
       "  lockstep show gpu a100-sxm4-80gb\n"
       "  lockstep show fabric eth-10g --json\n"},
      {"validate", "How right the predictions are: the claims of an article, tried",
       "  lockstep validate claims\n"
       "  lockstep validate claims --json\n"},
      {"completions", "A script that lets bash, zsh or fish complete commands, options, keys and names",
       "  lockstep completions bash   # try it: source <(lockstep completions bash)\n"
       "  lockstep completions zsh -o _lockstep   # in a folder of $fpath\n"
       "  lockstep completions fish -o lockstep.fish   # in ~/.config/fish/completions\n"},
      {"help", "Help of a command", "  lockstep help predict\n"},
  };
  return help;
}

const std::vector<std::string>& commands_of_later_versions() {
  static const std::vector<std::string> names = {"merge",         "tune",  "calibrate", "import", "collective",
                                                 "check-network", "trace", "lab",       "grade",  "report"};
  return names;
}

std::string exit_code_help() {
  return "Results go to standard output, words and progress to standard error.\n"
         "Exit codes: 0 good, 1 wrong input, 2 the run failed or nothing could run, 3 outside the asked tolerance,\n"
         "130 interrupted.\n";
}

int refuse_later(const std::string& command, Form form, Output& output) {
  Error error;
  error.kind = ErrorKind::NotSupported;
  error.file = "command line";
  error.message = fmt::format("`lockstep {}` comes with a later version", command);
  return report_errors({error}, form, output);
}

}  // namespace lockstep
