#!/usr/bin/env python3
"""The shortest form of bench/joulec: joulec predicts every program, it is measured, and its results are
correct. Times are not judged.
"""
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys

from joulec_support import Folder, main

SCRIPT = os.path.join(os.environ["JOULE_SOURCE"], "bench", "joulec", "run.py")


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
            if p["high_seconds"] is not None:  # else calls are too many to count, or nothing bounds a loop
                self.assertTrue(p["predicted_seconds"] <= p["high_seconds"] < math.inf, p)
            self.assertTrue(p["measured_seconds"] > 0 and p["energy_joules"] > 0, p)
        self.assertLess(sum(p["high_seconds"] is None for p in programs), len(programs) / 20)
        halves = load().HALVES
        self.assertEqual(sum(found[half]["programs"] for half in halves), len(programs))
        self.assertTrue(min(found[half]["groups"] for half in halves) >= 4, done.stdout)

    def test_what_is_wrong_is_seen(self):
        copy = self.path("joulec")
        shutil.copytree(os.path.dirname(SCRIPT), copy, ignore=lambda _, names: [n for n in names if n.endswith(".c") and n not in ("dot.c", "measure.c")])
        shutil.copy(os.path.join(os.path.dirname(os.path.dirname(SCRIPT)), "bench.h"), self.folder)
        self.write("joulec/dot.c", self.read("joulec/dot.c").replace("return (uint64_t)(s + r);", "return (uint64_t)(s + r) + 1;"))
        done = subprocess.run([sys.executable, os.path.join(copy, "run.py"), "--rounds", "1", "--ms", "0"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"\ndot_two .* WRONG RESULT\n")
        self.assertEqual(done.stdout.count("WRONG RESULT"), 1, done.stdout)

    def test_the_halves_stay_as_they_were(self):
        """The test set must not change: other programs may have been seen while tuning."""
        corpus = load()
        self.assertEqual([group for group in corpus.GROUPS if corpus.half_of(group) == "held_out"],
                         ["calls", "collatz", "crc", "dot", "filter", "popcount", "rolling", "search", "transpose"])
        self.assertEqual(corpus.GROUPS[20:], [group for _, groups in corpus.LATER for group in sorted(groups)])
        for name, groups in corpus.LATER:
            self.assertEqual({corpus.half_of(group) for group in groups}, {name})

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
