#!/usr/bin/env python3
"""Checks the shortest run of tests/corpus/joulec: joulec predicts every program, the programs are measured,
and their results are correct. Times are not judged.
"""
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys

from joulec_support import Folder, main

SCRIPT = os.path.join(os.environ["JOULE_SOURCE"], "tests", "corpus", "joulec", "compare_times.py")


def load():
    """Imports the script as a module."""
    spec = importlib.util.spec_from_file_location("joulec_corpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Corpus(Folder):
    def test_every_program_is_predicted_and_right(self):
        done = subprocess.run([sys.executable, SCRIPT, "--json", "--rounds", "1", "--ms", "0"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        programs = found["by_program"]
        self.assertTrue(len(programs) >= 48 and len(found["by_group"]) >= 9, done.stdout)
        self.assertEqual(len({p["program"] for p in programs}), len(programs))
        for p in programs:
            self.assertTrue(p["right"], p)
            self.assertTrue(p["program"].startswith(p["group"] + "_"), p)
            self.assertTrue(0 < p["low_seconds"] <= p["predicted_seconds"], p)
            if p["high_seconds"] is not None:  # None: calls are too many to count, or a loop has no bound
                self.assertTrue(p["predicted_seconds"] <= p["high_seconds"] < math.inf, p)
            self.assertTrue(p["measured_seconds"] > 0 and p["energy_joules"] > 0, p)
        self.assertLess(sum(p["high_seconds"] is None for p in programs), len(programs) / 20)
        sets = load().SETS
        self.assertEqual(sum(found[name]["programs"] for name in sets), len(programs))
        self.assertTrue(min(found[name]["groups"] for name in sets) >= 4, done.stdout)

    def test_each_file_is_in_one_set(self):
        files = {name.removesuffix(".c") for name in os.listdir(os.path.dirname(SCRIPT)) if name.endswith(".c")}
        self.assertEqual(sorted(load().GROUPS), sorted(files - {"measure_programs"}))

    def test_wrong_result_is_reported(self):
        """Uses a copy of one group in which one program returns another result."""
        copy = self.path("joulec")
        os.mkdir(copy)
        for name in ("corpus.h", "measure_programs.c", "dot_product.c"):
            shutil.copy(os.path.join(os.path.dirname(SCRIPT), name), copy)
        with open(SCRIPT, encoding="utf-8") as file:
            script = file.read()
        one_set = "GROUPS = SETS[\"validation\"] = [\"dot_product\"]"
        script, count = re.subn(r"^GROUPS = .*$", one_set, script, flags=re.M)
        self.assertEqual(count, 1)
        self.write("joulec/compare_times.py", script)
        source = self.read("joulec/dot_product.c")
        self.write("joulec/dot_product.c", source.replace("return (uint64_t)(s + r);", "return (uint64_t)(s + r) + 1;"))
        done = subprocess.run([sys.executable, os.path.join(copy, "compare_times.py"), "--rounds", "1", "--ms", "0"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"\ndot_product_two .* WRONG RESULT\n")
        self.assertEqual(done.stdout.count("WRONG RESULT"), 1, done.stdout)

    def test_sets_stay_as_they_were(self):
        """Groups that were known while the model was tuned must not be moved into a test set."""
        sets = load().SETS
        self.assertEqual(sets["tuning"], ["division", "histogram", "lcs", "linked_list", "matmul", "polynomial", "prefix_sum",
                                          "sum_of_ratios", "sort", "stencil", "word_count"])
        self.assertEqual(sets["validation"], ["small_functions", "collatz", "crc", "dot_product", "compaction", "popcount",
                                              "polynomial_hash", "sorted_search", "transpose"])
        self.assertEqual(list(sets)[2:], [f"test_{i + 1}" for i in range(len(sets) - 2)])
        self.assertEqual([len(groups) for groups in sets.values()], [11, 9, 12, 10, 10, 10, 10])

    def test_ranks_and_errors(self):
        corpus = load()
        self.assertEqual(corpus.ranks([3, 1, 3, 2]), [3.5, 1, 3.5, 2])
        self.assertAlmostEqual(corpus.spearman([1, 2, 3, 4], [10, 20, 40, 30]), 0.8)
        self.assertAlmostEqual(corpus.spearman([1, 2, 3], [9, 5, 1]), -1)
        self.assertIsNone(corpus.spearman([1, 1, 1], [1, 2, 3]))
        self.assertEqual([corpus.quantile(range(10), part) for part in (0, 0.5, 0.9, 1)], [0, 5, 9, 9])
        function = {"time_seconds": 1.0, "interval_seconds": [0.5, 1.5], "energy_joules": 3.0, "quality": "E"}
        record, = corpus.compare([("sort", "sort_x", 2.0, True)], {"sort": {"sort_x": function}})
        self.assertEqual((record["ratio"], record["error_factor"], record["inside"], record["tuning"]), (0.5, 2.0, False, True))
        function["interval_seconds"] = [0.5, None]
        self.assertFalse(corpus.compare([("sort", "sort_x", 2.0, True)], {"sort": {"sort_x": function}})[0]["inside"])


if __name__ == "__main__":
    main()
