#!/usr/bin/env python3
"""Finds the compressor that uses the least energy per byte on this machine.

Compresses real files (this repository, the system's C headers and Python library) with `joule run` around each
compressor, several times in turn, and prints a table and a verdict. All joules come from joule's JSON. Needs only Python's
standard library.

Note: two rows with overlapping intervals can still be different. Common errors (the gain of a sensor, the scale of a
model) cancel in their ratio, so only the other errors count.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

TEXT_SUFFIXES = {".c", ".h", ".py", ".md", ".txt", ".json", ".cmake", ".rst", ".html", ".hpp"}
# Standard deviation of the logarithm, from src/joule/cost: the difference between a program's instructions and the model's
# typical mix. It is independent for each program, so it does not cancel. Sensors do not have this error.
MODEL_OWN_SD = 0.3
# 95 % points of Student's t distribution by degrees of freedom.
T95 = {4: 2.13, 5: 2.02, 6: 1.94, 7: 1.89, 8: 1.86}
PRIOR_DEGREES = 4  # weight, in runs, of the pooled variance of all jobs


def jobs(threads):
    """Returns (command, threads) of each job, in the order of the first round."""
    one = ["gzip -1", "gzip -6", "gzip -9", "zstd -1", "zstd -3", "zstd -9", "xz -1"]
    many = [f"zstd -3 -T{threads}", f"zstd -9 -T{threads}", f"xz -1 -T{threads}"]
    return [(command, 1) for command in one] + ([(command, threads) for command in many] if threads > 1 else [])


class Job:
    def __init__(self, command, threads):
        self.command, self.threads = command, threads
        self.joules, self.seconds, self.spread = [], [], []
        self.classes, self.size = set(), 0

    def argv(self):
        # by default zstd uses another thread for reading
        single = ["--single-thread"] if self.command.startswith("zstd") and self.threads == 1 else []
        return self.command.split() + single + ["-c"]

    def take(self, report, size):
        """Adds one run: the measured joules of the machine, or without a sensor the modelled ones of the command."""
        part = report["gross"]
        if part["class"] not in ("measured", "derived") and (report["command"] or {}).get("energy_joules"):
            part = report["command"]
        if not part["energy_joules"]:
            return
        self.joules.append(part["energy_joules"])
        self.spread.append([limit / part["energy_joules"] for limit in part["interval_joules"]])
        self.seconds.append(report["duration_seconds"])
        self.classes.add(part["class"])
        self.size = size

    @property
    def mean(self):
        return math.exp(statistics.mean(math.log(j) for j in self.joules))

    def interval(self):
        """Returns the interval as factors of the mean: that of one run, because most of its error is common to all runs."""
        return [statistics.median(limits) for limits in zip(*self.spread)]

    def own_variance(self):
        return statistics.variance(math.log(j) for j in self.joules) if len(self.joules) > 1 else math.nan


def gather(target, size):
    """Writes a tar file with text files of about `size` bytes, and returns its size."""
    repository = pathlib.Path(__file__).resolve().parent.parent
    roots = [repository / name for name in ("include", "src", "tests", "tools", "docs")]
    roots += [pathlib.Path("/usr/include"), pathlib.Path(os.__file__).parent, pathlib.Path("/usr/share/perl")]
    total = 0
    with tarfile.open(target, "w") as tar:
        for path in (path for root in roots for path in sorted(root.rglob("*"))):
            if path.suffix in TEXT_SUFFIXES and path.is_file() and not path.is_symlink():
                if total + path.stat().st_size > size:
                    continue
                tar.add(path, recursive=False)
                total += path.stat().st_size
                if total > size * 0.98:
                    break
    return target.stat().st_size


def measure(joule, job, data, folder):
    report, packed = folder / "report.json", folder / "packed"
    with open(data, "rb") as source, open(packed, "wb") as out:
        subprocess.run([joule, "run", "--quiet", "--json", report, "--", *job.argv()], stdin=source, stdout=out,
                       check=True)
    job.take(json.loads(report.read_text()), packed.stat().st_size)


def rounds(joule, table, data, folder, count, seconds):
    """Runs all jobs in turn, `count` times or until `seconds` have passed; at least once."""
    started, done = time.monotonic(), 0
    for turn in range(count):
        for job in table:
            if turn and time.monotonic() - started > seconds:
                return
            if sys.stderr.isatty():
                print(f"\r\033[K[{done + 1}/{count * len(table)}] {job.command}", end="", file=sys.stderr, flush=True)
            measure(joule, job, data, folder)
            done += 1


def variances(table):
    """Returns for each job the variance of the logarithm of one run, shrunk towards the pooled variance of all jobs."""
    known = [job.own_variance() for job in table if len(job.joules) > 1]
    pooled = statistics.mean(known) if known else math.nan
    return {job: ((len(job.joules) - 1) * job.own_variance() + PRIOR_DEGREES * pooled)
            / (len(job.joules) - 1 + PRIOR_DEGREES) if len(job.joules) > 1 else pooled for job in table}


def ratio(job, best, variance):
    """Returns (ratio, low, high) of the joules of two jobs; the limits are NaN after only one run."""
    runs = min(len(job.joules), len(best.joules))
    scatter = variance[job] / len(job.joules) + variance[best] / len(best.joules)
    own = 2 * MODEL_OWN_SD ** 2 if "modelled" in job.classes | best.classes and program(job) != program(best) else 0
    half = math.hypot(T95[max(4, min(8, runs + PRIOR_DEGREES - 1))] * math.sqrt(scatter), 1.645 * math.sqrt(own))
    value = job.mean / best.mean
    return value, value * math.exp(-half), value * math.exp(half)


def program(job):
    return job.command.split()[0]


def figure(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def print_table(table, size):
    best, variance = table[0], variances(table)
    print(f"{'':14} {'threads':>7} {'packed to':>9} {'time':>8}   {'energy per byte':<28} times the cheapest")
    for job in table:
        low, high = (job.mean / size * 1e9 * limit for limit in job.interval())
        per_byte = f"{figure(job.mean / size * 1e9):>6} nJ ({figure(low)} to {figure(high)})"
        value, least, most = ratio(job, best, variance)
        against = "1" if job is best else f"{value:.2f} ({least:.2f} to {most:.2f})"
        print(f"{job.command:14} {job.threads:>7} {100 * job.size / size:>7.1f} % {statistics.median(job.seconds):>6.2f} s"
              f"   {per_byte:<28} {against}".rstrip())
    return variance


def verdict(table, variance):
    best, others = table[0], table[1:]
    if any(len(job.joules) < 2 for job in table):
        return "No verdict: for some jobs there was only time for one run."
    open_ = [job.command for job in others if not ratio(job, best, variance)[1] > 1]
    if not open_:
        return f"Cheapest per byte: {best.command}, with at least 95 % probability against each of the others."
    if len(open_) == len(others):
        return f"No verdict: {best.command} has the lowest figure, but the others do not differ significantly."
    return (f"Cheapest per byte: {best.command}, but {', '.join(open_)} do not differ significantly.\n"
            f"Each of the other {len(others) - len(open_)} costs more, with at least 95 % probability.")


def positive(kind):
    """Returns a type for argparse: a number above 0."""
    def read(text):
        value = kind(text)
        if not 0 < value < math.inf:
            raise ValueError
        return value
    read.__name__ = "number above 0"
    return read


def main():
    parser = argparse.ArgumentParser(description="Finds the compressor that uses the least energy per byte on this machine.")
    parser.add_argument("--joule", default="joule", help="the joule program")
    parser.add_argument("--size", type=positive(float), default=24, metavar="MB", help="approximate size of the data (24)")
    parser.add_argument("--rounds", type=positive(int), default=3, help="number of runs of each job (3)")
    parser.add_argument("--seconds", type=float, default=45, help="start no second round after this time (45)")
    options = parser.parse_args()
    table = [Job(command, threads) for command, threads in jobs(len(os.sched_getaffinity(0)))]
    with tempfile.TemporaryDirectory(prefix="joule-demo-") as name:
        folder = pathlib.Path(name)
        size = gather(folder / "files.tar", int(options.size * 1e6))
        print(f"Compressing {size / 1e6:.1f} MB of source text {options.rounds} times with each of {len(table)} jobs;"
              " under a minute.", flush=True)
        rounds(options.joule, table, folder / "files.tar", folder, options.rounds, options.seconds)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    known = sorted((job for job in table if job.joules), key=lambda job: job.mean)
    if not known:
        print("cannot measure the energy of any job; run `joule doctor` for the reason.")
        return 1
    print()
    variance = print_table(known, size)
    print()
    print(verdict(known, variance))
    print("(a to b): contains the true value with 90 % probability.")
    if any("modelled" in job.classes for job in known):
        print("This machine has no energy sensor that can be read. The joules are estimated by a model of its CPU, and may\n"
              "all be wrong by the same factor. Run `joule doctor` for advice.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
