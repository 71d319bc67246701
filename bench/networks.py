#!/usr/bin/env python3
"""Compares networks and products of TensorForge with ONNX Runtime, PyTorch and OpenBLAS, in interleaved runs.

usage: networks.py [--rounds N] [--seconds S] [--only NAME]... [--python PATH] [--build FOLDER] [--json FILE]
In each round, TensorForge and the peers measure every case in turns, each in a new process. Prints a Markdown table of
medians: the time of each, and the median of the rounds' ratios (peer's time / time of TensorForge). The ratio of a row
is that of the fastest peer that its goal names. A missing peer is skipped.
Note: "other load" is the number of CPUs that other processes used meanwhile. Rows with much other load, above all those
of two threads, do not compare the libraries: a thread that waits for a CPU delays all others.
"""
import argparse
import functools
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {"torch": "PyTorch", "torch-channels_last": "PyTorch, channels_last", "onnxruntime": "ONNX Runtime", "openblas": "OpenBLAS"}
TORCH, BOTH_LAYOUTS = ["torch"], ["torch", "torch-channels_last"]
SQUARES = [(n, n, n) for n in (512, 1024, 2048)]
GPT2 = [(256, 768, 2304), (256, 768, 768), (256, 768, 3072), (256, 3072, 768)]
# The convolutions of ResNet-18 for one image, as products [out channels, in channels * kernel] x [.., pixels].
RESNET18 = [(64, 147, 12544), (64, 576, 3136), (128, 1152, 784), (256, 2304, 196), (512, 4608, 49)]


class Group:
    """Cases that one process of each contestant measures. goal: the ratio; goal_peers: the peers of the goal."""

    def __init__(self, name, title, cases, threads, goal, goal_peers, peers, seconds=None):
        self.name, self.title, self.cases, self.threads = name, title, cases, threads
        self.goal, self.goal_peers, self.peers, self.seconds = goal, goal_peers, peers, seconds
        self.rounds = {case: {} for case in cases}  # case -> contestant -> median times of the rounds, in s
        self.kernels_s = {}  # case -> time of each kernel of TensorForge in the last round, in s
        self.others_s = self.wall_s = 0.0  # CPU time of other processes, and time of all measurements

    def other_cpus(self):
        """Returns the mean number of CPUs that other processes used during the measurements."""
        return max(0.0, self.others_s / self.wall_s) if self.wall_s else math.nan


def groups_of(layers):
    """Returns the groups in the order of the table. layers: of GPT-2 with 1024 tokens."""
    for depth in (18, 50):
        for count in (1, 16):
            for threads in (1, 2):
                yield Group("resnet", f"ResNet-{depth} inference, N={count}", [f"infer:{depth}:{count}"], threads, 1.0,
                            ["onnxruntime"], ["onnxruntime"] + BOTH_LAYOUTS)
    for threads in (1, 2):
        yield Group("resnet-train", "ResNet-18 training step, N=16", ["train:18:16"], threads, 1.1, BOTH_LAYOUTS, BOTH_LAYOUTS)
    yield Group("gpt2", "GPT-2 124M training step, B=4, T=64", ["gpt2:4:64:12"], 2, 1.3, TORCH, TORCH)
    title = f"GPT-2 training step, B=4, T=1024, {layers} of 12 layers"
    yield Group("gpt2-long", title, [f"gpt2:4:1024:{layers}"], 2, 1.3, TORCH, TORCH, 0.1)
    for threads in (1, 2):
        yield Group("mnist", "MNIST CNN, one epoch, batches of 128", ["mnist:128"], threads, 1.3, BOTH_LAYOUTS, BOTH_LAYOUTS, 0.1)
    products = [f"gemm:{m}:{k}:{n}" for m, k, n in SQUARES + GPT2 + RESNET18]
    for threads in (1, 2):
        peers = ["torch", "openblas"]
        yield Group("gemm", "f32 product", products, threads, 1.0, peers, peers, 0.3)
    yield Group("mlp", "mlp 784-128-10, batch 1", ["mlp:1"], 1, 5.0, TORCH, TORCH)
    yield Group("launches", "time per launch, 1000 launches", ["launches:1000"], 1, None, [], TORCH)


# --- running --------------------------------------------------------------------------------------------------


def cases_of(command):
    """Returns the JSON of each case with its median time (median_s), or nothing if the command fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        last = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        print(f"networks.py: cannot measure with {pathlib.Path(command[0]).name} {' '.join(command[1:])}: {last}", file=sys.stderr)
        return []
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [dict(line, median_s=statistics.median(line["times_s"])) for line in lines]


def busy_seconds():
    """Returns the CPU time of all processes since the start of the system, or NaN if it is unknown."""
    try:
        fields = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    except OSError:
        return math.nan
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def with_other_load(run):
    """Calls run. Returns its result, the CPU time of other processes meanwhile, and the time of the call, both in s."""
    begin, busy, own = time.monotonic(), busy_seconds(), os.times()
    result = run()
    after = os.times()
    own_s = sum(after[i] - own[i] for i in range(4))
    return result, busy_seconds() - busy - own_s, time.monotonic() - begin


def run_round(group, commands, seconds, number):
    """Runs all contestants once. The order rotates from round to round."""
    who = ["forge"] + [peer for peer in group.peers if peer in commands]
    for i in range(len(who)):
        name = who[(i + number) % len(who)]
        options = [str(group.threads), str(group.seconds or seconds), *group.cases]
        lines, others_s, wall_s = with_other_load(functools.partial(cases_of, commands[name] + options))
        group.others_s += others_s
        group.wall_s += wall_s
        for line in lines:
            group.rounds[line["case"]].setdefault(name, []).append(line["median_s"])
            group.kernels_s[line["case"]] = line.get("kernels_s", group.kernels_s.get(line["case"]))


def usable_peers(python, groups):
    """Returns the versions of the peers that can be used. Prints a message for each missing peer."""
    versions = {}
    for peer in dict.fromkeys(peer for group in groups for peer in group.peers):
        command = [python, str(ROOT / "bench/networks_peers.py"), peer]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            versions[peer] = result.stdout.strip()
        else:
            reason = (result.stderr.strip().splitlines() or ["unknown reason"])[-1]
            print(f"networks.py: {NAMES[peer]} is not measured: {reason}", file=sys.stderr)
    return versions


# --- the table ------------------------------------------------------------------------------------------------


def show_time(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def ratios_of(times, peers):
    """Returns the ratio of each measured peer: the median over the rounds."""
    pairs = {peer: zip(times[peer], times["forge"]) for peer in peers if times.get(peer) and times.get("forge")}
    return {peer: statistics.median(theirs / ours for theirs, ours in pair) for peer, pair in pairs.items()}


def row_of(group, case):
    """Returns the cells of a row, and its ratio (None: unknown)."""
    times = group.rounds[case]
    title = group.title
    if group.name == "gemm":
        title += " " + case.removeprefix("gemm:").replace(":", " x ")
    ratios = ratios_of(times, group.peers)
    against = [ratios[peer] for peer in group.goal_peers if peer in ratios]
    ratio = min(against) if against else None
    ours = statistics.median(times["forge"]) if times.get("forge") else None
    goal = f"{group.goal} x" if group.goal else "0.3 us"
    is_met = None if ours is None else ours <= 0.3e-6 if not group.goal else None if ratio is None else ratio >= group.goal
    peers = "; ".join(f"{NAMES[peer]} {show_time(statistics.median(times[peer]))} ({ratios[peer]:.2f})" for peer in ratios)
    shown = [title, str(group.threads), goal, show_time(ours) if ours else "unknown", peers or "not measured",
             f"{ratio:.2f}" if ratio else "", f"{group.other_cpus():.2f}", {True: "yes", False: "no", None: "unknown"}[is_met]]
    return shown, ratio


def print_rows(group):
    ratios = []
    for case in group.cases:
        cells, ratio = row_of(group, case)
        ratios.append(ratio)
        print("| " + " | ".join(cells) + " |")
    if len(ratios) > 1 and all(ratios):
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        print(f"| {group.title}: geometric mean | {group.threads} | {group.goal} x | | the better peer | {mean:.2f} |"
              f" {group.other_cpus():.2f} | {'yes' if mean >= group.goal else 'no'} |")
    sys.stdout.flush()


def print_json(groups, versions, path):
    rows = [{"bench": "networks", "case": case, "threads": group.threads, "goal": group.goal, "other_cpus": group.other_cpus(),
             "median_s": group.rounds[case], "kernels_s": group.kernels_s.get(case)}
            for group in groups for case in group.cases]
    lines = "".join(json.dumps(row) + "\n" for row in [{"bench": "networks", "peers": versions}] + rows)
    if path == "-":
        print(lines, end="")
    else:
        pathlib.Path(path).write_text(lines, encoding="utf-8")


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    facts = dict(map(str.strip, line.split(":", 1)) for line in text.splitlines() if ":" in line)
    family = f"family {facts.get('cpu family', '?')}, model {facts.get('model', '?')}"
    return f"{facts.get('model name', platform.machine())} ({family}), {os.cpu_count()} CPUs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="time of each measurement (default: 1)")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="resnet, resnet-train, gpt2, gpt2-long, mnist, gemm, mlp or launches; or a part of a title")
    parser.add_argument("--layers", type=int, default=4, help="layers of GPT-2 with 1024 tokens (default: 4)")
    parser.add_argument("--python", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--build", default=os.environ.get("JOULE_BUILD", str(ROOT / "build/release")))
    parser.add_argument("--json", metavar="FILE", help="also write the medians of all rounds as JSON lines (-: print them)")
    options = parser.parse_args()
    groups = [group for group in groups_of(options.layers)
              if not options.only or any(only == group.name or only in group.title for only in options.only)]
    program = pathlib.Path(options.build) / "bench/bench_networks"
    if not groups or options.rounds < 1 or not program.exists():
        problem = f"{program} is not built" if groups and options.rounds > 0 else "no such case, or no rounds"
        sys.exit(f"networks.py: cannot measure: {problem}")
    versions = usable_peers(options.python, groups)
    commands = {peer: [options.python, str(ROOT / "bench/networks_peers.py"), peer] for peer in versions}
    commands["forge"] = [str(program)]
    print(f"Note: processor: {processor()}. f32. Medians of {options.rounds} interleaved rounds.")
    print("Note: peers: " + ("; ".join(dict.fromkeys(versions.values())) or "none") + ".\n")
    print("| what | threads | goal | TensorForge | peers (ratio) | ratio | other load | goal met |\n|---|---|---|---|---|---|---|---|", flush=True)
    for group in groups:
        for number in range(options.rounds):
            run_round(group, commands, options.seconds, number)
        print_rows(group)
    if options.json:
        print_json(groups, versions, options.json)


if __name__ == "__main__":
    main()
