#!/usr/bin/env python3
"""Measures the cost of one edge of a region in Python: joule, beside Zeus, pyJoules and CodeCarbon.

usage: python_edges.py [--peers FOLDER] [--rounds N]

An edge is the beginning or the end of a region. The contenders take turns within one process, so that they
see the same load. All have the fake libnvidia-ml of the tests. Zeus and pyJoules also have one CPU package, in
a folder whose path replaces their constant; joule has its model of the CPU instead. The calls of the fake
driver take less than a microsecond, and those of a real one much more, so ratios on real hardware are higher.
CodeCarbon is measured with its cheapest edges, those of a task.

pip installs the packages into FOLDER (default: the build folder). A package that cannot be installed is not
measured. Prints a table and one JSON line: medians in nanoseconds, and how many times joule.region is
cheaper.
"""
import argparse
import contextlib
import importlib
import json
import logging
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("JOULE_BUILD", os.path.join(ROOT, "build", "release")))
PACKAGES = ["zeus==0.16.0", "pyJoules==0.5.1", "codecarbon==3.3.2", "nvidia-ml-py"]
FAKE = os.path.join(BUILD, "tests", "fakes", "nvml", "580")
TURN_S = 0.05  # length of one contender's turn
BOARDS = (1, 8)


def make_machine(root):
    """Writes the files of one CPU package, as joule and as the peers search for them. Returns the peers'
    folder."""
    zone = os.path.join(root, "intel-rapl", "intel-rapl:0")
    os.makedirs(zone)
    for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "1000000")):
        with open(os.path.join(zone, name), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return os.path.dirname(zone)


def joule_contenders():
    """Yields (name, function of a number of regions). Each region has two edges."""
    import joule
    region, tag = joule.region("bench"), "bench"

    def blocks(count):
        for _ in range(count):
            with region:
                pass

    def calls(count):
        for _ in range(count):
            joule.end(joule.begin(tag))

    def measures(count):
        for _ in range(count):
            with joule.measure(tag):
                pass
    yield "joule.region", blocks
    yield "joule.begin, joule.end", calls
    yield "joule.measure (reads sensors)", measures


def zeus_contenders(rapl):
    module = importlib.import_module("zeus.device.cpu.rapl")
    module.RAPL_DIR = rapl
    monitor = importlib.import_module("zeus.monitor").ZeusMonitor()
    devices = f"{len(monitor.gpu_indices)} GPUs, {len(monitor.cpu_indices)} packages"

    def windows(count):
        for _ in range(count):
            monitor.begin_window("bench", sync_execution=False)
            monitor.end_window("bench", sync_execution=False)
    yield f"Zeus window ({devices})", windows


def pyjoules_contenders(rapl):
    importlib.import_module("pyJoules.device.rapl_device").RAPL_API_DIR = rapl
    devices = importlib.import_module("pyJoules.device").DeviceFactory.create_devices()
    meter = importlib.import_module("pyJoules.energy_meter").EnergyMeter(devices)

    def starts(count):
        for _ in range(count):
            meter.start(tag="bench")
            meter.stop()
    yield f"pyJoules start, stop ({len(devices)} devices)", starts


def codecarbon_contenders(_rapl):
    codecarbon = importlib.import_module("codecarbon")
    tracker = codecarbon.OfflineEmissionsTracker(country_iso_code="USA", save_to_file=False, log_level="critical",
                                                 allow_multiple_runs=True)
    number = iter(range(10**9))

    def tasks(count):
        for _ in range(count):
            name = str(next(number))
            tracker.start_task(name)
            tracker.stop_task(name)
    tasks(1)  # the first task examines the machine
    yield "CodeCarbon task", tasks


def contenders(rapl):
    """Returns {name: function} and {name: reason} of the packages that are not measured."""
    found, absent = dict(joule_contenders()), {}
    for name, make in (("Zeus", zeus_contenders), ("pyJoules", pyjoules_contenders), ("CodeCarbon", codecarbon_contenders)):
        try:
            found.update(make(rapl))
        except Exception as error:  # each package fails in its own way
            absent[name] = f"{type(error).__name__}: {error}"
    return found, absent


def measure(found, rounds):
    """Returns {name: nanoseconds of an edge in each round}."""
    counts, times = {}, {name: [] for name in found}
    for name, run in found.items():
        begin = time.perf_counter()
        run(3)
        counts[name] = max(2, int(3 * TURN_S / (time.perf_counter() - begin)))
    for _ in range(rounds):
        for name, run in found.items():
            begin = time.perf_counter_ns()
            run(counts[name])
            times[name].append((time.perf_counter_ns() - begin) / counts[name] / 2)
    return times


def child(boards, rounds):
    """Measures with this number of fake boards, and prints a table."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as root, open(os.devnull, "w", encoding="utf-8") as null:
        rapl = make_machine(root)
        with contextlib.redirect_stdout(null):
            found, absent = contenders(rapl)
            times = measure(found, rounds)
        for process in multiprocessing.active_children():  # Zeus has one for each package
            process.terminate()
            process.join()
    own = statistics.median(times["joule.region"])
    print(f"\n{boards} fake {'GPU' if boards == 1 else 'GPUs'}, 1 CPU package, {rounds} rounds")
    print(f"{'edge':<40} {'median ns':>12} {'p90 ns':>12} {'times joule.region':>20}")
    rows = {}
    for name, values in times.items():
        median, p90 = statistics.median(values), statistics.quantiles(values, n=10)[-1]
        rows[name] = round(median, 1)
        print(f"{name:<40} {median:>12.0f} {p90:>12.0f} {median / own:>20.1f}")
    for name, reason in absent.items():
        print(f"{name:<40} not measured: {reason}")
    print(json.dumps({"bench": "python_edges", "boards": boards, "median_ns": rows}))
    sys.stdout.flush()
    os._exit(0)  # threads of the peers may still run


def install(folder):
    """Makes a virtual environment with the packages and joule's wheel, and returns its Python."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for package in PACKAGES:
        if subprocess.run([python, "-m", "pip", "install", "--quiet", package]).returncode != 0:
            print(f"{package} cannot be installed")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--force-reinstall", "--no-deps",
                    os.path.join(ROOT, "bindings", "python")], check=True, env=dict(os.environ, JOULE_BUILD=BUILD))
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peers", default=os.path.join(BUILD, "bench", "python-peers"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--boards", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.boards:
        child(options.boards, options.rounds)
    python = install(options.peers)
    for boards in BOARDS:
        environment = dict(os.environ, PYTHONWARNINGS="ignore", LD_LIBRARY_PATH=FAKE, JOULE_FAKE_NVML=f"boards={boards}; watts=90",
                           JOULE_NVML_LIB=os.path.join(FAKE, "libnvidia-ml.so.1"))
        for name in ("JOULE_LIBRARY", "PYTHONPATH"):
            environment.pop(name, None)
        subprocess.run([python, os.path.abspath(__file__), "--boards", str(boards), "--rounds", str(options.rounds)],
                       env=environment, check=True)


if __name__ == "__main__":
    main()
