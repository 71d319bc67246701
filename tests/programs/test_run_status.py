#!/usr/bin/env python3
"""Checks `joule run` for its caller: exit status, death by signal, messages, and an unchanged environment of
the command.
"""
import os
import resource
import signal
import subprocess
import tempfile
import unittest

from run_support import JOULE, PYTHON, joule_run, main, sanitizer_of


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **options)


# The program prints what it inherits from its parent, one fact per line.
SELF_PORTRAIT = r"""
import os, resource, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
for key in ("SigBlk", "SigIgn", "Umask", "CoreDumping", "NoNewPrivs", "THP_enabled"):
    print(key, status.get(key, "").strip())
targets = {f: os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{f}")}
print("fds", sorted(int(f) for f, to in targets.items() if not to.startswith(("/memfd:joule-session", "/proc/"))))
print("cwd", os.getcwd())
print("nice", os.nice(0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))
print("group", os.getpgrp(), os.getsid(0))
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
print("timer", signal.getitimer(signal.ITIMER_REAL))
for key in sorted(os.environ):
    if key not in ("JOULE_SESSION",):
        print("env", key, os.environ[key])
"""


class ExitStatus(unittest.TestCase):
    def test_exit_status_of_the_command_is_kept(self):
        for code in (0, 1, 2, 42, 124, 125, 126, 127, 128, 255):
            self.assertEqual(run(*joule_run("--", "sh", "-c", f"exit {code}")).returncode, code)

    def test_death_by_signal(self):
        for name in ("SIGTERM", "SIGKILL", "SIGINT", "SIGQUIT", "SIGSEGV", "SIGABRT", "SIGPIPE", "SIGHUP", "SIGUSR1",
                     "SIGALRM", "SIGRTMIN", "SIGXCPU"):
            number = getattr(signal, name)
            script = f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL); os.kill(os.getpid(), {int(number)})"
            if name == "SIGKILL":
                script = "import os; os.kill(os.getpid(), 9)"
            self.assertEqual(run(*joule_run("--", PYTHON, "-c", script)).returncode, -int(number), name)

    def test_no_core_file_of_joule(self):
        with tempfile.TemporaryDirectory() as folder:
            def allow_cores():
                soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
                resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
            plain = run("sh", "-c", "kill -SEGV $$", cwd=folder, preexec_fn=allow_cores)
            self.assertEqual(plain.returncode, -signal.SIGSEGV)
            before = len(os.listdir(folder))
            run(*joule_run("--", "sh", "-c", "kill -SEGV $$"), cwd=folder, preexec_fn=allow_cores)
            self.assertLessEqual(len(os.listdir(folder)), 2 * before)

    @unittest.skipIf(sanitizer_of(JOULE) == "thread", "the thread sanitizer writes a file of its own first")
    def test_a_limit_on_the_size_of_files_ends_nothing(self):
        """SIGXFSZ reaches the command only. If joule exceeds the limit, it reports a failed write."""
        def limit(count):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))
        for count in (0, 4096, 100 << 10):
            plain = run(JOULE, "run", "--", "sh", "-c", "exit 3", preexec_fn=limit(count))
            self.assertEqual(plain.returncode, 3, plain.stderr)
        death = run(*joule_run("--", "sh", "-c", "kill -XFSZ $$"), preexec_fn=limit(4096))
        self.assertEqual(death.returncode, -signal.SIGXFSZ)
        with tempfile.TemporaryDirectory() as folder:
            for words in (["record", "-q", "-o", "x", "--", "true"], ["run", "-q", "--json", "x", "--", "true"]):
                result = run(JOULE, *words, cwd=folder, preexec_fn=limit(64))
                self.assertEqual(result.returncode, 125, words)
                self.assertIn("File too large", result.stderr)

    def test_commands_that_cannot_run(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            with open(plain, "w", encoding="utf-8") as file:
                file.write("data\n")
            for command, code in (("no-such-command-anywhere", 127), (os.path.join(folder, "absent"), 127),
                                  (plain, 126), (folder, 126), ("", 127)):
                result = run(JOULE, "run", "--", command)
                self.assertEqual(result.returncode, code, command)
                self.assertIn("joule run: cannot run", result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_wrong_usage_is_refused(self):
        for words, message in ((["run"], "no command"), (["run", "--"], "no command"), (["run", "--jsno", "x"], "--json"),
                            (["run", "--json"], "needs a value"), (["run", "-r", "0", "true"], "whole number"),
                            (["run", "--quiet=yes", "true"], "takes no value"), (["run", "-Z", "true"], "-Z"),
                            (["run", "--label", "nokey", "true"], "KEY=VALUE"),
                            (["run", "--json", "x", "--csv", "x", "true"], "named twice"),
                            (["run", "--json", "-", "--csv", "-", "true"], "- is named twice"),
                            (["record", "-o", "x", "--csv", "x", "true"], "joule record: x is named"), (["rnu", "true"], "'run'"),
                            (["--verison"], "unknown option"), ([], "usage")):
            result = run(JOULE, *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(message, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_help_and_version(self):
        for words in (["--help"], ["-h"], ["help"], ["run", "--help"], ["help", "run"], ["--version"], ["version"]):
            result = run(JOULE, *words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertTrue(result.stdout)

    def test_output_that_cannot_be_written(self):
        for words in (["--help"], ["help", "run"], ["run", "--help"], ["record", "-h"], ["report", "--help"], ["--version"],
                      ["devices"], ["devices", "--json"], ["doctor"]):
            for stream, message in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
                result = run("sh", "-c", f'exec "$0" "$@" {stream}', JOULE, *words)
                self.assertEqual(result.returncode, 125, words)
                self.assertIn("cannot write to standard output: " + message, result.stderr)

    def test_options_of_the_command_are_its_own(self):
        result = run(*joule_run("echo", "--json", "-r", "0"))
        self.assertEqual((result.returncode, result.stdout), (0, "--json -r 0\n"))


class Repeats(unittest.TestCase):
    def test_runs_as_often_as_asked(self):
        result = run(*joule_run("-r", "3", "--", "echo", "x"))
        self.assertEqual((result.returncode, result.stdout), (0, "x\n" * 3))

    def test_stops_at_the_first_failure(self):
        with tempfile.NamedTemporaryFile("w+") as file:
            script = f"echo x >> {file.name}; test $(wc -l < {file.name}) -lt 3 || exit 7"
            self.assertEqual(run(*joule_run("-r5", "--", "sh", "-c", script)).returncode, 7)
            self.assertEqual(file.read(), "x\n" * 3)


class Inheritance(unittest.TestCase):
    maxDiff = None

    def portrait(self, *prefix, **options):
        result = run(*prefix, PYTHON, "-c", SELF_PORTRAIT, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def same(self, **options):
        self.assertEqual(self.portrait(**options), self.portrait(*joule_run("--"), **options))
        twice = self.portrait(*joule_run("-r", "2", "--"), **options)
        self.assertEqual(self.portrait(**options) * 2, twice)

    def test_command_has_the_same_environment_as_without_joule(self):
        self.same()

    def test_ignored_and_blocked_signals_are_inherited(self):
        def prepare():
            for number in (signal.SIGINT, signal.SIGCHLD, signal.SIGHUP, signal.SIGTSTP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD})
        self.same(preexec_fn=prepare, restore_signals=False)

    def test_limits_and_niceness_are_inherited(self):
        def prepare():
            os.nice(3)
            os.umask(0o027)
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
            os.chdir("/")
        self.same(preexec_fn=prepare)

    def test_open_files_are_passed_on_and_no_others(self):
        with open("/dev/null", "rb") as extra:
            self.same(pass_fds=(extra.fileno(),))

    def test_an_earlier_child_stays(self):
        script = 'sleep 1000 & echo $! ; exec "$0" run -q -- sh -c "exit 5"'
        with subprocess.Popen(["sh", "-c", script, JOULE], stdout=subprocess.PIPE, text=True) as process:
            pid = int(process.stdout.readline())
            try:
                self.assertEqual(process.wait(60), 5)
                os.kill(pid, 0)
            finally:
                os.kill(pid, signal.SIGKILL)


class Streams(unittest.TestCase):
    def test_standard_input_and_output(self):
        data = os.urandom(1 << 20)
        result = subprocess.run(joule_run("--", "cat"), input=data, capture_output=True, timeout=60, check=True)
        self.assertEqual((result.stdout, result.stderr), (data, b""))

    def test_closed_descriptors_stay_closed(self):
        """Descriptors that are closed for joule are also closed for the command. joule opens no other file
        with their numbers."""
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with tempfile.NamedTemporaryFile("r+") as file:
                script = f"""exec 9>{file.name}; "$0" run -r2 -- sh -c '
                    for f in 0 1 2; do [ -e /proc/self/fd/$f ] && echo $f >&9; done; exit 0' {closed}; echo $? >&9"""
                run("sh", "-c", script, JOULE)
                fds = [f for f in "012" if f + "<&-" not in closed and f + ">&-" not in closed]
                lines = file.read().split()
                if closed.startswith("0<&- 1"):
                    fds = []
                self.assertEqual(lines[-1], "0", closed)
                self.assertEqual(lines[:-1], fds * 2, closed)

    def test_closed_pipe_ends_the_command_as_without_joule(self):
        result = run("bash", "-c", '"$0" run -q -- seq 1 1000000 | head -n 1; echo "${PIPESTATUS[0]}"', JOULE)
        self.assertEqual(result.stdout.split(), ["1", str(128 + signal.SIGPIPE)])

    def test_large_output_is_passed_on(self):
        script = "head -c 200000000 /dev/zero"
        with subprocess.Popen(joule_run("--", "sh", "-c", script), stdout=subprocess.PIPE) as process:
            total = 0
            while piece := process.stdout.read(1 << 20):
                total += len(piece)
            self.assertEqual((process.wait(60), total), (0, 200000000))

    def test_unwritable_report_is_found_before_the_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            for option in ("--json", "--csv"):
                for path in (os.path.join(folder, "absent", "file"), folder, "/proc/nothing", ""):
                    result = run(JOULE, "run", option, path, "--", "touch", mark)
                    self.assertEqual(result.returncode, 125, path)
                    self.assertIn("cannot write", result.stderr)
                    self.assertFalse(os.path.exists(mark))
            result = run("sh", "-c", '"$0" run --json - -- touch "$1" >&-', JOULE, mark)
            self.assertEqual(result.returncode, 125)
            self.assertFalse(os.path.exists(mark))
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    main()
