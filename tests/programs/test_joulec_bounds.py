#!/usr/bin/env python3
"""Checks that joulec's results for loops with correct marks hold when the loops run, in whatever way LLVM
merges and splits the loops.

Programs are random. They contain loops that run while something changes, around counting loops. They also
contain loops that reset their counts, end early, follow cycles, or use goto. Each program first runs with
counters, whose values become the marks.
"""
import os
import random
import shutil
import subprocess

from joulec_support import HEADER, INCLUDE, Folder, main
from run_support import skip

PROGRAMS = int(os.environ.get("PROGRAMS", "12"))
FIRST = int(os.environ.get("FIRST", "1"))
FUNCTIONS = 8
CALLS = 12

# ENTER comes before a loop, ROUND in its body, and LEAVE at the end of the function. LEAVE prints the counts
# of each loop by number.
COUNTERS = """#ifdef COUNT
#include <stdio.h>
static struct { long now, least, most, call, least_call, most_call; int is_open; } seen[500];
static void end_entry(int k) {
    if (seen[k].is_open && seen[k].now < seen[k].least) seen[k].least = seen[k].now;
    if (seen[k].is_open && seen[k].now > seen[k].most) seen[k].most = seen[k].now;
    seen[k].is_open = 0; }
static void end_call(int k) {
    end_entry(k);
    if (seen[k].call < seen[k].least_call) seen[k].least_call = seen[k].call;
    if (seen[k].call > seen[k].most_call) seen[k].most_call = seen[k].call;
    seen[k].call = 0; }
#define ENTER(k) (end_entry(k), seen[k].is_open = 1, seen[k].now = 0)
#define ROUND(k) (seen[k].now++, seen[k].call++)
#else
#define ENTER(k) (void)0
#define ROUND(k) (void)0
#endif
"""
ARRAYS = "int a[256], b[256]; short c[256]; unsigned char d[256];\n"
MAIN = """
#ifdef COUNT
static unsigned state = 12345;
static unsigned chance(void) { return state = state * 1664525u + 1013904223u, state >> 16; }
int main(void) {
    for (int k = 0; k < %d; k++) seen[k].least = seen[k].least_call = 1L << 60;
    for (int n = 0; n < %d; n++) {
        for (int i = 0; i < 256; i++) { a[i] = (int)(chance() %% 7); b[i] = (int)(chance() %% 100); c[i] = (short)(chance() %% 5); d[i] = (unsigned char)(chance() %% 4); }
%s    }
    for (int k = 0; k < %d; k++) printf("%%d %%ld %%ld %%ld %%ld\\n", k, seen[k].least, seen[k].most, seen[k].least_call, seen[k].most_call);
}
#endif
"""


class Maker:
    """A random program. `lines` contains its text; a line that is a number stands for the mark of this
    loop."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.lines, self.loops, self.of_function = [], 0, []
        for number in range(FUNCTIONS):
            self.function(number)

    def one(self, *choices):
        return self.chance.choice(choices)

    def loop(self, head):
        """Adds ENTER, the position of the mark, and the loop's head. Returns the loop's number."""
        number = self.loops
        self.loops += 1
        self.of_function[-1].append(number)
        self.lines += [f"ENTER({number});", number, f"{head} {{ ROUND({number});"]

    def work(self, at, flag):
        """Adds a statement that decreases an element above a limit and sets `flag`. The elements decrease, so
        the loop around the statement ends."""
        array, limit = self.one(("a", 2), ("c", 1), ("d", 0), ("b", 90))
        self.lines.append(self.one(f"if ({array}[{at}] > {limit}) {{ {array}[{at}]--; {flag} = 1; }}",
                                   f"if ({array}[{at}] > {limit}) {{ {array}[{at}] = 0; {flag} = 1; }} else s += 2;",
                                   f"if ({array}[{at}] <= {limit}) {{ s ^= 5; }} else {{ {array}[{at}]--; {flag} = 1; s *= 3; }}"))

    def early(self, at, flag):
        self.lines.append(self.one("", "", f"if (b[{at}] > 97) break;", f"if (b[{at}] > 60) continue;" if self.goes_on else "",
                                   f"if (a[{at}] > 5) {{ a[{at}] = 1; {at} = {self.begin}; {flag} = 1; }}",
                                   f"if (a[{at}] > 4) {{ a[{at}] = 0; {at} = {at} / 2; }}"))

    def counted(self, depth, flag):
        """Adds a counting loop, in one of many forms."""
        at, limit, self.begin, self.goes_on = f"i{depth}", self.one("48", "n", "60"), self.one("0", "0", "1", "3"), False
        kind = self.one("for", "short", "do", "while", "forever", "down", "ring")
        declared = {"short": "short", "down": "int"}.get(kind, self.one("int", "unsigned", "long"))
        self.lines.append(f"{{ {declared} {at} = {self.begin};")
        if kind in ("for", "short"):
            self.goes_on = True
            self.loop(f"for ({at} = {self.begin}; {at} < {limit}; {at}++)")
            end = "}"
        elif kind == "do":
            self.loop("do")
            end = f"}} while (++{at} < {limit});"
        elif kind == "while":
            self.loop(f"while ({at} < {limit})")
            end = f"{at}++; }}"
        elif kind == "forever":
            self.loop("for (;;)")
            end = f"if (++{at} >= {limit}) break; }}"
        elif kind == "ring":
            self.lines.append("int turns = 0;")
            self.loop("for (;;)")
            end = f"if (++{at} == 40) {{ {at} = 0; s ^= 9; if (++turns == 3) break; }} }}"
        else:
            self.begin = "50"
            self.lines.append(f"{at} = 50;")
            self.loop(f"while ({at}-- > 0)")
            end = "}"
        self.early(at, flag)
        self.work(at, flag)
        if depth < 2 and self.chance.random() < 0.4:
            self.nest(depth + 1, self.chance.random() < 0.4)
        self.work(f"({at} + 3) & 127", flag)
        self.lines.append(end + " }")

    def nest(self, depth, is_counted):
        """Adds a loop that runs while something changes, or that counts."""
        flag = f"more{depth}"
        self.lines.append(f"{{ int {flag} = 1;")
        if is_counted:
            self.counted(depth, flag)
        else:
            head, end = self.one((f"while ({flag})", "}"), ("do", f"}} while ({flag});"), ("for (;;)", f"if (!{flag}) break; }}"),
                                 (f"for (; {flag};)", "}"))
            if self.chance.random() < 0.1:
                self.lines.append(f"again{self.loops}:")
                end = f"if (c[{depth}] > 3) {{ c[{depth}] = 0; goto again{self.loops}; }} {end}"
            self.loop(head)
            self.lines.append(f"{flag} = 0;")
            self.counted(depth, flag)
            if self.chance.random() < 0.3:
                self.work(f"{depth} + 22", flag)
            self.lines.append(end)
        self.lines.append("}")

    def function(self, number):
        self.of_function.append([])
        self.lines.append(f"unsigned f{number}(int n) {{ unsigned s = 1;")
        for _ in range(self.one(1, 1, 2)):
            self.nest(0, self.chance.random() < 0.3)
        ends = " ".join(f"end_call({loop});" for loop in self.of_function[-1])
        self.lines += ["#ifdef COUNT", ends, "#endif", "return s; }"]

    def text(self, marks):
        lines = [marks.get(line, "") if isinstance(line, int) else line for line in self.lines]
        calls = "".join(f"        f{i}(41 + n * 2);\n" for i in range(FUNCTIONS))
        return HEADER + COUNTERS + ARRAYS + "\n".join(lines) + MAIN % (self.loops, CALLS, calls, self.loops)

    def line_of(self, loop):
        before = (HEADER + COUNTERS + ARRAYS).count("\n")
        return before + self.lines.index(loop) + 2


class Bounds(Folder):
    def seen(self, maker):
        """Returns for each loop that ran the minimum and maximum per entry and per call; None if the run took
        too long."""
        path = self.write("count.c", maker.text({}))
        subprocess.run(["clang", "-DCOUNT", "-O1", "-w", "-I", INCLUDE, path, "-o", self.path("count")], check=True, cwd=self.folder)
        try:
            done = subprocess.run([self.path("count")], capture_output=True, text=True, check=True, timeout=20)
        except subprocess.TimeoutExpired:
            return None
        rows = (list(map(int, line.split())) for line in done.stdout.splitlines())
        return {row[0]: row[1:] for row in rows if row[1] <= row[2]}

    def check(self, seed):
        maker = Maker(seed)
        seen = self.seen(maker)
        if seen is None:
            return 0
        marked = [loop for loop in seen if maker.chance.random() < 0.7]
        source = maker.text({loop: f"JOULE_LOOP({seen[loop][0]}, {seen[loop][1]})" for loop in marked})
        done = self.joulec("-I", INCLUDE, "-O2", "-w", "--energy-report", "r.json", "-c", self.write("a.c", source), "-o", "a.o")
        self.assertEqual(done.returncode, 0, done.stderr)
        by_line = {maker.line_of(loop): seen[loop] for loop in seen}
        judged = 0
        for name, function in self.report_in("r.json")["functions"].items():
            lines = [loop["line"] for loop in function["loops"]]
            for loop in function["loops"]:
                # If LLVM splits a loop in two, each may run as often as the mark states.
                if loop["marked"] is None or loop["class"] != "bounded" or lines.count(loop["line"]) > 1 or loop["line"] not in by_line:
                    continue
                min_each, max_each, least_call, most_call = by_line[loop["line"]]
                words = f"FIRST={seed} PROGRAMS=1: {name}, line {loop['line']}: {loop} but {by_line[loop['line']]}\n{source}"
                self.assertGreaterEqual(loop["iterations_each"][2], max_each, words)
                self.assertGreaterEqual(loop["iterations"][2] if loop["iterations"][2] is not None else most_call, most_call, words)
                self.assertLessEqual(loop["iterations"][0], least_call, words)
                judged += 1
        return judged

    def test_true_marks_make_true_bounds(self):
        judged = sum(self.check(seed) for seed in range(FIRST, FIRST + PROGRAMS))
        self.assertGreater(judged, PROGRAMS * 3)


if __name__ == "__main__":
    if not shutil.which("clang"):
        skip("clang counts the rounds")
    main()
