#!/usr/bin/env python3
"""Checks that the demo runs and that its verdict follows from the joules, with the real program and with a
fake joule of known results.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DEMO = pathlib.Path(os.environ["JOULE_SOURCE"]) / "demo" / "compress.py"

# Runs the command and reports the energy that JOULES has for the command's first two words. From run to run,
# the reported energy changes: 1 % less, equal, 1 % more, and so on. The length of a file counts the runs.
FAKE = f"""#!{sys.executable}
import json, os, subprocess, sys
command = sys.argv[sys.argv.index("--") + 1:]
subprocess.run(command, check=True)
with open(__file__ + "." + " ".join(command).replace("/", "_"), "a") as file:
    turn = file.tell() % 3
    file.write(".")
joules = json.loads(os.environ["JOULES"]).get(" ".join(command[:2]), 9.0) * (0.99 + 0.01 * turn)
part = {{"energy_joules": joules, "interval_joules": [joules * 0.5, joules * 2], "class": os.environ["CLASS"]}}
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump({{"gross": part, "command": part, "duration_seconds": 1}}, file)
"""


def demo(joule, *options, **environment):
    result = subprocess.run([sys.executable, DEMO, "--joule", joule, "--size", "1", *options], capture_output=True,
                            text=True, env={**os.environ, **environment}, check=False)
    return result.returncode, result.stdout + result.stderr


class Demo(unittest.TestCase):
    def ask_fake(self, joules, evidence):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "joule"
            fake.write_text(FAKE, encoding="utf-8")
            fake.chmod(0o755)
            code, output = demo(fake, JOULES=json.dumps(joules), CLASS=evidence)
        self.assertEqual(code, 0, output)
        return output

    def test_numbers_that_mean_nothing(self):
        for options in (["--rounds", "0"], ["--rounds", "x"], ["--size", "-1"], ["--size", "nan"]):
            code, output = demo("no-such-joule", *options)
            self.assertEqual(code, 2, output)
            self.assertIn("number above 0", output)

    def test_the_real_program(self):
        code, output = demo(os.environ["JOULE"], "--rounds", "2")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"\d nJ \(.* to .*\)")
        self.assertRegex(output, "Cheapest per byte: |No verdict: ")

    def test_common_errors_cancel_when_measured(self):
        output = self.ask_fake({"gzip -1": 4.5}, "measured")
        self.assertIn("Cheapest per byte: gzip -1, with at least 95 % probability", output)
        self.assertNotIn("no energy sensor", output)

    def test_models_of_different_programs_may_err_differently(self):
        output = self.ask_fake({"gzip -1": 4.5, "gzip -6": 4.5 * 1.005, "gzip -9": 40.0, "xz -1": 200.0}, "modelled")
        self.assertRegex(output, "Cheapest per byte: gzip -[16], but .*do not differ significantly")
        self.assertRegex(output, r"do not differ significantly\.\nEach of the other \d")
        self.assertIn("no energy sensor", output)

    def test_equals_have_no_verdict(self):
        self.assertIn("No verdict: ", self.ask_fake({}, "modelled"))

    def test_a_network_learns_to_read_drawn_digits(self):
        if not os.environ.get("FORGE"):
            self.skipTest("there is no forge: zlib was not found")
        command = [sys.executable, DEMO.with_name("train.py"), "--forge", os.environ["FORGE"], "--examples", "3000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(re.findall(r"accuracy ([0-9.]+) %", done.stderr)[-1]), 60)
        self.assertIn("mlp/fc1", done.stdout)

    def test_a_missing_program_is_an_error(self):
        code, output = demo("/nonexistent/joule")
        self.assertEqual(code, 1)
        self.assertIn("demo: ", output)
        self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
