#!/usr/bin/env python3
"""Checks regions, budgets and GPUs of the Python package on recorded machines and on a fake libnvidia-ml, and
that its structures are those of the C headers."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import run_support
from python_support import BUILD, FOLDER, Package, skip_if_sanitized
from run_support import JOULE, SOURCE, Machine, patient

WATTS = 40
FAKE = os.path.join(BUILD, "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1")

# A fake PyTorch: counts how often the package waits for each device. Device 1 has no memory, so it is not used.
TORCH = """
import sys, types
torch = types.ModuleType("torch")
class cuda:
    waits = []
    is_available = staticmethod(lambda: True)
    is_initialized = staticmethod(lambda: True)
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 3)
    memory_reserved = staticmethod(lambda device: 1024 if device == 2 else 0)
    synchronize = staticmethod(lambda device: cuda.waits.append(device))
torch.cuda = cuda
sys.modules["torch"] = torch
"""


def setUpModule():
    global PACKAGE
    PACKAGE = Package()


def tearDownModule():
    PACKAGE.__exit__()


class Regions(unittest.TestCase):
    SHARES = """
import sys, threading, time, joule
if sys.argv[1] == "python":
    sys.modules["joule._edges"] = None
from joule import regions
assert (regions._Edges.__name__ == "Edges") == (sys.argv[1] == "compiled"), regions._Edges
joule.default_meter().sample(); time.sleep(0.3)
outer, inner = joule.region("outer"), joule.region("inner")
with outer:
    for _ in range(3):
        with inner: time.sleep(0.1)
    time.sleep(0.3)
one = joule.begin("one"); time.sleep(0.2); joule.end(one)
try: joule.end(one); raise AssertionError("ended twice")
except joule.JouleError as error: assert error.status == "invalid"
time.sleep(0.3)
a, b = outer.result(), inner.result()
assert (a.count, b.count) == (1, 3), (a.count, b.count)
print(a.joules.value / a.seconds, b.joules.value / b.seconds, (a.self_joules.value + b.joules.value) / a.seconds,
      one.result().window_joules.value / one.result().seconds)

def recurse(depth):
    with inner:
        if depth: recurse(depth - 1)
recurse(20)
def work():
    for _ in range(1000):
        with outer: pass
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
time.sleep(0.3)
assert (outer.result().count, inner.result().count) == (4001, 24), (outer.result().count, inner.result().count)
try: inner.__exit__(None, None, None); raise AssertionError("ended without a beginning")
except RuntimeError: pass
"""

    def need_compiled_edges(self):
        if not os.path.exists(os.path.join(PACKAGE.folder, "joule", "_edges.abi3.so")):
            self.skipTest("the wheel has no compiled edges, because this Python has no headers")

    def shares(self, kind):
        with Machine(WATTS) as machine:
            for watts in PACKAGE.run(self.SHARES, kind, JOULE_ROOT=machine.root).split():
                self.assertAlmostEqual(float(watts), WATTS, delta=WATTS * 0.12)

    @patient
    def test_nested_regions_share_the_energy(self):
        self.need_compiled_edges()
        self.shares("compiled")

    @patient
    def test_regions_without_compiled_edges_are_equal(self):
        self.shares("python")

    def test_compiled_edges_load_into_other_versions_of_python(self):
        self.need_compiled_edges()
        code = "from joule import regions; print(regions._Edges.__name__)"
        tried = 0
        for minor in (9, 10, 12, 13):
            python = shutil.which(f"python3.{minor}")
            if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode != 0:
                continue
            tried += 1
            self.assertEqual(PACKAGE.run(code, python=python).strip(), "Edges")
        if not tried:
            self.skipTest("there is only one version of Python")

    def test_joule_run_reports_the_regions(self):
        code = "import joule, time\nwith joule.region('loop'): time.sleep(0.2)\nwith joule.measure('m') as m: time.sleep(0.2)\nprint(m)"
        done = subprocess.run([JOULE, "run", "--", sys.executable, "-c", code], env=PACKAGE.environment(),
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^m: [0-9.]+ m?J")
        self.assertRegex(done.stderr, r"\n +loop +")


class Budgets(unittest.TestCase):
    def test_exceeded_budget_raises_at_the_checking_point(self):
        code = """
import time, joule
seen = []
try:
    with joule.budget("10 J") as budget:
        for step in range(100):
            time.sleep(0.05); budget.check()
    raise AssertionError("not raised")
except joule.BudgetExceeded as error:
    assert error.joules.value > 9 and error.limit == 10 and error.status == "over_budget", error
    print(step, error)
with joule.budget(1e6) as large:
    time.sleep(0.3)
assert large.status == "within_budget" and not large.is_exceeded and large.remaining_joules > 9e5
assert large.probability > 0.99
with joule.budget(joules=2, on_exceeded=lambda b: seen.append(b.joules.value)) as called:
    time.sleep(0.4)
assert len(seen) == 1 and seen[0] > 2 and called.is_exceeded, seen
for wrong in (lambda: joule.budget("10 W"), lambda: joule.budget(1, on_exceeded="explode")):
    try: wrong(); raise AssertionError("not refused")
    except ValueError: pass
try: joule.budget().__enter__(); raise AssertionError("no limit")
except joule.JouleError as error: assert error.status == "invalid"
left_open = joule.budget(1e9, on_exceeded=print).__enter__()  # ends at exit
"""
        with Machine(WATTS) as machine:
            step, text = PACKAGE.run(code, JOULE_ROOT=machine.root).split(" ", 1)
        self.assertLess(int(step), 99)
        self.assertRegex(text, r"budget of 10\.0 J is exceeded: used [0-9.]+ J \(")

    def test_stop_ends_the_process(self):
        code = "import time, joule\nwith joule.budget(2, on_exceeded='stop'): time.sleep(10)"
        with Machine(WATTS) as machine:
            PACKAGE.run(code, JOULE_ROOT=machine.root, status=-15)


class Gpu(unittest.TestCase):
    def test_gpus_of_the_fake_driver_have_their_power(self):
        code = """
import json, time, joule
from energy_benchmark import EnergyBenchmark
boards = [d for d in joule.devices() if d.name.startswith("gpu:")]
assert [b.model for b in boards] == ["NVIDIA Fake H200"] * 2 and boards[0].memory_total_bytes == 143771 << 20
bench = EnergyBenchmark()
@bench.measure(flops=1e12)
def work(): time.sleep(1.5)
work()
m, = bench.results
print(m.gpu_joules.value / m.seconds, m.devices["gpu:1"].value / m.seconds, m.gpu_utilisation, m.gpu_joules.cls)
bench.print_results()
"""
        text = PACKAGE.run(code, JOULE_NVML_LIB=FAKE, JOULE_FAKE_NVML="boards=2; watts=90; peak_watts=190; duty=1")
        both, second, busy, cls = text.split()[:4]
        self.assertAlmostEqual(float(both), 2 * 190, delta=38)
        self.assertAlmostEqual(float(second), 190, delta=19)
        self.assertAlmostEqual(float(busy), 1, delta=0.2)
        self.assertEqual(cls, "measured")
        self.assertRegex(text, r"work .* [0-9]+ % ")

    def test_first_region_of_a_process_has_the_energy_of_the_gpus(self):
        code = """
import time, joule
with joule.region("first"): time.sleep(1)
time.sleep(0.4)
result = joule.region("first").result()
print(result.gpu_joules.value / result.seconds, result.coverage)
"""
        watts, coverage = PACKAGE.run(code, JOULE_NVML_LIB=FAKE, JOULE_FAKE_NVML="boards=2; watts=90").split()
        self.assertAlmostEqual(float(watts), 180, delta=18)
        self.assertGreater(float(coverage), 0.95)

    def test_fake_pytorch_is_synchronised_at_both_edges(self):
        code = TORCH + """
import joule
with joule.measure("m"): assert cuda.waits == [0, 2], cuda.waits
assert cuda.waits == [0, 2] * 2, cuda.waits
cuda.waits.clear()
with joule.region("kernel", devices="gpu"): pass
assert cuda.waits[-4:] == [0, 2] * 2, cuda.waits
cuda.waits.clear()
with joule.region("anything"): pass
with joule.measure("m", synchronise=False): pass
assert cuda.waits == [], cuda.waits
cuda.is_initialized = staticmethod(lambda: False)
with joule.measure("m"): pass
assert cuda.waits == [], cuda.waits  # waiting would create a context
"""
        PACKAGE.run(code)

    def test_torch_is_never_imported(self):
        code = "import sys, joule\nwith joule.measure(): pass\nprint('torch' in sys.modules)"
        self.assertEqual(PACKAGE.run(code).strip(), "False")


class Interface(unittest.TestCase):
    def test_structures_are_those_of_the_headers(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler")
        names = {"Error": "joule_error", "QuantityStruct": "joule_quantity", "Region": "joule_region",
                 "Result": "joule_result", "Options": "joule_options", "Domain": "joule_domain", "Device": "joule_device",
                 "BudgetOptions": "joule_budget_options", "BudgetResult": "joule_budget_result"}
        listed = f"import ctypes\nfrom joule import _native as n\nfor own, c in {names!r}.items():\n" \
                 "    for f, *_ in getattr(n, own)._fields_:\n" \
                 "        print(c, f, getattr(getattr(n, own), f).offset)\n    print(c, 'end', ctypes.sizeof(getattr(n, own)))"
        rows = [line.split() for line in PACKAGE.run(listed).splitlines()]
        lines = "".join(f'printf("%s %s %zu\\n", "{c}", "{field}", sizeof({c}));' if field == "end" else
                        f'printf("%s %s %zu\\n", "{c}", "{field}", offsetof({c}, {field}));' for c, field, _ in rows)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "offsets")
            text = f"#include <stdio.h>\n#include <joule/joule.h>\nint main(void) {{ {lines} return 0; }}\n"
            subprocess.run([compiler, "-x", "c", "-", "-I", os.path.join(SOURCE, "include"), "-o", program], input=text,
                           text=True, check=True, timeout=60)
            offsets = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split() for line in offsets.splitlines()], rows)

    def test_names_and_numbers_are_those_of_the_headers(self):
        folder = os.path.join(SOURCE, "include", "joule")
        headers = "".join(run_support.read_file(os.path.join(folder, name)) for name in sorted(os.listdir(folder)))
        code = "from joule import _native as n, budgets; print(*n.STATUS_NAMES, sep=','); print(n.CLASS_NAMES, budgets.OVER);" \
               "lib = n.library(); print(*[lib.joule_budget_status_name(i).decode() for i in range(6)])"
        statuses, classes, _ = PACKAGE.run(code).splitlines()
        wanted = re.findall(r"^    JOULE_([A-Z_]+) = (\d),", headers[headers.index("typedef enum joule_status"):], re.M)[:9]
        self.assertEqual([name.lower().replace("_", " ") for name, _ in wanted], statuses.split(","))
        wanted = [name.lower() for name in re.findall(r"JOULE_CLASS_([A-Z]+) = \d", headers)]
        self.assertEqual(classes, f"{tuple(wanted)!r} {re.search(r'JOULE_BUDGET_OVER = ([0-9])', headers).group(1)}")

    def test_types_are_correct(self):
        if subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode != 0:
            self.skipTest("mypy is not installed")
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", os.path.join(FOLDER, "pyproject.toml"),
                               "--cache-dir", os.devnull, os.path.join(FOLDER, "src")], cwd=FOLDER, capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)


class Output(unittest.TestCase):
    def test_quantities_print_with_interval_and_class(self):
        code = """
import math
from joule import Quantity
from joule.quantity import total, unknown
print(Quantity(12.34, 11.8, 12.9, "measured"), Quantity(0.0123, 0.01, 0.02, "derived"), Quantity(1530, 1400, 1700, "modelled", "W"),
      unknown(), Quantity(0.0, 0.0, 0.0, "measured"), Quantity(3.5, 3, 4, "derived", "samples/J"), sep="|")
assert math.isnan(total([]).value) and not total([unknown(), Quantity(1, 1, 1, "measured")]).is_known
assert total([Quantity(1, 0, 2, "measured"), Quantity(2, 1, 3, "modelled")]) == Quantity(3, 1, 5, "modelled")
assert Quantity(2, 1, 4, "measured").inverse(8, "x/J") == Quantity(4, 2, 8, "measured", "x/J")
assert not Quantity(0.0, 0.0, 0.0, "measured").inverse(8, "x/J").is_known
assert unknown().to_dict()["value"] is None
"""
        self.assertEqual(PACKAGE.run(code).strip(), "12.3 J (11.8 to 12.9, measured)|12.3 mJ (10.0 to 20.0, derived)|"
                         "1.53 kW (1.40 to 1.70, modelled)|unknown|0 J (0 to 0, measured)|3.5 samples/J (3 to 4, derived)")

    def test_jupyter_shows_the_skyline(self):
        code = """
import time, xml.dom.minidom, joule
with joule.measure("<name>") as m: time.sleep(0.4)
html = m._repr_html_()
xml.dom.minidom.parseString(html)
assert "&lt;name&gt;" in html and "<svg" in html and "cpu:0" in html
print(html.count("L"))
"""
        with Machine(WATTS) as machine:
            self.assertGreater(int(PACKAGE.run(code, JOULE_ROOT=machine.root)), 8)

    def test_frame_of_pandas_has_a_row_for_each_measurement(self):
        if subprocess.run([sys.executable, "-c", "import pandas"], capture_output=True).returncode != 0:
            self.skipTest("pandas is not installed")
        code = "import joule\nwith joule.measure('a') as m: pass\nprint(len(joule.to_frame([m, m])), 'joules' in joule.to_frame([m]))"
        self.assertEqual(PACKAGE.run(code).strip(), "2 True")


if __name__ == "__main__":
    skip_if_sanitized()
    run_support.main()
