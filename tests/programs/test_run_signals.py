#!/usr/bin/env python3
"""Checks signals around `joule run`: a signal sent by kill reaches the command once, and one sent to the
group does not arrive twice.
"""
import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from run_support import PYTHON, children_of, joule_run, main, read_file, state_of, wait_until

# The program records every signal that arrives. It ends with code 9 at SIGTERM.
LISTENER = r"""
import os, signal, sys, time
note = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def take(number, frame):
    os.write(note, f"{signal.Signals(number).name if number < 32 else number}\n".encode())
    if number == signal.SIGTERM:
        os._exit(9)
for number in sys.argv[2:]:
    signal.signal(int(number), take)
os.write(note, b"ready\n")
while True:
    signal.pause()
"""
ALL = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM,
       signal.SIGCONT, signal.SIGWINCH, signal.SIGPIPE, signal.SIGURG, signal.SIGRTMIN + 3]


class Listening(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.note = os.path.join(self.folder.name, "note")

    def heard(self):
        return read_file(self.note).split()

    def listen(self, *prefix, **options):
        words = [*prefix, PYTHON, "-c", LISTENER, self.note, *[str(int(s)) for s in ALL]]
        process = subprocess.Popen(words, **options)
        self.addCleanup(process.stdout.close if process.stdout else lambda: None)
        self.addCleanup(process.kill)
        wait_until(lambda: "ready" in self.heard(), "the listener")
        return process


class Signals(Listening):
    def test_kill_is_passed_on_once(self):
        process = self.listen(*joule_run("--"))
        names = []
        for number in ALL:
            if number in (signal.SIGTERM, signal.SIGCONT):
                continue
            os.kill(process.pid, number)
            names.append(number.name if isinstance(number, signal.Signals) else str(int(number)))
            wait_until(lambda: self.heard()[1:] == names, names)
        os.kill(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(20), 9)
        self.assertEqual(self.heard()[1:], names + ["SIGTERM"])

    def test_the_commands_own_group_signal_is_not_repeated(self):
        script = "trap 'echo usr1' USR1; kill -USR1 0; sleep 0.3; echo done"
        result = subprocess.run(joule_run("--", "sh", "-c", script), capture_output=True, text=True, timeout=60,
                                start_new_session=True)
        self.assertEqual((result.returncode, result.stdout), (0, "usr1\ndone\n"))

    def test_a_grandchilds_group_signal_is_not_repeated(self):
        script = "trap 'echo usr1' USR1; sh -c 'trap \"\" USR1; kill -USR1 0; sleep 0.2'; sleep 0.3; echo done"
        result = subprocess.run(joule_run("--", "sh", "-c", script), capture_output=True, text=True, timeout=60,
                                start_new_session=True)
        self.assertEqual((result.returncode, result.stdout), (0, "usr1\ndone\n"))

    def test_ignored_as_under_nohup(self):
        process = subprocess.Popen(["nohup", *joule_run("--", "sleep", "1000")], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        child = wait_until(lambda: children_of(process.pid), "the command")[0]
        wait_until(lambda: "sleep" in read_file(f"/proc/{child}/cmdline"), "exec")
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        os.kill(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(20), -signal.SIGTERM)

    def test_ignored_signals_end_no_repeats(self):
        script = f"echo x >> {self.note}; sleep 0.3"
        process = subprocess.Popen(["nohup", *joule_run("-r", "2", "--", "sh", "-c", script)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        wait_until(lambda: self.heard() == ["x"], "the first run")
        os.kill(process.pid, signal.SIGHUP)
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.heard(), ["x", "x"])

    def test_stop_and_continue_by_kill(self):
        process = self.listen(*joule_run("--"), start_new_session=False)
        child = children_of(process.pid)[0]
        os.kill(child, signal.SIGSTOP)
        wait_until(lambda: state_of(child) == "T", "the command to stop")
        self.assertNotEqual(state_of(process.pid), "T")
        os.kill(child, signal.SIGCONT)
        wait_until(lambda: state_of(child) == "S", "the command to go on")
        os.kill(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(20), 9)

    def test_alarm_of_the_caller(self):
        result = subprocess.run([PYTHON, "-c", "import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])",
                                 *joule_run("--", "sleep", "1000")], timeout=60, check=False)
        self.assertEqual(result.returncode, -signal.SIGALRM)

    def test_joule_killed_before_release_leaves_no_command(self):
        """If joule is killed at any time, the command has run completely or not at all, and no process
        hangs."""
        for delay in (0.0, 0.0005, 0.001, 0.002, 0.004):
            process = subprocess.Popen(joule_run("--", "sh", "-c", "exit 0"))
            time.sleep(delay)
            child = children_of(process.pid)
            process.kill()
            process.wait()
            for pid in child:
                wait_until(lambda p=pid: state_of(p) in ("", "Z"), f"process {pid} to end")

    def test_first_process_of_a_container(self):
        """The first process of a container cannot end by this signal, so joule's exit code shows how the
        command ended."""
        prefix = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
            self.skipTest("no process namespace can be made here")
        for script, code in (("exit 5", 5), ("kill -TERM $$", 128 + signal.SIGTERM), ("sleep 0.1 & exit 6", 6)):
            result = subprocess.run([*prefix, *joule_run("--", "sh", "-c", script)], timeout=60, check=False)
            self.assertEqual(result.returncode, code, script)

    def test_descendants_hold_no_one_up(self):
        with subprocess.Popen(joule_run("--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"), text=True,
                              stdout=subprocess.PIPE) as process:
            pid = int(process.stdout.readline())
            self.assertEqual(process.wait(20), 0)
            self.assertIn(state_of(pid), ("S", "R"))
            os.kill(pid, signal.SIGKILL)


class Terminal(Listening):
    def on_terminal(self, *words):
        pid, master = pty.fork()
        if pid == 0:
            try:
                os.execv(words[0], words)
            finally:
                os._exit(99)
        return pid, master

    def test_interrupt_key_is_the_commands_decision(self):
        words = [*joule_run("--"), PYTHON, "-c", LISTENER, self.note, *[str(int(s)) for s in ALL]]
        pid, master = self.on_terminal(*words)
        wait_until(lambda: "ready" in self.heard(), "the listener")
        for count in (1, 2):
            os.write(master, b"\x03")
            wait_until(lambda: self.heard().count("SIGINT") == count, "SIGINT")
        os.write(master, b"\x1c")
        wait_until(lambda: "SIGQUIT" in self.heard(), "SIGQUIT")
        time.sleep(0.2)
        self.assertEqual(self.heard()[1:], ["SIGINT", "SIGINT", "SIGQUIT"])
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)
        os.close(master)

    def test_interrupt_key_ends_both(self):
        pid, master = self.on_terminal(*joule_run("--", "sleep", "1000"))
        child = wait_until(lambda: children_of(pid), "the command")[0]
        wait_until(lambda: "sleep" in read_file(f"/proc/{child}/cmdline"), "exec")
        os.write(master, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGINT)
        os.close(master)

    def test_interrupt_key_before_the_command_starts(self):
        """The key is pressed during the first reading of sensors, here in a library that does not answer."""
        library = os.path.join(os.environ["JOULE_BUILD"], "tests/fakes/nvml/580/libnvidia-ml.so.1")
        words = [shutil.which("env"), f"JOULE_NVML_LIB={library}", "JOULE_FAKE_NVML=boards=1; block_at_ms=0; block_s=30",
                 *joule_run("--sources", "nvml,estimated", "--", "sleep", "1000")]
        for _ in range(4):
            pid, master = self.on_terminal(*words)
            wait_until(lambda p=pid: "SigBlk:\tffff" in read_file(f"/proc/{p}/status"), "joule")
            os.write(master, b"\x03")
            self.assertEqual(self.end_of(pid), -signal.SIGINT)
            os.close(master)

    def test_interrupt_key_ends_repeats(self):
        """The key also ends repeats if the command handles the signal. An exit status of 0 would mean that
        all runs were completed."""
        script = f"trap 'exit 0' INT; echo up >> {self.note}; while :; do sleep 0.05; done"
        pid, master = self.on_terminal(*joule_run("-r", "1000", "--", "sh", "-c", script))
        wait_until(lambda: self.heard() == ["up"], "the first run")
        os.write(master, b"\x03")
        self.assertEqual(self.end_of(pid), -signal.SIGINT)
        self.assertEqual(self.heard(), ["up"])
        os.close(master)

    def end_of(self, pid):
        """Returns how the process ended. Kills it if it is still running."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "it went on"

    def test_hang_up_reaches_the_command(self):
        words = [*joule_run("--"), PYTHON, "-c", LISTENER, self.note, *[str(int(s)) for s in ALL]]
        pid, master = self.on_terminal(*words)
        wait_until(lambda: "ready" in self.heard(), "the listener")
        os.close(master)
        wait_until(lambda: "SIGHUP" in self.heard(), "SIGHUP")
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)

    def test_resizing_is_signalled_once(self):
        words = [*joule_run("--"), PYTHON, "-c", LISTENER, self.note, *[str(int(s)) for s in ALL]]
        pid, master = self.on_terminal(*words)
        wait_until(lambda: "ready" in self.heard(), "the listener")
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        wait_until(lambda: "SIGWINCH" in self.heard(), "SIGWINCH")
        time.sleep(0.2)
        self.assertEqual(self.heard()[1:], ["SIGWINCH"])
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(master)


if __name__ == "__main__":
    main()
