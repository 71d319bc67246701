"""What the tests of joulec share: a folder of their own, how to call it and read what it reports, how to be skipped."""
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
    """Each test has a folder of its own, and joulec runs there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        """Its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def report_in(self, name):
        """A report, with its functions by name."""
        report = json.loads(self.read(name))
        report["functions"] = {function["name"]: function for function in report["functions"]}
        return report

    def joulec(self, *words, text="", cwd=None, **environment):
        return subprocess.run([JOULEC, *words], input=text, capture_output=True, text=True, check=False, cwd=cwd or self.folder,
                              env={**os.environ, **environment})


class OneFile(Folder):
    """What joulec says of one C file, which begins with HEAD."""

    HEAD = HEADER

    def compile(self, text, *options, name="a.c", **environment):
        return self.joulec("-I", INCLUDE, "-O2", *options, "-c", self.write(name, self.HEAD + text), "-o", "a.o", **environment)

    def report(self, text, *options):
        """With "stderr", what was said beside it."""
        done = self.compile(text, "--energy-report", "report.json", *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {**self.report_in("report.json"), "stderr": done.stderr}

    def functions(self, text, *options):
        return self.report(text, *options)["functions"]


def has_sanitizer():
    """Whether libjoule has one: a program without one cannot be relied on to run with that."""
    return run_support.sanitizer_of(LIBRARY) is not None


def main(runs_what_it_builds=False):
    """Runs the tests of the calling script, if there is a joulec."""
    if not os.path.exists(JOULEC):
        run_support.skip("this build has no joulec (no LLVM)")
    if runs_what_it_builds and has_sanitizer():
        run_support.skip("libjoule has a sanitizer, which programs without one cannot be relied on to run with")
    run_support.main()
