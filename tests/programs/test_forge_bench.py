#!/usr/bin/env python3
"""`forge bench`: it prints all promised results in about the given time, and after an interrupt the results
so far.

Speed is not tested: values only have to exist and be consistent.
"""
import json
import os
import signal
import subprocess
import unittest

import schema_check

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
NAMES = ["gemm-512", "gemm-1024", "conv", "add", "train-mlp", "train-cnn"]


class Bench(unittest.TestCase):
    def bench(self, *arguments, **environment):
        return subprocess.run([FORGE, "bench", *arguments], env={**os.environ, **environment}, capture_output=True, text=True,
                              timeout=300, check=False)

    def validate(self, report):
        try:
            schema_check.validator("forge-bench").validate(report)
        except (KeyError, SystemExit) as reason:
            print(f"not validated: {reason}")

    def test_report_follows_its_schema(self):
        done = self.bench("--time", "1s", "--threads", "1", "--json", "-", FORGE_ISA="plain")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        self.validate(report)
        self.assertEqual((report["isa"], report["threads"], report["interrupted"]), ("plain", 1, False))
        self.assertEqual([result["name"] for result in report["results"]], NAMES)
        self.assertEqual(report["limits"][0]["isa"], "plain")
        for result in report["results"]:
            self.assertGreater(result["median_seconds"], 0)
            near = max(result["flop"] / result["limit_gflops"], result["bytes"] / result["limit_gb_per_s"]) / 1e9
            self.assertAlmostEqual(near / result["median_seconds"] / result["share_of_limit"], 1)
        sizes = {result["name"]: (result["flop"], result["bytes"]) for result in report["results"]}
        self.assertEqual(sizes["gemm-512"], (2 * 512 ** 3, 3 * 4 * 512 ** 2))
        self.assertEqual(sizes["add"], (1 << 24, 12 << 24))

    def test_table_and_interrupt(self):
        seen = []
        with subprocess.Popen([FORGE, "bench", "--time", "8s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                seen.append(line)
                if line.startswith("gemm-512"):
                    break
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=120)
        self.assertEqual((child.returncode, err), (130, ""))
        self.assertRegex(seen[-1], r"^gemm-512 +[\d.]+ .?s +[\d.]+ +[\d.]+ +[\d.]+ %")
        self.assertRegex("".join(seen), r"multiply-adds, plain +GFLOP/s +[\d.]+ +[\d.]+")
        self.assertNotIn("train-cnn", out)

    def test_wrong_usage_is_refused(self):
        for code, words, arguments in ((2, "unexpected argument 'gemm'", ["gemm"]), (2, "--time", ["--time", "fast"]),
                                       (2, "--threads", ["--threads", "0"])):
            done = self.bench(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(words, done.stderr)
        done = self.bench(FORGE_ISA="sse9")
        self.assertEqual(done.returncode, 125)
        self.assertIn("FORGE_ISA=sse9", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
