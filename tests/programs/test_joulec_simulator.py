#!/usr/bin/env python3
"""joulec asks llvm-mca of loops, where there is one that knows the core; and does without it whatever it does.

The simulator here is mostly a script that reads what llvm-mca would read and answers as that does: labelled FAKE below."""
import os
import shutil
import sys

from joulec_support import OneFile, main

LOOPS = """%s float sums(const float *x)
{
    float s = 0;
    for (int i = 0; i < 1000; i++)
        s += x[i];
    return s;
}
int halves(unsigned n)
{
    int count = 0;
    for (int i = 0; i < 1000; i++)
        n = n / 3 + 7;
    return n;
}
"""
FAKE = """#!%s
import json, os, re, sys
if "--version" in sys.argv:
    print("LLVM (http://llvm.org/):\\n  LLVM version %s")
    sys.exit(0)
text = open(sys.argv[-1]).read()
with open(os.path.join(os.path.dirname(sys.argv[0]), "asked"), "a") as log:
    log.write(text)
if re.search(r"%s", text):
    sys.exit(1)
print(json.dumps({"CodeRegions": [{"Name": name, "SummaryView": {"BlockRThroughput": 1, "Iterations": 100, "TotalCycles": %s}}
                                  for name in re.findall("LLVM-MCA-BEGIN ([0-9]+)", text)]}))
"""


class Simulator(OneFile):
    def setUp(self):
        super().setUp()
        self.report()
        if not self.knows_core():
            self.skipTest("no LLVM has a model of this machine's core")

    def knows_core(self):
        return self.report(self.fake())["simulator"] is not None

    def fake(self, cycles=5000, version="99.0.0", refuses="no such text"):
        path = self.write("fake-mca", FAKE % (sys.executable, version, refuses, cycles))
        os.chmod(path, 0o755)
        return path

    def asked(self):
        if not os.path.exists(self.path("asked")):
            return ""
        text = self.read("asked")
        os.remove(self.path("asked"))
        return text

    def run_joulec(self, simulator, *options, mark=""):
        return self.compile(LOOPS % mark, *options, JOULEC_LLVM_MCA=simulator)

    def report(self, simulator="", *options):
        done = self.run_joulec(simulator, "--energy-report", "report.json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.report_in("report.json")

    def loop(self, found, name="sums"):
        return found["functions"][name]["loops"][0]

    def test_its_cycles_are_the_loops(self):
        """What it takes beyond units and chains counts for half, in logarithms; all of it at worst."""
        slow, fast = self.report(self.fake(cycles=40000)), self.report(self.fake(cycles=10000))
        self.assertEqual(slow["simulator"]["program"], "llvm-mca")
        self.assertEqual(slow["simulator"]["version"], 99)
        self.assertEqual(self.loop(slow)["simulated"], {"cycles": 400, "unit_cycles": 1})
        ratio = slow["functions"]["halves"]["time_seconds"] / fast["functions"]["halves"]["time_seconds"]
        self.assertAlmostEqual(ratio, 2, delta=0.05)
        ratio = slow["functions"]["halves"]["interval_seconds"][1] / fast["functions"]["halves"]["interval_seconds"][1]
        self.assertGreater(ratio, 3)

    def test_only_what_has_a_budget_where_nobody_asks_for_more(self):
        self.asked()
        self.assertEqual(self.run_joulec(self.fake(), "--energy-check").returncode, 0)
        self.assertEqual(self.asked(), "")
        self.run_joulec(self.fake(), "--energy-check", mark='JOULE_BUDGET("max_joules=1J")')
        self.assertEqual(self.asked().count("LLVM-MCA-BEGIN"), 1)
        self.report(self.fake())
        self.assertEqual(self.asked().count("LLVM-MCA-BEGIN"), 2)

    def test_a_sum_waits_for_no_load(self):
        """llvm-mca lets `addss (%rdi), %xmm0` wait for its sum before it loads; at most that long is believed."""
        slow, plain = self.report(self.fake(cycles=40000)), self.report()
        self.assertLess(slow["functions"]["sums"]["time_seconds"], 2 * plain["functions"]["sums"]["time_seconds"])

    def test_a_loop_that_it_refuses_is_the_only_one_left_out(self):
        found = self.report(self.fake(refuses="mulq|umul|imul"))
        self.assertEqual(self.loop(found)["simulated"]["cycles"], 50)
        self.assertIsNone(self.loop(found, "halves")["simulated"])

    def test_without_one_that_knows_the_core(self):
        plain = self.report()
        self.assertIsNone(plain["simulator"])
        self.assertIsNone(self.loop(plain)["simulated"])
        for simulator in (self.fake(version="3.9.1"), self.fake(refuses="."), "/bin/true"):
            found = self.report(simulator)
            self.assertEqual(found["functions"], plain["functions"], simulator)
        done = self.run_joulec("/no/such/program", "--energy-report", "/dev/null")
        self.assertEqual(done.returncode, 0)
        self.assertIn("JOULEC_LLVM_MCA", done.stderr)

    def test_its_nonsense_is_passed_over(self):
        plain = self.report()
        for cycles in ("-5", "float('nan')", "'many'", "0"):
            self.assertEqual(self.report(self.fake(cycles=cycles))["functions"], plain["functions"], cycles)

    def test_llvm_mca_itself(self):
        real = next((path for path in (shutil.which(f"llvm-mca-{n}") for n in range(30, 13, -1)) if path), None)
        if not real:
            self.skipTest("there is no llvm-mca")
        found = self.report(real)
        if not found["simulator"]:
            self.skipTest(f"{real} has no model of {found['core']}")
        # A sum of floats waits 2 to 5 cycles for the last one, on whatever core; a division by 3 is a product and a shift.
        self.assertTrue(2 <= self.loop(found)["simulated"]["cycles"] <= 5.5, self.loop(found))
        self.assertTrue(3 <= self.loop(found, "halves")["simulated"]["cycles"] <= 12, self.loop(found, "halves"))


if __name__ == "__main__":
    main()
