#!/usr/bin/env python3
"""What joulec takes instructions for: the breakdown of small functions, one kind of work beside another."""
import json
import os
import platform
import subprocess
import sys
import tempfile
import unittest

JOULEC = os.environ.get("JOULEC", "")
ON_X86 = platform.machine() == "x86_64"


class Work(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def breakdown(self, text, *options):
        """Joules by what they are for, of each function."""
        source, report = (os.path.join(self.folder.name, name) for name in ("a.c", "a.json"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([JOULEC, "-O2", *options, "--energy-report", report, "-c", source, "-o", os.path.join(self.folder.name, "a.o")],
                       check=True)
        with open(report, encoding="utf-8") as file:
            return {function["name"]: function["breakdown_joules"] for function in json.load(file)["functions"]}

    def test_a_wide_division_is_longer(self):
        found = self.breakdown("unsigned narrow(unsigned x, unsigned y) { return x / y; }\n"
                               "unsigned long long wide(unsigned long long x, unsigned long long y) { return x / y; }\n")
        self.assertAlmostEqual(found["wide"]["int_divs"] / found["narrow"]["int_divs"], 5 / 3)

    def test_the_larger_of_two_is_two_steps(self):
        found = self.breakdown("int one(int x, int y) { return x + y; }\nint larger(int x, int y) { return x > y ? x : y; }\n")
        self.assertAlmostEqual(found["larger"]["int_ops"] / found["one"]["int_ops"], 2)

    def test_a_conversion_crosses_over(self):
        found = self.breakdown("double sum(double x, double y) { return x + y; }\ndouble converted(long x) { return (double)x; }\n")
        self.assertAlmostEqual(found["converted"]["fp_ops"] / found["sum"]["fp_ops"], 2)

    def test_a_product_and_a_sum_are_one_only_where_the_machine_can(self):
        text = "double f(double x, double y, double z) { return x * y + z; }\ndouble sum(double x, double y) { return x + y; }\n"
        options = ("-ffp-contract=on",)
        if ON_X86:
            found = self.breakdown(text, *options)
            self.assertNotIn("fp_fmas", found["f"])
            self.assertAlmostEqual(found["f"]["fp_ops"] / found["sum"]["fp_ops"], 2)
            options += ("-mfma",)
        found = self.breakdown(text, *options)
        self.assertIn("fp_fmas", found["f"])
        self.assertNotIn("fp_ops", found["f"])

    def test_branches_by_data_are_guessed_wrong(self):
        """A store that is not always made stays a branch."""
        found = self.breakdown("""
void by_data(const int *x, int *y) { for (int i = 0; i < 64; i++) if (x[i] > 0) y[i] = 7; }
void by_counter(const int *x, int *y) { for (int i = 0; i < 64; i++) if (i % 3 == 0) y[i] = 7; }
void by_pointer(int **x) { for (int i = 0; i < 64; i++) if (x[i]) *x[i] = 7; }
void expected(const int *x, int *y) { for (int i = 0; i < 64; i++) if (__builtin_expect(x[i] > 0, 1)) y[i] = 7; }
void short_loops(int x[64][64]) { for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) x[i][j] = 7 * x[i][j]; }
int until_found(const int *x) { int i = 0; while (x[i] != 7) i++; return i; }
""")
        self.assertNotIn("mispredicts", found["by_counter"])
        self.assertNotIn("mispredicts", found["by_pointer"])
        self.assertNotIn("mispredicts", found["short_loops"])
        self.assertAlmostEqual(found["by_data"]["mispredicts"] / found["until_found"]["mispredicts"], 64 / 8)
        self.assertLess(found["expected"]["mispredicts"], found["by_data"]["mispredicts"] / 10)

    def test_long_loops_end_with_a_surprise(self):
        found = self.breakdown("void f(int x[20][500]) { for (int i = 0; i < 20; i++) for (int j = 0; j < 500; j++) x[i][j] = 7 * x[i][j]; }\n"
                               "int until_found(const int *x) { int i = 0; while (x[i] != 7) i++; return i; }\n")
        self.assertAlmostEqual(found["f"]["mispredicts"] / found["until_found"]["mispredicts"], 20)


if __name__ == "__main__":
    if not os.path.exists(JOULEC):
        print("skipped: this build has no joulec (no LLVM)")
        sys.exit(77)
    unittest.main(verbosity=2)
