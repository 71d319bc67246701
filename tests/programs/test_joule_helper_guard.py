#!/usr/bin/env python3
"""Checks joule-helper's guards: a vendor library that hangs, crashes or is slow delays no client, no other
sensor and no exit.

Starts helpers that guard the fake NVML on this machine, or a chip of a recorded one. Note: the tests stop a
worker with SIGSTOP. For the helper, such a worker is like one that sleeps in the kernel: it does not answer,
and only SIGKILL ends it.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from run_support import JOULE, PATIENCE_S, Machine, children_of, main, patient, read_file, sanitizer_of, state_of, wait_until
from test_joule_helper import HELPER, Client, Still, joule

LIBRARY = os.path.join(os.environ["JOULE_BUILD"], "tests/fakes/nvml/580/libnvidia-ml.so.1")
NO_LIBRARY = {"JOULE_NVML_LIB": "/nonexistent"}
STALE, FAILED = 5, 4


class Guarded:
    """A running helper that guards the fake library, which follows a script. By default the helper reads
    nothing else."""

    def __init__(self, script="", *options):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "s")
        self.log = os.path.join(self.folder.name, "log")
        command = [HELPER, "--private", "--socket", self.path, "--sources", "", "--guard", "nvml", *options]
        self.environment = {"JOULE_NVML_LIB": LIBRARY, "JOULE_FAKE_NVML": script}
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stderr=log, env={**os.environ, **self.environment})
        wait_until(lambda: "ready" in self.log_text() or self.process.poll() is not None, "the helper")

    def log_text(self):
        return read_file(self.log)

    def worker(self):
        return children_of(self.process.pid)[0]

    def end(self):
        """Ends the helper. Returns its exit status and the seconds until its end."""
        begin = time.monotonic()
        self.process.terminate()
        return self.process.wait(PATIENCE_S), time.monotonic() - begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        self.folder.cleanup()


def boards(values):
    """Returns the energy and the power of one board. They are the last two of a client's values."""
    return values[-2:]


def devices(helper, **environment):
    """Returns the values that joule gets through a helper. joule itself loads no vendor library."""
    return json.loads(joule("devices", "--json", JOULE_HELPER=helper.path, **{**NO_LIBRARY, **environment}).stdout)


def report(helper, **environment):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([JOULE, "run", "-q", "--json", file.name, "--sources", "helper,nvml", "--", "sleep", "1"], check=True, timeout=60,
                       env={**os.environ, "JOULE_HELPER": helper.path, **NO_LIBRARY, **environment})
        return json.loads(read_file(file.name))


def add_chip(root):
    """Adds a meter of the whole machine with its own driver. Returns the folder of its files."""
    folder = os.path.join(root, "sys/class/hwmon/hwmon0")
    os.makedirs(folder)
    for name, value in (("name", "power_meter"), ("power1_average", "217600000")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(value + "\n")
    return folder


def is_gone(pid):
    return state_of(pid) in ("", "Z", "X")


class Boards(unittest.TestCase):
    @patient
    def test_a_client_without_the_library_sees_them(self):
        with Guarded("boards=2") as helper:
            listing = devices(helper)
            found = {(d["name"], d["device"], d["source"], d["state"]) for d in listing["domains"] if d["device"].startswith("gpu")}
            self.assertLessEqual({("gpu-0", "gpu:0", "helper", "ok"), ("gpu-1", "gpu:1", "helper", "ok")}, found)
            self.assertIn(("gpu:1", "nvidia"), {(d["device"], d["vendor"]) for d in listing["devices"]}, listing["devices"])
            found = report(helper)
            self.assertEqual(found["gross"]["cover"], "gpu-0 + gpu-1")
            self.assertAlmostEqual(found["gross"]["energy_joules"] / found["duration_seconds"], 180, delta=45)

    @patient
    def test_a_board_without_a_counter(self):
        """The board's driver stores power samples between two readings. Their mean is reported, and none is
        lost."""
        with Guarded("boards=1; energy=0; ring_ms=20; peak_watts=310; duty=0.5; period_ms=90") as helper:
            with Client(helper.path) as client:
                self.assertEqual(len(client.values()), 1)
            found = report(helper)
            self.assertEqual(found["gross"]["cover"], "gpu-0-power")
            self.assertAlmostEqual(found["gross"]["energy_joules"] / found["duration_seconds"], 200, delta=50)
            self.assertGreater(found["gross"]["coverage"], 0.7)

    @patient
    def test_joules_count_once(self):
        with Guarded("boards=1") as helper:
            both = report(helper, **helper.environment)
            self.assertAlmostEqual(both["gross"]["energy_joules"] / both["duration_seconds"], 90, delta=40)
            self.assertIn(both["gross"]["cover"], ("gpu-0", "gpu-0@nvml"))

    def test_doctor_explains_blocked_boards(self):
        with Guarded("boards=1") as helper:
            for environment, message in ((NO_LIBRARY, "no program is blocked"), (helper.environment, "JOULE_SOURCES=-nvml")):
                found = json.loads(joule("doctor", "--json", JOULE_HELPER=helper.path, **environment).stdout)
                whys = {f["id"]: f["why"] for f in found["findings"]}
                self.assertIn(message, whys["helper_guards"])

    def test_coarse_values_are_steps(self):
        with Guarded("boards=1", "--grain", "2J", "--pace", "200ms") as helper, Client(helper.path) as client:
            seen = set()
            wait_until(lambda: seen.add(boards(client.values())[0][:3]) or len(seen) > 4, "four readings")
            self.assertEqual([v for v in seen if v[2] % 2000], [])

    def test_missing_library_is_reported(self):
        with Still() as machine:
            done = subprocess.run([HELPER, "--sources", "", "--guard", "nvml", "--private"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, **NO_LIBRARY}, cwd=machine.root)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn("joule-helper: nvml: ", done.stderr)
            for name, words in (("magic", "cannot guard source 'magic'"), ("helper", "cannot guard source 'helper'")):
                done = subprocess.run([HELPER, "--guard", name], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, words in done.stderr), (125, True), done)


class Rights(unittest.TestCase):
    def test_worker_has_dropped_its_privileges(self):
        with Guarded("boards=1") as helper:
            status = read_file(f"/proc/{helper.worker()}/status")
            found = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Uid):\s+(\S+)", status, re.M))
            self.assertEqual((found["CapPrm"], found["CapEff"], found["CapInh"], found["CapAmb"]), ("0" * 16,) * 4)
            self.assertEqual(found["NoNewPrivs"], "1")
            self.assertNotEqual(found["Uid"], "0")

    def test_a_worker_holds_nothing_of_the_helpers(self):
        with Guarded("boards=1") as helper:
            if os.getuid() != 0:
                self.skipTest("only root can list the descriptors of another user's process")
            folder = f"/proc/{helper.worker()}/fd"
            held = {int(fd): os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder)}
            self.assertLessEqual(set(held), {0, 1, 2, 3}, held)
            self.assertIn("socket", held[3])

    def test_the_helper_is_as_confined_as_before(self):
        with Guarded("boards=1") as helper:
            status = read_file(f"/proc/{helper.process.pid}/status")
            found = dict(re.findall(r"^(CapPrm|Seccomp|Uid):\s+(\S+)", status, re.M))
            self.assertEqual(found["CapPrm"], "0" * 16)
            self.assertEqual(found["Seccomp"], "0" if sanitizer_of(HELPER) else "2")

    def test_rights_of_the_program_are_not_for_libraries(self):
        """Environment variables name libraries. A user who starts a program with more privileges must not
        choose its libraries."""
        if os.getuid() != 0 or not shutil.which("setcap"):
            self.skipTest("only root can give a program capabilities, with setcap")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(HELPER, folder)
            subprocess.run(["setcap", "cap_perfmon+ep", program], check=True)
            done = subprocess.run([program, "--guard", "nvml"], capture_output=True, text=True, timeout=60, user=65534, group=65534)
            self.assertEqual((done.returncode, "--guard is not allowed" in done.stderr), (2, True), done)


class Hangs(unittest.TestCase):
    def statuses(self, helper):
        with Client(helper.path) as client:
            return {value[3] for value in boards(client.values())}

    def is_now(self, helper, status):
        return self.statuses(helper) == {status}

    def test_hanging_library_is_stale_and_recovers(self):
        with Guarded("boards=1; block_at_ms=1000; block_s=6") as helper:
            wait_until(lambda: self.is_now(helper, STALE), "the end of patience")
            answers = [self.statuses(helper) for _ in range(10)]
            self.assertEqual(answers, [{STALE}] * 10)  # these answers came while the library hung
            wait_until(lambda: self.is_now(helper, 0), "the library")
            text = helper.log_text()
            self.assertEqual((text.count("does not answer"), text.count("answers again")), (1, 1), text)

    def test_other_sensors_go_on(self):
        """On a recorded machine with a running counter, one guard is stopped; the client still gets the
        counter's values."""
        with Machine(80) as machine:
            add_chip(machine.root)
            options = ("--root", machine.root, "--sources", "rapl_powercap", "--guard", "hwmon")
            with Guarded("", *options) as helper, Client(helper.path) as client:
                first = client.values()
                self.assertEqual([v[3] for v in first], [0, 0], helper.log_text())
                os.kill(helper.worker(), signal.SIGSTOP)
                wait_until(lambda: client.values()[1][3] == STALE, "the end of patience")
                one = client.values()[0]
                wait_until(lambda: client.values()[0][2] > one[2] + 8e6, "eight joules of the package")
                self.assertEqual([v[3] for v in client.values()], [0, STALE])
                os.kill(helper.worker(), signal.SIGCONT)
                wait_until(lambda: client.values()[1][3] == 0, "the worker")

    def test_the_helper_ends_in_time(self):
        with Guarded("boards=1") as helper:
            worker = helper.worker()
            os.kill(worker, signal.SIGSTOP)
            status, took = helper.end()
            self.assertEqual(status, 0, helper.log_text())
            self.assertLess(took, 5)
            wait_until(lambda: is_gone(worker), "the worker's end")

    def test_a_library_that_hangs_from_the_start_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            os.mkfifo(script)  # the library waits for this pipe
            with Guarded(f"@{script}") as helper:
                self.assertIn("cannot open nvml: no answer within 10 s", helper.log_text())

    def test_a_worker_that_dies_is_a_status(self):
        with Guarded("boards=1") as helper:
            os.kill(helper.worker(), signal.SIGKILL)
            wait_until(lambda: self.is_now(helper, FAILED), "the status")
            time.sleep(0.5)
            self.assertEqual(helper.log_text().count("its process has ended"), 1, helper.log_text())
            self.assertEqual(helper.end()[0], 0)

    def test_a_helper_that_is_killed_leaves_no_worker(self):
        with Guarded("boards=1") as helper:
            worker = helper.worker()
            helper.process.kill()
            helper.process.wait(PATIENCE_S)
            wait_until(lambda: is_gone(worker), "the worker's end")

    def test_a_program_ends_although_the_library_hangs(self):
        with Guarded("boards=1; block_at_ms=1500; block_s=60") as helper:
            begin = time.monotonic()
            found = report(helper)
            self.assertLess(time.monotonic() - begin, PATIENCE_S)
            self.assertLess(found["gross"]["energy_joules"] or 0, 120 * found["duration_seconds"])


class Units(unittest.TestCase):
    def test_systemd_takes_the_drop_in(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            def put(name, text):
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(re.sub(r"(?m)^ExecStart=/.*", f"ExecStart={HELPER} --guard nvml", text))
                return path
            source = os.path.join(os.environ["JOULE_SOURCE"], "contrib/systemd")
            service = put("joule-helper.service", read_file(os.path.join(os.environ["JOULE_BUILD"], "joule-helper.service")))
            listener = put("joule-helper.socket", read_file(os.path.join(source, "joule-helper.socket")))
            put("joule-helper.service.d/guard.conf", read_file(os.path.join(source, "joule-helper-guard.conf")))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", service, listener], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    main()
