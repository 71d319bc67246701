#!/usr/bin/env python3
"""Checks reports of `joule run`: joules of a machine with a known counter, the command's share, net of idle,
repeats, budget.
"""
import csv
import io
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

from run_support import JOULE, PYTHON, Machine, children_of, main, read_file, recorded_machine, state_of, wait_until

SPIN = "while :; do :; done"
# The program uses the given CPU seconds in each of three processes: itself, a child and a daemon.
FAMILY = r"""
import os, time
def burn():
    while time.process_time() < 0.2:
        pass
if os.fork() == 0:
    burn()
    os._exit(0)
os.wait()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        burn()
    os._exit(0)
os.wait()
burn()
"""


def run(*words, **options):
    return subprocess.run([JOULE, "run", *words], capture_output=True, text=True, timeout=120, **options)


def report_of(*words, code=0, **options):
    """Returns the JSON report. It is written to a file, because the command uses standard output."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = run("--json", path, *words, **options)
        assert result.returncode == code, (result.returncode, result.stderr)
        assert os.listdir(folder) == ["report.json"], os.listdir(folder)
        text = read_file(path)
        assert text.endswith("}\n") and text.count("\n") == 1, text
        return json.loads(text)


class Joules(unittest.TestCase):
    def assert_near(self, energy, joules):
        low, high = energy["interval_joules"]
        slack = 0.05 * joules + 1
        self.assertLess(low - slack, joules)
        self.assertGreater(high + slack, joules)
        self.assertLess(abs(energy["energy_joules"] - joules), 0.2 * joules + 1)

    def test_gross_energy_is_that_of_the_package(self):
        with Machine(50) as machine:
            report = report_of("--root", machine.root, "--", "sleep", "0.5")
        self.assert_near(report["gross"], 50 * report["duration_seconds"])
        self.assertEqual(report["gross"]["class"], "measured")
        self.assertEqual(report["gross"]["cover"], "package-0")
        self.assertEqual(report["program"], "sleep 0.5")
        self.assertGreaterEqual(report["duration_seconds"], 0.5)
        self.assertEqual(report["command"]["exit_status"], 0)
        self.assertIsNone(report["command"]["signal"])

    def test_a_short_run_costs_something_too(self):
        """The overhead of joule is above 0, even if a short run needed no sampling thread."""
        overhead = report_of("--", "true")["overhead"]
        self.assertGreater(overhead["cpu_seconds"], 0)
        self.assertGreater(overhead["core_share"], 0)

    def test_refused_sensors_are_not_a_matter_of_time(self):
        root = recorded_machine("intel-client-denied")
        lines = run("--root", root, "--", "true").stderr.splitlines()
        self.assertIn("energy of the whole machine unknown", lines[1])

    def test_first_line_has_total_power_and_cover(self):
        with Machine(50) as machine:
            lines = run("--root", machine.root, "--", "sleep", "0.3").stderr.splitlines()
        self.assertRegex(lines[0], r"^joule  [\d.]+ J  \(.* J, measured\)  .* W over .*s, package-0$")
        self.assertRegex(lines[1], r" the command.*net of idle unknown")

    def test_without_a_sensor_the_model_is_used(self):
        report = report_of("--sources", "estimated", "--", PYTHON, "-c", FAMILY)
        self.assertEqual(report["gross"]["class"], "modelled")
        self.assertEqual(report["command"]["class"], "modelled")
        low, high = report["command"]["interval_joules"]
        self.assertLess(low, report["command"]["energy_joules"])
        self.assertGreater(high, 2 * low)  # the interval must show the uncertainty

    def test_fate_of_the_command(self):
        report = report_of("--", "sh", "-c", "kill -9 $$", code=-9)
        self.assertEqual((report["command"]["exit_status"], report["command"]["signal"]), (137, 9))
        report = report_of("--", "sh", "-c", "exit 3", code=3)
        self.assertEqual((report["command"]["exit_status"], report["command"]["signal"]), (3, None))

    def test_labels_are_in_the_report(self):
        report = report_of("--label", "commit=2d=x", "--label", "note=a \"b\"", "--", "true")
        self.assertEqual(report["labels"], {"commit": "2d=x", "note": 'a "b"'})

    def test_regions_of_the_command(self):
        """The command inherits the session's path, which is removed at the end."""
        result = run("-q", "--", "sh", "-c", 'echo "$JOULE_SESSION"; test -e "$JOULE_SESSION"')
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.strip())
        self.assertFalse(os.path.exists(result.stdout.strip()))

    def test_time_while_stopped_is_reported(self):
        script = "kill -STOP $$; exit 0"
        with subprocess.Popen([JOULE, "run", "--", "sh", "-c", script], stderr=subprocess.PIPE, text=True) as process:
            child = wait_until(lambda: [p for p in children_of(process.pid) if state_of(p) == "T"], "the stop")[0]
            time.sleep(0.3)
            os.kill(child, signal.SIGCONT)
            error = process.stderr.read()
        self.assertRegex(error, r"stopped for (2[5-9]\d|[3-9]\d\d) ms|stopped for [1-9]")


class Boards(unittest.TestCase):
    """A vendor's library in addition to the CPU model."""

    def report(self, script):
        library = os.path.join(os.environ["JOULE_BUILD"], "tests/fakes/nvml/580/libnvidia-ml.so.1")
        environment = dict(os.environ, JOULE_NVML_LIB=library, JOULE_FAKE_NVML=script)
        return report_of("--sources", "nvml,estimated", "--", "sleep", "0.5", env=environment)

    def test_measured_board_beside_a_modelled_cpu(self):
        report = self.report("boards=1; duty=1")
        self.assertEqual([(d["type"], d["class"]) for d in report["devices"]], [("cpu", "modelled"), ("gpu", "measured")])
        self.assertFalse(report["gross"]["partial"])
        self.assertNotIn("no energy sensor answers on this machine", report["advice"])

    def test_library_that_does_not_answer(self):
        """The command does not wait long for the library, and the total is marked as incomplete."""
        report = self.report("boards=1; block_at_ms=0; block_s=30")
        self.assertLess(report["duration_seconds"], 20)
        self.assertTrue(report["gross"]["partial"])
        self.assertIn("nvml has not answered", report["advice"])


    def test_library_that_answers_late(self):
        """The command starts after 250 ms in any case. The coverage is the fraction of time in which the
        board was observed."""
        library = os.path.join(os.environ["JOULE_BUILD"], "tests/fakes/nvml/580/libnvidia-ml.so.1")
        environment = dict(os.environ, JOULE_NVML_LIB=library, JOULE_FAKE_NVML="boards=1; duty=1; block_at_ms=0; block_s=1")
        report = report_of("--sources", "nvml,estimated", "--", "sleep", "3", env=environment)
        cpu, gpu = report["devices"]
        self.assertEqual(gpu["type"], "gpu")
        self.assertLess(gpu["coverage"], 0.85)
        self.assertGreater(gpu["coverage"], 0.2)
        self.assertAlmostEqual(report["gross"]["coverage"], min(gpu["coverage"], cpu["coverage"]))
        self.assertFalse(report["gross"]["partial"])


class Family(unittest.TestCase):
    """Checks that children and daemons count, for every available method."""

    def check(self, *prefix, method):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            words = [*prefix, JOULE, "run", "-q", "--wait-all", "--json", path, "--", PYTHON, "-c", FAMILY]
            result = subprocess.run(words, capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            command = json.loads(read_file(path))["command"]
        self.assertEqual(command["method"], method)
        self.assertGreater(command["cpu_seconds"], 0.58)
        self.assertLess(command["cpu_seconds"], 1.2)
        self.assertTrue(0 < command["share"] <= 1)

    def has_cgroup(self):
        return report_of("--", "true")["command"]["method"] == "cgroup"

    def test_cgroup_counts_all_descendants(self):
        if not self.has_cgroup():
            self.skipTest("no cgroup can be made here")
        self.check(method="cgroup")

    def no_cgroups(self, command):
        """Returns a command prefix that runs `command` on the mount of cgroup2 in its own mount namespace."""
        prefix = ["unshare", "--mount", "sh", "-c",
                  f'awk \'$3 == "cgroup2" {{ print $2 }}\' /proc/mounts | while read m; do {command} $m; done; exec "$@"', "sh"]
        works = subprocess.run([*prefix, "true"], capture_output=True)
        if works.returncode != 0 or works.stderr:
            self.skipTest("no mount namespace can be made here: " + works.stderr.decode())
        return prefix

    def test_without_cgroups_a_subreaper_counts(self):
        self.check(*self.no_cgroups("umount -l"), method="subreaper")

    def test_with_read_only_cgroups_a_subreaper_counts(self):
        self.check(*self.no_cgroups("mount -o remount,bind,ro"), method="subreaper")

    def test_without_access_to_cgroups_a_subreaper_counts(self):
        """Another user cannot divide root's cgroup."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("only root can become somebody else")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            path = os.path.join(folder, "report.json")
            words = ["setpriv", "--reuid", "65534", "--clear-groups", JOULE, "run", "-q", "--json", path, "--", "true"]
            result = subprocess.run(words, capture_output=True, text=True, timeout=60)
            if result.returncode == 126 or "denied" in result.stderr:
                self.skipTest("another user cannot reach the program here")
            self.assertEqual(result.returncode, 0, result.stderr)
            method = json.loads(read_file(path))["command"]["method"]
        self.assertIn(method, ("cgroup", "subreaper"))

    def test_each_of_two_nested_runs_counts_its_command(self):
        with tempfile.TemporaryDirectory() as folder:
            outer, inner = os.path.join(folder, "outer"), os.path.join(folder, "inner")
            result = run("-q", "--json", outer, "--", JOULE, "run", "-q", "--json", inner, "--", PYTHON, "-c", FAMILY)
            self.assertEqual(result.returncode, 0, result.stderr)
            outer, inner = (json.loads(read_file(path))["command"] for path in (outer, inner))
        self.assertGreater(inner["cpu_seconds"], 0.38)
        self.assertGreaterEqual(outer["cpu_seconds"], inner["cpu_seconds"])

    def test_nothing_is_left_behind(self):
        def cgroups():
            found = []
            for line in read_file("/proc/mounts").splitlines():
                if line.split()[2] == "cgroup2":
                    for root, folders, _ in os.walk(line.split()[1]):
                        found += [os.path.join(root, f) for f in folders if f.startswith("joule-")]
            return found
        with subprocess.Popen([JOULE, "run", "-q", "--", "sleep", "1000"]) as process:
            child = wait_until(lambda: [p for p in children_of(process.pid)
                                        if read_file(f"/proc/{p}/cmdline").startswith("sleep")], "the command")[0]
            process.kill()
        self.assertIn(state_of(child), "RSD")  # the kill of joule does not kill the command
        result = run("-q", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertFalse([path for path in cgroups() if path.endswith(f"joule-{process.pid}")])
        self.assertIn(state_of(child), "RSD")
        os.kill(child, signal.SIGKILL)

    def test_sensors_are_read_while_waiting(self):
        """The command ends at once. Its remaining processes may run as long as a command, so counters must be
        read before they wrap."""
        report = report_of("--wait-all", "--interval", "10ms", "--", "sh", "-c", "sleep 0.6 & exit 3", code=3)
        self.assertGreater(report["duration_seconds"], 0.55)
        self.assertGreater(report["overhead"]["ticks"], 6)

    def test_remaining_processes_are_reported(self):
        script = "sleep 1000 >/dev/null 2>&1 & echo $!"
        for words, is_told in ((["run"], True), (["run", "-q"], False),
                               (["record", "-o", "/dev/null"], True)):
            result = subprocess.run([JOULE, *words, "--", "sh", "-c", script], text=True, capture_output=True,
                                    timeout=60, check=True)
            os.kill(int(result.stdout), signal.SIGKILL)
            note = f"joule {words[0]}: 1 process of the command still runs and is no longer measured; --wait-all measures until all have ended"
            self.assertEqual(note in result.stderr, is_told, result.stderr)

    def test_wait_all_can_be_interrupted(self):
        script = "sleep 1000 >/dev/null 2>&1 & echo $!"
        with subprocess.Popen([JOULE, "run", "-q", "--wait-all", "--", "sh", "-c", script], text=True,
                              stdout=subprocess.PIPE) as process:
            left = int(process.stdout.readline())
            wait_until(lambda: not [p for p in children_of(process.pid) if p != left], "the command to end")
            time.sleep(0.1)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(20), 0)
        self.assertEqual(state_of(left), "S")
        os.kill(left, signal.SIGKILL)


class Repeats(unittest.TestCase):
    def test_each_run_is_reported(self):
        with Machine(40) as machine:
            report = report_of("--root", machine.root, "-r", "3", "--", "sleep", "0.2")
        self.assertEqual(len(report["runs"]), 3)
        for one in report["runs"]:
            self.assertLess(abs(one["energy_joules"] - 40 * one["duration_seconds"]), 2 + 8 * one["duration_seconds"])
        values = [one["energy_joules"] for one in report["runs"]]
        mean = report["mean_run"]
        half = 2.9200 * statistics.stdev(values) / 3 ** 0.5
        self.assertEqual(mean["of"], "gross")
        self.assertAlmostEqual(mean["energy_joules"], statistics.mean(values))
        self.assertAlmostEqual(mean["interval_joules"][1] - mean["energy_joules"], half, places=4)
        self.assertGreaterEqual(report["duration_seconds"], sum(r["duration_seconds"] for r in report["runs"]) - 1e-6)

    def test_only_finished_runs_are_reported(self):
        report = report_of("-r", "5", "--", "sh", "-c", "exit 2", code=2)
        self.assertEqual(len(report["runs"]), 1)
        result = run("-r", "5", "--", "false")
        self.assertIn("run 1 of 5 failed", result.stderr)

    def test_csv_has_a_row_for_each_run(self):
        with tempfile.NamedTemporaryFile("r") as file:
            result = run("-q", "--csv", file.name, "-r", "2", "--label", "a=1,2", "--", "true")
            self.assertEqual(result.returncode, 0)
            rows = list(csv.DictReader(io.StringIO(read_file(file.name))))
        # The overhead is that of all runs together.
        self.assertEqual([row["overhead_cpu_seconds"] for row in rows], ["", ""])
        self.assertEqual([row["run"] for row in rows], ["1", "2"])

    def test_each_row_has_its_own_exit_status(self):
        """If joule repeats a command until it fails, only the last run can have failed."""
        with tempfile.TemporaryDirectory() as folder:
            count, table = os.path.join(folder, "count"), os.path.join(folder, "table")
            script = f'echo >>{count}; [ $(wc -l <{count}) -lt 3 ] || exit 7'
            result = run("-q", "--csv", table, "-r", "5", "--", "sh", "-c", script)
            rows = list(csv.DictReader(io.StringIO(read_file(table))))
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual([row["exit_status"] for row in rows], ["0", "0", "7"])


class Budget(unittest.TestCase):
    def test_budget_stops_the_command_in_time(self):
        with Machine(100) as machine:
            report = report_of("--root", machine.root, "--budget", "40J", "--interval", "10ms", "--", "sh", "-c", SPIN,
                               code=124)
        # The status depends on the best estimate, not on the interval.
        self.assertIn(report["budget"]["status"], ("over_budget", "undecided"))
        self.assertEqual(report["command"]["signal"], signal.SIGTERM)
        used = report["total_energy_joules"]
        self.assertGreater(used, 38)
        self.assertLess(used, 40 + report["budget"]["overshoot_bound_joules"])
        if report["gross"]["coverage"] > 0.999:  # the energy above the budget cannot be larger than the energy used
            self.assertLess(report["budget"]["overshoot_bound_joules"], report["gross"]["interval_joules"][1] - 40 + 1e-6)

    def test_budget_messages_name_use_and_limit(self):
        with Machine(100) as machine:
            result = run("--root", machine.root, "--budget", "60J", "--interval", "10ms", "--", "sh", "-c", SPIN)
        lines = result.stderr.splitlines()
        self.assertIn("J used by the machine, more than 80 % of the budget of 60.0 J", lines[0])
        self.assertIn("J used by the machine, more than the budget of 60.0 J; ending the command", lines[1])
        self.assertRegex(result.stderr, "machine's budget of 60.0 J (exceeded|undecided)")
        result = run("--sources", "estimated", "--budget", "100mJ", "--interval", "10ms", "--", "sh", "-c", SPIN)
        self.assertIn("J used by the command, more than the budget of 100 mJ", result.stderr)
        self.assertRegex(result.stderr, "command's budget of 100 mJ ")

    def test_kept_budget_is_within(self):
        with Machine(10) as machine:
            report = report_of("--root", machine.root, "--budget", "1kJ", "--", "sleep", "0.2")
        self.assertEqual(report["budget"]["status"], "within_budget")
        self.assertGreater(report["budget"]["budget_probability"], 0.99)

    def test_passed_at_the_very_end(self):
        """The budget is exceeded after 0.4 s of 0.5 s, because the first reading may be late on a busy
        machine."""
        with Machine(100) as machine:
            report = report_of("--root", machine.root, "--budget", "40J", "--interval", "60s", "--", "sleep", "0.5",
                               code=124)
            self.assertEqual(report["command"]["exit_status"], 0)
            report_of("--root", machine.root, "--budget", "40J", "--interval", "60s", "--", "sh", "-c",
                      "sleep 0.5; exit 3", code=3)

    def test_command_that_ignores_the_signal_is_killed_with_its_descendants(self):
        """Processes that left the session and a stopped process are also killed."""
        script = ("trap '' TERM; (trap '' TERM; setsid sleep 1000) & (kill -STOP $$; sleep 1000) & "
                  "setsid sh -c 'trap \"\" TERM; sleep 1000' & while :; do sleep 0.1; done")
        with tempfile.TemporaryDirectory() as folder, Machine(100) as machine:
            mark = os.path.join(folder, "mark")
            result = run("-q", "--root", machine.root, "--budget", "20J", "--interval", "10ms", "--grace", "200ms", "--",
                         "env", f"MARK={mark}", "sh", "-c", script)
            self.assertEqual(result.returncode, 124)
            left = [pid for pid in os.listdir("/proc") if pid.isdigit()
                    and f"MARK={mark}" in read_file(f"/proc/{pid}/environ") and state_of(pid) not in ("Z", "")]
            self.assertEqual(left, [])

    def test_energy_of_the_grace_period_is_in_the_bound(self):
        with Machine(100) as machine:
            report = report_of("--root", machine.root, "--budget", "20J", "--interval", "10ms", "--grace", "500ms", "--",
                               "sh", "-c", "trap '' TERM; " + SPIN, code=124)
        self.assertEqual(report["command"]["signal"], signal.SIGKILL)
        self.assertGreater(report["total_energy_joules"], 20 + 40)
        self.assertGreater(report["budget"]["overshoot_bound_joules"], report["total_energy_joules"] - 20)

    def test_without_a_sensor_the_budget_applies_to_modelled_joules(self):
        report = report_of("--sources", "estimated", "--budget", "500mJ", "--", "sh", "-c", SPIN, code=124)
        self.assertGreater(report["command"]["energy_joules"], 0.4)
        self.assertIsNotNone(report["budget"]["overshoot_bound_joules"])


class Idle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = os.path.join(self.folder.name, "deep", "cache")
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.cache)
        self.path = os.path.join(self.cache, "joule", "idle.json")

    def report(self, *words):
        return report_of(*words, env=self.environment)

    def test_idle_power_is_measured_before_the_command(self):
        with Machine(30) as machine:
            report = self.report("--root", machine.root, "--idle", "500ms", "--", "sleep", "0.3")
        self.assertLess(abs(report["net"]["idle_power"]["power_watts"] - 30), 5)
        self.assertLess(abs(report["net"]["energy_joules"]), 4)
        # The baseline of a recorded machine is not stored as that of this machine.
        self.assertFalse(os.path.exists(self.path))

    def test_kept_for_later(self):
        report = self.report("--sources", "estimated", "--idle", "300ms", "--", "true")
        watts = report["net"]["idle_power"]["power_watts"]
        self.assertGreater(watts, 0)
        kept = json.loads(read_file(self.path))
        self.assertEqual(kept["schema"], "joule-idle-2")
        self.assertTrue(kept["machine"])
        for options in ([], ["--idle", "auto"]):
            report = self.report("--sources", "estimated", *options, "--", "sleep", "0.2")
            self.assertAlmostEqual(report["net"]["idle_power"]["power_watts"], watts)
            self.assertRegex(report["net"]["idle_measured_at"], r"^20\d\d-\d\d-\d\dT")
            net = report["total_energy_joules"] - watts * report["duration_seconds"]
            self.assertAlmostEqual(report["net"]["energy_joules"], net, places=6)
            low, high = report["net"]["interval_joules"]
            self.assertLessEqual(low, report["net"]["energy_joules"])
            self.assertGreaterEqual(high, report["net"]["energy_joules"])
        report = self.report("--sources", "estimated", "--idle", "none", "--", "true")
        self.assertIsNone(report["net"]["energy_joules"])

    def test_net_of_two_modelled_figures(self):
        """The difference of two modelled values may be 0 or negative. It never exceeds the total with
        certainty."""
        self.report("--sources", "estimated", "--idle", "200ms", "--", "true")
        words = ("--sources", "estimated", "--", "sleep", "0.2")
        watts = self.report(*words)["gross"]["mean_power"]["power_watts"]
        kept = read_file(self.path)
        for part in (0.9, 2):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(re.sub(r'"total_watts":[^,]*', f'"total_watts":{part * watts}', kept))
            report = self.report(*words)
            low, high = report["net"]["interval_joules"]
            self.assertTrue(low < report["net"]["energy_joules"] < high, report["net"])
            self.assertLess(high, report["gross"]["interval_joules"][1])

    def test_taken_of_a_busy_machine(self):
        """The baseline is stored. Results computed with it contain a warning."""
        self.report("--sources", "estimated", "--idle", "200ms", "--", "true")
        kept = read_file(self.path)
        for busy, is_told in (("0.31", True), ("0.01", False), ("null", False)):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(re.sub(r'"busy_share":[^,]*', f'"busy_share":{busy}', kept))
            words = ("--sources", "estimated", "--", "sleep", "0.2")
            self.assertEqual(self.report(*words)["net"]["idle_busy_share"], json.loads(busy))
            result = run(*words, env=self.environment)
            self.assertEqual("measured while 31 % busy)" in result.stderr, is_told, result.stderr)

    def test_foreign_old_or_invalid_idle_power_is_not_used(self):
        self.report("--sources", "estimated", "--idle", "200ms", "--", "true")
        good = read_file(self.path)
        for bad in (good.replace('"machine":"', '"machine":"x'), good.replace('"cover":"', '"cover":"x'),
                    good.replace('"class":"modelled"', '"class":"measured"'),
                    re.sub(r'"unix_seconds":\d+', f'"unix_seconds":{int(time.time()) - 31 * 86400}', good),
                    re.sub(r'"unix_seconds":\d+', f'"unix_seconds":{int(time.time()) + 86400}', good),
                    re.sub(r'"total_watts":[^,]*', '"total_watts":null', good), good[:40], "", "\0" * 100):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(bad)
            report = self.report("--sources", "estimated", "--", "true")
            self.assertIsNone(report["net"]["energy_joules"], bad)

    def test_of_a_recorded_machine(self):
        """The parts of the recorded machine have the same names, but the stored values belong to another
        machine."""
        self.report("--sources", "estimated", "--idle", "200ms", "--", "true")
        with Machine(30) as machine:
            report = self.report("--root", machine.root, "--", "sleep", "0.2")
        self.assertEqual(report["gross"]["class"], "measured")
        self.assertIsNone(report["net"]["energy_joules"])

    def test_wrong_idle_times_are_refused(self):
        for word in ("sometimes", "-3s", "0", ""):
            self.assertEqual(run("--idle", word, "--", "true").returncode, 2, word)


class Files(unittest.TestCase):
    def test_replaced_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "report"), os.path.join(folder, "link")
            with open(path, "w", encoding="utf-8") as file:
                file.write("x" * 100000)
            os.symlink("report", link)
            self.assertEqual(run("-q", "--json", link, "--", "true").returncode, 0)
            self.assertTrue(os.path.islink(link))
            self.assertEqual(json.loads(read_file(path))["program"], "true")
            self.assertEqual(sorted(os.listdir(folder)), ["link", "report"])

    def test_dash_writes_the_report_to_standard_output(self):
        result = run("-q", "--json", "-", "--", "echo", "first")
        first, second = result.stdout.splitlines()
        self.assertEqual((first, json.loads(second)["program"], result.stderr), ("first", "echo first", ""))

    def test_pipe_and_device(self):
        result = subprocess.run(["bash", "-c", '"$0" run -q --json >(cat) -- true | cat; wait', JOULE], timeout=60,
                                capture_output=True, text=True)
        self.assertEqual(json.loads(result.stdout)["program"], "true")
        self.assertEqual(run("-q", "--json", "/dev/null", "--", "true").returncode, 0)

    def test_full_disk_is_reported(self):
        result = run("-q", "--json", "/dev/full", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("No space left", result.stderr)
        self.assertEqual(run("-q", "--json", "/dev/full", "--", "sh", "-c", "exit 6").returncode, 6)

    def test_intervals_out_of_range(self):
        self.assertEqual(run("--interval", "1us", "--", "true").returncode, 2)
        self.assertEqual(run("--sources", "nonsense", "--", "true").returncode, 2)


if __name__ == "__main__":
    main()
