#!/usr/bin/env python3
"""Checks `forge check`: all operations pass in all modes, a seed repeats a case, and errors are reported.

Speed is not tested: times only have to exist. Note: tests/unit/forge/test_check.c has a wrong kernel and
shows that `forge check` finds it.
"""
import json
import os
import subprocess
import unittest

import schema_check

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")


class Check(unittest.TestCase):
    def check(self, *arguments):
        return subprocess.run([FORGE, "check", *arguments], capture_output=True, text=True, timeout=120, check=False)

    def report(self, *arguments):
        done = self.check(*arguments, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        try:
            schema_check.validator("forge-check").validate(report)
        except (KeyError, SystemExit) as reason:
            print(f"not validated: {reason}")
        return report

    def test_all_operations_are_good_with_each_instruction_set(self):
        for isa in ("plain", "avx2", "avx512", "neon"):
            done = self.check("--isa", isa, "--cases", "10", "--seed", "100", "--json", "-")
            if "does not have this instruction set" in done.stderr:
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["isa"], isa)
            self.assertGreater(len(report["operations"]), 20)
            for row in report["operations"]:
                self.assertEqual((row["cases"], row["failed"]), (10, 0), row)
                self.assertLessEqual(row["worst"], 1)
            kernels = {row["operation"]: row["kernels"] for row in report["operations"]}
            self.assertIn("f32_matmul", kernels["matmul"])
            self.assertNotIn("reference_matmul", kernels["matmul"])
            self.assertIn("reference_gather", kernels["gather"])
            for name in ("attention", "cross_entropy", "layer_norm", "softmax"):
                self.assertLessEqual({f"f32_{name}", f"f32_{name}_gradient"}, set(kernels[name].split()))
            self.assertEqual((set(kernels["adamw"].split()) - {"narrow_adamw"}, kernels["rope"]), ({"f32_adamw"}, ""))
            for name in ("embedding", "rotary", "swiglu", "paged_attention"):
                self.assertEqual(kernels[name], f"f32_{name}")
            self.assertEqual((set(kernels["linear"].split()), kernels["cache_write"]), ({"f32_linear", "q8_linear"}, "cache_write"))

    def test_all_operations_are_good_in_each_type_of_16_bits(self):
        for dtype in ("bf16", "f16"):
            report = self.report("--type", dtype, "--cases", "10")
            self.assertEqual([row for row in report["operations"] if row["failed"]], [])
            kernels = {row["operation"]: row["kernels"] for row in report["operations"]}
            self.assertEqual((kernels["matmul"], kernels["conv"]), (f"{dtype}_matmul", f"{dtype}_conv"))
            self.assertEqual(kernels["attention"], f"{dtype}_attention {dtype}_attention_gradient")
            for name in ("cross_entropy", "layer_norm", "softmax"):
                self.assertEqual(kernels[name], f"narrow_{name} narrow_{name}_gradient")

    def test_gradients_of_all_operations_are_good(self):
        rows = {row["operation"]: row for row in self.report("--mode", "grad", "--cases", "6")["operations"]}
        self.assertGreater(rows["conv"]["cases"], 0)
        self.assertEqual((rows["iota"]["cases"], rows["paged_attention"]["cases"]), (0, 6))
        self.assertEqual(sum(row["failed"] for row in rows.values()), 0)

    def test_times_and_joules(self):
        row, = self.report("--mode", "time", "--op", "reduce")["operations"]
        self.assertGreater(row["median_seconds"], 0)
        self.assertEqual(row["flop"], 2048 * 2048)
        self.assertEqual(row["bytes"], 4 * (2048 * 2048 + 2048))
        self.assertIsNone(row["energy_joules"])
        row, = self.report("--mode", "joules", "--op", "cast")["operations"]
        self.assertIn(row["class"], ("measured", "derived", "modelled", "assumed", "none"))

    def test_a_seed_repeats_a_case(self):
        whole = self.report("--op", "unary", "--cases", "30")["operations"][0]
        one = self.report("--op", "unary", "--cases", "1", "--seed", str(whole["worst_seed"]))["operations"][0]
        self.assertEqual(one["worst"], whole["worst"])

    def test_table_names_the_worst_case_and_its_kernel(self):
        done = self.check("--op", "sort", "--cases", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"sort +3 +passed +0\.000 \(seed \d+\) +reference_sort")

    def test_wrong_usage_is_refused(self):
        for code, words, arguments in ((2, "did you mean matmul", ["--op", "matmuk"]), (2, "no check for operation 'input'", ["--op", "input"]),
                                       (2, "unknown mode 'speed'", ["-m", "speed"]),
                                       (2, "unknown type 'f8_e4m3'", ["--type", "f8_e4m3"]), (2, "unexpected argument 'conv'", ["conv"]),
                                       (2, "--seed takes", ["-s", "x"]), (125, "FORGE_ISA=sse9", ["--isa", "sse9"]),
                                       (125, "unknown device 'abacus'", ["-d", "abacus"]), (125, "cannot check values: the device estimated only estimates", ["-d", "estimated"])):
            done = self.check(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
