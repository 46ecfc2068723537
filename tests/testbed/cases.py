"""The cases of `./lockstep.sh testbed`: which scenario, with which settings, on which wire, how far stretched."""

from dataclasses import dataclass, field


@dataclass
class Case:
    name: str
    scenario: str  # below scenarios/measured
    hosts: int  # network namespaces; 0: ranks share this machine's own loopback
    about: str
    settings: list = field(default_factory=list)  # --set of measure and predict alike
    quick_settings: list = field(default_factory=list)  # of --quick, on top
    dilate: int = 0  # K of a paced run; 0: real computing
    quick_dilate: int = 0


def real(name, scenario, about, *settings, hosts=4, **more):
    return Case(name, scenario, hosts, about, list(settings), **more)


def paced(name, scenario, hosts, dilate, quick_dilate, about, *settings, **more):
    return Case(name, scenario, hosts, about, list(settings), dilate=dilate, quick_dilate=quick_dilate, **more)


def fabric(name):
    return f"topology.fabric=fabrics/{name}.yaml"


RESNET18 = "ddp-resnet18-cpu.yaml"
MLP = "ddp-mlp-cpu.yaml"
PACED50 = "paced-resnet50-a100.yaml"
PACED18 = "paced-resnet18-a100.yaml"

CASES = [
    real("dp-vs-ddp", "dp-vs-ddp-resnet18-cpu.yaml", "ResNet-18, DataParallel's stand-in and DDP, one host", hosts=0),
    real("resnet18-1gbit", RESNET18, "ResNet-18, link 1 Gb/s"),
    real("resnet18-200mbit", RESNET18, "ResNet-18, link 200 Mb/s", fabric("wire-200mbit"),
         quick_settings=["measure.steps=3"]),
    real("resnet18-2500mbit", RESNET18, "ResNet-18, link 2.5 Gb/s", fabric("wire-2500mbit")),
    real("resnet18-1gbit-cap-1MiB", RESNET18, "the same, 1 Gb/s, buckets of 1 MiB", "ddp.bucket_cap=1MiB"),
    real("resnet18-1gbit-cap-100MiB", RESNET18, "the same, one bucket", "ddp.bucket_cap=100MiB"),
    real("resnet18-1gbit-two-in-flight", RESNET18, "the same, two collectives in flight", "gloo.threads=2"),
    real("mlp-1gbit", MLP, "MLP, link 1 Gb/s"),
    real("mlp-2500mbit", MLP, "MLP, link 2.5 Gb/s", fabric("wire-2500mbit")),
    paced("paced-resnet50-8", PACED50, 8, 200, 60, "ResNet-50, 8 ranks"),
    paced("paced-resnet50-2-4", PACED50, 4, 100, 25, "ResNet-50, 2 and 4 ranks", "gpus=[2, 4]"),
    paced("paced-resnet50-4-cap-5MiB", PACED50, 4, 100, 25, "the same, buckets of 5 MiB", "gpus=4",
          "ddp.bucket_cap=5MiB"),
    paced("paced-resnet50-4-cap-100MiB", PACED50, 4, 100, 25, "the same, one bucket", "gpus=4",
          "ddp.bucket_cap=100MiB"),
    paced("paced-resnet50-4-10gbit", PACED50, 4, 100, 25, "the same, 10 Gb/s Ethernet", "gpus=4",
          fabric("ethernet-1150MBps")),
    paced("paced-resnet18-8-jitter", PACED18, 8, 200, 60, "ResNet-18, kernels differ by 10 % from step to step",
          "gpus=8", "noise={jitter: {sigma: 10%}, runs: 6}", "measure.steps=6", "measure.warm_up=4"),
    paced("paced-resnet18-8-slow-ranks", PACED18, 8, 200, 60, "ResNet-18, ranks that stay 10 % slower or faster",
          "gpus=8", "noise={jitter: {sigma: 10%, per: rank}, runs: 2}"),
    paced("paced-resnet18-16", PACED18, 16, 400, 110, "ResNet-18, 16 ranks"),
]

# Links of the sweep of all-reduces, in its order; ranks; messages from to.
SWEEP_WIRES = ["100mbit", "1gbit", "2500mbit"]
SWEEP_RANKS = [2, 4, 8]
