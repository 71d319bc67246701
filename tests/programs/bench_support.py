"""Support for tests of joule bench, compare and history: runs them with a database of their own."""
import json
import os
import subprocess
import tempfile
import unittest

from run_support import BUILD, JOULE, skip

PROGRAM = os.path.join(BUILD, "tools", "libexec", "joule", "joule-bench")


def need_bench():
    """Ends the script as skipped if this build has no joule bench."""
    if not os.path.exists(PROGRAM):
        skip("this build has no joule bench (SQLite is missing)")


class BenchTest(unittest.TestCase):
    """A test with a folder, and a database in it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "runs.db")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def joule(self, subcommand, *words, code=0):
        """Runs a subcommand with the test's database; returns the finished process."""
        done = subprocess.run([JOULE, subcommand, "--db", self.database, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def results(self, subcommand, *words, code=0):
        """Runs bench or compare and returns its JSON."""
        return json.loads(self.joule(subcommand, "--json", "-", *words, code=code).stdout)

    def history(self, *words):
        return json.loads(self.joule("history", "--json", *words).stdout)["benchmarks"]
