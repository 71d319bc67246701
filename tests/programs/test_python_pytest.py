#!/usr/bin/env python3
"""Checks the pytest plugin of the Python package on a recorded machine of known power.

pytest is the one of this Python. If there is none, pip installs it into the build folder; if that fails, the
test is skipped.
"""
import json
import os
import subprocess
import sys
import unittest

import run_support
from python_support import BUILD, Package, skip_if_sanitized
from run_support import Machine, patient, skip

WATTS = 40
PLACE = os.path.join(BUILD, "tests", "python-peers", f"pytest-3.{sys.version_info.minor}")
TESTS = """
import time, pytest
def test_small(): time.sleep(0.05)
def test_large(): time.sleep(0.5)
@pytest.mark.energy_budget(joules="1 J")
def test_with_small_budget(): time.sleep(0.2)
@pytest.mark.energy_budget(joules=1000)
def test_with_large_budget(): time.sleep(0.5)
@pytest.fixture
def slow_fixture(): time.sleep(0.5)
def test_of_a_slow_fixture(slow_fixture): pass
def test_that_fails(): raise AssertionError("own failure")
@pytest.mark.skip
def test_skipped(): pass
"""


def pytest_path():
    """Returns the folder of pytest that must be in PYTHONPATH; "" if this Python has it."""
    if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True).returncode == 0:
        return ""
    if not os.path.isdir(os.path.join(PLACE, "pytest")):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--timeout", "15", "--retries", "1",
                               "--target", PLACE, "pytest"], capture_output=True, text=True, timeout=180)
        if done.returncode != 0:
            skip(f"pytest cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    return PLACE


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = pytest_path()
        cls.package = Package()
        with open(os.path.join(cls.package.folder, "test_sample.py"), "w", encoding="utf-8") as file:
            file.write(TESTS)

    @classmethod
    def tearDownClass(cls):
        cls.package.__exit__()

    def run_tests(self, *options, status):
        """Runs the sample with pytest and returns its output."""
        with Machine(WATTS) as machine:
            environment = self.package.environment(JOULE_ROOT=machine.root)
            environment["PYTHONPATH"] += os.pathsep + self.path
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_sample.py", *options],
                                  cwd=self.package.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_without_options_only_markers_are_judged(self):
        text = self.run_tests(status=1)
        self.assertNotIn("energy of tests", text)
        self.assertIn("2 failed, 4 passed, 1 skipped", text)
        self.assertRegex(text, r"used [0-9.]+ J \([0-9.]+ to [0-9.]+, measured\), more than the limit of 1\.00 J")

    def test_option_prints_the_joules_of_each_test(self):
        text = self.run_tests("--energy", "-k", "small or large or fixture", "--deselect",
                              "test_sample.py::test_with_small_budget", status=0)
        lines = list(filter(None, text[text.index("energy of tests ="):].splitlines()[1:]))
        self.assertIn("test_large", lines[0] + lines[1])
        self.assertRegex(lines[0], r"^[0-9.]+ J \([0-9.]+ to [0-9.]+, measured\) +\d\.\d+ s ")
        self.assertIn("test_of_a_slow_fixture", lines[3])  # fixtures are not measured
        self.assertIn("in 4 tests", lines[4])

    def test_limit_fails_tests_above_it(self):
        text = self.run_tests("--energy-fail-over", "15J", "-k", "small or large", status=1)
        failed = [line.split()[1] for line in text.splitlines() if line.startswith("FAILED")]
        self.assertEqual(failed, ["test_sample.py::test_large", "test_sample.py::test_with_small_budget"])

    def test_own_failure_of_a_test_stays(self):
        self.assertIn("own failure", self.run_tests("--energy-fail-over", "10J", "-k", "that_fails", status=1))

    @patient
    def test_file_contains_all_tests(self):
        path = os.path.join(self.package.folder, "energy.json")
        self.run_tests("--energy-json", path, "-k", "test_large or test_small", status=0)
        with open(path, encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written["schema"], "joule-pytest-1")
        rows = {row["test"]: row for row in written["tests"]}
        self.assertEqual(sorted(rows), ["test_sample.py::test_large", "test_sample.py::test_small"])
        row = rows["test_sample.py::test_large"]
        self.assertAlmostEqual(row["joules"] / row["seconds"], WATTS, delta=4)
        self.assertEqual(row["joules_class"], "measured")

    def test_wrong_limit_is_refused(self):
        self.run_tests("--energy-fail-over", "10 bananas", status=4)


if __name__ == "__main__":
    skip_if_sanitized()
    run_support.main()
