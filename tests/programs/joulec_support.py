"""Support for tests of joulec: a folder for each test, calls of joulec, parsing of its reports, skipping."""
import json
import os
import subprocess
import tempfile
import unittest

import run_support

JOULEC = os.environ.get("JOULEC", "")
INCLUDE = os.path.join(os.environ["JOULE_SOURCE"], "include")
LIBRARY = os.path.join(os.environ["JOULE_BUILD"], "src", "libjoule.so")
HEADER = "#include <joule/budget.h>\n"


class Folder(unittest.TestCase):
    """Each test has its own folder, in which joulec runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        """Writes a file to the test's folder. Returns its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def report_in(self, name):
        """Reads a report of the test's folder. Returns the report, with its functions by name."""
        report = json.loads(self.read(name))
        report["functions"] = {function["name"]: function for function in report["functions"]}
        return report

    def joulec(self, *words, text="", cwd=None, **environment):
        return subprocess.run([JOULEC, *words], input=text, capture_output=True, text=True, check=False, cwd=cwd or self.folder,
                              env={**os.environ, **environment})


class OneFile(Folder):
    """Tests that run joulec on one C file, which begins with HEAD."""

    HEAD = HEADER

    def compile(self, text, *options, name="a.c", **environment):
        return self.joulec("-I", INCLUDE, "-O2", *options, "-c", self.write(name, self.HEAD + text), "-o", "a.o", **environment)

    def report(self, text, *options):
        """Returns the report of joulec for this source. The member "stderr" contains the messages."""
        done = self.compile(text, "--energy-report", "report.json", *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {**self.report_in("report.json"), "stderr": done.stderr}

    def functions(self, text, *options):
        return self.report(text, *options)["functions"]


def has_sanitizer():
    """Returns True if libjoule has a sanitizer. A program without one may not run with such a libjoule."""
    return run_support.sanitizer_of(LIBRARY) is not None


def main(runs_what_it_builds=False):
    """Runs the tests of the calling script if joulec was built."""
    if not os.path.exists(JOULEC):
        run_support.skip("this build has no joulec (no LLVM)")
    if runs_what_it_builds and has_sanitizer():
        run_support.skip("libjoule has a sanitizer, which programs without one cannot be relied on to run with")
    run_support.main()
