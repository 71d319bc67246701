#!/usr/bin/env python3
"""Checks files whose names or contents are not trusted. No program waits for a pipe without another end,
reads without a limit, or changes a file that the user did not name."""
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

from run_support import (JOULE, Machine, children_of, main, recorded_machine, recorded_machines, sanitizer_of,
                         wait_until)

FORGE = os.environ.get("FORGE", "")
JOULEC = os.environ.get("JOULEC", "")
BUILD = os.environ.get("JOULE_BUILD", "build/release")
PATIENCE_S = 60


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, **more)


def low_memory():
    if not sanitizer_of(JOULE):  # not for sanitizers: their shadow memory has terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Trees(Folder):
    """Recorded machines in which a regular file was replaced by something else."""

    def test_a_pipe_in_the_place_of_a_counter(self):
        with Machine(30) as machine:
            zone = machine.zone + ":0"
            os.makedirs(zone)
            os.mkfifo(os.path.join(zone, "energy_uj"))
            with open(os.path.join(zone, "name"), "w", encoding="utf-8") as file:
                file.write("core")
            for words in (("run", "-q", "--json", "-", "--root", machine.root, "--", "sleep", "0.3"),
                          ("devices", "--root", machine.root), ("doctor", "--root", machine.root)):
                answer = run(JOULE, *words)
                self.assertEqual(answer.returncode, 0, (words, answer.stderr))
                if words[0] == "run":
                    self.assertGreater(json.loads(answer.stdout)["total_energy_joules"], 5)

    def test_pipes_in_the_place_of_all_files(self):
        """Replaces all files of every recorded machine by pipes."""
        for name in recorded_machines():
            root = self.path(name)
            shutil.copytree(recorded_machine(name), root, symlinks=True)
            for folder, _, files in os.walk(root):
                for file in files:
                    path = os.path.join(folder, file)
                    if not os.path.islink(path):
                        os.unlink(path)
                        os.mkfifo(path)
            with self.subTest(machine=name):
                run(JOULE, "devices", "--root", root)
                run(JOULE, "run", "-q", "--root", root, "--", "true")

    @unittest.skipIf(os.geteuid() != 0, "only root can make device nodes")
    def test_devices_in_the_place_of_a_counter(self):
        for number, name in ((5, "zero"), (8, "random")):
            root = self.path(name)
            zone = os.path.join(root, "sys/class/powercap/intel-rapl:0")
            os.makedirs(zone)
            try:
                os.mknod(os.path.join(zone, "energy_uj"), stat.S_IFCHR | 0o600, os.makedev(1, number))
            except PermissionError:
                self.skipTest("device nodes are forbidden here")
            run(JOULE, "run", "-q", "--root", root, "--", "true")


class Outputs(Folder):
    """Outputs whose temporary name is already taken by another file."""

    def spoil(self, target, kind):
        """Creates a file with the temporary name of `target`. The content of this file must not change."""
        name = target + ".partial"
        victim = self.write("victim", "precious")
        {"hard link": os.link, "symbolic link": os.symlink,
         "pipe": lambda _, path: os.mkfifo(path), "folder": lambda _, path: os.mkdir(path)}[kind](victim, name)
        return name

    def check(self, words, target, beside=()):
        """Checks that the program writes `target` although its temporary name is taken. beside: names of
        other files that may exist afterwards."""
        for kind in ("hard link", "symbolic link", "pipe", "folder"):
            with self.subTest(kind=kind, words=words[1:3]):
                name = self.spoil(target, kind)
                answer = run(*words)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertGreater(os.path.getsize(target), 0)
                self.assertEqual(self.text("victim"), "precious")
                self.assertEqual(os.stat(self.path("victim")).st_nlink, 2 if kind == "hard link" else 1)
                os.rmdir(name) if kind == "folder" else os.unlink(name)
                os.unlink(target)
                left = sorted(os.listdir(self.folder))
                self.assertEqual([name for name in left if name not in beside], ["victim"])
                os.unlink(self.path("victim"))

    def test_output_of_joule_replaces_hostile_temporary_files(self):
        for option in ("--json", "--csv"):
            self.check([JOULE, "run", "-q", option, self.path("out"), "--", "true"], self.path("out"))

    @unittest.skipIf(not FORGE, "no TensorForge here")
    def test_output_of_forge_replaces_hostile_temporary_files(self):
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "text")
            with open(text, "w", encoding="utf-8") as file:
                file.write("to be or not to be " * 20)
            small = "--layers 1 --width 16 --heads 1 --context 8 --batch 4 --epochs 1 --sample 0".split()
            self.check([FORGE, "train", "--model", "gpt", "--data", text, *small, "--checkpoint", self.path("out")],
                       self.path("out"), beside=["out.joules"])
            os.unlink(self.path("out.joules"))
        self.check([FORGE, "check", "--json", self.path("out"), "--op", "matmul", "--cases", "1"], self.path("out"))

    @unittest.skipIf(not JOULEC, "no joulec here")
    def test_output_of_joulec_replaces_hostile_temporary_files(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "a.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int f(int a) { return a + 1; }\n")
            self.check([JOULEC, "--energy-check", f"--energy-report={self.path('out')}", "-c", source, "-o",
                        os.path.join(folder, "a.o")], self.path("out"))

    def test_report_at_exit_replaces_hostile_temporary_files(self):
        """libjoule writes the report at exit, and the program must still end."""
        program = "import ctypes, time; joule = ctypes.CDLL(%r); joule.joule_current_power_watts(); time.sleep(0.1)" \
            % os.path.join(BUILD, "src/libjoule.so")
        more = {"env": {**os.environ, "JOULE_SOURCES": "estimated", "JOULE_ENERGY_JSON": self.path("out")}}
        if sanitizer_of(os.path.join(BUILD, "src/libjoule.so")):
            self.skipTest("Python cannot load a sanitized library")
        os.mkfifo(self.path("out"))
        answer = run("python3", "-c", program, **more)
        self.assertEqual(answer.returncode, 0)
        self.assertIn("JOULE_ENERGY_JSON", answer.stderr)
        os.unlink(self.path("out"))
        self.write("out", "old")
        os.link(self.path("out"), self.path("second"))  # a second link to the file, as some backups have
        self.assertEqual(run("python3", "-c", program, **more).stderr, "")
        self.assertEqual(json.loads(self.text("out"))["schema"], "joule-report-1")
        self.assertEqual(self.text("second"), "old")


class Records(Folder):
    def test_two_writers_of_one_file(self):
        path = self.path("a.rec")
        first = subprocess.Popen([JOULE, "record", "-q", "-o", path, "--", "sleep", "30"])
        try:
            wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 100, "the first one's record")
            second = run(JOULE, "record", "-q", "-o", path, "--", "touch", self.path("ran"))
            self.assertEqual(second.returncode, 125, second.stderr)
            self.assertIn("another process records into it", second.stderr)
            self.assertFalse(os.path.exists(self.path("ran")))
        finally:
            for child in children_of(first.pid):
                os.kill(child, signal.SIGTERM)
            first.wait(PATIENCE_S)
        report = run(JOULE, "report", "--json", "-", path)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertEqual((report.stderr, json.loads(report.stdout)["program"]), ("", "sleep 30"))
        self.assertEqual(run(JOULE, "record", "-q", "-o", path, "--", "true").returncode, 0)

    def test_a_large_file_that_is_no_record(self):
        for magic, reason in ((b"", "not a joule record"), (b"JOULEREC\1\0\0\0\20\0\0\0", "too large for a record")):
            path = self.path("large")
            with open(path, "wb") as file:
                file.write(magic)
                file.truncate(8 << 30)
            answer = run(JOULE, "report", path, preexec_fn=low_memory)
            self.assertEqual((answer.returncode, answer.stdout), (1, ""))
            self.assertIn(reason, answer.stderr)

    def test_a_stream_that_is_no_record(self):
        """An endless stream is not read to its end."""
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as source:
            answer = subprocess.run([JOULE, "report", "-"], stdin=source.stdout, capture_output=True, text=True,
                                    timeout=PATIENCE_S, preexec_fn=low_memory, check=False)
            source.stdout.close()
            source.kill()
        self.assertEqual(answer.returncode, 1)
        self.assertIn("not a joule record", answer.stderr)


class Sources(Folder):
    """Files whose names joulec reads in line markers of a source."""

    @unittest.skipIf(not JOULEC, "no joulec here")
    def test_pipes_that_line_directives_name(self):
        os.mkfifo(self.path("pipe"))
        source = self.write("a.c", f"""#include <joule/budget.h>
#line 7 "{self.path('pipe')}"
JOULE_BUDGET("max_joules=1nJ")
float f(const float *x, int n)
{{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}}
""")
        include = os.path.join(os.environ.get("JOULE_SOURCE", "."), "include")
        answer = run(JOULEC, "--energy-check", f"-I{include}", "-c", source, "-o", self.path("a.o"),
                     f"--energy-html={self.path('a.html')}")
        self.assertIn("JE", answer.stderr)


if __name__ == "__main__":
    main()
