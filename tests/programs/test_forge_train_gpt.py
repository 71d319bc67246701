#!/usr/bin/env python3
"""Checks `forge train --model gpt` on generated text: it learns, writes text, continues from a checkpoint,
and reports errors.
"""
import json
import math
import os
import re
import struct
import subprocess
import tempfile
import unittest

import schema_check

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
LINES = ["the cat sees a dog\n", "a bird hears the cat\n", "the dog is on a tree\n", "über a bird\n"]
SMALL = ["--layers", "1", "--width", "32", "--heads", "2", "--context", "16", "-b", "8", "--warmup", "10", "-l", "0.01"]


def metadata(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        return header.pop("__metadata__"), header, file.read()


class TrainGpt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.text = os.path.join(cls.folder.name, "text")
        words = "".join(LINES[i * i % 7 % 4] for i in range(500))
        cls.characters = len(set(words))
        with open(cls.text, "w", encoding="utf-8") as file:
            file.write(words)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def forge(self, *arguments, data=None, code=0):
        done = subprocess.run([FORGE, "train", "-m", "gpt", "-d", data or self.text, *arguments], capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, data):
        path = self.path("other")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_it_learns_and_writes(self):
        done = self.forge(*SMALL, "-e", "4", "--sample", "200", "--temperature", "0.5")
        losses = [float(x) for x in re.findall(r"validation loss ([\d.]+) nats", done.stderr)]
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], 0.5)
        self.assertRegex(done.stderr, r"\d+ tokens/s")
        self.assertRegex(done.stdout, r"each step of 128 tokens: \S+ tokens/J")
        sample = re.split(r"\nMemory of a step: arena .*\n\n", done.stdout)[1]
        self.assertEqual(len(sample), 201)  # 200 characters and a newline
        words = sample.split()[:-1]
        known = sum(word in "".join(LINES).split() for word in words)
        self.assertGreater(known, 0.9 * len(words), sample)

    def test_same_seed_same_text_whatever_the_threads(self):
        def text(*arguments):
            report = json.loads(self.forge(*SMALL, "-e", "1", "--sample", "50", "-j", "-", *arguments).stdout)
            return report["sample"], report["epochs"][0]["validation_loss"]
        first = text("-t", "1")
        self.assertEqual(text("-t", "2"), first)
        self.assertNotEqual(text("-s", "2"), first)

    def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(self):
        whole, parts = self.path("whole"), self.path("parts")
        options = [*SMALL, "--dropout", "0.1", "--sample", "0", "--schedule", "constant"]
        self.forge(*options, "-e", "2", "-c", whole)
        self.forge(*options, "-e", "1", "-c", parts)
        self.forge(*options, "-e", "2", "-c", parts, "-r")
        (texts, header, data), (others, other_header, other_data) = metadata(whole), metadata(parts)
        self.assertEqual(header, other_header)
        self.assertTrue(data == other_data)
        self.assertEqual(texts["train.vocabulary"], others["train.vocabulary"])
        self.assertEqual(len(texts["train.vocabulary"]), self.characters)
        self.assertEqual(header["h.0.attn.c_attn.weight"]["shape"], [32, 96])
        for other, words in ((["--layers", "2"], "written with --layers 1, not 2"), (["--heads", "4"], "written with --heads 2, not 4"),
                             (["--context", "15"], "written with --context 16, not 15"), (["--bytes"], "other characters")):
            done = self.forge(*options, "-e", "3", "-c", parts, "-r", *other, code=125)
            self.assertIn(words, done.stderr)
        with open(self.text, "rb") as file:
            changed = self.write(file.read().replace(b"c", b"C"))
        self.assertIn("other characters", self.forge(*options, "-c", parts, "-r", data=changed, code=125).stderr)

    def test_recomputation_needs_less_memory_and_gives_the_same_bits(self):
        options = ["--layers", "6", *SMALL[2:], "--dropout", "0.1", "--sample", "0", "-j", "-"]
        reports, files = [], []
        for name, again in (("kept", []), ("again", ["--recompute"])):
            path = self.path(name)
            reports.append(json.loads(self.forge(*options, "-e", "1", "-c", path, *again).stdout))
            files.append(metadata(path))
        kept, again = reports
        self.assertEqual((kept["options"]["recompute"], again["options"]["recompute"]), (False, True))
        self.assertEqual(kept["epochs"][0]["validation_loss"], again["epochs"][0]["validation_loss"])
        self.assertEqual(files[0][1], files[1][1])
        self.assertTrue(files[0][2] == files[1][2])
        self.assertLess(2 * again["arena"]["planned_bytes"], kept["arena"]["planned_bytes"])
        self.assertGreater(again["flop_per_step"], kept["flop_per_step"])
        # Trainings with and without --recompute can continue each other.
        self.forge(*options, "-e", "2", "-c", self.path("kept"), "-r", "--recompute")

    def test_json_follows_its_schema(self):
        report = json.loads(self.forge(*SMALL, "-e", "1", "-b", "16", "--bytes", "--sample", "20", "--json", "-").stdout)
        schema_check.validator("forge-train").validate(report)
        self.assertEqual((report["unit"], report["units_per_step"]), ("tokens", 256))
        self.assertEqual((report["options"]["tokens"], report["options"]["optimiser"]), ("bytes", "adamw"))
        of_block = 12 * 32 * 32 + 13 * 32
        self.assertEqual(report["parameters"], 256 * 32 + 16 * 32 + of_block + 2 * 32)
        epoch = report["epochs"][0]
        self.assertIsNone(epoch["accuracy"])
        self.assertLess(epoch["validation_loss"], math.log(256))
        operations = {o["operation"] for o in report["operations"]}
        self.assertTrue({"matmul", "gather", "scatter"} <= operations, operations)

    def test_nothing_is_written_beyond_the_budget(self):
        report = json.loads(self.forge(*SMALL, "-e", "1000", "--budget", "1J", "-j", "-", code=124).stdout)
        self.assertEqual((report["end"], report["sample"]), ("over_budget", None))

    def test_unprintable_characters_are_replaced(self):
        path = self.write(b"\x1b[2J\x07\xc2\x9b\x7f" * 300)
        sample = json.loads(self.forge(*SMALL, "-e", "1", "--sample", "40", "-j", "-", data=path).stdout)["sample"]
        self.assertFalse([c for c in sample if ord(c) < 32 or 127 <= ord(c) < 160], sample)
        self.assertIn("\ufffd", sample)
        path = self.write(bytes(range(128, 256)) * 20)
        sample = json.loads(self.forge(*SMALL, "-e", "1", "--bytes", "--sample", "40", "-j", "-", data=path).stdout)["sample"]
        self.assertIn("\ufffd", sample)

    def test_wrong_arguments_are_refused(self):
        for data, words in ((b"", "is empty"), (b"abc\xff" * 200, "byte 3 is not UTF-8"), (b"abcd" * 30, "fewer than a window of 17")):
            self.assertIn(words, self.forge(*SMALL, data=self.write(data), code=125).stderr)
        self.assertIn("/dev/zero is a device, not a file", self.forge(*SMALL, data="/dev/zero", code=125).stderr)
        self.assertIn("--width 32 is not a multiple of --heads 3", self.forge(*SMALL, "--heads", "3", code=2).stderr)
        self.assertIn("takes a share below 1", self.forge(*SMALL, "--dropout", "1", code=2).stderr)
        self.assertIn("whole number", self.forge(*SMALL, "--sample", "1.5", code=2).stderr)
        done = subprocess.run([FORGE, "train", "-m", "cnn", "-d", self.folder.name, "--heads", "8"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("are for gpt, not cnn", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
