#!/usr/bin/env python3
"""Checks that joulec's bounds of loops hold for every call that returns, with any checks and hints in the
loops.

Random programs have nests of loops with assertions, calls that never return, cold calls, hints and plain exits. Each is run
on many inputs, and its iterations are counted.
"""
import os
import random
import shutil
import subprocess

from joulec_support import HEADER, INCLUDE, Folder, main
from run_support import skip

PROGRAMS = int(os.environ.get("PROGRAMS", "2"))
FIRST = int(os.environ.get("FIRST", "1"))
FUNCTIONS = 8
WORDS = 509  # number of words of data

BEGIN = HEADER + """#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef COUNT
#define R(k) rounds[k]++
#else
#define R(k) (void)0
#endif
extern long rounds[];
extern jmp_buf out;
void report(int) __attribute__((cold));
_Noreturn void die(void);
"""
ANYWHERE = ("assert({d} >= 0);", "if ({d} < 0) abort();", "if ({d} == 5) report(1);", "if ({d} == {v}) die();",
            "if ({d} == {v}) longjmp(out, 1);", "if (__builtin_expect({d} == {v}, 0)) return s;",
            "if ({d} == {v}) {{ report(3); return s; }}", "if (s < 0) __builtin_unreachable();")
IN_LOOPS = ("if ({d} == {v}) break;", "if (__builtin_expect({d} == {v}, 0)) break;", "if ({d} == {v}) continue;",
            "if ({d} == {v}) {{ report(2); break; }}", "if (__builtin_expect({d} == {v}, 0)) continue;", "assert({i} < 200);")
RUN = """
long rounds[%(loops)d + 1];
jmp_buf out;
void report(int x) { (void)x; }
_Noreturn void die(void) { longjmp(out, 1); }
%(prototypes)s
static long (*const functions[])(const int *, int) = {%(names)s};
static int data[%(words)d];
int main(void)
{
    srand(%(seed)d);
    for (int t = 0; t < 60; t++) {
        int kind = t %% 6, n = t %% 3 ? rand() %% 26 : 25;
        for (int i = 0; i < %(words)d; i++)
            data[i] = kind == 0 ? 0 : rand() %% (kind == 1 ? 3 : kind == 2 ? 7 : kind == 3 ? 300 : 40000) + (kind > 3);
        for (int f = 0; f < %(functions)d; f++) {
            memset(rounds, 0, sizeof rounds);
            if (setjmp(out))
                continue;
            functions[f](data, n);
            printf("%%d", f);
            for (int k = 0; k < %(loops)d; k++)
                printf(" %%ld", rounds[k]);
            puts("");
        }
    }
}
"""


class Program:
    """A random program: its text, and for each line with a loop the loop's number and function."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = BEGIN.split("\n")
        self.loops = {}
        for function in range(FUNCTIONS):
            self.function = function
            self.lines.append(f"long f{function}(const int *d, int n) {{ long s = 1;")
            if self.random.random() < 0.7:
                self.lines.append("JOULE_ASSUME(n >= 0 && n <= 25);")
            for _ in range(self.random.randrange(1, 3)):
                self.loop("", 1)
            self.lines.append("return s; }")

    def value(self, around):
        sums = "+".join(f"{self.random.choice((1, 3, 7, 13))} * {i}" for i in around)
        return f"d[({sums}) % {WORDS}]"

    def loop(self, around, depth):
        i, choose = "ijkl"[len(around)], self.random.choice
        inner = around + i
        limit = choose([str(self.random.randrange(1, 30)), "n", "n + 3"] + ([around[-1], f"20 - {around[-1]}"] if around else []))
        self.lines.append(f"for (int {i} = 0; {i} < {limit}; {i} += {choose((1, 1, 1, 2))}) {{")
        number = len(self.loops)
        self.loops[len(self.lines)] = (number, self.function)
        self.lines.append(f"R({number});")
        for _ in range(self.random.randrange(4)):
            if depth < 3 and self.random.random() < 0.4:
                self.loop(inner, depth + 1)
            else:
                self.lines.append(choose(ANYWHERE + IN_LOOPS).format(d=self.value(inner), v=self.random.randrange(2, 7), i=i))
        self.lines += [f"s += {self.value(inner)} ^ s;", "}"]


class Checks(Folder):
    def counts(self, program, seed):
        """Returns for each function the iterations of all loops in each call that returned."""
        main_text = BEGIN + RUN % {"loops": len(program.loops), "words": WORDS, "seed": seed, "functions": FUNCTIONS,
                                   "names": ", ".join(f"f{f}" for f in range(FUNCTIONS)),
                                   "prototypes": "".join(f"long f{f}(const int *, int);\n" for f in range(FUNCTIONS))}
        clang = os.environ.get("JOULEC_CLANG") or shutil.which("clang")
        if not clang:
            skip("no clang")
        subprocess.run([clang, "-O1", "-w", "-DCOUNT", "-I", INCLUDE, self.path("a.c"), self.write("main.c", main_text), "-o",
                        self.path("counted")], check=True)
        counts = {}
        for line in subprocess.run([self.path("counted")], capture_output=True, text=True, check=True).stdout.splitlines():
            function, *rounds = map(int, line.split())
            counts.setdefault(function, []).append(rounds)
        return counts

    def test_calls_that_return(self):
        compared = 0
        for seed in range(FIRST, FIRST + PROGRAMS):
            program = Program(seed)
            path = self.write("a.c", "\n".join(program.lines) + "\n")
            counts = self.counts(program, seed)
            done = self.joulec("-I", INCLUDE, "-O2", "-w", "-c", path, "-o", "a.o", "--energy-report", "report.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [loop for function in self.report_in("report.json")["functions"].values() for loop in function["loops"]]
            for loop in found:
                if loop["line"] not in program.loops or sum(other["line"] == loop["line"] for other in found) > 1:
                    continue  # LLVM split this loop into several
                number, function = program.loops[loop["line"]]
                low, _, high = loop["iterations"]
                for rounds in counts.get(function, []):
                    compared += 1
                    self.assertTrue(low <= rounds[number] and (high is None or rounds[number] <= high),
                                    (seed, loop["line"], loop["class"], loop["iterations"], rounds[number]))
        self.assertGreater(compared, 100 * PROGRAMS)


if __name__ == "__main__":
    main()
