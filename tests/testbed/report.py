"""From results of the testbed to tables. Errors are prediction / measurement - 1."""

import copy
import re
from dataclasses import dataclass, field

HIDDEN = ("host",)  # keys of `machine` that would tell whose machine it was


def anonymous(document):
    document = copy.deepcopy(document)
    machine = document.get("machine", {})
    for key in HIDDEN:
        machine.pop(key, None)
    if "kernel" in machine:
        machine["kernel"] = machine["kernel"].split("-")[0]
    for run in document.get("runs", []):
        for rank in run.get("ranks", []):
            rank.pop("host", None)
    return document


def ms(seconds):
    return f"{seconds * 1e3:.4g}"


def percent(ratio):
    return f"{(ratio - 1) * 100:+.1f}"


def row_of(document, strategy, gpus):
    for run in document["runs"]:
        if run["strategy"] == strategy and run["gpus"] == gpus:
            return run
    return None


def name_of(run):
    return run["strategy"] if run["gpus"] == 1 and run["strategy"] == "single" else f"{run['strategy']} {run['gpus']}"


# From the first step on: both sides may call a different number of them warm-up.
def all_steps(run):
    return run["warm_up_step_times_s"] + run["samples"][0]["step_times_s"]


def lateness(run):
    for note in run.get("notes", []):
        if match := re.search(r"late to a wait \(([0-9.]+) % of a step\)", note):
            return match[1]
    return "-"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


@dataclass
class Outcome:
    case: object
    dilate: int
    wire: str
    predicted: dict
    measured: dict
    load: tuple
    seconds: float

    # Rows that both have, without the single rank: that is given, or has nothing real in it.
    def pairs(self):
        for run in self.measured["runs"]:
            if run["strategy"] != "single" and "step_time_s" in run:
                twin = row_of(self.predicted, run["strategy"], run["gpus"])
                if twin and "step_time_s" in twin:
                    yield twin, run

    def not_run(self):
        for run in self.measured["runs"]:
            if "not_run" in run:
                yield run

    # The simplest guess: a step takes what one rank alone takes.
    def constant_s(self):
        return self.measured["runs"][0].get("step_time_s")

    def loads(self):
        return f"{self.load[0]:.1f} to {self.load[1]:.1f}"

    def in_short(self):
        rows = [f"{name_of(run)} {percent(twin['step_time_s'] / run['step_time_s'])} %" for twin, run in self.pairs()]
        rows += [f"{name_of(run)} not run" for run in self.not_run()]
        return ", ".join(rows)


class Sweep:
    """All-reduces over sizes on one wire, and what the simulator's alpha and rate say of them."""

    def __init__(self, wire, predicted, measured, load):
        self.wire, self.measured, self.load = wire, measured, load
        self.lines = {}  # ranks -> (alpha, seconds per byte)
        for run in predicted["runs"]:
            buckets = sorted(run.get("buckets", []), key=lambda bucket: bucket["bytes"])
            if len(buckets) < 2:
                continue
            small, large = buckets[0], buckets[-1]
            # The simulator's time is a straight line over bytes: two of its own buckets give the line.
            slope = (large["transfer_s"] - small["transfer_s"]) / (large["bytes"] - small["bytes"])
            self.lines[run["gpus"]] = (small["transfer_s"] - slope * small["bytes"], slope)

    def points(self):
        for row in self.measured["rows"]:
            if row.get("collective", row.get("what")) == "all_reduce" and row["ranks"] in self.lines:
                yield row

    @staticmethod
    def time_of(row):
        return row.get("time_s")

    def expected(self, row):
        alpha, slope = self.lines[row["ranks"]]
        return alpha + slope * row["bytes"]

    def in_short(self):
        large = [row for row in self.points() if self.time_of(row) and row["bytes"] >= 1 << 20]
        if not large:
            return "no message of 1 MiB or more"
        errors = [abs(self.expected(row) / self.time_of(row) - 1) for row in large]
        return f"from 1 MiB on {100 * sum(errors) / len(errors):.1f} % off on average, {100 * max(errors):.1f} % at most"

    def text(self):
        rows = {}
        for row in self.points():
            rows.setdefault(row["bytes"], {})[(row["ranks"], row["in_flight"])] = row
        columns = sorted({key for cells in rows.values() for key in cells}, key=lambda key: (key[0], key[1]))
        head = ["bytes"] + [f"{ranks} ranks{', two in flight' if flight > 1 else ''}" for ranks, flight in columns]
        lines = []
        for size in sorted(rows):
            line = [f"{size}"]
            for key in columns:
                row = rows[size].get(key)
                taken = self.time_of(row) if row else None
                line.append(f"{ms(taken)} ({ms(self.expected(row))}, {percent(self.expected(row) / taken)} %)" if taken
                            else "-")
            if set(line[1:]) != {"-"}:
                lines.append(line)
        return (f"Link {self.wire}, load {self.load[0]:.1f} to {self.load[1]:.1f}; ms for each all-reduce, in brackets "
                f"expected and its error; {self.in_short()}:\n\n" + table(head, lines))


@dataclass
class Overhead:
    pairs: list  # seconds of a bare step, seconds of the runner's
    load: tuple

    def median_s(self):
        differences = sorted(runner - bare for bare, runner in self.pairs)
        return differences[len(differences) // 2]

    def in_short(self):
        return f"{self.median_s() * 1e6:.1f} us a step"

    def text(self):
        bare = sorted(one for one, _ in self.pairs)[len(self.pairs) // 2]
        runner = sorted(one for _, one in self.pairs)[len(self.pairs) // 2]
        lowest, *_, highest = sorted(runner - bare for bare, runner in self.pairs)
        return (f"`tiny-mlp-cpu` has a step of {bare * 1e6:.1f} us as a bare loop of LibTorch's operators "
                f"(`tests/testbed/bare_loop.cpp`) and of {runner * 1e6:.1f} us through `lockstep measure`: the runner takes "
                f"**{self.median_s() * 1e6:.1f} us a step** for modules, clocks and records (median of {len(self.pairs)} "
                f"pairs in turns, {lowest * 1e6:.1f} to {highest * 1e6:.1f}; load {self.load[0]:.1f} to "
                f"{self.load[1]:.1f}).\n")


INTRODUCTION = """\
# Measured on one machine

What `./lockstep.sh testbed` found: network namespaces on one machine, joined by a bridge, each link shaped by tbf
(`tests/testbed/in_namespaces.sh`), one rank in each. The `.yaml` files here are the questions; `NAME.predicted.json` and
`NAME.measured.json` the answers, to be held against each other by `lockstep compare`. This page is written by the command;
every figure on it is of one run.

```console
{command}
```

{date}, {seconds:.0f} s; {machine}.
The load beside a figure is that of the machine before and after, all programs counted: a quiet machine has about the number of
ranks that compute.

*real*: ranks compute on the CPU; the step of one rank is measured in the same run and given to the prediction
(`calibrate.single_gpu`); network, buckets, copies and waits are predicted. *paced*: nothing of the prediction is fitted to this
machine; computing waits for its modelled time, `--dilate` K times as long, on a link K times as slow. Reducer, buckets, Gloo,
ranks and links are real. What that can prove and what not: `docs/interface.md`, "Paced runs".

*constant* is the simplest guess, that a step takes as long as on one rank. Errors are prediction / measurement - 1, in per
cent. *late* is the longest time by which a CPU came late to a wait, in per cent of a step: the error that K leaves.
"""


@dataclass
class Book:
    quick: bool
    date: str
    seconds: float = 0
    outcomes: list = field(default_factory=list)
    sweeps: list = field(default_factory=list)
    overheads: list = field(default_factory=list)
    failures: list = field(default_factory=list)

    def machine(self):
        for one in self.outcomes + self.sweeps:
            facts = anonymous(one.measured)["machine"]
            software = ", ".join(f"{name} {version}" for name, version in one.measured.get("software", {}).items())
            return (f"{facts.get('cpu', 'a CPU')}, {facts.get('cores')} cores, "
                    f"{int(facts.get('memory_bytes', 0)) / 1e9:.0f} GB, {facts.get('kernel', '')}, {software}")
        return "nothing was measured"

    # Mean and worst |error| of the rows, and of the constant.
    def summary(self, paced):
        errors, constants = [], []
        for one in self.outcomes:
            if bool(one.dilate) != paced:
                continue
            single = row_of(one.predicted, "single", 1)["step_time_s"]
            for twin, run in one.pairs():
                errors.append(abs(twin["step_time_s"] / run["step_time_s"] - 1) * 100)
                constants.append(abs(single / run["step_time_s"] - 1) * 100)
        return (f"\n{len(errors)} rows: {sum(errors) / len(errors):.1f} % off on average, {max(errors):.1f} % at most; the constant "
                f"{sum(constants) / len(constants):.0f} and {max(constants):.0f} %.\n")

    def real_table(self):
        rows = []
        for one in self.outcomes:
            if one.dilate:
                continue
            for twin, run in one.pairs():
                rows.append([one.case.name, one.case.about, name_of(run), ms(one.constant_s()), ms(twin["step_time_s"]),
                             ms(run["step_time_s"]), percent(twin["step_time_s"] / run["step_time_s"]),
                             percent(one.constant_s() / run["step_time_s"]), one.loads()])
        head = ["case", "what", "row", "one rank ms", "predicted ms", "measured ms", "error", "constant", "load"]
        return table(head, rows) if rows else ""

    def paced_table(self):
        rows = []
        for one in self.outcomes:
            if not one.dilate:
                continue
            for twin, run in one.pairs():
                single = row_of(one.predicted, "single", 1)["step_time_s"]
                steps = sum(len(sample["step_times_s"]) for sample in run["samples"])
                rows.append([one.case.name, one.case.about, name_of(run), f"{one.dilate}", f"{steps}",
                             ms(twin["step_time_s"]), ms(run["step_time_s"]),
                             percent(twin["step_time_s"] / run["step_time_s"]), percent(single / run["step_time_s"]),
                             lateness(run), one.loads()])
        head = ["case", "what", "row", "K", "steps", "predicted ms", "measured ms", "error", "constant", "late", "load"]
        return table(head, rows) if rows else ""

    # With drawn jitter both have the same draws: their steps can be held against each other one by one.
    def step_by_step(self):
        lines = []
        for one in self.outcomes:
            if not one.dilate or "jitter" not in str(one.case.settings):
                continue
            for twin, run in one.pairs():
                warm_up = len(run["warm_up_step_times_s"])
                expected = all_steps(twin)[warm_up:]
                taken = run["samples"][0]["step_times_s"]
                each = [f"{percent(e / t)}" for e, t in zip(expected, taken)]
                spread = f"{ms(min(taken))} to {ms(max(taken))} ms"
                lines.append(f"Step by step, `{one.case.name}` ({spread}): {', '.join(each)} %.")
        return "\n".join(lines)

    # Where the paced twin and its prediction part: bucket by bucket.
    def buckets(self):
        text = ""
        for one in self.outcomes:
            if one.case.name != "paced-resnet50-8":
                continue
            for twin, run in one.pairs():
                rows = []
                for mine, theirs in zip(twin.get("buckets", []), run.get("buckets", [])):
                    rows.append([f"{mine['index']}", f"{mine['bytes']}"] + [
                        f"{ms(mine[key])} / {ms(theirs[key])}" for key in ("ready_s", "start_s", "transfer_s", "end_s")])
                head = ["bucket", "bytes", "ready", "start", "transfer", "end"]
                text += table([head[0], head[1]] + [f"{word} ms" for word in head[2:]], rows)
        return text

    def parts(self):
        for one in self.outcomes:
            if one.case.name == "paced-resnet50-8":
                for twin, run in one.pairs():
                    causes = sorted(set(twin["breakdown_s"]) | set(run["breakdown_s"]),
                                    key=lambda cause: -abs(twin["breakdown_s"].get(cause, 0)))
                    return table(["part", "predicted ms", "measured ms"],
                                 [[cause, ms(twin["breakdown_s"].get(cause, 0)), ms(run["breakdown_s"].get(cause, 0))]
                                  for cause in causes])
        return ""

    def not_run(self):
        lines = {}
        for one in self.outcomes:
            for run in one.not_run():
                lines.setdefault(run["not_run"], []).append(f"{one.case.name} ({name_of(run)})")
        lines = [f"- {', '.join(names)}: {reason}." for reason, names in lines.items()]
        lines += [f"- {name} failed: {reason}" for name, reason in self.failures]
        return "\n".join(lines)

    def text(self):
        command = "# ./lockstep.sh testbed" + (" --quick" if self.quick else "") + " --out scenarios/measured"
        text = INTRODUCTION.format(command=command, date=self.date, seconds=self.seconds, machine=self.machine())
        if real := self.real_table():
            text += "\n## Real training\n\n" + real + self.summary(paced=False)
        if paced := self.paced_table():
            text += "\n## Paced training\n\n" + paced + self.summary(paced=True)
        if steps := self.step_by_step():
            text += "\n" + steps + "\n"
        if buckets := self.buckets():
            text += ("\nThe buckets of `paced-resnet50-8`, predicted / measured (of the pass with marks), and the parts of "
                     "its step (a paced run counts contention and copies as backward):\n\n" + buckets + "\n" + self.parts())
        if self.sweeps:
            text += "\n## All-reduce of Gloo\n\n" + "\n".join(sweep.text() for sweep in self.sweeps)
        for overhead in self.overheads:
            text += "\n## The runner's own time\n\n" + overhead.text()
        if missing := self.not_run():
            text += "\n## Not run\n\n" + missing + "\n"
        return text
