#!/usr/bin/env python3
"""Checks `joule calibrate` for users: lists, stored files, refusals, interrupts, and joulec with the
calibration.

Note: a busy machine is correctly refused. Tests that need a result are then skipped.
"""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import schema_check

JOULE = os.environ["JOULE"]
JOULEC = os.environ.get("JOULEC", "")
SOURCE = os.environ["JOULE_SOURCE"]
FAMILIES = {"chains", "units", "branches", "caches", "line mixes", "int mixes", "float mixes"}
FUNCTION = '#include <joule/budget.h>\nJOULE_BUDGET("max_joules=1pJ")\nint twice(int x)\n{\n    return 2 * x;\n}\n'
DAY = 86400


class Calibrate(unittest.TestCase):
    kept = None  # text of a quick calibration; None: not tried yet; "": the machine was refused

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "joule", "calibration.json")
        self.environment = dict(os.environ, XDG_CONFIG_HOME=self.folder.name)

    def calibrate(self, *options):
        return subprocess.run([JOULE, "calibrate", *options], capture_output=True, text=True, env=self.environment,
                              check=False, timeout=300)

    def quick(self):
        """Returns the text of the file that a quick calibration of this machine writes."""
        if Calibrate.kept is None:
            done = self.calibrate("--quick")
            if done.returncode == 1:
                self.assertRegex(done.stderr, "^joule calibrate: .*(try|the fit is rejected)")
                self.assertFalse(os.path.exists(self.path))
                Calibrate.kept = ""
            else:
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn("Only time is calibrated: --quick reads no energy sensor", done.stdout)
                self.assertIn(f"Written to {self.path}, where joulec finds it.", done.stdout)
                with open(self.path, encoding="utf-8") as file:
                    Calibrate.kept = file.read()
        if not Calibrate.kept:
            self.skipTest("this machine is too busy to be calibrated")
        return Calibrate.kept

    def put(self, text):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_output_option_chooses_the_file(self):
        path = os.path.join(self.folder.name, "elsewhere.json")
        done = self.calibrate("--quick", "--output", path)
        if done.returncode == 1:
            self.skipTest("this machine is too busy to be calibrated")
        self.assertIn(f"Written to {path}.\n", done.stdout)  # joulec does not search for a calibration at this path

    def test_the_list_has_enough_of_each_family(self):
        done = self.calibrate("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertGreaterEqual(len(lines), 40)
        self.assertLessEqual(FAMILIES, {line[:12].strip() for line in lines})
        self.assertTrue(all(" uops " in line for line in lines), done.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_wrong_usage_is_refused(self):
        for options in (["--quick", "--full"], ["--dry-run", "--output", "x"], ["now"], ["--nothing"]):
            done = self.calibrate(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn("joule calibrate --help", done.stderr)

    def test_unwritable_output_is_reported_before_the_work(self):
        begin = time.monotonic()
        done = self.calibrate("--output", os.path.join(self.folder.name, "no", "such", "folder"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write", done.stderr)
        self.assertLess(time.monotonic() - begin, 30)  # a whole calibration takes a minute, so it was interrupted

    def test_interrupt_keeps_the_old_file(self):
        self.put("what was there\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([JOULE, "calibrate", "--full"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=self.environment) as process:
                time.sleep(0.5)
                process.send_signal(number)
                out, message = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (128 + number, b""), message)
            self.assertIn(b"nothing was written", message)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["calibration.json"])
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "what was there\n")

    def test_a_quick_one(self):
        kept = json.loads(self.quick())
        self.assertEqual([e.message for e in schema_check.validator("calibration").iter_errors(kept)], [])
        self.assertLess(abs(kept["unix_seconds"] - time.time()), DAY)
        self.assertIsNone(kept["energy"])
        latency = {name: term["value"] for name, term in kept["time"]["latency_cycles"].items()}
        self.assertLess(latency["int_muls"], latency["int_divs"])
        self.assertLess(latency["l2_lines"], latency["dram_lines"])
        self.assertGreaterEqual(len(kept["kernels"]), 40)

    def joulec(self):
        path, report = (os.path.join(self.folder.name, name) for name in ("a.c", "report.json"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(FUNCTION)
        done = subprocess.run([JOULEC, "-I", os.path.join(SOURCE, "include"), "-O2", "--energy-check", "--energy-report",
                               report, "-c", path, "-o", path + ".o"], capture_output=True, text=True,
                              env=self.environment, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        with open(report, encoding="utf-8") as file:
            return json.load(file), done.stderr

    def doctor(self):
        done = subprocess.run([JOULE, "doctor", "--json"], capture_output=True, text=True, env=self.environment, check=True)
        return {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_without_one(self):
        report, message = self.joulec()
        self.assertEqual((report["time_class"], report["calibration"]), ("assumed", {"state": "none"}))
        self.assertRegex(message, r"run 'joule calibrate' to measure this machine \[JW0101\]")
        self.assertNotIn("JW0102", message)
        self.assertEqual(self.doctor()["uncalibrated"]["command"], "joule calibrate")

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_with_one(self):
        self.put(self.quick())
        kept = json.loads(self.quick())
        report, message = self.joulec()
        self.assertEqual((report["time_class"], report["class"]), ("derived", "assumed"))
        self.assertEqual(report["calibration"]["state"], "good")
        self.assertAlmostEqual(report["calibration"]["time_log_sd"], kept["time"]["log_sd"])
        self.assertEqual({function["quality"] for function in report["functions"]}, {"E"})
        self.assertRegex(message, r"there is no energy sensor; times were measured here on \d{4}-\d\d-\d\d \[JW0101\]")
        self.assertIn("calibrated", self.doctor())

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_with_prices(self):
        kept = json.loads(self.quick())
        term = {"value": 1e-10, "low": 9e-11, "high": 1.1e-10}
        names = ["package_seconds", "cycles", *kept["time"]["per_cycle"], "mispredicts"]
        kept["energy"] = {"class": "measured", "source": "rapl_perf", "log_sd": 0.1, "joules": {n: term for n in names}}
        self.put(json.dumps(kept))
        report, message = self.joulec()
        self.assertEqual(report["class"], "derived")
        self.assertRegex(report["table"], r"^calibrated/[a-z0-9-]+ \d{4}-\d\d-\d\d$")
        self.assertNotIn("E", {function["quality"] for function in report["functions"]})
        self.assertRegex(message, r"table     calibrated/.*: measured on this machine, error 11 %")
        self.assertNotIn("JW0101", message)

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_with_an_old_one(self):
        kept = json.loads(self.quick())
        kept["unix_seconds"] = int(time.time()) - 200 * DAY
        self.put(json.dumps(kept))
        report, message = self.joulec()
        self.assertEqual((report["time_class"], report["calibration"]["state"]), ("derived", "old"))
        self.assertRegex(message, r"warning: .*calibration\.json is 200 days old; run 'joule calibrate' to replace it \[JW0102\]")
        self.assertEqual(self.doctor()["calibration_old"]["command"], "joule calibrate")

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_with_one_of_another_cpu(self):
        sample = os.path.join(SOURCE, "tests/fuzz/corpus/fuzz_calibration/time")
        with open(sample, encoding="utf-8") as file:
            kept = json.load(file)
        kept["cpu"]["name"] = "Another CPU"
        self.put(json.dumps(kept))
        report, message = self.joulec()
        self.assertEqual((report["time_class"], report["calibration"]["state"]), ("assumed", "foreign"))
        self.assertRegex(message, r"was measured on another CPU and is ignored; run 'joule calibrate' on this machine \[JW0102\]")
        self.assertIn("uncalibrated", self.doctor())

    @unittest.skipUnless(JOULEC, "this build has no joulec")
    def test_joulec_with_a_broken_one(self):
        self.put('{"schema":"joule-calibration-1"}')
        report, message = self.joulec()
        self.assertEqual(report["calibration"]["state"], "broken")
        self.assertRegex(message, r"calibration\.json: 'unix_seconds' is missing or out of range; run 'joule calibrate'")
        self.assertIn("[JW0102]", message)
        self.assertEqual(self.doctor()["calibration_broken"]["command"], "joule calibrate")


if __name__ == "__main__":
    unittest.main(verbosity=2)
