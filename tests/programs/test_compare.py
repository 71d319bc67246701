#!/usr/bin/env python3
"""joule compare: ratios on a machine with known power, verdicts, conditions, sweeps and stored baselines."""
import os
import subprocess
import unittest

import bench_support
import run_support
import schema_check
from run_support import JOULE, Machine

WATTS = 80


class Compare(bench_support.BenchTest):
    def compare(self, *words, code=0):
        with Machine(WATTS) as machine:
            return self.results("compare", "--root", machine.root, "--warmup", "1", *words, code=code)

    def test_interval_contains_the_ratio_of_two(self):
        found = self.compare("-r", "8", "--name", "A", "--name", "B", "sleep 0.2", "sleep 0.4")
        energy = found["comparisons"][0]["energy"]
        self.assertEqual(energy["verdict"], "worse")
        self.assertAlmostEqual(energy["ratio"], 2, delta=0.2)
        self.assertLess(energy["interval"][0], energy["ratio"])
        self.assertEqual((found["comparisons"][0]["name"], found["comparisons"][0]["reference"]), ("B", "A"))
        schema_check.validator("compare").validate(found)

    def test_a_command_is_equivalent_to_itself(self):
        found = self.compare("-r", "8", "--equivalent", "30%", "sleep 0.2", "sleep 0.2")
        self.assertIn(found["comparisons"][0]["energy"]["verdict"], ("equivalent", "cannot tell"))

    def test_conditions_set_the_exit_status(self):
        words = ("-r", "8", "sleep 0.1", "sleep 0.3")
        found = self.compare("--fail-if", "energy > +50%", *words, code=1)
        self.assertEqual(found["conditions"], [{"condition": "energy > +50%", "holds": True}])
        self.compare("--fail-if", "energy > +900%", *words)
        self.compare("--fail-if", "time < -10%", *words)

    def test_each_sweep_value_is_compared_with_itself(self):
        found = self.compare("-r", "3", "--sweep", "t=0.01,0.02", "--name", "one", "--name", "two", "sleep {t}",
                             "sh -c 'sleep {t}; sleep {t}'")
        pairs = [(c["name"], c["reference"]) for c in found["comparisons"]]
        self.assertEqual(pairs, [("two t=0.01", "one t=0.01"), ("two t=0.02", "one t=0.02")])

    def test_reference_can_be_chosen(self):
        found = self.compare("-r", "3", "--name", "a", "--name", "b", "--reference", "b", "true", "true")
        self.assertEqual([(c["name"], c["reference"]) for c in found["comparisons"]], [("a", "b")])

    def test_equal_seeds_give_equal_orders(self):
        log = os.path.join(self.folder.name, "log")
        orders = []
        for _ in range(2):
            self.joule("compare", "--warmup", "none", "-r", "6", "--seed", "7", "--shell", f"echo a >>{log}",
                       f"echo b >>{log}")
            orders.append(run_support.read_file(log))
            os.remove(log)
        self.assertEqual(orders[0], orders[1])
        for block in range(6):
            self.assertEqual(sorted(orders[0].split()[2 * block:2 * block + 2]), ["a", "b"])

    def test_baseline_is_the_stored_runs(self):
        with Machine(WATTS) as machine:
            self.joule("bench", "--root", machine.root, "-r", "6", "--name", "main", "--", "sleep", "0.1")
            found = self.results("compare", "--root", machine.root, "-r", "6", "--baseline", "main", "sleep 0.3")
        self.assertTrue(found["comparisons"][0]["reference_is_stored"])
        self.assertEqual(found["comparisons"][0]["energy"]["verdict"], "worse")
        self.assertIn("'absent'", self.joule("compare", "--baseline", "absent", "true", code=125).stderr)

    def test_different_sources_of_a_baseline_are_reported(self):
        with Machine(WATTS) as machine:
            self.joule("bench", "--root", machine.root, "-r", "3", "--name", "main", "--", "true")
        done = self.joule("compare", "-r", "3", "--baseline", "main", "true")
        if "modelled" in done.stdout:
            self.assertIn("warning: the class differs", done.stdout)

    def test_wrong_usage_is_explained(self):
        for words, text in ((["true"], "two or more"), (["true", "a | b"], "shell"), (["true", "'x"], "quote"),
                            (["--fail-if", "heat > 3%", "true", "true"], "--fail-if"), (["true", ""], "empty"),
                            (["--sweep", "a", "true {a}"], "--sweep"), (["--reference", "q", "true", "true"], "q")):
            done = subprocess.run([JOULE, "compare", "--no-store", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    bench_support.need_bench()
    run_support.main()
