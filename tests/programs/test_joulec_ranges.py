#!/usr/bin/env python3
"""Checks that counts from the code hold for all arguments that JOULE_ASSUME allows, even if unsigned numbers
wrap.

Programs are random nests of loops. Loops count up, count down, run until numbers are equal, or until two
numbers or addresses meet. Limits are sums, quotients and products of arguments. Each function is called with
the minimum and maximum arguments and with some between. A loop never runs more often than joulec's upper end,
or less often than its lower end.
"""
import os
import random
import shutil
import subprocess

from joulec_support import HEADER, INCLUDE, OneFile, main
from run_support import skip

PROGRAMS = int(os.environ.get("PROGRAMS", "10"))
FIRST = int(os.environ.get("FIRST", "1"))
FUNCTIONS = 20
MOST_LOOPS = 3
MANY = 200_000  # maximum iterations of a call; a longer call is ended
FAR_BELOW = -200  # lower end of a range if only the upper end is assumed

COUNTERS = f"""volatile int sink;
static short room[4000];
#ifdef COUNT
#include <setjmp.h>
#include <stdio.h>
static long seen[{MOST_LOOPS}], all;
static jmp_buf out;
#define ROUND(k) (seen[k]++, ++all > {MANY} ? longjmp(out, 1) : (void)0)
#else
#define ROUND(k) (void)0
#endif
"""


class Maker:
    """Random functions of two arguments, n and m, with their assumed ranges."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.lines, self.functions = [], []
        for number in range(FUNCTIONS):
            self.function(number)

    def one(self, *of):
        return self.chance.choice(of)

    def number(self):
        return self.one(0, 1, 1, 2, 3, 5, 10, 20)

    def end(self, names):
        """Returns an expression that limits a loop's count."""
        name, other, number = self.one(*names), self.one(*names), self.number()
        return self.one(name, name, f"{name} - {number}", f"{name} + {number}", f"{name} - {other}", f"{name} + {other}", f"{name} / 2",
                        f"({name} - {number}) / 3", f"{name} * 3", f"{name} * {other} % 7", f"({name} < {number} ? {name} : {number})",
                        f"({name} > {number} ? {name} : {number})", f"({name} & 15)", f"{name} * 1000003 % 50", f"{name} - {number} + {other}")

    def loop(self, depth, kind, names, is_unsigned):
        at, begin, end = f"i{depth}", self.one("0", "0", "1", self.end(names)), self.end(names)
        step = self.one(1, 1, 1, 2, 3)
        heads = [f"for ({kind} {at} = {begin}; {at} < {end}; {at} += {step})", f"for ({kind} {at} = {end}; {at} > {begin}; {at}--)",
                 f"for ({kind} {at} = {begin}; {at} <= {end}; {at}++)", f"for ({kind} {at} = {end}; {at}-- > 0;)"]
        if is_unsigned:
            heads += [f"for ({kind} {at} = {begin}; {at} != {end}; {at}++)", f"for ({kind} {at} = {end}; {at} != 0; {at}--)",
                      f"for ({kind} {at} = {end}; {at} != 0; {at} /= 2)"]
        heads += self.heads_that_meet(at, kind, begin, end, is_unsigned) + self.heads_of_other_steps(at, kind, begin, end, names)
        head, last = self.one(*heads) + " {", "}"
        if self.chance.random() < 0.1:
            head, last = f"{{ {kind} {at} = {begin}; do {{", f"}} while (({at} += {step}) {self.one('<', '<=', '!=')} {end}); }}"
        self.lines.append(head)
        self.functions[-1]["lines"].append(len(self.lines))
        self.lines.append(f"ROUND({depth}); sink = {depth};")
        if depth + 1 < MOST_LOOPS and self.chance.random() < 0.5:
            self.loop(depth + 1, kind, names + [at] * (f"*{at}" not in head), is_unsigned)
        if self.chance.random() < 0.15 and f"*{at}" not in head:
            self.lines.append(f"if ({self.one(at, f'{at} * 3', 'sink')} {self.one('==', '>', '<')} {self.end(names)}) {self.one('break', 'break', 'continue')};")
        self.lines.append(last)

    def heads_that_meet(self, at, kind, begin, end, is_unsigned):
        """Returns loop heads in which two numbers or addresses meet. Numbers are small, so addresses stay
        within the array."""
        numbers = f"for ({kind} {at} = {begin}, {at}e = {end}; {at} {self.one('<', '<=')} {at}e; "
        heads = [numbers + f"{at}++, {at}e--)", numbers + f"{at} += 2, {at}e--)", numbers + f"{at}e -= 3, {at}++)"]
        addresses = f"for (short *{at} = room + 2000 + ({begin}), *{at}e = room + 2000 + ({end}); {at} {self.one('<', '<=', '<')} {at}e; "
        return heads if is_unsigned else heads + [addresses + f"{at}++)", addresses + f"{at} += 2)", addresses + f"{at}++, {at}e--)"]

    def heads_of_other_steps(self, at, kind, begin, end, names):
        """Returns loop heads with steps that grow, and with two limits, either of which ends the loop."""
        other = self.end(names)
        return [f"for ({kind} {at} = 1; {at} < {end}; {at} *= {self.one(2, 3)})", f"for ({kind} {at} = {end}; {at} > 0; {at} {self.one('/= 2', '>>= 1', '/= 10', '-= 3')})",
                f"for ({kind} {at} = {begin}, {at}e = {end}; {at} < {other} && {at}e > {self.number()}; {at}++, {at}e--)",
                f"for ({kind} {at} = {begin}; {at} < {end} || {at} < {other}; {at}++)", f"for ({kind} {at} = {begin}; {at} + {self.number()} < {end}; {at}++)"]

    def function(self, number):
        kind = self.one("unsigned", "unsigned", "unsigned long", "int", "long", "unsigned short", "unsigned char")
        ranges = {}
        for name in ("n", "m"):
            low, more = self.one(0, 0, 0, 1, 2, 12), self.one(0, 3, 30, 60)
            has_no_low_end = kind in ("int", "long") and self.chance.random() < 0.2
            ranges[name] = (FAR_BELOW if has_no_low_end else low, low + more)
        self.functions.append({"kind": kind, "ranges": ranges, "lines": []})
        self.lines.append(f"__attribute__((noinline)) void f{number}({kind} n, {kind} m) {{")
        conditions = [f"{name} <= {high}" + f" && {name} >= {low}" * (low > FAR_BELOW) for name, (low, high) in ranges.items()]
        if self.chance.random() < 0.3:
            self.lines.append(f"if (n {self.one('==', '<', '>')} {self.one(self.number(), self.number(), 'm')}) return;")
        related = self.one("n < m", "n <= m", "n > m", "n != m") if self.chance.random() < 0.15 else "1"
        self.functions[-1]["related"] = related
        self.lines.append(f"JOULE_ASSUME({conditions[0]}); JOULE_ASSUME({conditions[1]}); JOULE_ASSUME({related});")
        kind = self.one(kind, "unsigned") if kind.startswith("unsigned ") else kind
        self.loop(0, kind, ["n", "m"], kind.startswith("unsigned") and kind not in ("unsigned short", "unsigned char"))
        self.lines.append("}")

    def calls(self):
        for number, function in enumerate(self.functions):
            (low, high), (less, more) = function["ranges"]["n"], function["ranges"]["m"]
            pairs = {(n, m) for n in (low, high, self.chance.randint(low, high), min(low + 1, high)) for m in (less, more, self.chance.randint(less, more))}
            for n, m in sorted(pairs):
                if eval(function["related"], {"n": n, "m": m}):  # pylint: disable=eval-used
                    yield number, n, m

    def text(self):
        calls = "\n".join(f"    for (int k = 0; k < {MOST_LOOPS}; k++) seen[k] = 0;\n    all = 0; if (!setjmp(out)) f{number}({n}, {m});\n"
                          f'    printf("{number}' + " %ld" * MOST_LOOPS + '\\n"' + "".join(f", seen[{k}]" for k in range(MOST_LOOPS)) + ");"
                          for number, n, m in self.calls())
        return COUNTERS + "\n".join(self.lines) + "\n#ifdef COUNT\nint main(void) {\n" + calls + "\n}\n#endif\n"

    def line_of(self, line):
        return (HEADER + COUNTERS).count("\n") + line


class Ranges(OneFile):
    def counted(self, text):
        """Returns the report's functions by name."""
        done = self.compile(text, "-w", "--energy-report", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.report_in("r.json")["functions"]

    def loops_of(self, text):
        """Returns the class and the maximum iterations of each loop of function f."""
        return [(loop["class"], loop["iterations"][2]) for loop in self.counted(text)["f"]["loops"]]

    def check(self, seed):
        """Checks a random program. Returns how many of its loops had upper ends."""
        maker = Maker(seed)
        found, judged = self.counted(maker.text()), 0
        subprocess.run(["clang", "-DCOUNT", "-O0", "-w", "-I", INCLUDE, self.path("a.c"), "-o", self.path("count")], check=True)
        done = subprocess.run([self.path("count")], capture_output=True, text=True, check=True, timeout=60)
        seen = {}
        for row in (list(map(int, line.split())) for line in done.stdout.splitlines()):
            seen.setdefault(row[0], []).append(row[1:])
        for number, function in enumerate(maker.functions):
            loops = {}
            for loop in found[f"f{number}"]["loops"]:
                loops.setdefault(loop["line"], []).append(loop)
            for depth, line in enumerate(function["lines"]):
                candidates = loops.get(maker.line_of(line), [])
                # An outer loop that lost its position may have the position of this one.
                if number not in seen or len(candidates) != 1 or candidates[0]["iterations"][2] is None or candidates[0]["depth"] != depth + 1:
                    continue
                counts = [row[depth] for row in seen[number]]
                words = f"FIRST={seed} PROGRAMS=1: f{number}, line {line}: {candidates[0]} but {counts}\n" + "\n".join(maker.lines)
                # Per entry, the header may run once more than the body, and one iteration may have been moved
                # before or after the loop.
                entered = [row[depth - 1] if depth else 1 for row in seen[number]]
                self.assertLessEqual(max(count - more for count, more in zip(counts, entered)), candidates[0]["iterations"][2], words)
                if max(sum(row) for row in seen[number]) < MANY:
                    self.assertGreaterEqual(min(map(sum, zip(counts, entered))), candidates[0]["iterations"][0], words)
                judged += 1
        return judged

    def test_a_formula_in_a_loop_of_which_little_is_known(self):
        """In some iterations of the outer loop, the formula for the inner loop wraps to a huge count. These
        iterations come after the likely end of the outer loop."""
        found = self.loops_of("""volatile int sink;
void f(unsigned n) {
    JOULE_ASSUME(n >= 0 && n <= 3);
    for (unsigned i = 1; i < n; i++)
        for (unsigned j = 1; j != 1 - i; j++)
            for (unsigned k = 0; k < 3; k++)
                sink = 1;
}
""")
        self.assertEqual([limit for _, limit in found], [2, None, None])
        found = self.loops_of("""volatile int sink;
void f(unsigned n, unsigned m) {
    JOULE_ASSUME(n >= 12 && n <= 15); JOULE_ASSUME(m <= 60);
    for (unsigned i = m; i < n; i++) {
        unsigned k = 0;
        do sink = 1; while (++k != 0);
    }
}
""")
        self.assertEqual(found[1][1], None)

    def test_only_an_upper_end_of_a_wide_number(self):
        found = self.loops_of("""void f(int *a, long n) {
    JOULE_ASSUME(n <= 1000);
    for (long i = 0; i < n; i++) a[i] = a[i] * 3 + 1;
}
""")
        self.assertEqual(found, [("symbolic", 1000)])

    def test_a_branch_that_is_not_the_loops_guard(self):
        """The branch excludes n == 1, but not n == 0. If n is 0, the counter of the loop must wrap before the
        loop ends."""
        text = """volatile int sink;
void f(unsigned long n) {
    if (n == 1) return;
    JOULE_ASSUME(n >= %d && n <= 3);
    unsigned long i = 0;
    do sink = 1; while (++i != n);
}
"""
        self.assertEqual(self.loops_of(text % 0), [("guessed", None)])
        self.assertEqual([limit for _, limit in self.loops_of(text % 1)], [3])

    def test_counts_hold_for_all_that_is_assumed(self):
        judged = sum(self.check(seed) for seed in range(FIRST, FIRST + PROGRAMS))
        self.assertGreater(judged, PROGRAMS * 4)


if __name__ == "__main__":
    if not shutil.which("clang"):
        skip("clang counts the rounds")
    main()
