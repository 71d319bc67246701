#!/usr/bin/env python3
"""Checks joule.compat: code that was written for Zeus and for CodeCarbon runs with one changed import.

The examples are those of the projects themselves. pip downloads their archives into the build folder; if that
fails, these tests are skipped. JAX is replaced by a fake module of a few lines.
"""
import csv
import glob
import os
import re
import subprocess
import sys
import tarfile
import unittest
import zipfile

import run_support
from python_support import BUILD, Package, skip_if_sanitized
from run_support import Machine, patient

WATTS = 40
FAKE = os.path.join(BUILD, "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1")
PEERS = os.path.join(BUILD, "tests", "python-peers")
ARCHIVES = {"zeus": ("zeus==0.16.0", "--only-binary=:all:"), "codecarbon": ("codecarbon==3.3.2", "--no-binary=codecarbon")}

# Puts the shim in the place of the other package, which is not installed.
REPLACE = """
import sys, types, joule.compat.zeus, joule.compat.codecarbon
sys.modules["zeus"] = types.ModuleType("zeus")
sys.modules["zeus.monitor"] = joule.compat.zeus
sys.modules["codecarbon"] = joule.compat.codecarbon
"""
# A fake JAX: enough for the example of Zeus.
JAX = """
import time
calls = []
class Number(float):
    def __add__(self, other): return Number(float(self) + other)
    def __matmul__(self, other): return self
class Array:
    def __matmul__(self, other): return other
def jit(function): return function
def device_put(value, device=None): return Number(value)
def devices(kind=None): return ["gpu"]
def block_until_ready(values): calls.append(len(values)); time.sleep(0.2); return values
class numpy: ones = staticmethod(lambda shape: Array())
class random: PRNGKey = staticmethod(lambda seed: seed); uniform = staticmethod(lambda key, shape: Array())
"""


def archive_of(name):
    """Returns the folder with the contents of a project's archive; skips the test if it cannot be had."""
    folder = os.path.join(PEERS, name)
    if not os.path.isdir(folder):
        requirement, option = ARCHIVES[name]
        download = os.path.join(PEERS, "download")
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", option, "--timeout", "15",
                               "--retries", "1", "--dest", download, requirement], capture_output=True, text=True,
                              timeout=180)
        if done.returncode != 0:
            raise unittest.SkipTest(f"{requirement} cannot be downloaded: {done.stderr.strip().splitlines()[-1:]}")
        path, = glob.glob(os.path.join(download, f"{name}-*"))
        opened = zipfile.ZipFile(path) if path.endswith(".whl") else tarfile.open(path)
        with opened as archive:
            archive.extractall(folder)
    return folder


def setUpModule():
    global PACKAGE
    PACKAGE = Package()


def tearDownModule():
    PACKAGE.__exit__()


class Zeus(unittest.TestCase):
    def test_example_in_the_documentation_of_zeus_monitor_runs(self):
        with open(os.path.join(archive_of("zeus"), "zeus", "monitor", "energy.py"), encoding="utf-8") as file:
            example = re.search(r"## Integration Example\s+```python\n(.*?)```", file.read(), re.S).group(1)
        lines = [line[4:] for line in example.replace("\\", "").replace("sleep(5)", "sleep(1)").splitlines()]
        variables = {"JOULE_NVML_LIB": FAKE, "JOULE_FAKE_NVML": "boards=4; watts=90"}
        text = PACKAGE.run(REPLACE + "\n".join(lines), **variables)
        joules = [float(number) for number in re.findall(r"consumed ([0-9.]+) Joules", text)]
        self.assertEqual(len(joules), 5)
        self.assertAlmostEqual(joules[0], 4 * 90, delta=36)
        for board in joules[1:]:
            self.assertAlmostEqual(board, 90, delta=9)

    def test_example_of_zeus_with_jax_runs(self):
        path = os.path.join(archive_of("zeus"), "examples", "jax", "measure_energy.py")
        with open(path, encoding="utf-8") as file:
            example = file.read()
        prepare = f"{REPLACE}\njax = types.ModuleType('jax'); exec({JAX!r}, jax.__dict__)\n" \
                  "sys.modules['jax'], sys.modules['jax.numpy'] = jax, jax.numpy\n"
        script = prepare + f"exec(compile({example!r}, 'measure_energy.py', 'exec'))\nassert jax.calls == [1, 1]\n"
        text = PACKAGE.run(script, JOULE_NVML_LIB=FAKE, JOULE_FAKE_NVML="boards=1; watts=90")
        seconds = float(re.search(r"Took ([0-9.]+) seconds", text).group(1))
        joules = float(re.search(r"GPU 0 consumed ([0-9.]+) Joules", text).group(1))
        self.assertAlmostEqual(joules / seconds, 90, delta=20)

    @patient
    def test_windows_have_the_energy_of_the_packages(self):
        code = """
import math, time
from joule.compat.zeus import ZeusMonitor
monitor = ZeusMonitor(log_file="log/zeus.csv")
monitor.begin_window("outer"); monitor.begin_window("inner"); time.sleep(0.4)
inner = monitor.end_window("inner"); time.sleep(0.2)
outer = monitor.end_window("outer")
assert inner.time < outer.time and monitor.gpu_indices == [] and monitor.cpu_indices == [0]
assert inner.gpu_energy == {} and math.isnan(inner.total_energy) and inner.dram_energy is None  # unknown, not 0
for action in (lambda: monitor.end_window("inner"), lambda: ZeusMonitor(gpu_indices=[3])):
    try: action(); raise AssertionError("no error")
    except ValueError: pass
monitor.begin_window("again"); monitor.begin_window("again", restart=True)
assert monitor.end_window("again", cancel=True).time == 0
print(inner.cpu_energy[0] / inner.time, outer.cpu_energy[0] / outer.time, outer.machine.cls, repr(inner)[:12])
"""
        with Machine(WATTS) as machine:
            inner, outer, cls, text = PACKAGE.run(code, JOULE_ROOT=machine.root).split()
        for watts in (inner, outer):
            self.assertAlmostEqual(float(watts), WATTS, delta=4)
        self.assertEqual((cls, text), ("measured", "Measurement("[:12]))


class CodeCarbon(unittest.TestCase):
    def rows(self, folder=None):
        with open(os.path.join(folder or PACKAGE.folder, "emissions.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def setUp(self):
        for path in glob.glob(os.path.join(PACKAGE.folder, "emissions.csv*")):
            os.remove(path)

    @patient
    def test_example_of_its_readme_runs(self):
        path, = glob.glob(os.path.join(archive_of("codecarbon"), "*", "README.md"))
        with open(path, encoding="utf-8") as file:
            example = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
        self.assertIn("tracker.stop()", example)
        with Machine(WATTS) as machine:
            text = PACKAGE.run(REPLACE + example.replace("# Your code here", "import time; time.sleep(0.5)"),
                               JOULE_ROOT=machine.root)
        kilograms = float(re.search(r"Emissions: ([0-9.e-]+) kg", text).group(1))
        row, = self.rows()
        self.assertAlmostEqual(kilograms / (WATTS * float(row["duration"]) / 3.6e6 * 0.480), 1, delta=0.1)

    def test_columns_begin_with_those_of_codecarbon(self):
        path, = glob.glob(os.path.join(archive_of("codecarbon"), "*", "codecarbon", "output_methods", "emissions_data.py"))
        with open(path, encoding="utf-8") as file:
            wanted = re.findall(r"^    (\w+): ", file.read().split("@property")[0], re.M)
        code = "from joule.compat.codecarbon import EmissionsData; print(*EmissionsData.__dataclass_fields__)"
        self.assertEqual(PACKAGE.run(code).split()[:len(wanted)], wanted)

    @patient
    def test_energy_and_emissions_follow_from_the_counter(self):
        code = """
import time
from joule.compat.codecarbon import EmissionsTracker, OfflineEmissionsTracker, track_emissions
with EmissionsTracker(project_name="a", pue=1.5, force_carbon_intensity_g_co2e_kwh=100) as tracker:
    time.sleep(0.3)
    assert tracker.flush() > 0
assert tracker.final_emissions == tracker.final_emissions_data.emissions
@track_emissions(offline=True, country_iso_code="FRA", project_name="b", measure_power_secs=3)
def train(x): time.sleep(0.3); return x
assert train(5) == 5
@track_emissions
def plain(): time.sleep(0.2)
plain()
tracker = OfflineEmissionsTracker(country_iso_code="SWE", save_to_file=False)
tracker.start_task("load"); time.sleep(0.2); task = tracker.stop_task("load"); tracker.stop()
assert task.cpu_energy > 0 and task.energy_consumed < tracker.final_emissions_data.energy_consumed
try: OfflineEmissionsTracker(country_iso_code="XXX"); raise AssertionError
except ValueError: pass
"""
        with Machine(WATTS) as machine:
            PACKAGE.run(code, JOULE_ROOT=machine.root)
        first, second, third = self.rows()
        for row, pue, grams in ((first, 1.5, 100), (second, 1, 56.0), (third, 1, 480)):
            kwh = float(row["energy_consumed"])
            self.assertAlmostEqual(kwh * 3.6e6 / float(row["duration"]) / pue, WATTS, delta=4)
            self.assertAlmostEqual(float(row["emissions"]), kwh * grams / 1e3, delta=1e-12)
            self.assertEqual(row["gpu_energy"], "")  # unknown, not 0
            self.assertEqual(row["energy_class"], "measured")
        self.assertEqual((second["country_iso_code"], second["country_name"]), ("FRA", "France"))

    def test_trackers_of_several_threads_write_all_rows(self):
        code = """
import threading, time
from joule.compat.codecarbon import EmissionsTracker
def work():
    with EmissionsTracker(): time.sleep(0.05)
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
"""
        with Machine(WATTS) as machine:
            PACKAGE.run(code, JOULE_ROOT=machine.root)
        self.assertEqual(len(self.rows()), 6)


if __name__ == "__main__":
    skip_if_sanitized()
    run_support.main()
