#!/usr/bin/env python3
"""Checks `forge train --precision`: trainings in bf16 and f16 reach the results of f32, and reports contain the
loss scale. With JOULE_TEST_FULL=1, the MNIST CNN and a GPT on tinyshakespeare are trained (about 10 minutes)."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

import schema_check
from run_support import IS_FULL, SOURCE, sanitizer_of
from test_forge_train import write_digits

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
DATA = os.path.join(os.environ.get("JOULE_TEST_DATA", os.path.join(SOURCE, "../shared/data")), "ml-data")
# Sanitizers make these trainings ten times slower, and find nothing in them that shorter ones do not show.
TRAINS_LONG = IS_FULL and not sanitizer_of(FORGE)
# Energy is not tested here, so longer timeouts do no harm.
TIMEOUT_S = 1500


def report(*arguments):
    done = subprocess.run([FORGE, "train", *arguments, "--json", "-"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    found = json.loads(done.stdout)
    schema_check.validator("forge-train").validate(found)
    return found


def score(found, key):
    return found["epochs"][-1][key]


class Precision(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        write_digits(cls.folder.name, "train", 640, 1)
        write_digits(cls.folder.name, "t10k", 500, 2)
        cls.text = os.path.join(cls.folder.name, "text")
        with open(cls.text, "w", encoding="utf-8") as file:
            file.write("".join(["the cat sees a dog\n", "a bird hears the cat\n", "the dog is on a tree\n"][i * i % 7 % 3] for i in range(600)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_small_cnn_reaches_the_accuracy_of_f32(self):
        found = {p: report("-d", self.folder.name, "-m", "cnn", "-e", "3", "-b", "32", "--precision", p) for p in ("f32", "bf16", "f16")}
        for precision, one in found.items():
            self.assertEqual(one["options"]["precision"], precision)
            self.assertLessEqual(abs(score(one, "accuracy") - score(found["f32"], "accuracy")), 0.01, precision)
        self.assertIsNone(found["bf16"]["loss_scale"])
        self.assertGreaterEqual(found["f16"]["loss_scale"], 1)
        self.assertLess(found["f16"]["skipped_steps"], 10)

    def test_a_small_gpt_reaches_the_loss_of_f32(self):
        options = ["-d", self.text, "-m", "gpt", "--layers", "1", "--width", "32", "--heads", "2", "--context", "16", "-b", "8", "-e", "2",
                   "--warmup", "10", "-l", "0.01", "--sample", "0"]
        found = {p: score(report(*options, "--precision", p), "validation_loss") for p in ("f32", "bf16", "f16")}
        for precision, loss in found.items():
            self.assertLessEqual(abs(loss - found["f32"]), 0.02, precision)

    def test_the_loss_scale_is_printed(self):
        done = subprocess.run([FORGE, "train", "-d", self.folder.name, "-e", "1", "-b", "32", "--precision", "f16"], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^Loss scale: [\d.e+]+, \d+ of 20 steps skipped because a gradient was not finite$")

    def test_a_training_continues_in_another_precision(self):
        checkpoint = os.path.join(self.folder.name, "kept")
        options = ["-d", self.folder.name, "-b", "32", "-c", checkpoint]
        report(*options, "-e", "1")
        found = report(*options, "-e", "2", "-r", "--precision", "bf16")
        self.assertEqual((found["steps_before"], found["steps"]), (20, 40))

    def test_an_unknown_precision_is_refused(self):
        for command in (["train", "-d", self.folder.name], ["compile", "graph", "-o", "program"]):
            done = subprocess.run([FORGE, *command, "--precision", "f8"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--precision must be f32, bf16 or f16, not 'f8'", done.stderr)

    def test_the_mnist_cnn_reaches_the_accuracy_of_f32(self):
        """The seeds change the accuracy by more than the precision does, so means over seeds are compared. A higher
        accuracy than in f32 is no error."""
        data = os.path.join(DATA, "mnist")
        if not TRAINS_LONG or not os.path.isdir(data):
            self.skipTest("needs JOULE_TEST_FULL=1, no sanitizer, and MNIST")
        means = {}
        for precision in ("f32", "bf16", "f16"):
            scores = [score(report("-d", data, "-m", "cnn", "-e", "3", "-s", str(seed), "--precision", precision), "accuracy") for seed in (1, 2, 3)]
            means[precision] = statistics.mean(scores)
            print(f"MNIST CNN in {precision}: {', '.join(f'{100 * x:.2f}' for x in scores)} %", file=sys.stderr)
        for precision in ("bf16", "f16"):
            self.assertGreaterEqual(means[precision], means["f32"] - 0.001, means)

    def test_the_gpt_reaches_the_loss_of_f32(self):
        data = os.path.join(DATA, "tinyshakespeare", "input.txt")
        if not TRAINS_LONG or not os.path.isfile(data):
            self.skipTest("needs JOULE_TEST_FULL=1, no sanitizer, and tinyshakespeare")
        losses = {}
        for precision in ("f32", "bf16", "f16"):
            losses[precision] = score(report("-d", data, "-m", "gpt", "-e", "1", "--sample", "0", "--precision", precision), "validation_loss")
            print(f"GPT in {precision}: {losses[precision]:.4f} nats", file=sys.stderr)
        for precision in ("bf16", "f16"):
            self.assertLessEqual(abs(losses[precision] - losses["f32"]), 0.02, losses)


if __name__ == "__main__":
    unittest.main()
