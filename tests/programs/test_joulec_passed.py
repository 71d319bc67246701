#!/usr/bin/env python3
"""Checks that joulec knows the parameters of static functions from the arguments of all their calls."""
from joulec_support import OneFile, main

LOOP = "{ double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
STATIC = 'JOULE_BUDGET("max_joules=1J") static __attribute__((noinline)) double %s(const double *x, int n) ' + LOOP


class Passed(OneFile):
    def loops(self, text, name):
        found = self.functions(text)[name]
        return found, [loop["iterations"] for loop in found["loops"]]

    def test_a_constant_that_the_only_caller_passes(self):
        found, loops = self.loops("""
double M[160000], X[400];
JOULE_BUDGET("max_joules=100mJ") static __attribute__((noinline)) double mm(int n) { double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += M[i * n + j] * X[j]; return s; }
double use(void) { return mm(400); }
""", "mm")
        self.assertEqual(loops, [[400] * 3, [160000] * 3])
        self.assertEqual((found["verdict"], found["doubts"]), ("likely", []))
        self.assertIsNotNone(found["budget_probability"])

    def test_all_calls_count(self):
        """The range of a parameter is the minimum and maximum over all calls. Arguments may come from other
        static functions, loops and JOULE_ASSUME. LLVM 19 stores only the upper end of an assumption with two
        ends."""
        for calls, lows, high in (("double a(const double *x) { return f(x, 400) + f(x, 100); }", (100,), 400),
                                 ("STATIC_G double a(const double *x) { return g(x, 50); }", (49,), 49),
                                 ("double a(const double *x) { double s = 0; for (int k = 10; k < 50; k++) s += f(x, k); return s; }", (10,), 49),
                                 ("double a(const double *x, int k) { JOULE_ASSUME(k >= 1 && k <= 200); return f(x, k); }", (1, 0), 200)):
            text = STATIC % "f" + calls.replace("STATIC_G", "static __attribute__((noinline)) double g(const double *x, int n) { return f(x, n - 1) + 1; }\n")
            found, (loop,) = self.loops(text, "f")
            self.assertTrue(loop[0] in lows and loop[2] == high, (calls, loop))
            self.assertEqual(found["verdict"], "likely", calls)

    def test_one_that_may_have_other_callers(self):
        others = {"unknown": STATIC % "f" + "double a(const double *x, int k) { return f(x, 3) + f(x, k); }",
                  "taken": STATIC % "f" + "double (*of)(const double *, int) = f; double a(const double *x) { return f(x, 3); }",
                  "extern": (STATIC % "f").replace(" static", "") + "double a(const double *x) { return f(x, 3); }",
                  "alias": STATIC % "f" + 'double other(const double *, int) __attribute__((alias("f"))); double a(const double *x) { return f(x, 3); }',
                  "assembly": STATIC % "f" + '__asm__(".globl f2\\nf2: jmp f\\n"); double a(const double *x) { return f(x, 3); }',
                  "itself": (STATIC % "f").replace("return s;", "return s > 9 ? s : s + f(x, n + 1);") + "double a(const double *x) { return f(x, 3); }"}
        for name, text in others.items():
            if name == "alias" and "f" not in self.functions(text):
                continue  # LLVM 19 stores only the name of the alias
            found, loops = self.loops(text, "f")
            self.assertIsNone(loops[0][2], name)
            self.assertEqual(found["verdict"], "undecided", name)

    def test_type_range_is_no_estimate_of_an_argument(self):
        text = STATIC % "f" + "double a(const double *x, const unsigned short *n) { return f(x, *n); }"
        found, (loop,) = self.loops(text.replace("1J", "1nJ"), "f")
        self.assertTrue(loop[1] <= 100 and loop[2] >= 65535, loop)
        self.assertEqual((found["verdict"], found["quality"] in "DE"), ("undecided", True))

    def test_type_range_is_no_estimate_of_a_length(self):
        found = self.functions("""#include <string.h>
JOULE_BUDGET("max_joules=20nJ") void clear(char *a, const unsigned short *n) { memset(a, 0, *n); }
JOULE_BUDGET("max_joules=1J") void room(char *a, const unsigned short *n) { memset(a, 0, *n); }
void few(char *a) { memset(a, 0, 1000); }
void most(char *a) { memset(a, 0, 65535); }
""")
        self.assertEqual((found["clear"]["verdict"], found["room"]["verdict"]), ("undecided", "likely"))
        self.assertLess(found["clear"]["energy_joules"], found["few"]["energy_joules"])
        self.assertGreater(found["clear"]["interval_joules"][1], 0.5 * found["most"]["energy_joules"])


if __name__ == "__main__":
    main()
