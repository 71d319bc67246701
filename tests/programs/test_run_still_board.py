#!/usr/bin/env python3
"""Checks `joule run`, `devices` and `doctor` if a board's counter stays at 0 and the counter of its chip
advances."""
import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

from run_support import patient

JOULE = os.environ["JOULE"]
WATTS = 30


class StillBoard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        hwmon = os.path.join(self.root, "sys/class/hwmon/hwmon0")
        os.makedirs(hwmon)
        for name, text in (("name", "xe"), ("energy1_label", "card"), ("energy1_input", "0"), ("energy2_label", "pkg"),
                           ("energy2_input", f"{0:015d}")):
            with open(os.path.join(hwmon, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        os.symlink("../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0", os.path.join(hwmon, "device"))
        self.stop = threading.Event()
        thread = threading.Thread(target=self.count, args=(os.path.join(hwmon, "energy2_input"),))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)

    def count(self, path):
        counter, start = os.open(path, os.O_WRONLY), time.monotonic()
        while not self.stop.wait(0.001):
            os.pwrite(counter, b"%015d\n" % int((time.monotonic() - start) * WATTS * 1e6), 0)
        os.close(counter)

    def joule(self, *words):
        return subprocess.run([JOULE, *words], capture_output=True, text=True, check=True)

    @patient
    def test_run_counts_the_chip(self):
        done = self.joule("run", "--json", "-", "--root", self.root, "--sources", "hwmon", "--", "sleep", "2")
        report = json.loads(done.stdout)
        gross = report["gross"]
        self.assertAlmostEqual(gross["energy_joules"] / report["duration_seconds"], WATTS, delta=0.1 * WATTS)
        self.assertEqual((gross["class"], gross["partial"]), ("measured", True))
        self.assertIn("gpu-0 (hwmon) stands still", gross["partial_reason"])
        self.assertIn("partial: the sensor gpu-0", done.stderr)
        self.assertIsNone(report["command"]["energy_joules"], "CPU time says nothing of a GPU")

    @patient
    def test_devices_and_doctor_say_so(self):
        listing = json.loads(self.joule("devices", "--json", "--root", self.root, "--sources", "hwmon").stdout)
        board, = listing["devices"]
        self.assertAlmostEqual(board["power_watts"], WATTS, delta=0.3 * WATTS)
        self.assertEqual([domain["name"] for domain in listing["domains"] if domain["in_total"]], ["xe-pkg"])
        found = json.loads(self.joule("doctor", "--json", "--root", self.root).stdout)
        still = next(finding for finding in found["findings"] if finding["id"] == "counter_still")
        self.assertIn("gpu-0", still["what"])


if __name__ == "__main__":
    unittest.main()
