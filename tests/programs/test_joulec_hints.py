#!/usr/bin/env python3
"""Checks joulec's treatment of paths that rarely run: failed assertions, calls that never return, cold calls,
__builtin_expect.
"""
import re

from joulec_support import HEADER, INCLUDE, OneFile, main

CHECKS = HEADER + """#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#define N 300
void report(int) __attribute__((cold));
_Noreturn void die(int);
static jmp_buf out_of_here;
"""
NEST = "long %s(const int *d) { long s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { %s s += d[i * N + j] ^ s; } return s; }\n"


class Hints(OneFile):
    HEAD = ""

    def joules(self, found, name):
        return found[name]["energy_joules"]

    def test_checks_that_fail_end_no_loop(self):
        """Each check costs only a compare and a predictable branch."""
        checks = {"none": "", "asserts": "assert(d[i * N + j] >= 0);", "aborts": "if (d[i * N + j] < 0) abort();",
                  "dies": "if (d[i * N + j] < 0) die(i);", "exits": "if (d[i * N + j] < 0) exit(1);",
                  "jumps": "if (d[i * N + j] < 0) longjmp(out_of_here, 1);",
                  "hints": "if (__builtin_expect(d[i * N + j] < 0, 0)) return -1;",
                  "reports": "if (d[i * N + j] < 0) { report(i); return -1; }"}
        found = self.functions(CHECKS + "".join(NEST % item for item in checks.items()))
        plain = self.joules(found, "none")
        for name in checks:
            self.assertGreater(self.joules(found, name), 0.7 * plain, name)
            self.assertLess(self.joules(found, name), 2 * plain, name)
            self.assertEqual([loop["iterations"][1] for loop in found[name]["loops"]], [300, 90000], name)
        for name in ("asserts", "aborts"):  # every call of these that returns runs all iterations
            self.assertEqual([loop["class"] for loop in found[name]["loops"]], ["exact", "exact"], name)
        for name in ("dies", "exits", "jumps", "hints", "reports"):  # some calls of these end early
            self.assertLess(found[name]["interval_joules"][0], 0.01 * plain, name)

    def test_a_check_before_a_loop_does_not_pass_it_by(self):
        found = self.functions(CHECKS + """
long checked(const int *d) { long s = 0; for (int i = 0; i < N; i++) { assert(d[i] >= 0); for (int j = 0; j < N; j++) s += d[i * N + j] ^ s; } return s; }
long plain(const int *d) { long s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) s += d[i * N + j] ^ s; return s; }
""")
        self.assertEqual([loop["iterations"] for loop in found["checked"]["loops"]], [[300] * 3, [90000] * 3])
        self.assertLess(abs(self.joules(found, "checked") / self.joules(found, "plain") - 1), 0.2)

    def test_other_exits_still_say_how_long(self):
        """The count of a triangular nest is exact although the nest contains an assertion. If the end of a
        loop depends on data, an assertion does not change its assumed count."""
        found = self.functions(CHECKS + """
long triangle(const int *d) { long s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < i; j++) { assert(d[j] != i); s += d[j] ^ s; } return s; }
long until(const int *d) { long s = 0; for (int i = 0; i < N; i++) { if (d[i] == 7) break; s += d[i] ^ s; } return s; }
long checked(const int *d) { long s = 0; for (int i = 0; i < N; i++) { if (d[i] == 7) break; assert(d[i] > 0); s += d[i] ^ s; } return s; }
long none(const int *d) { long s = 0; for (;;) { s += *d++ ^ s; if (*d == 7) die(1); } }
""")
        self.assertEqual(found["triangle"]["loops"][1]["iterations"], [44850] * 3)
        self.assertEqual(found["until"]["loops"][0]["iterations"], found["checked"]["loops"][0]["iterations"])
        self.assertEqual(found["none"]["loops"][0]["iterations_each"], [1, 100, None])

    def test_hints_of_loops(self):
        found = self.functions(CHECKS + """
long asked(const int *d) { long s = 0; while (*d > 0) s += *d++ ^ s; return s; }
long likely(const int *d) { long s = 0; while (__builtin_expect(*d > 0, 1)) s += *d++ ^ s; return s; }
long unlikely(const int *d) { long s = 0; while (__builtin_expect(*d > 0, 0)) s += *d++ ^ s; return s; }
long sometimes(const int *d) { long s = 0; for (int i = 0; i < N * N; i++) { if (__builtin_expect_with_probability(d[i] < 0, 1, 0.02)) break; s += d[i] ^ s; } return s; }
""")
        likely = {name: f["loops"][0]["iterations_each"][1] for name, f in found.items()}
        self.assertEqual(likely["asked"], 100)
        self.assertTrue(95 < likely["likely"] <= 100, likely)  # LLVM 19 keeps the probability of the hint, 0.9995
        self.assertLess(likely["unlikely"], 1.01)
        self.assertTrue(49 < likely["sometimes"] < 51, likely)

    def test_a_cold_call_is_not_made(self):
        found = self.functions(CHECKS + """
__attribute__((noinline)) static double heal(double x) { for (int k = 0; k < 1000; k++) x = x * x + 1; return x; }
__attribute__((noinline, cold)) static double mend(double x) { for (int k = 0; k < 1000; k++) x = x * x + 1; return x; }
double usual(double *d) { double s = 0; for (int i = 0; i < N; i++) { if (d[i] < 0) d[i] = heal(d[i]); s += d[i]; } return s; }
double cold(double *d) { double s = 0; for (int i = 0; i < N; i++) { if (d[i] < 0) d[i] = mend(d[i]); s += d[i]; } return s; }
double hinted(double *d) { double s = 0; for (int i = 0; i < N; i++) { if (__builtin_expect(d[i] < 0, 0)) d[i] = heal(d[i]); s += d[i]; } return s; }
""")
        self.assertLess(self.joules(found, "cold"), 0.01 * self.joules(found, "usual"))
        self.assertLess(abs(self.joules(found, "cold") / self.joules(found, "hinted") - 1), 0.5)
        self.assertGreater(found["cold"]["interval_joules"][1], 0.1 * self.joules(found, "usual"))

    def test_a_type_or_the_address_space_bounds_but_estimates_nothing(self):
        text = """
double store[1000];
JOULE_BUDGET("max_joules=10uJ") double back(void) { double s = 0; for (const double *p = store + 1000; *p; ) { assert(p - 8 >= store); s += *p; p += 8; } return s; }
JOULE_BUDGET("max_joules=10uJ") double steps(const double *p, int n) { double s = 0; for (int i = 0; i < n; i += 4096) s += p[i]; return s; }
JOULE_BUDGET("max_joules=10uJ") double narrow(const double *p, unsigned short n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
JOULE_BUDGET("max_joules=10J") double room(const double *p, unsigned short n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
JOULE_BUDGET("max_joules=10uJ") double said(const double *p, int n) { double s = 0; if (n > 60000) return 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
JOULE_BUDGET("max_joules=1nJ") double table(const double *p) { double s = 0; for (int i = 0; i < 65536; i++) { if (p[i] < 0) break; s += p[i]; } return s; }
"""
        found = self.functions(CHECKS + text)
        likely = {name: f["loops"][0]["iterations_each"] for name, f in found.items()}
        self.assertEqual(likely["back"], [1, 100, None])
        self.assertEqual((likely["steps"][1], likely["narrow"][1]), (100, 100))
        self.assertTrue(likely["steps"][2] >= 524288 and likely["narrow"][2] >= 65535, likely)
        self.assertTrue(likely["said"][1] > 20000 and likely["table"][1] > 20000, likely)
        guesses = {name: f["loops"][0]["is_guess"] for name, f in found.items()}
        self.assertEqual(guesses, {"back": True, "steps": True, "narrow": True, "room": True, "said": False, "table": False})
        verdicts = {name: f["verdict"] for name, f in found.items()}
        for name in ("back", "steps", "narrow"):
            self.assertEqual(verdicts[name], "undecided", name)
            self.assertIsNone(found[name]["budget_probability"], name)
        self.assertIn(verdicts["room"], ("likely", "proved"))
        self.assertIn(verdicts["table"], ("likely_violated", "violated"))
        done = self.compile(CHECKS + text.replace('"max_joules=1nJ"', '"max_joules=1J"').replace("10uJ\") double said", "1J\") double said"),
                            "--energy-check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("this loop is bounded only by 65535 iterations, which is no estimate, and is assumed to run 100 times", done.stderr)

    def test_assumed_counts_give_no_upper_end(self):
        """An assumed count gives neither an upper end nor a probability, in any report."""
        text = HEADER + 'JOULE_BUDGET("max_joules=1J") int free_run(const int *p) { int s = 0; while (*p) s += *p++ ^ s; return s; }\n'
        free_run = self.functions(text)["free_run"]
        self.assertEqual((free_run["verdict"], free_run["budget_probability"]), ("undecided", None))
        self.assertIsNone(free_run["max_joules"]["probability"])
        for quantity in ("joules", "seconds", "kelvin"):
            low, high = free_run["interval_" + quantity]
            self.assertTrue(low > 0 and high is None, quantity)
        done = self.compile(text, "--energy-check")
        self.assertRegex(done.stderr, r"estimate  .* as a guess, at least [\d.]+ .?J: loops in line \d have no bound")
        self.assertNotIn("90 %,", done.stderr)
        self.assertNotIn("bounds_joules", free_run)

    def test_a_guess_is_no_limit_of_a_block_or_loop(self):
        """Checks the output of --emit eir for unbounded loops and calls without a figure."""
        text = HEADER + """
int other(int);
double row(const double *p, int n) { double s = 0; for (int i = 0; i < 100; i++) for (int j = 0; j < n; j++) s += p[j] * s; return s; }
double fixed(const double *p) { double s = 0; for (int i = 0; i < 100; i++) s += p[i] * s; return s; }
int calls(const int *p) { int s = 0; for (int i = 0; i < 100; i++) s += other(p[i]); return s; }
"""
        done = self.joulec("-I", INCLUDE, "--emit", "eir", "-O2", self.write("a.c", text))
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = {part.split()[0]: part for part in done.stdout.split("\nfunction ")[1:]}
        entered = {name: re.findall("per entry (.*)", part) for name, part in parts.items()}
        for name, count in (("row", 2), ("calls", 1)):
            self.assertEqual(len(entered[name]), count, parts[name])
            for line in entered[name]:
                self.assertRegex(line, r"^[\d.]+ .?J \([\d.]+ .?J and more\)")
        self.assertRegex(entered["fixed"][0], r"^[\d.]+ .?J \([\d.]+ .?J \.\. [\d.]+ .?J\)")
        self.assertRegex(parts["calls"], r"block \S+ x [\d.]+:.* and more\)\n +call other")

    def test_probabilities_are_no_surer_than_the_model(self):
        found = self.functions(HEADER + """
JOULE_BUDGET("max_joules=1J") int small(int x) { return x * 3; }
JOULE_BUDGET("max_joules=1e-15J") int large(int x) { return x / 3; }
""")
        self.assertEqual(found["small"]["budget_probability"], 0.9999)
        self.assertEqual(found["large"]["budget_probability"], 0.0001)


if __name__ == "__main__":
    main()
