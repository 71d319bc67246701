#!/usr/bin/env python3
"""Checks programs that use libjoule in a real `joule run`: their regions are reported, however the programs
end.

Each child is Python with libjoule loaded by ctypes. Note: counts are exact; other tests check joules.
"""
import json
import os
import subprocess
import tempfile
import unittest

from run_support import JOULE, PYTHON, Machine, main, sanitizer_of, skip

LIBRARY = os.path.join(os.environ["JOULE_BUILD"], "src", "libjoule.so")
CHILDREN = 8
EACH = 200

CHILD = f"""
import ctypes, os, sys, time
joule = ctypes.CDLL({LIBRARY!r})
class Region(ctypes.Structure):
    _fields_ = [("begin_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64), ("tag", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("slot", ctypes.c_uint32), ("owner", ctypes.c_uint32)]
joule.joule_begin.restype = Region
work, unfinished = joule.joule_tag(b"work"), joule.joule_tag(b"unfinished")
for _ in range({EACH}):
    region = joule.joule_begin(work)
    time.sleep(0.001)
    assert joule.joule_end(ctypes.byref(region)) == 0
if sys.argv[1] == "dies":
    region = joule.joule_begin(unfinished)
    os.kill(os.getpid(), 9)
"""

BUDGETED = CHILD[:CHILD.index("work, unfinished")] + """
class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("domain", ctypes.c_int32),
                ("tag", ctypes.c_uint32), ("max_joules", ctypes.c_double), ("max_watts", ctypes.c_double),
                ("max_temperature_rise_kelvin", ctypes.c_double), ("notify", ctypes.c_void_p), ("context", ctypes.c_void_p)]
for name, joules in ((b"tight", 1e-9), (b"loose", 1e9), (b"free", 0)):
    tag, budget = joule.joule_tag(name), ctypes.c_void_p()
    options = Options(struct_size=ctypes.sizeof(Options), tag=tag, max_joules=joules)
    assert not joules or joule.joule_budget_begin(None, ctypes.byref(options), ctypes.byref(budget), None) == 0
    region = joule.joule_begin(tag)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    joule.joule_end(ctypes.byref(region))
"""

MEASURED = CHILD[:CHILD.index("class Region")] + """
class Quantity(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double), ("low", ctypes.c_double), ("high", ctypes.c_double), ("cls", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]
class Measurement(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("duration_s", ctypes.c_double),
                ("coverage", ctypes.c_double), ("cpu", Quantity), ("gpu", Quantity), ("total", Quantity)]
time.sleep(0.3)
joule.joule_current_power_watts.restype = ctypes.c_double
assert joule.joule_current_power_watts() > 0
for _ in range(2):
    m = Measurement(struct_size=ctypes.sizeof(Measurement))
    status = joule.joule_measure(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(0.05)), None, ctypes.byref(m))
    print(status, m.coverage, m.total.value, m.duration_s)
"""

FLOOD = CHILD[:CHILD.index("work, unfinished")] + """
outer, inner = joule.joule_tag(b"outer"), joule.joule_tag(b"inner")
for _ in range(20000):
    a = joule.joule_begin(outer)
    for _ in range(10):
        b = joule.joule_begin(inner)
        joule.joule_end(ctypes.byref(b))
    joule.joule_end(ctypes.byref(a))
"""

# The program exceeds each limit of a session: threads at one time, threads and processes in total, and names.
CROWD = CHILD[:CHILD.index("work, unfinished")] + """
import threading
THREADS = 300
inside = threading.Barrier(THREADS)
def work(name, barrier=None):
    region = joule.joule_begin(joule.joule_tag(name))
    if barrier:
        barrier.wait()
    time.sleep(0.001)
    joule.joule_end(ctypes.byref(region))
for _ in range(1000):
    thread = threading.Thread(target=work, args=(b"one by one",))
    thread.start()
    thread.join()
for _ in range(400):
    pid = os.fork()
    if pid == 0:
        work(b"forked")
        os._exit(0)
    os.waitpid(pid, 0)
threading.stack_size(65536)
threads = [threading.Thread(target=work, args=(b"at once", inside)) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for i in range(4200):
    joule.joule_tag(b"name %d" % i)
work(b"another")
"""

# The program writes random bytes to all parts of the session's memory, with regions in between, until its
# input is closed.
HOSTILE = CHILD[:CHILD.index("work, unfinished")] + """
import mmap, random
random.seed(int(sys.argv[1]))
file = os.open(os.environ["JOULE_SESSION"], os.O_RDWR)
memory = mmap.mmap(file, os.fstat(file).st_size)
tags = [joule.joule_tag(b"noise %d" % i) for i in range(20)]
for _ in range(100):
    for tag in tags:
        region = joule.joule_begin(tag)
        joule.joule_end(ctypes.byref(region))
    for _ in range(200):
        size = random.choice((1, 8, 64, 512))
        start = random.randrange(200, 1 << 20) if random.random() < 0.8 else random.randrange(200, len(memory) - size)
        memory[start:start + size] = random.choice((os.urandom(size), b"\\xff" * size, b"\\0" * size))
    time.sleep(0.002)
"""

PARENT = f"""
import subprocess, sys
children = [subprocess.Popen([sys.executable, "-c", sys.argv[1], "dies" if i == 3 else "ends"]) for i in range({CHILDREN})]
sys.exit([child.wait() for child in children] != [-9 if i == 3 else 0 for i in range({CHILDREN})])
"""


class Regions(unittest.TestCase):
    def test_eight_children_of_which_one_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = subprocess.run([JOULE, "run", "-q", "--json", path, "--", PYTHON, "-c", PARENT, CHILD],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual([(f["name"], f["count"]) for f in report["functions"]], [("work", CHILDREN * EACH)])
        self.assertEqual(report["folded_regions"], 0)
        joules = report["functions"][0]["energy_joules"]
        self.assertTrue(0 < joules <= report["total_energy_joules"], (joules, report["total_energy_joules"]))

    def test_regions_too_many_to_keep_have_their_energy(self):
        """Most regions are folded. They get the machine's power for their time."""
        with tempfile.TemporaryDirectory() as folder, Machine(100) as machine:
            path = os.path.join(folder, "report.json")
            result = subprocess.run([JOULE, "run", "--root", machine.root, "--json", path, "--", PYTHON, "-c", FLOOD],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        functions = {f["name"]: f for f in report["functions"]}
        outer, inner = functions["outer"], functions["inner"]
        self.assertEqual((outer["count"], inner["count"]), (20000, 200000))
        self.assertGreater(inner["folded"], 100000)
        self.assertEqual(outer["folded"] + inner["folded"], report["folded_regions"])
        for function in (outer, inner):
            joules = 100 * function["duration_seconds"]
            self.assertAlmostEqual(function["energy_joules"], joules, delta=0.1 * joules)
            self.assertGreater(function["coverage"], 0.95)
        self.assertAlmostEqual(outer["self"]["energy_joules"] + inner["self"]["energy_joules"], outer["energy_joules"],
                               delta=0.1 * outer["energy_joules"])
        row = next(line for line in result.stderr.splitlines() if line.split()[:1] == ["inner"])
        self.assertRegex(row, r"\d+ % by time$")
        self.assertIn("attributed by their total time", " ".join(result.stderr.split()))

    def test_regions_in_a_namespace_of_processes_are_counted(self):
        """In such a namespace, /proc does not show the measuring process. The command inherits a descriptor
        of the session instead."""
        inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"], capture_output=True, timeout=60, check=False).returncode:
            self.skipTest("no namespace of processes can be made here")
        program = [PYTHON, "-c", CHILD, "lives"]
        from_shell = ["sh", "-c", '"$@"; exit $?', "sh", *program]
        without_descriptors = [PYTHON, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
                               *program]
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            for command in (program, from_shell, without_descriptors):
                subprocess.run([JOULE, "run", "-q", "--json", out, "--", *inside, *command], check=True, timeout=60)
                with open(out, encoding="utf-8") as file:
                    functions = {f["name"]: f["count"] for f in json.load(file)["functions"]}
                self.assertEqual(functions.get("work"), EACH, command[:2])

    def test_no_child_can_cut_the_session_off(self):
        """One child tries to truncate the session while another writes. Neither fails, and report and exit
        status are not affected."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            script = ('"$0" -c "$1" ends & for i in 1 2 3 4 5; do truncate -s 0 "$JOULE_SESSION" 2>&1; : >"$JOULE_SESSION"; sleep 0.05; '
                      'done; wait; "$0" -c "$1" ends; exit 7')
            result = subprocess.run([JOULE, "run", "--json", path, "--", "bash", "-c", script, PYTHON, CHILD],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 7, result.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual([(f["name"], f["count"]) for f in report["functions"]], [("work", 2 * EACH)])

    def test_every_limit_of_a_session_is_reported_when_it_is_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, record = os.path.join(folder, "report.json"), os.path.join(folder, "run.joule")
            result = subprocess.run([JOULE, "record", "-o", record, "--json", path, "--", PYTHON, "-c", CROWD],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            again = json.loads(subprocess.run([JOULE, "report", "--json", "-", record], capture_output=True, text=True, check=True).stdout)
        functions = {f["name"]: f for f in report["functions"]}
        self.assertEqual([functions[name]["count"] for name in ("one by one", "forked", "at once", "(other)")], [1000, 400, 300, 1])
        limits = report["limits"]
        self.assertGreaterEqual(limits["regions_without_slot"], 300 - 256)
        self.assertEqual(functions["at once"]["folded"], limits["regions_without_slot"])
        self.assertGreater(functions["at once"]["energy_joules"], 0)
        self.assertGreaterEqual(limits["names_beyond_table"], 4200 - 4095)
        self.assertEqual((limits["regions_not_stored"], limits["implausible_entries"]), (0, 0))
        text = " ".join(result.stderr.split())
        self.assertIn(f"{limits['regions_without_slot']} of these were in threads beyond the limit of 256", text)
        self.assertIn(f"{limits['names_beyond_table']} names exceeded the limit of 4095", text)
        self.assertEqual(again["limits"], limits)
        self.assertEqual({f["name"]: f["folded"] for f in again["functions"]}, {name: f["folded"] for name, f in functions.items()})

    def test_sensors_beyond_the_table_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(1100):
                zone = os.path.join(folder, f"sys/class/powercap/intel-rapl:{i}")
                os.makedirs(zone)
                for name, value in (("name", f"package-{i}"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "1000")):
                    with open(os.path.join(zone, name), "w", encoding="utf-8") as file:
                        file.write(value + "\n")
            path = os.path.join(folder, "report.json")
            result = subprocess.run([JOULE, "run", "--root", folder, "--json", path, "--", "true"],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertGreaterEqual(report["limits"]["sensors_beyond_table"], 1100 - 1024)
        self.assertTrue(report["gross"]["partial"])
        self.assertIn("sensors exceeded the limit of 1024", result.stderr)

    def check_plausible(self, report):
        total = max(report["gross"]["interval_joules"] or [0, 0])
        for function in report["functions"]:
            energies = [{"energy_joules": function["energy_joules"], "interval_joules": function["interval_joules"]}, function["self"]]
            for energy in energies:
                if energy["energy_joules"] is not None:
                    low, high = energy["interval_joules"]
                    self.assertTrue(0 <= low <= energy["energy_joules"] <= high < 1e15, function)
                    self.assertLessEqual(energy["energy_joules"], total, function)
            self.assertTrue(0 <= function["folded"] <= function["count"] < 1 << 62, function)
            self.assertTrue((function["duration_seconds"] or 0) >= 0, function)
            self.assertTrue((function["budget_joules"] or 0) >= 0, function)

    def test_noise_in_the_memory_reaches_no_figure(self):
        for seed in range(4):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder, Machine(100) as machine:
                path = os.path.join(folder, "report.json")
                result = subprocess.run([JOULE, "run", "--root", machine.root, "--json", path, "--", PYTHON, "-c", HOSTILE, str(seed)],
                                        capture_output=True, text=True, timeout=120)
                self.assertIn("joule ", result.stderr)
                with open(path, encoding="utf-8") as file:
                    self.check_plausible(json.load(file, parse_constant=self.fail))

    def test_noise_in_the_head_of_the_memory_reaches_no_count(self):
        """Another program may also overwrite the counts of regions that were not stored one by one."""
        noise = "import os\nfile = os.open(os.environ['JOULE_SESSION'], os.O_RDWR)\n" \
                "for at in range(0, 1 << 16, 4096): os.pwrite(file, b'\\xd5' * 4096, at)\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = subprocess.run([JOULE, "run", "--json", path, "--", PYTHON, "-c", noise], capture_output=True, text=True,
                                    timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                limits = json.load(file)["limits"]
        self.assertGreater(limits["implausible_entries"], 0)
        self.assertEqual((limits["names_beyond_table"], limits["regions_not_stored"]), (0, 0), result.stderr)

    def test_a_programs_first_call_is_measured_from_its_beginning(self):
        """The parent publishes its totals only after a program requests them."""
        with Machine(100) as machine:
            result = subprocess.run([JOULE, "run", "-q", "--root", machine.root, "--", PYTHON, "-c", MEASURED],
                                    capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stdout.splitlines():
            status, coverage, joules, seconds = (float(word) for word in line.split())
            self.assertEqual((status, round(coverage, 2)), (0, 1), result.stdout)
            self.assertTrue(80 < joules / seconds < 120, result.stdout)

    def test_budgets_of_tags_are_judged_by_the_parent(self):
        """The program does not know the joules of its tags. The energy of both processes counts for the tag's
        budget."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = subprocess.run([JOULE, "run", "-q", "-r", "2", "--json", path, "--", PYTHON, "-c", BUDGETED],
                                    capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                functions = {f["name"]: f for f in json.load(file)["functions"]}
        self.assertEqual([functions[name]["budget_joules"] for name in ("tight", "loose", "free")], [2e-9, 2e9, None])
        self.assertEqual([functions[name]["status"] for name in ("tight", "loose", "free")],
                         ["over_budget", "within_budget", None])


if __name__ == "__main__":
    if sanitizer_of(LIBRARY):
        skip("Python cannot load a library with a sanitizer")
    main()
