#!/usr/bin/env python3
"""Measures the time that `joule run` adds to a command, by running `true`, `joule run -- true` and similar programs in turns.

`timeout 9 true` shows the cost of any program that starts another one and waits for it.

Prints a table and one JSON line: medians of whole processes in microseconds, and the peak memory that the kernel reports
for joule. A program that is not installed is "not measured".
"""
import json
import os
import shutil
import statistics
import sys
import time

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "300"))
# GPU sources are left out, because the start of a vendor's library is not joule's cost.
RUN = ["run", "--sources=-nvml,-thermal", "--"]


def spawn(argv, null):
    return os.posix_spawn(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])


def run_once(argv, null):
    """Returns the wall-clock microseconds of one run, with its output discarded."""
    begin = time.perf_counter_ns()
    _, status = os.waitpid(spawn(argv, null), 0)
    if status != 0:
        sys.exit(f"{' '.join(argv)} ended with status {status}")
    return (time.perf_counter_ns() - begin) / 1000


def peak_kib(argv, null):
    """Returns the peak memory of a process in KiB. The function polls /proc, because rusage would include
    this interpreter's memory, which the child shares until it executes its program."""
    pid, peak = spawn(argv, null), 0
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        try:
            with open(f"/proc/{pid}/status") as status:
                marks = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
            with open(f"/proc/{pid}/cmdline") as cmdline:
                is_itself = "joule" in cmdline.read().split("\0")[0]
            peak = max([peak] + marks) if is_itself else peak
        except OSError:
            pass
        time.sleep(0.002)
    return peak


def main():
    joule = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/tools/joule/joule")
    true = shutil.which("true")
    commands = {"true": [true], "joule run -- true": [joule, *RUN, true]}
    timeout, perf = shutil.which("timeout"), shutil.which("perf")
    if timeout:
        commands["timeout 9 true"] = [timeout, "9", true]
    if perf:
        commands["perf stat -- true"] = [perf, "stat", "--", true]
    null = os.open(os.devnull, os.O_RDWR)
    times = {name: [] for name in commands}
    for argv in commands.values():
        run_once(argv, null)
    for _ in range(ROUNDS):
        for name, argv in commands.items():
            times[name].append(run_once(argv, null))
    base = statistics.median(times["true"])
    print(f"{'command':<22}{'median us':>12}{'added us':>12}{'p90 us':>12}")
    for name, values in times.items():
        median, p90 = statistics.median(values), statistics.quantiles(values, n=10)[8]
        print(f"{name:<22}{median:>12.0f}{median - base:>12.0f}{p90:>12.0f}")
    if not perf:
        print("perf stat -- true     not measured: perf is not installed")
    peak_mib = peak_kib([joule, *RUN, shutil.which("sleep"), "1"], null) / 1024
    print(f"peak memory of joule run: {peak_mib:.2f} MiB")
    print(json.dumps({"bench": "startup", "rounds": ROUNDS, "peak_mib": round(peak_mib, 3),
                      "median_us": {name: round(statistics.median(v), 1) for name, v in times.items()}}))


if __name__ == "__main__":
    main()
