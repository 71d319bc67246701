#!/usr/bin/env python3
"""`forge train` on digits that are made here: it learns, adds up, repeats itself bit by bit, and says what is wrong."""
import gzip
import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import unittest

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")


def write_idx(path, shape, data):
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">BBBB", 0, 0, 8, len(shape)) + b"".join(struct.pack(">I", n) for n in shape) + bytes(data))


def write_digits(folder, kind, count, seed):
    """Class c is a bright bar in row band c, with noise: easy, and not without learning."""
    rng = random.Random(seed)
    labels = [rng.randrange(10) for _ in range(count)]
    pixels = bytearray()
    for label in labels:
        image = bytearray(rng.randrange(60) for _ in range(784))
        for row in (2 * label + 3, 2 * label + 4):
            image[row * 28 + 4:row * 28 + 24] = bytes([200] * 20)
        pixels += image
    write_idx(os.path.join(folder, f"{kind}-images-idx3-ubyte.gz"), (count, 28, 28), pixels)
    write_idx(os.path.join(folder, f"{kind}-labels-idx1-ubyte.gz"), (count,), labels)


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        write_digits(cls.folder.name, "train", 640, 1)
        write_digits(cls.folder.name, "t10k", 130, 2)  # one batch and a rest: neither 500 nor a divisor

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def forge(self, *arguments, data=None):
        return subprocess.run([FORGE, "train", "--data", data or self.folder.name, *arguments], capture_output=True,
                              text=True, timeout=120, check=False)

    def test_it_learns(self):
        done = self.forge("-e", "3", "-b", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [float(x) for x in re.findall(r"found ([\d.]+) % of 130", done.stderr)]
        self.assertEqual(len(found), 3)
        self.assertGreater(found[-1], 95)
        self.assertIn("mlp/fc1", done.stdout)
        self.assertRegex(done.stdout, r"modelled|measured|derived")

    def test_a_convolutional_network_learns(self):
        done = self.forge("--model", "cnn", "-e", "2", "-b", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(re.findall(r"found ([\d.]+) % of 130", done.stderr)[-1]), 80)
        self.assertIn("cnn/conv2", done.stdout)

    def test_same_seed_same_losses_whatever_the_threads(self):
        def losses(*arguments):
            done = self.forge("-e", "2", "-b", "32", *arguments)
            return re.findall(r"loss ([\d.]+)", done.stderr) + re.findall(r"found ([\d.]+)", done.stderr)
        first = losses("-t", "1")
        self.assertEqual(len(first), 4)
        self.assertEqual(losses("-t", "2"), first)
        self.assertNotEqual(losses("--seed", "2"), first)

    def test_interrupt_ends_after_a_step_and_reports(self):
        with subprocess.Popen([FORGE, "train", "--data", self.folder.name, "-e", "100000", "-b", "32"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            self.assertIn("epoch 1/", child.stderr.readline())
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("mlp/fc1", out)

    def test_what_is_wrong(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.forge(data=empty)
            self.assertEqual(done.returncode, 125)
            self.assertIn("train-images", done.stderr)
        for arguments, words in ((["--model", "abacus"], "there is no model 'abacus'"), (["-b", "0"], "from 1 to"),
                                 (["--learning-rate", "fast"], "takes a number"), (["--epcohs", "1"], "did you mean --epochs"),
                                 (["extra"], "what is 'extra'")):
            done = self.forge(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
        done = self.forge("-b", "641")
        self.assertEqual(done.returncode, 125)
        self.assertIn("batch", done.stderr)
        done = subprocess.run([FORGE, "train"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "--data" in done.stderr), (2, True))

    def test_front_door(self):
        run = lambda *a: subprocess.run([FORGE, *a], capture_output=True, text=True, check=False)
        self.assertIn("train", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^forge \d+\.\d+\.\d+$")
        self.assertIn("--epochs", run("train", "--help").stdout)
        self.assertEqual(run("train", "--help").stdout, run("help", "train").stdout)
        self.assertIn("did you mean 'train'", run("trian").stderr)
        self.assertEqual(run("trian").returncode, 2)
        self.assertEqual(run().returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
