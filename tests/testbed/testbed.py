#!/usr/bin/env python3
"""A cluster on one machine: predictions held against what really happens between network namespaces with shaped links.

    ./lockstep.sh testbed [--quick] [--out DIR] [CASE ...]

Runs the cases of cases.py (all, or those whose names are given), writes CASE.predicted.json and CASE.measured.json into
DIR (build/testbed unless given) and a README.md with the tables, the load of the machine and the command. Needs root;
says so and ends with 77 where it cannot run. Namespaces are removed by in_namespaces.sh, however this ends.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from cases import CASES, SWEEP_RANKS, SWEEP_WIRES
import report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCENARIOS = os.path.join(ROOT, "scenarios", "measured")
IN_NAMESPACES = os.path.join(ROOT, "tests", "testbed", "in_namespaces.sh")
PAYLOAD_SHARE = 1448 / 1514  # of what tbf counts: TCP's payload of a full Ethernet frame


class Failed(Exception):
    pass


def say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


def why_not():
    if os.geteuid() != 0:
        return "it takes root to make network namespaces"
    missing = [name for name in ("ip", "tc", "setpriv", "setsid") if not shutil.which(name)]
    return f"{', '.join(missing)} missing (Debian: iproute2, util-linux)" if missing else None


class Bed:
    def __init__(self, program, out, quick):
        self.program, self.out, self.quick = program, out, quick

    # The command ends when this process does.
    def run(self, words, hosts=0, wire=None):
        # The folder of the scenarios: what is kept names no path of this machine.
        prefix = ["setpriv", "--pdeathsig", "TERM", "--"]
        if hosts:
            prefix += ["bash", IN_NAMESPACES, str(hosts), wire]
        process = subprocess.Popen(prefix + [self.program] + words, cwd=SCENARIOS, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, words_said = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise
        if process.returncode not in (0, 2) or not out:
            raise Failed((words_said.strip() or out.strip() or f"exit code {process.returncode}")[:300])
        return json.loads(out)

    def settings_of(self, case):
        settings = list(case.settings)
        if self.quick:
            settings += case.quick_settings
        elif case.dilate and not any(s.startswith("measure.") for s in settings):
            settings += ["measure.steps=5"]
        elif not case.dilate:
            settings += ["measure.steps=15", "measure.repeats=3"]
        return [word for setting in settings for word in ("--set", setting)]

    def measure(self, case):
        dilate = case.quick_dilate if self.quick else case.dilate
        words = ["measure", case.scenario, "--json"] + self.settings_of(case)
        if dilate:
            words += ["--paced", "--dilate", str(dilate)]
        wire = wire_of(case, dilate or 1) if case.hosts else None
        return self.run(words, case.hosts, wire), dilate, wire

    # Paced: everything is given. Real computing: the measured step of one rank is, as calibrate.single_gpu.
    def predict(self, case, measured):
        words = ["predict", case.scenario, "--json"] + self.settings_of(case)
        single = measured["runs"][0]
        if not case.dilate:
            if "step_time_s" not in single:
                raise Failed(f"one rank was not measured: {single.get('not_run')}")
            words += ["--set", f"calibrate.single_gpu={1 / single['step_time_s']:.6g}it/s"]
        return self.run(words)

    def try_case(self, case):
        load = os.getloadavg()[0]
        start = time.monotonic()
        measured, dilate, wire = self.measure(case)
        seconds = time.monotonic() - start
        predicted = self.predict(case, measured)
        for document, kind in ((predicted, "predicted"), (measured, "measured")):
            with open(os.path.join(self.out, f"{case.name}.{kind}.json"), "w", encoding="utf-8") as file:
                json.dump(report.anonymous(document), file, indent=1)
                file.write("\n")
        return report.Outcome(case, dilate, wire, predicted, measured, (load, os.getloadavg()[0]), seconds)

    def sweep(self, wire):
        ranks = f"gpus={SWEEP_RANKS}"
        settings = ["--set", f"topology.fabric=fabrics/wire-{wire}.yaml", "--set", ranks]
        budget = "40s" if self.quick else "240s"
        load = os.getloadavg()[0]
        measured = self.run(["measure", "ddp-mlp-cpu.yaml", "--bench", "collectives", "--minbytes", "4K", "--maxbytes",
                             "64M", "--stepfactor", "4", "--iters", "10", "--warmup_iters", "1", "--budget", budget,
                             "--json", "--set", "gloo.threads=2"] + settings, max(SWEEP_RANKS), wire)
        predicted = self.run(["predict", "ddp-mlp-cpu.yaml", "--json", "--estimate"] + settings)
        with open(os.path.join(self.out, f"all-reduce-{wire}.measured.json"), "w", encoding="utf-8") as file:
            json.dump(report.anonymous(measured), file, indent=1)
            file.write("\n")
        return report.Sweep(wire, predicted, measured, (load, os.getloadavg()[0]))


    # The same network without the runner and through it, in turns.
    def overhead(self):
        bare = os.path.join(os.path.dirname(self.program), "lockstep-bare-loop")
        load = os.getloadavg()[0]
        pairs = []
        for _ in range(3 if self.quick else 9):
            done = subprocess.run([bare], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Failed(done.stderr.strip()[:300])
            measured = self.run(["measure", "tiny-mlp-cpu.yaml", "--json"])
            pairs.append((float(done.stdout), measured["runs"][0]["step_time_s"]))
        return report.Overhead(pairs, (load, os.getloadavg()[0]))


def fabric_of(case):
    for setting in case.settings:
        if setting.startswith("topology.fabric="):
            return setting.split("=", 1)[1]
    with open(os.path.join(SCENARIOS, case.scenario), encoding="utf-8") as file:
        return re.search(r"fabric: ([^ ,}]+)", file.read())[1]


# tbf's rate on which TCP carries what the scenario's fabric does, K times slower.
def wire_of(case, dilate):
    with open(os.path.join(SCENARIOS, fabric_of(case)), encoding="utf-8") as file:
        rate, unit = re.search(r"nccl: {rate: ([0-9.]+)([MG])B/s", file.read()).groups()
    payload = float(rate) * {"M": 1e6, "G": 1e9}[unit] / dilate
    return f"{round(payload * 8 / PAYLOAD_SHARE / 1000)}kbit"


def arguments():
    parser = argparse.ArgumentParser(prog="./lockstep.sh testbed", description=__doc__.split("\n\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases.py, or 'sweep' or 'overhead'")
    parser.add_argument("--quick", action="store_true", help="shorter runs: all of it in about 12 minutes")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "testbed"), metavar="DIR")
    parser.add_argument("--lockstep", default=os.path.join(ROOT, "build", "release", "bin", "lockstep"))
    chosen = parser.parse_args()
    known = [case.name for case in CASES] + ["sweep", "overhead"]
    for name in chosen.cases:
        if name not in known:
            parser.error(f"there is no case '{name}'; there are {', '.join(known)}")
    return chosen


def stop(number, _frame):
    raise SystemExit(128 + number)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    chosen = arguments()
    if reason := why_not():
        say(f"testbed: skipped: {reason}")
        return 77
    os.makedirs(chosen.out, exist_ok=True)
    bed = Bed(os.path.abspath(chosen.lockstep), chosen.out, chosen.quick)
    book = report.Book(chosen.quick, datetime.date.today().isoformat())
    start = time.monotonic()
    wanted = [case for case in CASES if case.name in chosen.cases or not chosen.cases]
    failures = 0
    for case in wanted:
        say(f"{case.name}: ", end="")
        try:
            outcome = bed.try_case(case)
            book.outcomes.append(outcome)
            say(f"{outcome.seconds:.0f} s, {outcome.in_short()}")
        except Failed as failure:
            failures += 1
            book.failures.append((case.name, str(failure)))
            say(f"failed: {failure}")
    for wire in SWEEP_WIRES if not chosen.cases or "sweep" in chosen.cases else []:
        say(f"all-reduce at {wire}: ", end="")
        try:
            book.sweeps.append(bed.sweep(wire))
            say(book.sweeps[-1].in_short())
        except Failed as failure:
            failures += 1
            book.failures.append((f"all-reduce at {wire}", str(failure)))
            say(f"failed: {failure}")
    if not chosen.cases or "overhead" in chosen.cases:
        say("the runner's own time: ", end="")
        try:
            book.overheads.append(bed.overhead())
            say(book.overheads[-1].in_short())
        except Failed as failure:
            failures += 1
            book.failures.append(("overhead", str(failure)))
            say(f"failed: {failure}")
    book.seconds = time.monotonic() - start
    path = os.path.join(chosen.out, "README.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(book.text())
    print(book.text())
    say(f"testbed: {book.seconds:.0f} s; tables in {os.path.relpath(path)}")
    return 2 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
