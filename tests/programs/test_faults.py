#!/usr/bin/env python3
"""The n-th allocation, open, read, write, fsync, rename, mmap or thread of a program fails, for many n. With
JOULE_TEST_FULL=1 it is done for all n.

Whichever call fails, the program ends by itself in time, and prints a message unless it did its work. Files that it replaces
have their old or their new content, and it leaves no other file behind.
"""
import json
import os
import re
import struct
import subprocess
import tempfile
import time
import unittest

from run_support import IS_FULL, main, sanitizer_of, skip

JOULE = os.path.abspath(os.environ.get("JOULE", "build/release/tools/joule/joule"))
FORGE = os.environ.get("FORGE", "")
JOULEC = os.environ.get("JOULEC", "")
SOURCE = os.environ.get("JOULE_SOURCE", ".")
BUILD = os.environ.get("JOULE_BUILD", "build/release")
LIBRARY = os.path.abspath(os.path.join(BUILD, "tests/fakes/faults/libfaults.so"))
PROGRAMS = "joule,joule-serve,forge,joulec,joulec-check"
SANITIZER = sanitizer_of(JOULE)
KINDS = ("alloc", "open", "read", "write", "fsync", "rename", "mmap", "thread")[1 if SANITIZER else 0:]  # the address sanitizer has its own allocator, so allocations cannot fail
SAMPLE = 3 if SANITIZER else 8  # number of calls of each kind and program
PATIENCE_S = 30


def chosen(count):
    """Returns the numbers of calls to fail: all, or the first two and others at even distances."""
    if IS_FULL or count <= SAMPLE:
        return range(1, count + 1)
    return sorted({1, 2, *(2 + (count - 2) * i // (SAMPLE - 2) for i in range(1, SAMPLE - 1))})


def preloaded():
    """Returns the libraries to preload. The address sanitizer's library comes first if the program uses it. It then finds
    memory that is leaked after a failure."""
    if not SANITIZER:
        return LIBRARY
    own = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{os.path.realpath(own)} {LIBRARY}"


def session_files(pid):
    return [name for name in os.listdir("/dev/shm") if re.match(rf"joule\D*{pid}-", name)]


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        self.state = os.path.join(self.folder, "state")

    def path(self, name):
        return os.path.join(self.work, name)

    def environment(self, fault):
        with open(self.state, "wb") as file:
            file.write(bytes(16))
        return {**os.environ, "LD_PRELOAD": preloaded(), "JOULE_FAULT": fault, "JOULE_FAULT_PROGRAMS": PROGRAMS,
                "JOULE_FAULT_STATE": self.state, "XDG_CACHE_HOME": self.folder, "XDG_CONFIG_HOME": self.folder,
                "JOULE_SOURCES": "estimated", "ASAN_OPTIONS": "exitcode=99", "LSAN_OPTIONS": "exitcode=99"}

    def counts(self):
        """Returns the number of calls, and of calls that failed."""
        with open(self.state, "rb") as file:
            return struct.unpack("QQ", file.read())

    def restore(self, files):
        for name in os.listdir(self.work):
            os.unlink(self.path(name))
        for name, content in files.items():
            with open(self.path(name), "wb") as file:
                file.write(content)

    def run_with(self, fault, words):
        with subprocess.Popen(words, env=self.environment(fault), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace") as process:
            try:
                _, message = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.fail(f"{fault}: no end after {PATIENCE_S} s")
        return process.returncode, message, process.pid

    def each(self, words, files, made, is_good, codes=(1, 2, 125, 126)):
        """Runs `words` once for each fault. `files` exist before each run. `made` are names of files that may exist
        afterwards. is_good(name) checks a file that changed."""
        for kind in KINDS:
            self.restore(files)
            code, message, _ = self.run_with(f"{kind}:0", words)
            self.assertEqual(code, 0, message)
            calls, _ = self.counts()
            for number in chosen(calls):
                for goes_on in ("", "+"):
                    fault = f"{kind}:{number}{goes_on}"
                    with self.subTest(program=os.path.basename(words[0]), fault=fault, of=calls):
                        self.restore(files)
                        self.check(fault, self.run_with(fault, words), files, made, is_good, codes)

    def check(self, fault, answer, files, made, is_good, codes):
        code, message, pid = answer
        if not self.counts()[1]:
            return  # in this run the program made fewer calls, so the call with this number did not occur
        self.assertIn(code, (0, *codes), (fault, message))
        if code:
            self.assertRegex(message, r"(?m)^(joule|forge|joulec|clang)[^:]*: .", fault)
        left = set(os.listdir(self.work))
        self.assertLessEqual(left, set(files) | set(made), (fault, message))
        self.assertLessEqual(set(files), left, (fault, message))
        self.assertEqual(session_files(pid), [], fault)
        for name in left:
            with open(self.path(name), "rb") as file:
                content = file.read()
            if files.get(name) != content:
                self.assertTrue(is_good(name), (fault, name, code, message))
            elif code == 0 and name in made:
                self.fail(f"{fault}: {name} is the old one, and nothing was said but {message!r}")

    def is_json(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return "schema" in json.loads(file.readline())
        except ValueError:
            return False

    OLD = b'{"schema": "old"}\n'

    def test_run_survives_each_failing_call(self):
        self.each([JOULE, "run", "--json", self.path("out"), "--", "sleep", "0.02"], {"out": self.OLD}, ["out"], self.is_json,
                  codes=(1, 125, 126, 127))

    def record(self):
        path = self.path("a.rec")
        subprocess.run([JOULE, "record", "-q", "-o", path, "--", "sleep", "0.02"], check=True,
                       env={**os.environ, "JOULE_SOURCES": "estimated"})
        with open(path, "rb") as file:
            return file.read()

    def test_record_survives_each_failing_call(self):
        """If the end of a record could not be written, the part before it can be read."""
        old = self.record()

        def can_be_read(name):
            answer = subprocess.run([JOULE, "report", self.path(name)], capture_output=True, text=True, check=False)
            return answer.returncode == 0 or os.path.getsize(self.path(name)) < 100  # only the header was written

        self.each([JOULE, "record", "-q", "-o", self.path("a.rec"), "--", "sleep", "0.02"], {"a.rec": old}, ["a.rec"], can_be_read,
                  codes=(1, 125, 126, 127))

    def test_report_survives_each_failing_call(self):
        old = self.record()
        self.each([JOULE, "report", "--json", self.path("out"), "--samples", self.path("table"), self.path("a.rec")],
                  {"a.rec": old, "out": self.OLD, "table": b"old"}, ["out", "table"],
                  lambda name: self.is_json(name) if name == "out" else os.path.getsize(self.path(name)) > 10)

    @unittest.skipIf(not FORGE, "no TensorForge here")
    def test_training_survives_each_failing_call(self):
        text = os.path.join(self.folder, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("to be or not to be " * 20)
        words = [FORGE, "train", "--model", "gpt", "--data", text, *"--layers 1 --width 16 --heads 1 --context 8 --batch 4 --sample 0 --threads 2".split(),
                 "--checkpoint", self.path("ck")]
        subprocess.run([*words, "--epochs", "1"], check=True, capture_output=True)
        with open(self.path("ck"), "rb") as file:
            old = file.read()

        def is_whole(name):
            if name == "ck.joules":
                return os.path.getsize(self.path(name)) > 0
            return self.is_json(name) if name == "out" else subprocess.run([FORGE, "inspect", self.path(name)], capture_output=True,
                                                                           check=False).returncode == 0

        self.each([*words, "--epochs", "2", "--resume", "--json", self.path("out")], {"ck": old, "out": self.OLD}, ["ck", "out", "ck.joules"],
                  is_whole)

    @unittest.skipIf(not JOULEC, "no joulec here")
    @unittest.skipIf(SANITIZER, "the sanitizer's library would be preloaded into clang, too")
    def test_joulec_survives_each_failing_call(self):
        source = os.path.join(self.folder, "a.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include <joule/budget.h>\nJOULE_BUDGET("max_joules=1J")\nfloat f(const float *x)\n{\n'
                       "    float sum = 0;\n    for (int i = 0; i < 100; i++)\n        sum += x[i];\n    return sum;\n}\n")
        self.each([JOULEC, "--energy-check", f"-I{SOURCE}/include", "--energy-report", self.path("out"), "-c", source, "-o",
                   self.path("a.o")], {"out": self.OLD}, ["out", "a.o"], lambda name: name == "a.o" or self.is_json(name))


class Serving(Faults):
    """A server that could start answers or reports the reason; it ends on request."""

    def serve(self, fault):
        words = [JOULE, "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(words, env=self.environment(fault), stderr=subprocess.PIPE, text=True) as process:
            message = process.stderr.readline()
            while "listening on" not in message and process.poll() is None:
                message += process.stderr.readline()
            found = re.search(r"listening on http://(\S+)/", message)
            if found:
                subprocess.run(["python3", "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10).read()",
                                f"http://{found[1]}/metrics"], capture_output=True, check=False)
                process.terminate()
            deadline = time.monotonic() + PATIENCE_S
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            if process.poll() is None:
                process.kill()
                self.fail(f"{fault}: no end after {PATIENCE_S} s")
            message += process.stderr.read()
        self.assertIn(process.returncode, (0, 1, 2, 125), (fault, message))
        if process.returncode:
            self.assertRegex(message, r"(?m)^joule[^:]*: .", fault)

    def test_serve_survives_each_failing_call(self):
        for kind in KINDS:
            self.serve(f"{kind}:0")
            calls, _ = self.counts()
            for number in chosen(calls):
                with self.subTest(fault=f"{kind}:{number}", of=calls):
                    self.serve(f"{kind}:{number}")

    test_run_survives_each_failing_call = test_record_survives_each_failing_call = test_report_survives_each_failing_call = test_training_survives_each_failing_call = test_joulec_survives_each_failing_call = None


if __name__ == "__main__":
    if SANITIZER == "thread":
        skip("the thread sanitizer's library must be the first one")
    if not os.path.exists(LIBRARY):
        skip(f"{LIBRARY} was not built")
    main()
