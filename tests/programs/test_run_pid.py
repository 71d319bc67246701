#!/usr/bin/env python3
"""Checks `joule run --pid`: a running process is measured until it ends or joule is interrupted, and is not
disturbed.
"""
import json
import os
import signal
import subprocess
import unittest

from run_support import JOULE, joule_run, main, read_file, state_of, wait_until

# The program stops itself until it is continued. Then a child, for which the program waits, and the program
# itself work for a while.
FAMILY = """kill -STOP $$
sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    fields = read_file(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return sum(int(word) for word in fields[11:15]) * TICK_S


def watches(joule, pid):
    """Returns True if joule already waits for the end of the process."""
    folder = f"/proc/{joule.pid}/fdinfo"
    return any(f"Pid:\t{pid}\n" in read_file(f"{folder}/{fd}") for fd in os.listdir(folder))


class RunPid(unittest.TestCase):
    def setUp(self):
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def start(self, *words, **popen_options):
        process = subprocess.Popen(words, text=True, **popen_options)
        self.processes.append(process)
        # At execve the kernel closes files before it sets the new program's name. Popen waits only until the
        # files are closed.
        wait_until(lambda: process.poll() is not None or read_file(f"/proc/{process.pid}/cmdline"), "the program's name")
        return process

    def watch(self, pid, *options, **popen_options):
        joule = self.start(*joule_run("--json", "-", "--pid", str(pid), *options), stdout=subprocess.PIPE, **popen_options)
        wait_until(lambda: joule.poll() is not None or watches(joule, pid), "joule to watch")
        return joule

    def report(self, joule):
        text, _ = joule.communicate()
        self.assertEqual(joule.returncode, 0)
        return json.loads(text)

    def test_measures_until_the_process_ends(self):
        target = self.start("sh", "-c", FAMILY)
        wait_until(lambda: state_of(target.pid) == "T", "the process to stop")
        joule = self.watch(target.pid)
        before_s = cpu_s(target.pid)
        os.kill(target.pid, signal.SIGCONT)
        report = self.report(joule)
        # The process is a zombie until it is reaped, so its CPU times can still be read.
        self.assertEqual(state_of(target.pid), "Z")
        used_s = cpu_s(target.pid) - before_s
        self.assertGreater(used_s, 0)
        self.assertAlmostEqual(report["command"]["cpu_seconds"], used_s, delta=2 * TICK_S)
        self.assertEqual(report["command"]["method"], "tree")
        self.assertIsNone(report["command"]["exit_status"])
        self.assertEqual(report["program"].split()[:2], ["sh", "-c"])

    def test_measures_for_the_given_time(self):
        target = self.start("sleep", "100")
        report = self.report(self.watch(target.pid, "--for", "300ms"))
        self.assertGreaterEqual(report["duration_seconds"], 0.3)
        self.assertEqual(report["program"], "sleep 100")
        self.assertLessEqual(report["command"]["cpu_seconds"] or 0, 2 * TICK_S)  # null: less than one tick
        self.assertIsNone(target.poll())

    def test_interrupt_ends_the_measurement_not_the_process(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            target = self.start("sleep", "100")
            joule = self.watch(target.pid)
            joule.send_signal(number)
            self.assertGreater(self.report(joule)["duration_seconds"], 0)
            self.assertIsNone(target.poll())

    def test_suspended_measurement_continues(self):
        target = self.start("sleep", "100")
        # Its own group in the background, because SIGTSTP does not stop orphaned groups.
        joule = self.watch(target.pid, process_group=0)
        joule.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(joule.pid) == "T", "joule to stop")
        joule.send_signal(signal.SIGCONT)
        wait_until(lambda: state_of(joule.pid) != "T", "joule to go on")
        joule.send_signal(signal.SIGINT)
        self.report(joule)

    def test_record_of_a_process_is_complete(self):
        target = self.start("sleep", "100")
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"joule-test-pid-{os.getpid()}.joule")
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        subprocess.run([JOULE, "record", "-q", "-o", path, "-p", str(target.pid), "--for", "200ms"], check=True)
        shown = subprocess.run([JOULE, "report", "--json", "-", path], check=True, capture_output=True, text=True)
        self.assertEqual((json.loads(shown.stdout)["command"]["method"], shown.stderr), ("tree", ""))

    def test_wrong_processes_are_refused(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        for words, code, message in (
                (["--pid", str(gone.pid)], 125, f"process {gone.pid}: No such process"),
                # The number is above the maximum of Linux.
                (["--pid", "4194305"], 125, "process 4194305: No such process"),
                (["--pid", "2147483648"], 2, "2147483648"),
                (["--pid", "0"], 2, "'0'"),
                (["--pid", "1", "true"], 2, "give either a command or --pid, not both"),
                (["--pid", "1", "--budget", "5J"], 2, "--budget"),
                (["--pid", "1", "-r", "2"], 2, "--repeat"),
                (["--pid", "9999999999"], 2, "9999999999"),
                (["--pid", "self"], 2, "self"),
                (["--for", "1s", "true"], 2, "timeout(1)"),
                ([], 2, "no command given")):
            done = subprocess.run([JOULE, "run", *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    main()
