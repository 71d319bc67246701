#!/usr/bin/env python3
"""Checks joulec's classification of instructions: the joules of small functions are compared by kind of work.
"""
import platform
import unittest

from joulec_support import OneFile, main

# These options keep loops as they are in the source. Other tests check how the build transforms loops.
PLAIN = ["-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"]
ON_X86 = platform.machine() == "x86_64"


class Work(OneFile):
    def functions(self, text, *options):
        return super().functions(text, *PLAIN, *options)

    def breakdown(self, text, *options):
        """Returns each function's joules by category."""
        return {name: function["breakdown_joules"] for name, function in self.functions(text, *options).items()}

    def test_a_wide_division_is_longer(self):
        found = self.breakdown("unsigned narrow(unsigned x, unsigned y) { return x / y; }\n"
                               "unsigned long long wide(unsigned long long x, unsigned long long y) { return x / y; }\n")
        self.assertAlmostEqual(found["wide"]["int_divs"] / found["narrow"]["int_divs"], 5 / 3)

    def test_a_division_of_128_bits_is_a_function(self):
        """A division of 128-bit numbers calls a library function, also if the divisor is a constant. The
        remainder is computed from the quotient without a second call. If the divisor is a power of two,
        quotient and remainder need only shifts and masks."""
        text = "typedef unsigned __int128 u128;\nunsigned narrow(unsigned x, unsigned y) { return x / y; }\n"
        text += "".join(f"u128 {name}(u128 x, u128 y) {{ return {words}; }}\n" for name, words in (
            ("divided", "x / y"), ("both", "(x / y) ^ (x % y)"), ("third", "x / 3 + y"), ("eighth", "x / 8 + y")))
        found = self.breakdown(text)
        division = found["narrow"]["int_divs"]
        for name, times in (("divided", 3), ("both", 3), ("third", 3)):
            self.assertAlmostEqual(found[name]["int_divs"] / division, times, msg=name)
            self.assertGreater(found[name]["int_ops"], 3 * found["eighth"]["int_ops"], name)
        self.assertNotIn("int_divs", found["eighth"])
        self.assertNotIn("int_muls", found["eighth"])

    def test_divisions_by_constants_are_products(self):
        text = "".join(f"{kind} {name}({kind} x, {kind} y) {{ return {body}; }}\n" for kind, name, body in (
            ("unsigned", "divided", "x / y"), ("unsigned", "both", "(x / y) ^ (x % y)"), ("unsigned", "rest", "x % y"),
            ("unsigned", "tenth", "x / 10 + y"), ("unsigned", "digit", "x % 10 + y"), ("int", "signed_tenth", "x / 10 + y"),
            ("unsigned", "digits", "(x / 10) ^ (x % 10)"), ("int", "signed_eighth", "x / 8 + y"), ("unsigned", "product", "x * y")))
        found = self.breakdown(text)
        product, division = found["product"]["int_muls"], found["divided"]["int_divs"]
        for name, products in (("tenth", 1), ("digit", 2), ("signed_tenth", 1), ("digits", 2)):
            self.assertNotIn("int_divs", found[name], name)
            self.assertAlmostEqual(found[name]["int_muls"] / product, products, msg=name)
        self.assertNotIn("int_muls", found["signed_eighth"])
        self.assertNotIn("int_divs", found["signed_eighth"])
        # One instruction computes quotient and remainder.
        self.assertAlmostEqual(found["both"]["int_divs"] / division, 1)
        self.assertAlmostEqual(found["rest"]["int_divs"] / division, 1)

    @unittest.skipUnless(ON_X86, "asks what clang makes for x86")
    def test_products_of_vectors(self):
        """Numbers that fit in 16 bits use narrow multiplications. Vector units begin two products in the time
        in which a scalar unit begins one."""
        loop = "void {0}(void) {{ for (int i = 0; i < 1024; i++) out[i] = {1}[i] * {2}[i]; }}\n"
        text = "int out[1024], a[1024], b[1024];\nshort c[1024], d[1024];\n" + loop.format("wide", "a", "b") + loop.format("narrow", "c", "d")
        scalars, vectors = self.breakdown(text), self.breakdown(text, "-fvectorize")
        self.assertAlmostEqual(vectors["wide"]["int_muls"] / scalars["wide"]["int_muls"], 2 / 2 / 4)
        self.assertAlmostEqual(vectors["narrow"]["int_muls"] / scalars["narrow"]["int_muls"], 1 / 2 / 4)

    @unittest.skipUnless(ON_X86, "asks what clang makes for x86")
    def test_rounds_that_vectors_leave_over(self):
        """The vectorized loop handles blocks of iterations, and the remainder loop handles the rest. Of 1 to
        32 iterations, 31 cost most, because most of these are in the remainder loop."""
        takes = "(unsigned char *restrict a, const unsigned char *restrict b, int n)"
        loops = 'for (int k = 0; k < 1000; k++) { for (int i = 0; i < n; i++) a[i] ^= b[i]; __asm__ volatile("" ::: "memory"); }'
        text = (f"void some{takes} {{ JOULE_ASSUME(n >= 1 && n <= 32); {loops} }}\n"
                f"static __attribute__((noinline)) void all{takes} {{ {loops} }}\n"
                "void of_31(unsigned char *a, const unsigned char *b) { all(a, b, 31); }\n")
        found = self.functions(text, "-fvectorize")
        self.assertGreater(found["some"]["interval_joules"][1], 1.5 * found["of_31"]["energy_joules"])

    @unittest.skipUnless(ON_X86, "asks what clang makes for x86")
    def test_vectors_for_data_that_does_not_overlap(self):
        """The loop writes a row of `way`. In `each`, it also reads one element of this row in each iteration,
        which prevents vectors. In `before`, the element is read before the loop."""
        loops = "void {0}(void) {{ for (int k = 0; k < 40; k++) for (int i = 0; i < 40; i++) {{ {1} for (int j = 0; j < 40; j++) " \
                "way[i][j] = way[i][j] < {2} + way[k][j] ? way[i][j] : {2} + way[k][j]; }} }}\n"
        found = self.functions("int way[40][40];\n" + loops.format("each", "", "way[i][k]") + loops.format("before", "int x = way[i][k];", "x"),
                               "-fvectorize")
        self.assertGreater(found["each"]["time_seconds"], 1.5 * found["before"]["time_seconds"])

    def test_a_chain_through_a_constant_division(self):
        """A division by a constant becomes a product and a shift. The dependence chain is therefore shorter
        than with a division, which takes 12 cycles or more."""
        loop = "unsigned {0}(unsigned x, unsigned y) {{ for (int i = 0; i < 1000; i++) x = x / {1} ^ (x << 20); return x; }}\n"
        found = self.functions(loop.format("tenths", "10") + loop.format("parts", "(y | 1)"))
        self.assertLess(2 * found["tenths"]["time_seconds"], found["parts"]["time_seconds"])

    def test_dependent_operations_take_longer(self):
        one = "unsigned {0}(unsigned a, unsigned b, unsigned c, unsigned d) {{ {1} return a ^ b ^ c ^ d; }}\n"
        text = (one.format("together", "a *= 7; b *= 7; c *= 7; d *= 7; a *= a; b *= b; c *= c; d *= d;")
                + one.format("in_turn", "a *= 7; a *= b; a *= c; a *= d; a *= 11; a *= b ^ c; a *= c ^ d; a *= d ^ b;"))
        seconds = {name: function["time_seconds"] for name, function in self.functions(text).items()}
        self.assertLess(1.2 * seconds["together"], seconds["in_turn"])

    def test_the_larger_of_two_is_two_steps(self):
        found = self.breakdown("int one(int x, int y) { return x + y; }\nint larger(int x, int y) { return x > y ? x : y; }\n")
        self.assertAlmostEqual(found["larger"]["int_ops"] / found["one"]["int_ops"], 2)

    def test_shift_by_a_variable_takes_more_operations(self):
        text = "unsigned known(unsigned x) { return x << 5; }\nunsigned unknown(unsigned x, unsigned n) { return x << n; }\n"
        found = self.breakdown(text)
        self.assertAlmostEqual(found["unknown"]["int_ops"] / found["known"]["int_ops"], 2 if ON_X86 else 1)
        if ON_X86:
            found = self.breakdown(text, "-mbmi2")
            self.assertAlmostEqual(found["unknown"]["int_ops"], found["known"]["int_ops"])

    def test_an_answer_is_fetched(self):
        found = self.breakdown("int chosen(int x, int y, int z) { return x < y ? z : 7; }\nint kept(int x, int y) { return x < y; }\n"
                               "int one(int x, int y) { return x + y; }\n")
        for name in ("chosen", "kept"):
            self.assertAlmostEqual(found[name]["int_ops"] / found["one"]["int_ops"], 2, msg=name)

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
        """A conditional store needs a branch, which is mispredicted if the condition depends on data."""
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

    def test_mispredictions_depend_on_the_condition(self):
        found = self.breakdown("""
void limit(const int *x, int *y) { for (int i = 0; i < 96; i++) if (x[i] > 3) y[i] = 7; }
void equal(const int *x, int *y) { for (int i = 0; i < 96; i++) if (x[i] == 3) y[i] = 7; }
void bit(const int *x, int *y) { for (int i = 0; i < 96; i++) if (x[i] & 4) y[i] = 7; }
void order(const int *x, const int *z, int *y) { for (int i = 0; i < 96; i++) if (x[i] < z[i]) y[i] = 7; }
void floats(const double *x, const double *z, int *y) { for (int i = 0; i < 96; i++) if (x[i] != z[i]) y[i] = 7; }
void one_of(const int *x, int *y) { for (int i = 0; i < 96; i++) switch (x[i]) { case 1: case 17: case 1000: case 77: y[i] = 7; } }
int until_found(const int *x) { int i = 0; while (x[i] != 7) i++; return i; }
""")
        one = found["until_found"]["mispredicts"]
        for name, times in (("limit", 12), ("equal", 8), ("bit", 24), ("order", 24), ("floats", 8), ("one_of", 8)):
            self.assertAlmostEqual(found[name]["mispredicts"] / one, times + 1, msg=name)

    def test_equality_is_rare(self):
        """Equality is assumed for one value of six. It is unknown how many values are above another one."""
        found = self.functions("""
__attribute__((noinline)) void step(int *y, int n) { for (volatile int i = 0; i < 1000; i++) y[i & 7] = n; }
void equal(int *y, const int *n) { if (*n == 624) step(y, 1); }
void other(int *y, const int *n) { if (*n != 624) step(y, 1); }
void above(int *y, const int *n) { if (*n > 624) step(y, 1); }
""")
        step, equal, other, above = (found[name]["time_seconds"] for name in ("step", "equal", "other", "above"))
        self.assertAlmostEqual(equal / step, 1 / 6, delta=0.03)
        self.assertAlmostEqual(other / step, 5 / 6, delta=0.03)
        self.assertAlmostEqual(above / step, 1 / 2, delta=0.03)

    def test_long_loops_end_with_a_surprise(self):
        found = self.breakdown("void f(int x[20][500]) { for (int i = 0; i < 20; i++) for (int j = 0; j < 500; j++) x[i][j] = 7 * x[i][j]; }\n"
                               "int until_found(const int *x) { int i = 0; while (x[i] != 7) i++; return i; }\n")
        self.assertAlmostEqual(found["f"]["mispredicts"] / found["until_found"]["mispredicts"], 20)

    def test_a_sum_waits_for_the_sum_and_not_for_the_product(self):
        found = self.functions("""
double sum(const double *x) { double s = 0; for (int i = 0; i < 1000; i++) s = s + x[i]; return s; }
double dot(const double *x, const double *y) { double s = 0; for (int i = 0; i < 1000; i++) s = s + x[i] * y[i]; return s; }
double horner(const double *x, double y) { double s = 0; for (int i = 0; i < 1000; i++) s = s * y + x[i]; return s; }
""", "-ffp-contract=on")
        sum_, dot, horner = (found[name]["time_seconds"] for name in ("sum", "dot", "horner"))
        self.assertLess(dot, 1.3 * sum_)
        if ON_X86:
            self.assertGreater(horner, 1.7 * sum_)

    def test_independent_short_loops_overlap(self):
        """Consecutive short loops overlap only if they are independent. They do not overlap if a loop starts
        from a value of the previous loop: directly, through a load whose address depends on it, or through
        memory."""
        found = self.functions("""
double c[8], x[1000], y[1000];
void restarted(void) { for (int i = 0; i < 1000; i++) { double s = 0; for (int k = 0; k < 8; k++) s = s * x[i] + c[k]; y[i] = s; } }
double kept(void) { double s = 0; for (int i = 0; i < 1000; i++) { for (int k = 0; k < 8; k++) s = s * x[i] + c[k]; y[i] = s; } return s; }
void led(void) { double l = 0; for (int i = 0; i < 1000; i++) { double f = x[(int)l & 7], s = 0; for (int k = 0; k < 8; k++) s = s * f + c[k]; y[i] = l = s; } }
void stored(void) { for (int i = 0; i < 1000; i++) { double s = 0; for (int k = 0; k < 8; k++) s = s * x[i] + c[k]; c[i & 7] = s; } }
""")
        restarted = found["restarted"]["time_seconds"]
        for name in ("kept", "led", "stored"):
            self.assertGreater(found[name]["time_seconds"], 2 * restarted, name)
            self.assertLess(found["restarted"]["interval_seconds"][0], found[name]["interval_seconds"][0], name)

    def test_a_known_length_is_copied_in_known_time(self):
        found = self.functions("""
void copy64(char *x, const char *y) { __builtin_memcpy(x, y, 64); }
void copy64k(char *x, const char *y) { __builtin_memcpy(x, y, 65536); }
void copy(char *x, const char *y, unsigned long n) { __builtin_memcpy(x, y, n); }
""")
        short, many, any_ = (found[name] for name in ("copy64", "copy64k", "copy"))
        self.assertLess(short["time_seconds"], any_["time_seconds"] / 3)
        self.assertGreater(many["time_seconds"], 20 * any_["time_seconds"])
        self.assertLess(short["interval_seconds"][1], many["interval_seconds"][0])

    def test_unbounded_length_is_undecided(self):
        """A call with a length that nothing bounds is treated like the loop: its budget is neither kept nor
        exceeded."""
        budget = 'JOULE_BUDGET("max_joules=1mJ,max_watts=1kW") '
        text = "".join(budget + line + "\n" for line in (
            "void copy(char *x, const char *y, unsigned long n) { __builtin_memcpy(x, y, n); }",
            "void clear(int *x, int n) { JOULE_LOOP(0, 100) for (int i = 0; i < n; i++) x[i] = 0; }",
            "void bounded(int *x, int n) { JOULE_ASSUME(n <= 100); for (int i = 0; i < n; i++) x[i] = 0; }",
            "__attribute__((noinline)) void any(char *x, unsigned long n) { __builtin_memset(x, 1, n); }",
            "void some(char *x, unsigned long n) { JOULE_ASSUME(n <= 100); any(x, n); }",
            "void all(char *x, unsigned long n) { any(x, n); any(x, 100); }"))
        found = self.functions(text)
        opened = {name: [(doubt["kind"], doubt["name"]) for doubt in function["doubts"]] for name, function in found.items()}
        self.assertEqual(opened, {"copy": [("length", "memcpy")], "clear": [("length", "memset")], "bounded": [],
                                  "any": [("length", "memset")], "some": [], "all": [("call", "any")]})
        self.assertEqual({name for name, function in found.items() if function["verdict"] == "undecided"},
                         {name for name, doubts in opened.items() if doubts})
        message = self.compile(text, "--energy-check").stderr
        self.assertIn("the bytes that 'memcpy' accesses have no bound: write JOULE_ASSUME(n <= ...) before it", message)
        self.assertIn("the bytes that 'memset' accesses in line 5 have no bound; pass a constant", message)

    def test_copies_come_from_the_cache_that_holds_them(self):
        text = "".join(f"void copy{kib}(char *x, const char *y) {{ __builtin_memcpy(x, y, {kib << 10}); }}\n"
                       f"void clear{kib}(char *x) {{ __builtin_memset(x, 0, {kib << 10}); }}\n" for kib in (4, 128, 1 << 20))
        found = self.functions(text)
        for kind in ("copy", "clear"):
            each = [found[kind + str(kib)]["time_seconds"] / kib for kib in (4, 128, 1 << 20)]
            self.assertLess(each[0], each[1], kind)
            self.assertLess(1.5 * each[1], each[2], kind)
        self.assertNotIn("l2_lines", found["copy4"]["breakdown_joules"])
        self.assertIn("dram_lines", found["clear1048576"]["breakdown_joules"])


if __name__ == "__main__":
    main()
