#!/usr/bin/env python3
"""Checks joulec for C programmers: a compiler like clang that also checks functions against their energy
budgets."""
import json
import os
import platform
import re
import shutil
import subprocess

from joulec_support import JOULEC, OneFile, main

SUM = """int sum(const int *x)
{
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += x[i];
    return s;
}
"""


class Joulec(OneFile):
    def check(self, budget, *options, body=SUM):
        return self.compile(f'JOULE_BUDGET("{budget}")\n' + body, "--energy-check", *options)

    def test_a_compiler_like_any_other(self):
        done = self.compile("int main(void) { return 3; }\n", "-O1", "-DX=1", "-Wall")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        program = self.path("program")
        self.assertEqual(subprocess.run([JOULEC, self.path("a.o"), "-o", program], check=False).returncode, 0)
        self.assertEqual(subprocess.run([program], check=False).returncode, 3)
        version = subprocess.run([JOULEC, "--version"], capture_output=True, text=True, check=True)
        self.assertIn("clang", version.stdout)

    POINTERS = """typedef int op(int);
static int one(int x) { return x + 1; }
static int many(int x) { for (int i = 0; i < 100; i++) x = x * 3 + i; return x; }
JOULE_BUDGET("max_joules=1J") double other(double x) { return x * x; }
static op *const table[] = {one, many};
static op *changes = one;
int by_table(unsigned which, int x) { return table[which & 1](x); }
int by_choice(int c, int x) { op *f = c ? one : many; return f(x) + 1; }
int given(op *f, int x) { return f(x); }
int changed(int x) { return changes(x); }
void change(int c) { changes = c ? many : one; }
double strange(double (*f)(double), double x) { return f(x); }
extern int elsewhere(int);
int maybe_elsewhere(int c, int x) { op *f = c ? one : elsewhere; return f(x); }
"""

    def test_calls_through_pointers(self):
        found = self.functions(self.POINTERS)
        one, many = found["one"]["energy_joules"], found["many"]["energy_joules"]
        for name in ("by_table", "by_choice"):  # the possible callees of these are known
            low, high = found[name]["interval_joules"]
            self.assertEqual(found[name]["doubts"], [], name)
            self.assertTrue(one < found[name]["energy_joules"] < many, name)
            self.assertTrue(low < one * 4 and high > many, name)
        for name in ("given", "changed", "maybe_elsewhere", "strange"):
            self.assertEqual([doubt["kind"] for doubt in found[name]["doubts"]], ["pointer"], name)
            self.assertEqual(found[name]["quality"], "E", name)
        # The estimate of a call through an unknown pointer includes functions whose address is taken, such as
        # `many`.
        self.assertGreater(found["given"]["energy_joules"], many / 10)
        # The budget of `other` does not count as a use of its address.
        self.assertLess(found["strange"]["energy_joules"], many / 10)

    def test_functions_that_come_back_through_a_table(self):
        found = self.functions("static int down(int), other(int);\nstatic int (*const table[])(int) = {down, other};\n"
                               "JOULE_DEPTH(3) static int down(int x) { return x ? table[x & 1](x - 1) : 0; }\n"
                               "static int other(int x) { return x ^ down(x - 1); }\nint start(int x) { return down(x); }\n")
        self.assertIn("pointer", [doubt["kind"] for name in ("down", "other") for doubt in found.get(name, {"doubts": []})["doubts"]])

    def test_errors_of_the_source_are_those_of_clang(self):
        for options in ([], ["--energy-check"]):
            done = self.compile("int f(void) { return x; }\n", *options)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(re.findall("error: use of undeclared identifier 'x'", done.stderr)), 1, done.stderr)

    def test_a_budget_that_is_exceeded_leaves_no_object(self):
        done = self.check("max_joules=100pJ")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(self.path("a.o")))
        self.assertRegex(done.stderr, r"a\.c:3:5: error: energy budget is exceeded in 'sum' \[JE0001\]")
        self.assertRegex(done.stderr, r"\nint sum\(const int \*x\)\n    \^\n")
        self.assertRegex(done.stderr, r"a\.c:6:5: note: \d+ % of the joules in this loop, 1000 iterations per call \(exact\)")
        self.assertIn("max_joules = 100 pJ", done.stderr)

    def test_a_budget_that_is_kept_builds(self):
        done = self.check("max_joules=50uJ")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(os.path.exists(self.path("a.o")))

    def test_errors_say_which_budget_it_is(self):
        for budget, kind, rule in (("max_joules=1pJ", "energy", "JE0001"), ("max_watts=1uW", "power", "JE0002"),
                                   ("max_temp_delta=0.000000001K, sustained", "temperature", "JE0003")):
            done = self.check(budget)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(re.findall(r"error: (\w+) budget is (?:exceeded|likely to be exceeded) in 'sum' \[(\w+)\]", done.stderr), [(kind, rule)])
            self.assertRegex(done.stderr, r"note: \d+ % of the joules in this loop" if kind == "energy" else r"note: \d+ % of the energy in this loop")
            strict = self.check(budget.replace("1pJ", "1mJ").replace("1uW", "900W").replace("0.000000001K", "900K"), "--energy-policy=strict")
            self.assertIn(f"error: {kind} budget is likely to be kept, but not proved, in 'sum'", strict.stderr)

    def test_strict_policy_requires_proof(self):
        """With the strict policy, a budget must be proved. An unmeasured table proves nothing."""
        done = self.check("max_joules=50uJ", "--energy-policy=strict")
        self.assertEqual(done.returncode, 3)
        self.assertIn("is likely to be kept, but not proved", done.stderr)
        self.assertFalse(os.path.exists(self.path("a.o")))

    def test_vacuous_budgets_are_reported(self):
        done = self.check("max_joules=1J")
        self.assertEqual(done.returncode, 0)
        self.assertIn("[JW0103]", done.stderr)
        done = self.check("max_temp_delta=2K")
        self.assertEqual(done.returncode, 0)
        self.assertIn("add 'sustained'", done.stderr)

    def test_budgets_of_the_specification_are_judged(self):
        """The specification's examples give `x + y` 100 uJ, and short functions some kelvin. A product of 64
        x 64 matrices may need 50 mJ."""
        add = "int add(int x, int y) { return x + y; }\n"
        done = self.check("max_joules=100uJ", body=add)
        self.assertEqual(done.returncode, 0)
        self.assertIn("[JW0103]", done.stderr)
        self.assertEqual(self.check("max_joules=100uJ, max_watts=15, max_temp_delta=5", body=add).stderr.count("[JW0103]"), 2)
        product = """void product(int (*a)[64], int (*b)[64], int (*restrict c)[64])
{
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++)
            for (int k = 0; k < 64; k++)
                c[i][j] += a[i][k] * b[k][j];
}
"""
        done = self.check("max_joules=50mJ", body=product)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_wrong_budget_points_at_its_column(self):
        done = self.check("max_joules=5uJ, max_wats=3")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"a\.c:3:5: error: budget of 'sum', column 17: .*did you mean max_watts\? \[JE0005\]")
        self.assertIn('\n  "max_joules=5uJ, max_wats=3"\n' + " " * 19 + "^\n", done.stderr)

    def test_a_budget_of_an_inline_function(self):
        """With C's `inline` alone, the function's code is in another file. joulec judges the function in the
        file that has its body."""
        body = "int f(int n) { int s = 1; for (int i = 0; i < 1000; i++) s = s * n + (s >> 3); return s; }\nint g(int n) { return f(n); }\n"
        for linkage in ("inline", "static inline", "inline __attribute__((always_inline))"):
            done = self.compile(f'JOULE_BUDGET("max_joules=1pJ") {linkage} {body}', "--energy-check")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("energy budget is exceeded in 'f'", done.stderr)
        for linkage, standard in (("extern inline", "-std=c11"), ("extern inline", "-std=gnu89")):
            loop = body.replace("int i = 0", "i = 0").replace("int s = 1;", "int i, s = 1;")
            done = self.compile(f'JOULE_BUDGET("max_joules=1pJ") {linkage} {loop}', "--energy-check", standard)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("cannot check 'f'", done.stderr)

    def test_budget_after_the_definition_is_an_error(self):
        done = self.compile('int f(int n) { return n + 1; }\nJOULE_BUDGET("max_joules=1pJ") int f(int n);\n', "--energy-check")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a.c:3:1: error: attribute declaration must precede definition", done.stderr)
        done = self.compile('JOULE_BUDGET("max_joules=1J") int f(int n);\nint f(int n) { return n + 1; }\nint f(int n);\n'
                            "#warning said once\n", "--energy-check")
        self.assertEqual((done.returncode, done.stderr.count("said once [")), (0, 1), done.stderr)

    def test_two_budgets_of_one_function(self):
        lines = ['JOULE_BUDGET("max_joules=1pJ") int f(int n);\n', 'JOULE_BUDGET("max_joules=10uJ") int f(int n) { return n * 3; }\n']
        done = self.compile("".join(lines), "--energy-check")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'a\.c:3:.*budget of \'f\'.*another declaration has "max_joules=1pJ".*\[JE0005\]')
        self.assertIn('"max_joules=10uJ"', done.stderr)
        same = self.compile("".join(lines).replace("1pJ", "10uJ"), "--energy-check", "--energy-policy=strict")
        self.assertNotIn("another declaration", same.stderr)

    def test_a_build_below_the_level_that_is_counted(self):
        """joulec counts the work of an -O2 build. A build at a lower level, such as -O0, may need more
        energy. The file gets one note, and no budget is reported as impossible to exceed."""
        add = 'JOULE_BUDGET("max_joules=1J") int %s(int a) { return a + 1; }\n'
        for level, count in (("-O0", 1), ("-O1", 1), ("-Og", 1), ("-Os", 0), ("-O2", 0), ("-O3", 0)):
            done = self.compile(add % "f" + add % "g", "--energy-check", level)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("[JW0107]"), count, level)
            self.assertEqual(done.stderr.count(f"the build uses {level}"), count, level)
            self.assertEqual(done.stderr.count("[JW0103]"), 0 if count else 2, level)
        self.assertEqual(self.compile("int f(int a) { return a + 1; }\n", "--energy-check", "-O0").stderr, "")

    def test_a_report_names_loops_that_nothing_bounds(self):
        found = self.functions("int length(const char *s) { int n = 0; while (s[n]) n++; return n; }\n"
                               "int known(const int *x) { int s = 0; for (int i = 0; i < 9; i++) s ^= x[i] * s; return s; }\n")
        doubts = [(doubt["kind"], doubt["name"], os.path.basename(doubt["file"]), doubt["line"]) for doubt in found["length"]["doubts"]]
        self.assertEqual(doubts, [("loop", None, "a.c", 2)])
        self.assertEqual(found["length"]["loops"][0]["iterations"][2], None)
        self.assertEqual(found["known"]["doubts"], [])

    def test_loop_without_position_is_reported_at_its_function(self):
        text = """JOULE_BUDGET("max_joules=1uJ")
int run(const unsigned char *p)
{
    static void *const table[] = {&&add, &&sub, &&halt};
    int s = 0;
    goto *table[*p++];
add:
    s++;
    goto *table[*p++];
sub:
    s--;
    goto *table[*p++];
halt:
    return s;
}
"""
        message = self.compile(text, "--energy-check").stderr
        self.assertIn("a.c:3:5: note: a loop of this function has no bound and is assumed to run 100 times: ", message)

    def test_probabilities_have_no_more_digits_than_they_are_worth(self):
        self.assertIn(", P(within) < 0.001\n", self.check("max_joules=1pJ").stderr)
        message = self.check("max_joules=1mJ", "--energy-policy=strict").stderr
        self.assertIn(", P(within) > 0.999\n", message)

    def test_rounds_in_a_call_agree_with_those_of_the_guess(self):
        walk = "int f(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 31 + x[i]; return s; }\n"
        message = self.check("max_joules=1uJ", body=walk).stderr
        self.assertIn("95 iterations per call (guessed: 100 iterations in 95 % of calls)", message)

    def test_watts_follow_from_time(self):
        self.assertIn("[JE0002]", self.check("max_watts=1mW").stderr)
        self.assertEqual(self.check("max_watts=200W").returncode, 0)

    def test_unknown_callees_are_named(self):
        unknown = "int other(int);\nint f(int n);\n"
        body = "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += other(i); return s; }\n"
        done = self.compile(unknown + 'JOULE_BUDGET("max_joules=50uJ")\n' + body, "--energy-check")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: energy budget may or may not be kept in 'f' [JE0004]", done.stderr)
        self.assertIn("the cost of 'other' is unknown", done.stderr)
        self.assertIn("this loop has no bound", done.stderr)

    def test_unknown_is_never_0(self):
        """If the cost of a callee is unknown, the interval has no upper end, and no probability is given for
        the budget. Each such callee is named once for each limit."""
        text = """int power(unsigned *a, const unsigned *b);
JOULE_BUDGET("max_joules=%s, max_watts=100") int sign(unsigned *a, const unsigned *b)
{
    return power(a, b) || power(a, b) || power(a, b) || power(a, b);
}
"""
        found = self.functions(text % "1uJ")["sign"]
        self.assertTrue(0 < found["interval_joules"][0] < found["energy_joules"] < 1e-6, found)
        for interval in ("joules", "seconds", "watts", "kelvin"):
            self.assertIsNone(found["interval_" + interval][1])
        self.assertEqual([found["budget_probability"], found["max_watts"]["probability"], found["interval_watts"][0]], [None] * 3)
        self.assertEqual((found["verdict"], found["quality"], found["confidence"]), ("undecided", "E", None))
        done = self.compile(text % "1uJ", "--energy-check")
        self.assertRegex(done.stderr, r"estimate  at least [\d.]+ .?J; [\d.]+ .?J without 'power', whose cost is unknown  \(assumed\), quality E\n")
        self.assertRegex(done.stderr, r"estimate  unknown; [\d.]+ .?W without 'power', whose cost is unknown")
        self.assertNotIn("P(within)", done.stderr)
        # The callee is named once for each of the two limits.
        self.assertEqual(done.stderr.count("the cost of 'power' is unknown, here and in 3 more calls: "), 2)
        self.assertIn("is exceeded", self.compile(text % "0.001pJ", "--energy-check").stderr)

    def test_each_finding_is_reported_once_with_a_hint(self):
        """Checks the hints for a callee with many calls, for loops inlined twice, and for the table. A
        truncated list reports how many entries are omitted."""
        text = """int g(void *), (*handler)(void *);
static inline __attribute__((always_inline)) int count(const char *p) { int n = 0; while (*p++ != 'x') n += *p; return n; }
JOULE_BUDGET("max_joules=1uJ") int many(void **p) { int s = 0; %s return s + handler(p) + count(p[0]) + count(p[1]); }
JOULE_BUDGET("max_joules=1uJ") int jumps(const char *p, const char *q)
{
    int n = 0;
again:
    if (*p == *q)
        n += 2;
    p++;
    q++;
    if (*p)
        goto again;
    return n;
}
""" % "".join(f"s += g(p[{i}]);" for i in range(12))
        message = self.compile(text, "--energy-check").stderr
        self.assertEqual(message.count("the cost of 'g' is unknown"), 1, message)
        self.assertIn("the cost of 'g' is unknown, here and in 11 more calls: it has no body here; define it in this file", message)
        self.assertEqual(message.count("this loop has no bound"), 1, message)
        self.assertRegex(message, r"which functions this pointer may call: call functions of this file by name")
        self.assertRegex(message, r"the loop around this line has no bound and is assumed to run 100 times: write JOULE_LOOP\(min, max\) before its for, while or do; if it is a tail call of 'jumps'")
        self.assertEqual(message.count("  table  "), 1, message)
        text = "".join(f"int g{i}(int);\nint f{i}(int x) {{ return g{i}(x) + 1; }}\n" for i in range(14))
        message = self.compile(text, "--energy-check", "--energy-budget=1mJ").stderr
        self.assertEqual(message.count("it has no body here"), 10, message)
        self.assertIn("note: and 4 more; --energy-report lists all", message)

    def test_another_architecture_decides_nothing(self):
        """joulec says once for the file that it is unknown whether budgets are kept or exceeded."""
        text = ('__attribute__((annotate("joule.budget:max_joules=%s")))\n'
                "int f(int x) { int s = 0; for (int i = 0; i < 1000; i++) s += x * i ^ s; return s; }\n"
                '__attribute__((annotate("joule.budget:max_watts=1kW"))) int g(int x) { return x; }\n')
        self.HEAD = ""  # the other architecture's headers may not be installed
        other = "riscv64" if platform.machine() != "riscv64" else "x86_64"
        for limit in ("0.001pJ", "1MJ"):
            done = self.compile(text % limit, f"--target={other}-unknown-linux-gnu", "--energy-run=no", "--energy-check")
            if "No available targets" in done.stderr:
                self.skipTest("clang has no " + other)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("[JW0106]"), 1, done.stderr)
            self.assertEqual(done.stderr.count("may or may not be kept"), 2)
            self.assertNotIn("P(within)", done.stderr)
        self.assertNotIn("[JW0106]", self.compile(text % "1MJ", "--energy-check").stderr)

    def test_guesses_inside_of_guesses(self):
        """If nested loops were each assumed to run 100 times, the total would exceed any real run. Inner
        loops are therefore assumed to run fewer times. A count from --energy-loop-default applies to each
        loop."""
        text = """
int inner(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i & 15] / (s | 1); return s; }
int nest(const int *p, int a, int b, int c) {
    int s = 0;
    for (int i = 0; i < a; i++) for (int j = 0; j < b; j++) for (int k = 0; k < c; k++) s += p[(i ^ j ^ k) & 15];
    return s;
}
int calls(const int *p, int n, int m) { int s = 0; for (int i = 0; i < m; i++) s += inner(p, n - i); return s; }
int once(const int *p, int n) { return inner(p, n) + 1; }
JOULE_BUDGET("max_joules=1J") int vague(const int *p, int a, int b, int c) { return nest(p, a, b, c) + 1; }
"""
        found = self.functions(text, "-fno-inline")
        self.assertEqual([loop["iterations_each"][1] for loop in found["nest"]["loops"]], [100, 10, 10])
        self.assertLess(found["calls"]["energy_joules"], 15 * found["once"]["energy_joules"])
        self.assertEqual((found["nest"]["quality"], found["vague"]["verdict"]), ("E", "undecided"))
        found = self.functions(text, "-fno-inline", "--energy-loop-default=50")
        self.assertEqual([loop["iterations_each"][1] for loop in found["nest"]["loops"]], [50, 50, 50])
        self.assertGreater(found["calls"]["energy_joules"], 25 * found["once"]["energy_joules"])
        done = self.compile(text.replace("int nest", 'JOULE_BUDGET("max_joules=1J") int nest'), "--energy-check")
        self.assertRegex(done.stderr, r"estimate  unknown, at least [\d.]+ .?J: loops in line 6 have no bound")

    def test_assumption_applies_to_the_next_loop(self):
        """The note names the line directly before the loop, even if a return comes earlier. The assumption
        does not apply to other loops."""
        text = """
unsigned f(const unsigned char *p, unsigned long len)
{
    unsigned s = 1;
    if (len == 1)
        return p[0];
    if (p[0] == 7) {
        for (unsigned long i = 0; i < len; i++)
            s += p[i] * s;
        return s;
    }
    JOULE_ASSUME(len <= 500);
    for (unsigned long i = 0; i < len; i++)
        s += p[i] * s ^ i;
    return s;
}
"""
        loops = {loop["line"]: loop for loop in self.functions(text)["f"]["loops"]}
        self.assertEqual((loops[9]["class"], loops[9]["iterations_each"][2]), ("guessed", None))
        self.assertIn(loops[14]["class"], ("symbolic", "bounded"))
        self.assertTrue(499 <= loops[14]["iterations_each"][2] <= 500, loops)

    def test_a_count_that_may_run_over_bounds_nothing(self):
        """If an unsigned number falls below 0, it wraps to a huge number. For some argument, each of these
        loops therefore runs billions of times."""
        functions = {
            "stencil": ("unsigned long n", "n <= 1000", "for (unsigned long i = 1; i < n - 1; i++)"),
            "tail": ("unsigned n", "n <= 30", "for (unsigned i = 0; i < n - 10u; i++)"),
            "down": ("unsigned n", "n <= 100", "do n--, sink = 1; while (n); while (0)"),
            "distance": ("unsigned a, unsigned b", "a <= 100 && b <= 100", "for (unsigned i = 0; i < a - b; i++)"),
            "half": ("unsigned a", "a <= 100", "for (unsigned i = 0; i < (a - 50) / 2; i++)"),
            "apart": ("unsigned m, unsigned n", "m <= 100 && n >= 50 && n <= 200",
                      "for (unsigned i = 0; i < m; i++) for (unsigned j = 0; j != n - i; j++)"),
        }
        text = "volatile int sink;\n" + "".join(
            f"void {name}({parameters}) {{ JOULE_ASSUME({known}); {loop} sink = 1; }}\n"
            for name, (parameters, known, loop) in functions.items())
        found = self.functions(text)
        for name in functions:
            self.assertIsNone(found[name]["loops"][-1]["iterations"][2], name)
        conditions = {"stencil": "n >= 4 && n <= 1000", "tail": "n >= 12 && n <= 30", "down": "n >= 1 && n <= 100",
                "distance": "a <= 100 && b <= 0", "half": "a >= 52 && a <= 100"}
        for name, more in conditions.items():
            text = text.replace(f"void {name}({functions[name][0]}) {{ JOULE_ASSUME({functions[name][1]})",
                                f"void {name}({functions[name][0]}) {{ JOULE_ASSUME({more})")
        found = self.functions(text)
        for name in conditions:
            self.assertLessEqual(found[name]["loops"][-1]["iterations"][2] or 1e9, 50 * 200, (name, found[name]["loops"]))
        done = self.compile('JOULE_BUDGET("max_joules=1J") void f(unsigned n, int *p) { JOULE_ASSUME(n <= 9); '
                            "for (unsigned i = 1; i < n - 1; i++) p[i] = p[i + 1] * i; }", "--energy-check")
        self.assertRegex(done.stderr, r"overflows for some values of 'n': also write JOULE_ASSUME\(n >= ...\)")

    def test_last_iteration_ends_at_the_exit(self):
        text = """volatile int sink;
extern volatile int go[];
__attribute__((noinline)) static void heavy(void) { for (int i = 0; i < 100000; i++) sink = 1; }
void first(void) { for (;;) { if (go[0] + go[1]) break; heavy(); } }
void second(void) { for (int i = 0;; i++) { sink = 2; if (i == 3) break; heavy(); } }
void third(void) { int i = 0; do { heavy(); } while (++i < 4); }
void once(void) { heavy(); }
"""
        found = self.functions(text)
        once = found["once"]
        self.assertLess(found["first"]["interval_joules"][0], 0.01 * once["interval_joules"][0])
        self.assertEqual(found["second"]["loops"][0]["class"], "exact")
        self.assertAlmostEqual(found["second"]["energy_joules"] / once["energy_joules"], 3, delta=0.05)
        self.assertAlmostEqual(found["third"]["energy_joules"] / once["energy_joules"], 4, delta=0.05)
        done = self.compile(text.replace("void first", 'JOULE_BUDGET("max_joules=1uJ") void first'), "--energy-check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_call_may_end_by_a_long_jump(self):
        found = self.functions("""#include <setjmp.h>
#include <stdlib.h>
volatile int sink;
static jmp_buf back;
__attribute__((noinline)) static void heavy(void) { for (int i = 0; i < 100000; i++) sink = 1; }
void jumps(int x) { if (x) { heavy(); longjmp(back, 1); } sink = 1; }
void exits(int x) { if (x) { heavy(); exit(1); } sink = 1; }
void traps(int x) { if (x) { heavy(); __builtin_trap(); } sink = 1; }
void once(void) { heavy(); }
_Noreturn void never(int x) { if (x) for (int i = 0; i < 1000; i++) sink = i; exit(0); }
""")
        self.assertEqual(found["never"]["loops"][0]["iterations"], [0, 500, 1000])
        for name in ("jumps", "exits", "traps"):
            self.assertGreater(found[name]["interval_joules"][1], 0.2 * found["once"]["energy_joules"], name)
            self.assertLess(found[name]["interval_joules"][0], 0.01 * found["once"]["energy_joules"], name)

    def test_memory_is_as_long_as_is_known(self):
        """If bounds of a length are known, they are used. This also holds if LLVM turned a loop into a call
        of memset."""
        text = """#include <string.h>
__attribute__((noinline)) static void part(char *a, const char *b, int n) { memcpy(a, b, n * 8ul); }
void known(char *a) { memset(a, 0, 8000000); }
void set(char *a, unsigned n) { JOULE_ASSUME(n >= 1000 && n <= 8000000); memset(a, 0, n); }
void filled(char *a, unsigned n) { JOULE_ASSUME(n >= 1000 && n <= 8000000); for (unsigned i = 0; i < n; i++) a[i] = 0; }
void passed(char *a, const char *b) { part(a, b, 1000000); }
void passed_less(char *a, const char *b) { part(a, b, 1000); part(a, b, 1001); }
int compared(const char *a, const char *b, unsigned n) { JOULE_ASSUME(n >= 1 && n <= 8000000); return memcmp(a, b, n); }
void unknown(char *a, unsigned n) { memset(a, 0, n); }
"""
        found = self.functions(text)
        joules = {name: [*f["interval_joules"], f["energy_joules"]] for name, f in found.items()}
        for name in ("set", "filled"):
            self.assertGreater(joules[name][1], 0.4 * joules["known"][1], name)
            self.assertLess(joules[name][0], 0.01 * joules["known"][0], name)
        self.assertGreater(joules["passed"][2], 0.5 * joules["known"][2])
        self.assertGreater(joules["passed"][2], 50 * joules["passed_less"][2])
        self.assertGreater(joules["compared"][1], 100 * joules["unknown"][2])
        self.assertIsNone(joules["unknown"][1])

    def test_numbers_are_as_wide_as_their_type(self):
        text = """volatile int sink;
__attribute__((noinline)) static void part(unsigned n) { for (unsigned i = 0, m = n * 1000003u % 1000u; i < m; i++) sink = 1; }
__attribute__((noinline)) static void whole(unsigned n) { for (unsigned i = 0, m = n * 1000000u; i < m; i++) sink = 1; }
void parts(void) { part(5000); part(5001); }
void wholes(void) { whole(5000); whole(4999); }
"""
        found = self.functions(text)
        for name in ("parts", "wholes"):
            self.assertTrue(found[name]["doubts"], found[name])

    def test_unknowns_of_a_callee_stay_unknown(self):
        text = """int other(int);
__attribute__((noinline)) static int h(int n) { return other(n) + 1; }
__attribute__((noinline)) static int g(int n) { return h(n) * 3; }
JOULE_BUDGET("max_joules=50uJ") int f(int n) { return g(n) - 1; }
"""
        self.assertEqual(self.functions(text)["f"]["verdict"], "undecided")

    def test_loops_are_counted(self):
        found = self.functions("""
int exact(const int *x) { int s = 0; for (int i = 0; i < 30; i++) for (int j = i; j < 30; j++) s += x[i * 30 + j] / (j + 1); return s; }
int bound(const int *x, int n) { JOULE_ASSUME(n <= 64); int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
int calls(const int *x) { return exact(x) + exact(x + 900); }
int deep(int n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
""", "-fno-inline")
        inner = [loop for loop in found["exact"]["loops"] if loop["depth"] == 2]
        self.assertEqual([(loop["class"], loop["iterations"]) for loop in inner], [("exact", [465, 465, 465])])
        self.assertEqual(found["bound"]["loops"][0]["iterations_each"][2], 64)
        for name in ("exact", "calls"):
            low, high = found[name]["interval_joules"]
            self.assertTrue(0 < low < found[name]["energy_joules"] < high, found[name])
        self.assertAlmostEqual(found["calls"]["energy_joules"] / found["exact"]["energy_joules"], 2, delta=0.2)
        self.assertEqual({doubt["kind"] for doubt in found["deep"]["doubts"]}, {"loop", "recursion"})

    def test_counts_that_depend_on_an_endless_loop_have_no_bound(self):
        """The loops are those of an insertion sort, whose inner loop also ends early."""
        found = self.functions("""
void sort(int *x, unsigned long n)
{
    for (unsigned long i = 1; i < n; i++)
        for (unsigned long k = i; k > 0 && x[k - 1] > x[k]; k--) { int t = x[k]; x[k] = x[k - 1]; x[k - 1] = t; }
}
""")
        self.assertEqual([loop["class"] for loop in found["sort"]["loops"]], ["guessed", "guessed"])
        self.assertLess(found["sort"]["energy_joules"], 1e-3)

    def test_report_follows_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("there is no jsonschema")
        text = """JOULE_BUDGET("max_joules=1mJ, max_watts=50, max_temp_delta=1K, sustained")
int sum(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
JOULE_BUDGET("nonsense") int bad(int (*f)(int)) { return f(1); }
void forever(void) { for (;;) ; }
"""
        self.compile(text, "--energy-report", "report.json")
        with open(os.path.join(os.environ["JOULE_SOURCE"], "docs/joulec.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        report = json.loads(self.read("report.json"))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
        self.assertEqual([function["verdict"] for function in report["functions"]], ["undecided", "bad_budget", "none"])

    def test_more_work_takes_more(self):
        text = "".join(f"double f{n}(const double *x) {{ double s = 0; for (int i = 0; i < {n}; i++) s += x[i] * x[i]; return s; }}\n"
                       for n in (10, 100, 1000))
        found = self.functions(text)
        joules = [found[f"f{n}"]["energy_joules"] for n in (10, 100, 1000)]
        self.assertTrue(5 < joules[1] / joules[0] < 15 and 8 < joules[2] / joules[1] < 12, joules)

    def test_far_data_takes_lines(self):
        """On any machine, half a KiB fits into the nearest cache, and 16 GiB fit into no cache. Each cache
        line counts once."""
        text = "".join(f"double f{n}(const double *x) {{ double s = 0; for (long i = 0; i < {n}; i++) s += x[i]; return s; }}\n"
                       for n in (64, 1 << 31))
        text += """double wide(const double *x) { double s = 0; for (long i = 0; i < 1L << 31; i += 8) s += x[i]; return s; }
double twice(const double *x) { double s = 0; for (long i = 0; i < 1L << 31; i++) s += x[i] * x[i + 1]; return s; }
extern double m[1 << 14][1 << 14];
double rows(void) { double s = 0; for (int i = 0; i < 1 << 14; i++) for (int j = 0; j < 1 << 14; j++) s += m[i][j]; return s; }
double columns(void) { double s = 0; for (int j = 0; j < 1 << 14; j++) for (int i = 0; i < 1 << 14; i++) s += m[i][j]; return s; }
struct node { struct node *next; long key; };
long chase(const struct node *p) { long s = 0; for (int i = 0; i < 1000; i++) { s += p->key; p = p->next; } return s; }
long straight(const struct node *p) { long s = 0; for (int i = 0; i < 1000; i++) { s += p->key; p++; } return s; }
"""
        found = self.functions(text)
        self.assertEqual(found["f64"]["loops"][0]["lines"], {"l2": 0, "l3": 0, "dram": 0})
        for name in (f"f{1 << 31}", "wide", "twice"):
            self.assertAlmostEqual(found[name]["loops"][0]["lines"]["dram"] / (1 << 28), 1, delta=0.01)
        lines = [sum(found[name]["loops"][0]["lines"].values()) for name in ("rows", "columns")]
        self.assertGreater(lines[1], 2 * lines[0])
        self.assertGreater(found["columns"]["time_seconds"], found["rows"]["time_seconds"])
        self.assertGreater(found["chase"]["time_seconds"], 2 * found["straight"]["time_seconds"])
        self.assertGreater(found["chase"]["interval_seconds"][1], 20 * found["straight"]["interval_seconds"][1])

    def test_filters_are_streams(self):
        """A filter's output position grows by one or stays, so the output is a stream. A position that may
        decrease or jump is not."""
        steps = {"always": "out[c] = x[i]; c += x[i] < y;",
                 "sometimes": "if (x[i] < y) out[c++] = x[i];",
                 "through": "*out = x[i]; out += x[i] < y;",
                 "pushed": "if (x[i] < y) *out++ = x[i];",
                 "down": "out[c] = x[i]; c -= x[i] < y;",
                 "two": "out[c] = x[i]; c += x[i] < y; z[d] = x[i]; d += x[i] < 7;",
                 "parted": "out[c] = x[i]; z[i - c] = x[i]; c += x[i] < y;",
                 "deep": "for (int j = 0; j < 1 << 10; j++) { out[c] = x[i]; c += x[i] < y + j; }",
                 "both_ways": "out[c] = x[i]; c += x[i] < y ? 1 : -1;",
                 "restarted": "out[c] = x[i]; c = x[i] < y ? c + 1 : 0;",
                 "loaded": "out[c] = x[i]; c += x[i];"}
        text = "".join(f"void {name}(const int *restrict x, int *restrict out, int *restrict z, int y, long c, long d) {{\n"
                       f"    for (long i = 0; i < 1L << {21 if name == 'deep' else 31}; i++) {{ {step} }}\n}}\n" for name, step in steps.items())
        found = self.functions("void copy(const int *restrict x, int *restrict out) {\n"
                               "    for (long i = 0; i < 1L << 31; i++) { __asm__(\"\"); out[i] = x[i]; }\n}\n" + text)
        lines = {name: max(loop["lines"]["dram"] for loop in found[name]["loops"]) / (1 << 27) for name in ["copy", *steps]}
        for name in ("copy", "always", "through", "down"):  # a written line is loaded and written back
            self.assertAlmostEqual(lines[name], 3, delta=0.01, msg=name)
        for name in ("sometimes", "pushed"):
            self.assertTrue(1 < lines[name] <= 3.01, (name, lines[name]))
        for name in ("two", "parted"):
            self.assertAlmostEqual(lines[name], 5, delta=0.01, msg=name)
        self.assertAlmostEqual(lines["deep"], 2, delta=0.01)
        for name in ("both_ways", "restarted", "loaded"):
            self.assertLess(lines[name], 1.1, name)
            self.assertGreater(found[name]["loops"][0]["lines"]["l2"], 1 << 27, name)

    def test_vectors_are_those_that_clang_makes(self):
        """joulec's statements about each loop must agree with clang's optimization record of joulec's
        build."""
        text = """float a[4096], b[4096];
void axpy(float k, int n) { for (int i = 0; i < n; i++) a[i] += k * b[i]; }
float dot(const float *x, const float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }
int sum(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
void bytes(unsigned char *x) { for (int i = 0; i < 4096; i++) x[i] ^= 0x55; }
double forced(const double *x) { double s = 0;
    #pragma clang loop vectorize(disable) interleave(disable)
    for (int i = 0; i < 4096; i++) s += x[i];
    return s; }
int poly(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) { int v = 0; for (int k = 0; k < 8; k++) v = v * x[i] + k; s ^= v; } return s; }
int list(const int *x, int n) { int i = 0; for (int k = 0; k < n; k++) i = x[i]; return i; }
"""
        names = ["axpy", "dot", "sum", "bytes", "forced", "poly", "list"]
        record = self.path("record.yaml")
        for options in ([], ["-fno-vectorize"], ["-ffast-math"], ["-O1"]):
            found = self.functions(text, *options)
            done = self.compile(text, *options, "-g1", "-fsave-optimization-record", f"-foptimization-record-file={record}")
            self.assertEqual(done.returncode, 0, done.stderr)
            at_once = dict.fromkeys(names, 1)
            with open(record, encoding="utf-8") as file:
                for remark in file.read().split("--- ")[1:]:
                    width, count = (re.search(name + r": +'(\d+)'", remark) for name in ("VectorizationFactor", "InterleaveCount"))
                    if remark.startswith("!Passed") and "loop-vectorize" in remark and count:
                        at_once[re.search(r"Function: +(\w+)", remark)[1]] = int(width[1] if width else 1) * int(count[1])
            self.assertEqual({name: found[name]["loops"][0]["at_once"] for name in names}, at_once, options)
        self.assertEqual(found["axpy"]["loops"][0]["at_once"], 1)
        fast = self.functions(text, "-ffast-math")
        self.assertLess(fast["dot"]["time_seconds"], 0.5 * found["dot"]["time_seconds"])
        done = self.compile('JOULE_BUDGET("max_joules=1pJ")\n' + SUM, "--energy-check")
        self.assertRegex(done.stderr, r" \d+ %; \d+ iterations at once\n")

    def test_largest_loop_lists_its_costs(self):
        text = 'JOULE_BUDGET("max_joules=1nJ")\n' + SUM.replace("1000", "1000000000")
        done = self.compile(text, "--energy-check")
        self.assertRegex(done.stderr, r"\(exact\): [\w ]+ \d+ %(, [\w ]+ \d+ %)?(; \d+ iterations at once)?\n")

    def test_wrong_options_are_refused(self):
        for word, message in (("--energy-chek", "unknown option --energy-chek"), ("--energy-policy=lax", "'default' or 'strict'"),
                              ("--energy-loop-default=x", "must be a number of at least 1")):
            done = self.compile("int x;\n", word)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
        for words in (["--thermal-state", "hot"], ["--energy-loop-default=5"], ["--profile-use=x"]):
            done = self.compile("int x;\n", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{words[0].split('=')[0]} needs --energy-check or --energy-report FILE", done.stderr)
        done = self.compile("int x;\n", JOULEC_CLANG="/no/such/clang")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot run /no/such/clang", done.stderr)

    def test_values_are_joined_or_the_next_word(self):
        slow = SUM.replace("i < 1000", "i < n").replace("const int *x", "const int *x, int n")
        for form in ("--energy-policy{}strict", "--energy-annotations{}github", "--thermal-state{}hot", "--energy-loop-default{}7",
                     "--energy-run{}no"):
            results = [self.compile('JOULE_BUDGET("max_joules=50uJ")\n' + slow, "--energy-check", *form.format(between).split()) for between in ("=", " ")]
            self.assertEqual((results[0].returncode, results[0].stderr), (results[1].returncode, results[1].stderr), form)
            self.assertEqual(results[0].returncode, 3 if "policy" in form else 0, results[0].stderr)
            self.assertTrue(results[0].stderr, form)

    def test_warnings_are_hidden_or_errors_as_clangs(self):
        slow = 'JOULE_BUDGET("max_joules=50uJ")\n' + SUM.replace("i < 1000", "i < n").replace("const int *x", "const int *x, int n")
        for words, code, message in (([], 0, "warning: "), (["-w"], 0, None), (["-Werror"], 1, "error: "), (["-Werror", "-w"], 0, None),
                                  (["-Werror", "-Wno-error"], 0, "warning: "), (["-Werror=unused"], 0, "warning: ")):
            if os.path.exists(self.path("a.o")):
                os.remove(self.path("a.o"))
            done = self.compile(slow, "--energy-check", *words)
            self.assertEqual((done.returncode, os.path.exists(self.path("a.o"))), (code, not code), (words, done.stderr))
            self.assertEqual(re.findall(r"a\.c:\d+:\d+: (error: |warning: ).*\[JE0004\](?: \[-Werror\])?$", done.stderr, re.M), [message] if message else [])
            self.assertEqual(bool(done.stderr), bool(message), words)
        self.assertIn("[JE0001]", self.compile(slow.replace("50uJ", "1pJ"), "--energy-check", "-w").stderr)

    def test_a_clang_that_is_too_new(self):
        newest = next((n for n in range(40, 14, -1) if shutil.which(f"clang-{n}")), None)
        done = self.compile("int x;\n", "--energy-check", JOULEC_CLANG=f"clang-{newest}") if newest else None
        if not newest or not done.returncode:
            self.skipTest("no clang is newer than joulec's LLVM")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, rf"^joulec: \S*a\.c: cannot read bitcode of clang-{newest}: it has LLVM {newest}, and this joulec has LLVM (\d+)\n"
                                      r"hint: set JOULEC_CLANG to clang \1 or older\n$")

    def test_dependencies_and_several_sources(self):
        """joulec is called in the same way as make and CMake call a compiler."""
        done = self.compile(SUM, "-MD", "-MF", "a.d", "-MT", "a.o", "--energy-check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("joule/budget.h", self.read("a.d"))

    def test_help_lists_options(self):
        done = subprocess.run([JOULEC, "--energy-help"], capture_output=True, text=True, check=True)
        self.assertIn("--energy-check", done.stdout)


if __name__ == "__main__":
    main()
