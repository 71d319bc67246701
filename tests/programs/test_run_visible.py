#!/usr/bin/env python3
"""Checks `joule run` and `joule devices` if the environment hides boards: these are not in the total, and the
report states this.
"""
import json
import os
import subprocess
import unittest

JOULE = os.environ["JOULE"]
FAKES = os.path.join(os.path.abspath(os.environ["JOULE_BUILD"]), "tests", "fakes")
BOARDS = {"JOULE_NVML_LIB": os.path.join(FAKES, "nvml", "580", "libnvidia-ml.so.1"), "JOULE_FAKE_NVML": "boards=2; watts=100"}


def joule(*words, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")}
    done = subprocess.run([JOULE, *words], capture_output=True, text=True, env={**clean, **BOARDS, **environment}, check=True)
    return json.loads(done.stdout)


def run(**environment):
    return joule("run", "--quiet", "--json", "-", "--sources", "nvml", "--", "sleep", "1", **environment)


def indexes(report):
    return [device["index"] for device in report["devices"] if device["type"] == "gpu"]


class Visible(unittest.TestCase):
    def test_without_a_variable_all_boards_count(self):
        self.assertEqual(indexes(run()), [0, 1])

    def test_variable_hides_other_boards(self):
        report = run(CUDA_VISIBLE_DEVICES="1")
        self.assertEqual(indexes(report), [1])
        self.assertIn("gpu:0", report["advice"])
        self.assertIn("CUDA_VISIBLE_DEVICES", report["advice"])

    def test_without_visible_boards_the_rest_is_modelled_or_unknown(self):
        """The remaining energy is modelled or unknown. The report must not contain the advice about a missing
        sensor."""
        for sources, rest in (("nvml", "unknown"), ("nvml,estimated", "modelled")):
            report = joule("run", "--quiet", "--json", "-", "--sources", sources, "--", "sleep", "0.5", CUDA_VISIBLE_DEVICES="")
            self.assertEqual(indexes(report), [])
            for words in ("CUDA_VISIBLE_DEVICES hides gpu:0, gpu:1", rest):
                self.assertIn(words, report["advice"])
            self.assertNotIn("on this machine", report["advice"])

    def test_the_container_runtime_has_done_its_work(self):
        self.assertEqual(indexes(run(NVIDIA_VISIBLE_DEVICES="1")), [0, 1])

    def test_devices_lists_all(self):
        listing = joule("devices", "--json", "--sources", "nvml", CUDA_VISIBLE_DEVICES="1")
        counted = [domain["name"] for domain in listing["domains"] if domain["in_total"]]
        self.assertEqual(counted, ["gpu-0", "gpu-1"])

    def test_gaudi_by_name(self):
        library = os.path.join(FAKES, "hlml", "libhlml.so")
        listing = joule("devices", "--json", "--sources", "hlml", JOULE_HLML_LIB=library)
        self.assertEqual([device["device"] for device in listing["devices"]], ["hpu:0"])
        self.assertEqual(listing["devices"][0]["model"], "HL-325L")


if __name__ == "__main__":
    unittest.main()
