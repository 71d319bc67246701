#!/usr/bin/env python3
"""Checks the examples about language models: examples/generate.c, and examples/chat_client.py with a server.

The model has random weights and 64 tokens; it is written in the format of llama2.c.
"""
import os
import random
import re
import struct
import subprocess
import tempfile
import unittest

from forge_serving import FORGE, SOURCE, serving
from run_support import BUILD, PYTHON

GENERATE = os.path.join(BUILD, "examples", "example_generate")
CLIENT = os.path.join(SOURCE, "examples", "chat_client.py")
WIDTH, HIDDEN, LAYERS, HEADS, VOCABULARY, CONTEXT = 32, 64, 2, 4, 64, 256
JOULES = r"\S+ J \(\S+ to \S+, \w+\)|energy unknown"


def write_floats(file, chance, count, scale, mean=0.0):
    file.write(struct.pack(f"<{count}f", *(mean + scale * chance.uniform(-1, 1) for _ in range(count))))


def write_model(path):
    chance = random.Random(1)
    with open(path, "wb") as file:
        file.write(struct.pack("<7i", WIDTH, HIDDEN, LAYERS, HEADS, HEADS, VOCABULARY, CONTEXT))
        write_floats(file, chance, VOCABULARY * WIDTH, 1)
        write_floats(file, chance, LAYERS * WIDTH, 0.1, 1)
        write_floats(file, chance, LAYERS * 4 * WIDTH * WIDTH, 0.5)
        write_floats(file, chance, LAYERS * WIDTH, 0.1, 1)
        write_floats(file, chance, LAYERS * 3 * WIDTH * HIDDEN, 0.3)
        write_floats(file, chance, WIDTH, 0.1, 1)
        write_floats(file, chance, CONTEXT * WIDTH // HEADS, 0)


def write_tokenizer(path):
    """Writes tokens for letters, digits and some punctuation, after <unk>, <s> and </s>."""
    texts = ["<unk>", "\n<s>\n", "\n</s>\n", " "] + list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?:<|>")
    with open(path, "wb") as file:
        file.write(struct.pack("<i", max(map(len, texts))))
        for text in texts[:VOCABULARY]:
            file.write(struct.pack("<fi", 0, len(text)) + text.encode())


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model, cls.tokenizer = (os.path.join(cls.folder.name, name) for name in ("tiny.bin", "tokenizer.bin"))
        write_model(cls.model)
        write_tokenizer(cls.tokenizer)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_example(self, *words):
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    def test_generate_prints_text_and_joules(self):
        done = self.run_example(GENERATE, self.model, "hello", self.tokenizer)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"\n\d+ tokens in \d+\.\d\d s, (?:{JOULES})\n$")
        same = self.run_example(FORGE, "generate", self.model, "hello", "--tokenizer", self.tokenizer, "-T", "0", "-n", "100")
        self.assertEqual(same.stdout.rstrip("\n"), re.sub(r"\n\d+ tokens in .*\n$", "", done.stdout).rstrip("\n"))

    def test_generate_names_what_is_missing(self):
        for words, message in ((), "usage"), ((self.model, "hello"), "no vocabulary"), (("/none", "hello"), "/none"):
            done = self.run_example(GENERATE, *words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)

    def test_client_prints_answer_and_joules(self):
        if self.run_example(FORGE, "serve", "--help").returncode != 0:
            self.skipTest("this build has no forge serve")
        with serving("--chat-template", "chatml", model=(self.model, "--tokenizer", self.tokenizer)) as server:
            url = ("--url", f"http://{server.address}", "--max-tokens", "20")
            done = self.run_example(PYTHON, CLIENT, "hello", *url)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"^(?:\S+ J \(\S+ to \S+ J, \w+\)|energy unknown), \d+ tokens")
            done = self.run_example(PYTHON, CLIENT, "a" * 5000, *url)
            self.assertEqual(done.returncode, 1)
            self.assertIn("tokens", done.stderr)
        done = self.run_example(PYTHON, CLIENT, "hello", *url)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot ask", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
