#!/usr/bin/env python3
"""Checks `joule run` with slow sources: vendors' programs that print a constant power.

Note: the stand-ins answer at once, but joule calls them once a second or every five seconds, as it does the real ones."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from run_support import patient

JOULE = os.environ["JOULE"]
WATTS = 110

NVIDIA = f"""#!{sys.executable}
import os, sys
if os.environ.get("STAND_IN") == "hang" and os.path.exists(os.environ["STAND_IN_MARK"]):
    import time
    time.sleep(60)
open(os.environ["STAND_IN_MARK"], "w").close()
known = {{"index": "0", "name": "NVIDIA L4", "uuid": "GPU-1", "pci.bus_id": "00000000:65:00.0", "power.draw.instant": "{WATTS}.00",
         "power.draw": "{WATTS}.00", "enforced.power.limit": "200.00"}}
if not sys.argv[1].startswith("--query-gpu="):
    sys.exit(2)
print(", ".join(known.get(name, "[N/A]") for name in sys.argv[1].split("=", 1)[1].split(",")))
"""

AMD = f"""#!{sys.executable}
print('{{"card0": {{"Average Graphics Package Power (W)": "{WATTS}.0", "PCI Bus": "0000:C1:00.0", "Unique ID": "0x1"}}}}')
"""


class SlowSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {**os.environ, "STAND_IN_MARK": os.path.join(self.folder, "called"),
                            "JOULE_NVML_LIB": os.path.join(self.folder, "none.so")}

    def stand_in(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def run_until_seen(self, *words, **environment):
        """Repeats with longer runs, because a busy machine may start the vendor's program late. Fails if the
        program's power is never reported."""
        for seconds in (2, 4, 8, 16):
            report, text = self.run_joule(seconds, *words, **environment)
            if any(device["type"] == "gpu" for device in report["devices"]):
                return report, text
        raise AssertionError("no GPU in the report", report)

    def run_joule(self, seconds, *words, **environment):
        done = subprocess.run([JOULE, "run", "--json", "-", *words, "--", "sleep", str(seconds)], capture_output=True,
                              text=True, env={**self.environment, **environment}, check=True)
        return json.loads(done.stdout), done.stderr

    def gpu(self, report):
        return next(device for device in report["devices"] if device["type"] == "gpu")

    @patient
    def test_constant_power_of_a_short_run_is_known(self):
        program = self.stand_in("nvidia-smi", NVIDIA)
        for _ in range(2):
            report, text = self.run_until_seen("--sources", "nvidia_smi", JOULE_NVIDIA_SMI=program)
            gpu = self.gpu(report)
            seen_s = gpu["coverage"] * report["duration_seconds"]
            self.assertGreater(seen_s, 0, report)
            # The power is constant. The energy excludes the time without readings and is exact for the rest.
            self.assertAlmostEqual(gpu["energy_joules"] / seen_s, WATTS, delta=0.05 * WATTS)
            low, high = gpu["interval_joules"]
            if gpu["coverage"] > 0.5:  # on a busy machine the program answers late
                self.assertLess(high - low, 0.5 * gpu["energy_joules"], report)
            if report["overhead"]["waited_for"]:
                self.assertEqual(report["overhead"]["waited_for"], "nvidia_smi")
                self.assertGreater(report["overhead"]["waited_seconds"], 0.25)
                self.assertIn("after the end for a reading of nvidia_smi", text)

    @patient
    def test_power_of_rocm_smi_is_measured(self):
        program = self.stand_in("rocm-smi", AMD)
        report, _ = self.run_until_seen("--sources", "rocm_smi_program", JOULE_ROCM_SMI=program)
        gpu = self.gpu(report)
        self.assertAlmostEqual(gpu["energy_joules"] / (gpu["coverage"] * report["duration_seconds"]), WATTS, delta=0.05 * WATTS)

    def test_waiting_is_limited_and_the_reason_is_reported(self):
        program = self.stand_in("nvidia-smi", NVIDIA)
        report, text = self.run_joule(1, "--sources", "nvidia_smi", JOULE_NVIDIA_SMI=program, STAND_IN="hang")
        self.assertIsNone(report["gross"]["energy_joules"])
        self.assertLess(report["overhead"]["waited_seconds"], 6)
        self.assertIn("nvidia_smi", report["advice"])
        self.assertNotIn("no energy sensor answers", text)

    def test_named_programs_and_libraries_are_used(self):
        """The named program and library are used on a machine without NVIDIA device files, and without
        --sources."""
        program = self.stand_in("nvidia-smi", NVIDIA)
        report, _ = self.run_until_seen(JOULE_NVIDIA_SMI=program)
        self.assertEqual(self.gpu(report)["measurement"], "nvidia_smi")
        fakes = os.path.join(os.path.abspath(os.environ["JOULE_BUILD"]), "tests", "fakes")
        report, _ = self.run_until_seen(JOULE_NVML_LIB=os.path.join(fakes, "nvml", "580", "libnvidia-ml.so.1"),
                                   JOULE_FAKE_NVML="boards=1; watts=100")
        self.assertEqual(self.gpu(report)["measurement"], "nvml")

    def test_recorded_machine_lists_only_its_boards(self):
        root = os.path.join(self.folder, "root", "run")
        os.makedirs(root)
        with open(os.path.join(root, "commands"), "w", encoding="utf-8") as file:
            file.write("description 0 nvidia-smi -q -x\n")
        fixture = os.path.join(os.environ["JOULE_SOURCE"], "tests", "fixtures", "nvidia_smi", "535.xml")
        with open(fixture, encoding="utf-8") as file, open(os.path.join(root, "description"), "w", encoding="utf-8") as copy:
            copy.write(file.read())
        report, _ = self.run_until_seen("--root", os.path.dirname(root))
        self.assertEqual(self.gpu(report)["measurement"], "nvidia_smi")


if __name__ == "__main__":
    unittest.main()
