#!/usr/bin/env python3
"""Checks `joule top` in a real terminal (tmux): it shows this machine, obeys keys, follows the terminal's
size, and always restores the terminal.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from run_support import JOULE, Machine, children_of, main, wait_until
from tmux_support import Tmux

HAS_TOP = subprocess.run([JOULE, "top", "--help"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(HAS_TOP, "this build has no joule top")
class Terminal(Tmux):
    FIRST = f"J='{JOULE}'; stty -a >before"

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def start(self, options=""):
        self.type(f"echo here it was; $J top --period 0.2s {options}", "Enter")
        self.expect("joule top", "TOTAL", "PID")

    def pid(self):
        server = self.tmux("list-panes", "-F", "#{pane_pid}")
        return wait_until(lambda: children_of(server), "a child of the shell")[-1]

    def expect_restored(self, code):
        """Checks that the shell's screen is restored, with the exit code, a cursor, and the previous terminal
        settings."""
        wait_until(lambda: "TOTAL" not in self.screen(), "the shell's screen to come back")
        self.expect("here it was", "$")
        self.type("echo code=$?; stty -a | diff - before && echo is$((0))same", "Enter")
        self.expect(f"code={code}\n", "is0same")
        self.assertEqual(self.tmux("list-panes", "-F", "#{cursor_flag}#{alternate_on}#{keypad_cursor_flag}"), "100")

    def test_quit_restores_the_terminal(self):
        self.start()
        self.expect("COMMAND", "DEVICE")
        self.type("q")
        self.expect_restored(0)

    def test_keys_change_the_page(self):
        with Machine(50) as machine:
            self.start(f"--root {machine.root}")
            self.expect("cpu:0", "m  ", "package-0")
            self.expect("/proc cannot be read")
            self.type("?")
            self.expect("letter after a value")
            self.type("x")
            wait_until(lambda: "letter after a value" not in self.screen(), "the help to go")
            self.type("p")
            self.expect("PAUSED")
            self.type("p")
            wait_until(lambda: "PAUSED" not in self.screen(), "it to go on")
            self.type("Tab", "Enter")
            self.expect("DOMAIN", "rapl_powercap", "Esc back", "ago")
            self.type("Escape")
            self.expect("DEVICE")
            self.type("q")
            self.expect_restored(0)

    def test_filter_and_sort(self):
        self.start("--period 0.23s")
        self.type("/", "no such process")
        self.expect("filter: no such process_", "no process matches")
        self.type("Enter", "Escape")
        wait_until(lambda: "filter" not in self.screen().replace("/ filter", ""), "the filter to go")
        self.type("/", "PERIOD 0.23S", "Enter")  # other rows may be present
        self.expect("filter: PERIOD 0.23S", "joule-top")
        self.assertEqual(len(re.findall(r"^ +\d+ .*", self.screen(), re.M)), 1)
        for name in ("ENERGY\u25be", "CPU\u25be"):
            self.type("s")
            self.expect(name)
        self.type("r")
        self.expect("CPU\u25b4")
        self.type("q")
        self.expect_restored(0)

    def test_page_follows_the_size_of_the_terminal(self):
        self.start()
        for width, height in ((40, 10), (120, 40), (80, 24)):
            self.resize(width, height)
            wait_until(lambda height=height: "q quit" in (self.screen() + "\n" * height).split("\n")[height - 1],
                       f"{width}x{height}")
            self.assertTrue(all(len(line) <= width for line in self.screen().split("\n")))
        self.resize(30, 5)
        self.expect("30x5 is too small", "q quits")
        self.resize(100, 30)
        self.expect("TOTAL", "q quit ")
        self.type("q")
        self.expect_restored(0)

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                self.type("clear", "Enter")
                self.start()
                os.kill(self.pid(), number)
                self.expect_restored(128 + number)

    def test_crash_restores_the_terminal(self):
        self.start()
        os.kill(self.pid(), signal.SIGSEGV)
        self.expect_restored(128 + signal.SIGSEGV)

    def test_stopped_page_continues(self):
        self.start()
        self.type("C-z")
        self.expect("Stopped", "here it was")
        self.assertNotIn("TOTAL", self.screen())
        self.type("clear; fg", "Enter")
        self.expect("TOTAL", "q quit")
        self.type("q")
        wait_until(lambda: "TOTAL" not in self.screen(), "the shell's screen to come back")
        self.type("echo code=$?", "Enter")
        self.expect("code=0")

    def test_page_can_be_recorded(self):
        self.start("--record kept.record")
        self.expect("RECORDING", "recording to kept.record")
        self.type("R")
        self.expect("recorded: kept.record")
        self.type("q")
        self.expect_restored(0)
        report = subprocess.run([JOULE, "report", "kept.record"], capture_output=True, text=True, check=True,
                                cwd=self.folder.name)
        self.assertRegex(report.stdout, r"J .* [munk]?W over ")

    def test_without_colour_and_utf8(self):
        self.type("export NO_COLOR=1 LC_ALL=C", "Enter")
        self.start()
        page = self.screen("-e")
        self.assertNotRegex(page, r"\x1b\[[0-9;]*3[0-7]m")
        self.assertTrue(page.replace("\x1b", "").isascii())
        self.type("q")
        self.expect_restored(0)

    def test_background_process_waits_for_the_terminal(self):
        self.type("$J top &", "Enter")
        wait_until(lambda: self.type("Enter") or "Stopped" in self.screen(), "the shell to say it before a prompt")
        self.type("clear; echo here it was; fg", "Enter")
        self.expect("TOTAL", "q quit")
        self.type("q")
        self.expect_restored(0)

    def test_a_terminal_that_goes_away(self):
        # The kernel continues processes that lose their terminal. This would also end the stop with which a
        # leak search begins, so leak detection is disabled.
        self.type("export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0", "Enter")
        self.start()
        pid = self.pid()
        self.tmux("kill-session")
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "it to end")

    def test_unsuitable_terminal_is_refused(self):
        self.type("TERM=dumb $J top; echo code=$?", "Enter")
        self.expect("cannot place a cursor", "--once", "code=125")
        self.type("clear; TERM=nonsense $J top; echo code=$?", "Enter")
        self.expect("TERM=nonsense", "code=125")


class TwoPackages(Machine):
    """A Machine with a second package, whose counter does not advance. The first package is busy at 80 %, the
    second at 20 %."""

    def __init__(self):
        super().__init__(50)
        for cpu in (0, 1):
            self.put(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{cpu}\n")
        self.put("sys/devices/system/cpu/online", "0-1\n")
        self.put("sys/class/powercap/intel-rapl:1/name", "package-1\n")
        self.put("sys/class/powercap/intel-rapl:1/energy_uj", "1000\n")
        self.put("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nflags\t\t: fpu\n")
        self.put("proc/meminfo", "MemTotal:  1000000 kB\nMemFree: 5 kB\nMemAvailable:  250000 kB\n")
        self.work(1)
        self.worker = threading.Thread(target=self.go_on_working)

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def work(self, n):
        self.put("proc/stat", f"cpu  {10 * n} 0 0 {10 * n} 0 0 0 0 0 0\ncpu0 {8 * n} 0 0 {2 * n} 0 0 0 0 0 0\n"
                              f"cpu1 {2 * n} 0 0 {8 * n} 0 0 0 0 0 0\nintr 5\n")

    def go_on_working(self):
        n = 1
        while not self.stop.wait(0.02):
            self.work(n := n + 1)

    def __enter__(self):
        self.worker.start()
        return super().__enter__()

    def __exit__(self, *error):
        self.stop.set()
        self.worker.join()
        super().__exit__(*error)


@unittest.skipUnless(HAS_TOP, "this build has no joule top")
class Once(unittest.TestCase):
    def top(self, *words, code=0):
        done = subprocess.run([JOULE, "top", *words], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_a_page_of_a_machine_of_50_watts(self):
        with Machine(50) as machine:
            page = self.top("--once", "--period", "1s", "--root", machine.root).stdout
        total = re.search(r"TOTAL +([\d.]+) W m +([\d.]+) J .* package-0", page)
        self.assertTrue(total, page)
        self.assertTrue(25 < float(total[1]) < 100, page)  # on a busy machine the counter is updated late
        self.assertRegex(page, r"(?m)^ cpu:0 +[\d.]+ W m")

    def test_each_processor_has_its_own_load(self):
        with TwoPackages() as machine:
            page = self.top("--once", "--period", "1s", "--root", machine.root).stdout
        self.assertRegex(page, r"2 CPUs 50%  memory 732/977 MiB")
        self.assertRegex(page, r"(?m)^ cpu:0 .* 80%")
        self.assertRegex(page, r"(?m)^ cpu:1 .* 20%")
        # The recorded machine has a /proc without any process.
        self.assertRegex(page, r"processes 0 J .* unattributed [1-9]")

    def test_busy_process_of_this_machine_is_listed(self):
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
            page = self.top("--once", "--period", "0.5s").stdout
            busy.kill()
        self.assertRegex(page, r"TOTAL")
        self.assertRegex(page, rf"(?m)^ +{busy.pid} .* sh -c while")
        self.assertIn("processes", page)

    def test_a_pipe_needs_once(self):
        self.assertIn("--once", self.top(code=125).stderr)

    def test_a_joule_that_has_no_top(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(JOULE, os.path.join(folder, "joule"))
            done = subprocess.run([alone, "top"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn("joule top: cannot start ", done.stderr)

    def test_wrong_usage_is_refused(self):
        for words in (["--period", "0"], ["--period", "1ms"], ["--peroid", "1s"], ["what"]):
            self.assertTrue(self.top(*words, code=2).stderr.startswith("joule top: "))
        self.assertIn("unknown source", self.top("--once", "--sources", "x", code=2).stderr)
        self.top("--once", "--record", "/dev/null/file", code=125)


if __name__ == "__main__":
    main()
