#!/usr/bin/env python3
"""Checks the subcommands about language models: `forge generate`, `chat`, `bench-llm`, `perplexity`, `convert` and
`tokenize`.

The texts and probabilities of the trained model stories260K must equal those of llama2.c. These checks are skipped if
the model is absent (JOULE_TEST_DATA). All other checks use models with random weights.
"""
import json
import math
import os
import signal
import struct
import subprocess
import tempfile
import unittest

import schema_check

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
DATA = os.environ.get("JOULE_TEST_DATA", os.path.join(os.environ.get("JOULE_SOURCE", "."), "..", "shared", "data"))
MODEL, VOCABULARY = (os.path.join(DATA, "llm", name) for name in ("stories260K.bin", "tok512.bin"))
TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q6_k")
SUMMARY = r"^prompt \d+ tokens?(, \d+ of them cached)?( \([\d.]+ tokens/s\))?, answer \d+ tokens?( \([\d.]+ tokens/s\))?; "


def read(name):
    with open(os.path.join(DATA, "llm", name), encoding="utf-8") as file:
        return file.read()


def reference_runs():
    """Yields (prompt, prompt's tokens, next 32 tokens, nats of the prompt) of reference_runs.txt."""
    lines = [line for line in read("reference_runs.txt").splitlines() if not line.startswith("#")]
    for prompt, greedy, nll, _ in zip(*[iter(lines[1:])] * 4):
        text, tokens = prompt.split('"')[1:]
        yield (text, [int(word) for word in tokens.split()[1:]], [int(word) for word in greedy.split()[1:]], float(nll.split()[1]))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def forge(self, *arguments, stdin="", **environment):
        return subprocess.run([FORGE, *map(str, arguments)], input=stdin, env={**os.environ, **environment}, capture_output=True,
                              text=True, timeout=300, check=False)

    def good(self, *arguments, stdin=""):
        done = self.forge(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def report(self, schema, *arguments, stdin="", code=0):
        done = self.forge(*arguments, "--json", *([] if schema == "forge-tokenize" else ["-"]), stdin=stdin)
        self.assertEqual(done.returncode, code, done.stderr)
        report = json.loads(done.stdout)
        try:
            schema_check.validator(schema).validate(report)
        except (KeyError, SystemExit) as reason:
            print(f"not validated: {reason}")
        return report

    def bad(self, code, words, *arguments, stdin=""):
        done = self.forge(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (arguments, done.stderr))
        self.assertTrue(done.stderr.startswith(f"forge {arguments[0]}: "), done.stderr)
        self.assertIn(words, done.stderr)


@unittest.skipUnless(os.path.exists(MODEL), "there is no model stories260K: JOULE_TEST_DATA")
class Stories(Case):
    """stories260K gives the texts and probabilities of llama2.c."""

    def generate(self, *arguments, **keywords):
        return self.good("generate", MODEL, "--tokenizer", VOCABULARY, "--temperature", "0", *arguments, **keywords)

    def test_greedy_text_equals_llama2c(self):
        for count in (200, 256):
            self.assertEqual(self.generate("", "-n", count), read(f"expected_greedy_{count}.txt").rstrip("\n") + "\n")

    def test_tokens_equal_llama2c(self):
        for prompt, tokens, greedy, _ in reference_runs():
            report = self.report("forge-tokenize", "tokenize", MODEL, prompt, "--tokenizer", VOCABULARY)
            self.assertEqual(report["tokens"], tokens)
            report = self.report("forge-generate", "generate", MODEL, prompt, "--tokenizer", VOCABULARY, "-T", 0, "-n", 32)
            self.assertEqual(report["tokens"], greedy)
            self.assertEqual(report["usage"], {"prompt_tokens": len(tokens), "cached_tokens": 0, "answer_tokens": 32})
            self.assertEqual((report["ended_by"], report["energy"]["limited_by"]), ("length", None))

    def test_nats_equal_llama2c(self):
        for prompt, tokens, _, nats in reference_runs():
            if not prompt:
                continue
            report = self.report("forge-perplexity", "perplexity", MODEL, "-", "--tokenizer", VOCABULARY, stdin=prompt)
            self.assertEqual((report["tokens"], report["scored_tokens"], report["windows"]), (len(tokens) - 1, len(tokens) - 1, 1))
            self.assertAlmostEqual(report["nats_per_token"] * (len(tokens) - 1), nats, delta=2e-4)
            self.assertAlmostEqual(report["perplexity"], math.exp(report["nats_per_token"]), delta=1e-6 * report["perplexity"])

    def test_prompt_comes_from_argument_file_or_standard_input(self):
        prompt = "Lily and Tom went to the park."
        wanted = self.generate(prompt, "-n", 40)
        self.assertEqual(self.generate("--file", self.write("prompt", prompt), "-n", 40), wanted)
        self.assertEqual(self.generate("-n", 40, stdin=prompt), wanted)
        self.bad(2, "only one of them", "generate", MODEL, prompt, "--file", self.path("prompt"))

    def test_answer_ends_before_a_stop_text(self):
        whole = self.generate("Once upon a time", "-n", 100)
        stop = ". She loved"
        self.assertIn(stop, whole)
        out = self.generate("Once upon a time", "-n", 100, "--stop", "zebra", "--stop", stop)
        self.assertEqual(out, whole[:whole.index(stop)] + "\n")
        report = self.report("forge-generate", "generate", MODEL, "Once upon a time", "--tokenizer", VOCABULARY, "-T", 0, "--stop", stop)
        self.assertEqual((report["ended_by"], report["text"] + "\n"), ("stop", out))

    def test_seed_determines_the_answer(self):
        answers = {seed: self.report("forge-generate", "generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-s", seed, "-n", 50)["tokens"]
                   for seed in (1, 2)}
        self.assertNotEqual(answers[1], answers[2])
        again = self.report("forge-generate", "generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-s", 1, "-n", 50, "-t", 1)
        self.assertEqual((again["tokens"], again["seed"]), (answers[1], 1))
        done = self.forge("generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-n", 5, "--verbose")
        self.assertRegex(done.stderr, r"ended by: length; seed \d+\n")

    def test_summary_states_tokens_speed_and_joules(self):
        done = self.forge("generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-n", 400)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, SUMMARY + r"([\d.]+ .?J \([\d.]+ .?J to [\d.]+ .?J\), \w+; .* per token of the answer|joules unknown)\n$")

    def test_budget_ends_the_answer(self):
        report = self.report("forge-generate", "generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-T", 0, "-n", 500)
        if report["energy"]["joules"] is None:
            self.skipTest("the energy of this process is unknown")
        energy = report["energy"]
        self.assertAlmostEqual(energy["prefill_joules"] + energy["decode_joules"], energy["joules"], delta=1e-6 * energy["joules"])
        self.assertLess(energy["low"], energy["joules"])
        budget = energy["joules"] / 50
        report = self.report("forge-generate", "generate", MODEL, "Tom", "--tokenizer", VOCABULARY, "-T", 0, "-n", 500,
                             "--max-joules", f"{budget:.9f}J", code=124)
        self.assertEqual((report["ended_by"], report["energy"]["limited_by"]), ("energy", "max_joules"))
        self.assertLess(report["usage"]["answer_tokens"], 500)
        self.assertAlmostEqual(report["energy"]["budget_joules"], budget, delta=1e-8)

    def test_converted_model_gives_the_same_text(self):
        self.assertIn("mostly f32", self.good("convert", MODEL, self.path("s.gguf"), "--tokenizer", VOCABULARY))
        out = self.good("generate", self.path("s.gguf"), "", "-T", "0", "-n", 256)
        self.assertEqual(out, read("expected_greedy_256.txt").rstrip("\n") + "\n")

    def test_q8_0_changes_perplexity_by_less_than_a_percent(self):
        text = self.write("text", read("expected_greedy_256.txt"))
        self.good("convert", MODEL, self.path("s.gguf"), "--tokenizer", VOCABULARY, "--quant", "q8_0")
        self.assertLess(os.path.getsize(self.path("s.gguf")), 0.5 * os.path.getsize(MODEL))
        exact = self.report("forge-perplexity", "perplexity", MODEL, text, "--tokenizer", VOCABULARY)
        rounded = self.report("forge-perplexity", "perplexity", self.path("s.gguf"), text)
        self.assertAlmostEqual(rounded["perplexity"] / exact["perplexity"], 1, delta=0.01)
        self.assertNotEqual(rounded["perplexity"], exact["perplexity"])

    def test_windows_count_each_token_once(self):
        text = self.write("text", read("expected_greedy_256.txt"))
        counts = set()
        for context, stride in ((64, 32), (64, 63), (50, 1), (511, 256)):
            report = self.report("forge-perplexity", "perplexity", MODEL, text, "--tokenizer", VOCABULARY, "-c", context, "--stride", stride)
            self.assertEqual(report["tokens"], report["scored_tokens"])
            self.assertEqual(report["windows"], 1 + max(0, math.ceil((report["tokens"] - (context - 1)) / stride)))
            counts.add(report["tokens"])
        self.assertEqual(len(counts), 1)

    def test_tokens_become_text_again(self):
        self.assertEqual(self.good("tokenize", MODEL, "--tokenizer", VOCABULARY, "-d", "1 403,407 261\n378"), "Once upon a time\n")
        self.assertEqual(self.good("tokenize", VOCABULARY, "--raw", stdin="Once upon"), '    403  " Once"\n    407  " upon"\n')
        self.bad(125, "token 1 is '512'", "tokenize", VOCABULARY, "-d", "1 512")

    def test_chat_answers_each_line(self):
        lines = "Hello\n\n/nothing\nWho is Lily?\r\n/reset\nHello\n/quit\nHello\n"
        done = self.forge("chat", MODEL, "--tokenizer", VOCABULARY, "--chat-template", "chatml", "-T", "0", "-n", "20", stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        summaries = [line for line in done.stderr.splitlines() if line.startswith("prompt ")]
        self.assertEqual(len(summaries), 3, done.stderr)
        self.assertRegex(summaries[1], "of them cached")
        self.assertIn("unknown command '/nothing'", done.stderr)
        for summary in summaries:
            self.assertRegex(summary, "per token of the answer$|joules unknown$")

    def test_chat_forgets_the_oldest_turns(self):
        done = self.forge("chat", MODEL, "--tokenizer", VOCABULARY, "--chat-template", "chatml", "-T", "0", "-n", "20", "-c", "150",
                          "--system", "Be kind.", stdin="Hello\n" * 6 + "long " * 200 + "\nHello\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the oldest 1 turn is forgotten: the context has 150 tokens", done.stderr)
        self.assertRegex(done.stderr, r"the message has \d+ tokens with its template, but at most \d+ fit")
        self.assertEqual(done.stderr.count("prompt "), 7)

    def test_bad_use_is_refused(self):
        story = ("generate", MODEL, "Tom", "--tokenizer", VOCABULARY)
        self.bad(125, "has no vocabulary; name a file that has it with --tokenizer", "generate", MODEL, "Tom")
        self.bad(125, "no chat template", "chat", MODEL, "--tokenizer", VOCABULARY)
        self.bad(125, "too long", *story[:2], "--tokenizer", VOCABULARY, stdin="Tom " * 600)
        self.bad(125, "--raw adds no BOS", "generate", MODEL, "", "--tokenizer", VOCABULARY, "--raw")
        self.bad(125, "--cache-type takes", *story, "--cache-type", "i8")
        self.bad(125, "No such file", *story[:2], "--tokenizer", VOCABULARY, "--file", self.path("absent"))
        self.bad(125, "from 2 to 511", "perplexity", MODEL, "-", "--tokenizer", VOCABULARY, "-c", "512", stdin="Tom")
        self.bad(125, "too few", "perplexity", MODEL, "-", "--tokenizer", VOCABULARY, stdin="")
        self.bad(2, "is named twice", "convert", MODEL, MODEL)
        self.bad(2, "--quant takes", "convert", MODEL, self.path("x"), "--quant", "q2")


class RandomModels(Case):
    """Models with random weights are the same each time, have all types, and can be run."""

    def write_model(self, dtype, *arguments):
        path = self.path(dtype + ".gguf")
        report = self.report("forge-bench-llm", "bench-llm", "--random", "llama-tiny:" + dtype, "--write", path, "-p", "8", "-n", "4", "-r", "2",
                             *arguments)
        return path, report

    def test_all_types_are_written_and_run(self):
        for dtype in TYPES:
            path, report = self.write_model(dtype)
            with open(path, "rb") as file:
                self.assertEqual(struct.unpack("<4sI", file.read(8)), (b"GGUF", 3))
            self.assertEqual((report["model"]["dtype"], report["model"]["architecture"], report["model"]["path"]), (dtype, "llama", None))
            self.assertEqual(report["model"]["parameters"], 2 * 512 * 256 + 5 * 256 + 2 * (256 * 768 + 3 * 256 * 512))
            self.assertEqual(report["model"]["step_bytes"], report["model"]["weight_bytes"] - self.matrix_bytes(512 * 256, dtype))
            self.good("generate", path, "hello", "-n", "4")

    @staticmethod
    def matrix_bytes(count, dtype):
        elements, size = {"f32": (1, 4), "f16": (1, 2), "bf16": (1, 2), "q8_0": (32, 34), "q4_0": (32, 18), "q4_k": (256, 144),
                          "q6_k": (256, 210)}[dtype]
        return count // elements * size

    def test_seed_determines_the_file(self):
        contents = []
        for seed in ("1", "1", "2"):
            with open(self.write_model("q8_0", "--seed", seed)[0], "rb") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[2])
        self.assertEqual(len(contents[0]), len(contents[2]))

    def test_weights_have_the_promised_range(self):
        path = self.write_model("f32")[0]
        with open(path, "rb") as file:
            data = file.read()
        values = struct.unpack("<131072f", data[-131072 * 4:])  # output.weight, the last tensor
        self.assertLessEqual(max(map(abs, values)), 1 / 16)
        self.assertGreater(max(values), 0.0624)
        self.assertLess(min(values), -0.0624)
        self.assertAlmostEqual(sum(v * v for v in values) / len(values), 1 / 3 / 256, delta=2e-5)

    def test_tests_have_all_lengths_and_batches(self):
        report = self.report("forge-bench-llm", "bench-llm", "--random", "llama-tiny:q8_0", "-p", "8,20", "-n", "6", "-b", "1,3", "-r", "3")
        self.assertEqual([(test["name"], test["batch"], test["repeats"], test["steps"]) for test in report["tests"]],
                         [("pp8", 1, 3, 1), ("pp20", 1, 3, 1), ("tg6", 1, 3, 6), ("pp8", 3, 3, 1), ("pp20", 3, 3, 1), ("tg6", 3, 3, 6)])
        for test in report["tests"]:
            self.assertLessEqual(test["min_tokens_per_s"], test["tokens_per_s"])
            self.assertLessEqual(test["tokens_per_s"], test["max_tokens_per_s"])
            seconds = test["tokens"] * test["batch"] / test["tokens_per_s"]
            self.assertAlmostEqual(test["seconds_per_token"] * test["tokens"] / seconds, 1)
            self.assertAlmostEqual(test["gb_per_s"] * 1e9 * seconds / (test["steps"] * report["model"]["step_bytes"]), 1, delta=1e-3)

    def test_table_names_model_and_tests(self):
        out = self.good("bench-llm", "--random", "llama-tiny:q4_0", "-p", "8", "-n", "4", "-r", "1")
        self.assertRegex(out, r"^random llama-tiny q4_0: llama, 1\.44\d million weights, mostly q4_0, ")
        self.assertRegex(out, r"\npp8 +1( +[\d.]+){5}  ")
        self.assertRegex(out, r"\ntg4 +1( +[\d.]+){5}  ")

    def test_temporary_file_is_removed(self):
        self.forge("bench-llm", "--random", "llama-tiny:q8_0", "-p", "8", "-n", "4", "-r", "1", TMPDIR=self.folder)
        self.assertEqual(os.listdir(self.folder), [])

    def test_text_becomes_tokens_and_text_again(self):
        path = self.write_model("q8_0")[0]
        for text in ("hello world", "Größe \u20ac", "a\tb\n"):
            tokens = self.report("forge-tokenize", "tokenize", path, text)
            self.assertEqual(tokens["text"], text)
            self.assertEqual(self.good("tokenize", path, "--decode", " ".join(map(str, tokens["tokens"]))), text + "\n")

    def test_control_characters_are_not_printed(self):
        path = self.write_model("q8_0")[0]
        escape = [str(3 + byte) for byte in b"a\x1b[2Jb\xc2\x9bc\r"]
        self.assertEqual(self.good("tokenize", path, "--decode", " ".join(escape)), "a\ufffd[2Jb\ufffdc\ufffd\n")

    def test_interrupt_ends_the_answer_with_a_summary(self):
        path = self.write_model("f32")[0]
        for _ in range(20):
            with subprocess.Popen([FORGE, "generate", path, "hello", "-n", "500", "-T", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                child.stdout.read(1)
                child.send_signal(signal.SIGINT)
                out, err = child.communicate(timeout=60)
            self.assertRegex(err.decode(), SUMMARY)
            self.assertTrue(out.endswith(b"\n"))
            if child.returncode == 130:
                return
            self.assertEqual(child.returncode, 0)  # the answer ended before the signal arrived
        self.fail("no answer was interrupted")

    def test_damaged_models_are_refused(self):
        with open(self.write_model("q8_0")[0], "rb") as file:
            data = file.read()
        for size in (0, 3, 24, 200, len(data) // 2, len(data) - 1):
            with open(self.path("damaged"), "wb") as file:
                file.write(data[:size])
            for command in (["generate", self.path("damaged"), "hello"], ["bench-llm", self.path("damaged")],
                            ["convert", self.path("damaged"), self.path("out")], ["perplexity", self.path("damaged"), "-"],
                            ["chat", self.path("damaged")]):
                self.bad(125, "damaged", *command)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_bad_use_is_refused(self):
        self.bad(2, "MODEL is missing", "generate")
        self.bad(2, "MODEL is missing", "bench-llm")
        self.bad(2, "unexpected argument 'c'", "generate", "a", "b", "c")
        self.bad(2, "OUT.gguf is missing", "convert", "a")
        self.bad(2, "SHAPE is llama-1.1b", "bench-llm", "--random", "llama-2b:f32")
        self.bad(2, "TYPE is f32", "bench-llm", "--random", "llama-tiny:i8")
        self.bad(2, "--write needs --random", "bench-llm", "a", "--write", "b")
        self.bad(2, "--prompt takes up to 16 numbers", "bench-llm", "a", "--prompt", "1,0")
        self.bad(2, "--generate takes up to 16 numbers", "bench-llm", "a", "--generate", "1,")
        self.bad(125, "the model's context is 512", "bench-llm", "--random", "llama-tiny:q8_0", "-n", "512")
        self.bad(2, "--temperature takes a number from 0 to 100", "generate", "a", "b", "--temperature", "hot")
        self.bad(2, "--presence-penalty takes a number from -2 to 2", "generate", "a", "b", "--presence-penalty", "-3")
        self.bad(2, "--top-p takes", "generate", "a", "b", "--top-p", "0")
        self.bad(2, "--seed takes a whole number", "chat", "a", "--seed", "-1")
        self.bad(2, "--stop takes a text", "chat", "a", "--stop", "")
        self.bad(125, "No such file", "generate", self.path("absent"), "b")


if __name__ == "__main__":
    unittest.main(verbosity=2)
