#!/usr/bin/env python3
"""Checks marks in the source about loops, recursion, temperature and devices, and how joulec uses them."""
import json
import os
import subprocess

from joulec_support import HEADER, INCLUDE, JOULEC, OneFile, main


class Source(OneFile):
    def loops(self, text, *options, name="f"):
        return self.functions(text, *options)[name]["loops"]


class Loops(Source):
    def test_a_mark_bounds_its_loop(self):
        loops = self.loops("int f(const int *x, int n) { int s = 1;\nJOULE_LOOP(1, 49)\nfor (int i = 0; i < n; i++) s ^= x[i] * s; return s; }\n")
        self.assertEqual([(loop["line"], loop["class"], loop["iterations_each"], loop["marked"]) for loop in loops],
                         [(4, "bounded", [1, 25, 49], [1, 49])])

    def test_a_loop_with_a_break_has_its_mark(self):
        """LLVM loses the source position of such a loop, in the function and where the function is
        inlined."""
        loops = self.loops("""static inline void sink(unsigned *heap, int at, unsigned value) {
JOULE_LOOP(0, 2)
while (2 * at + 1 < 7) {
    int child = 2 * at + 1;
    if (child + 1 < 7 && heap[child + 1] < heap[child])
        child++;
    if (value <= heap[child])
        break;
    heap[at] = heap[child];
    at = child;
}
heap[at] = value; }
void f(unsigned *heap, const unsigned *s) { for (int i = 0; i < 100; i++) if (s[i] > heap[0]) sink(heap, 0, s[i]); }
""")
        self.assertEqual([(loop["class"], loop["marked"]) for loop in loops], [("exact", None), ("bounded", [0, 2])])

    def test_a_budget_is_decided_by_it(self):
        body = "int f(const int *x, int n) { int s = 1;\n%s\nwhile (x[n]) n = x[n]; return n + s; }\n"
        budget = 'JOULE_BUDGET("max_joules=500uJ")\n'
        undecided = self.compile(budget + body % "", "--energy-check")
        self.assertIn("write JOULE_LOOP(min, max)", undecided.stderr)
        self.assertIn("[JE0004]", undecided.stderr)
        decided = self.compile(budget + body % "JOULE_LOOP(0, 100)", "--energy-check")
        self.assertEqual((decided.returncode, decided.stderr), (0, ""))

    def test_while_do_and_macros(self):
        """Numbers in marks come from macros of a header, and one mark is itself a macro. All loops in one
        macro have the same source position; the mark applies to the outer loop."""
        self.write("limits.h", "#define ROWS (4 * 16)\n#define UP_TO(n) JOULE_LOOP(0, n)\n#define EACH(i, n, body) for (int i = 0; i < (n); i++) { body }\n")
        loops = self.loops("""#include "limits.h"
int f(const int *x, int *y, int n) { int s = 1;
JOULE_LOOP(2, ROWS) do { n -= y[n]; s += x[n]; } while (n > 0);
UP_TO(1 << 5) while (n < 0) { n = y[-n] + s; s++; }
JOULE_LOOP(3, 7) EACH(i, s, for (int j = 0; j < x[i]; j++) y[j] ^= s * x[j];)
return s; }
""", "-I", self.folder)
        self.assertEqual([(loop["line"], loop["marked"]) for loop in loops],
                         [(4, [2, 64]), (5, [0, 32]), (6, [3, 7]), (6, None)])

    def test_in_a_header(self):
        self.write("sum.h", HEADER + "static inline int sum(const int *x, int n) { int s = 1;\nJOULE_LOOP(1, 9)\nfor (int i = 0; i < n; i++) s ^= x[i] * s; return s; }\n")
        loops = self.loops('#include "sum.h"\nint f(const int *x, int n) { return sum(x, n) + sum(x + n, n + 1); }\n', "-I", self.folder)
        self.assertEqual([(os.path.basename(loop["file"]), loop["marked"]) for loop in loops], [("sum.h", [1, 9])] * 2)

    def test_mark_of_a_removed_loop_moves_to_no_other_loop(self):
        loops = self.loops("int f(const int *x, int n) { int s = 1;\nJOULE_LOOP(4, 4)\nfor (int i = 0; i < 4; i++) s += i;\n"
                           "for (int i = 0; i < n; i++) s ^= x[i] * s; return s; }\n")
        self.assertEqual([(loop["line"], loop["class"], loop["marked"]) for loop in loops], [(5, "guessed", None)])

    def test_mark_of_a_removed_loop_moves_to_no_outer_loop(self):
        """The mark does not move, even if LLVM lost the position of the outer loop."""
        found = self.report("""void f(unsigned *heap, int at, unsigned value, const int *n) {
while (2 * at + 1 < n[at & 3]) {
    JOULE_LOOP(1, 2)
    for (int lane = 0; lane < 1; lane++) {
        int child = 2 * at + 1;
        if (child + 1 < n[at & 3] && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            goto out;
        heap[at] = heap[child];
        at = child;
    }
}
out:
heap[at] = value; }
""")
        self.assertEqual([(loop["class"], loop["marked"]) for loop in found["functions"]["f"]["loops"]], [("guessed", None)])
        self.assertIn("JOULE_LOOP(1, 2)", found["stderr"])

    def test_a_macro_in_a_loop_has_not_its_mark(self):
        """do ... while (0) in a macro is not a loop. The mark therefore stays with the loop around the
        macro."""
        loops = self.loops("""#define DOWN do { int child = 2 * at + 1; if (child + 1 < n[at & 3] && heap[child + 1] < heap[child]) child++; \\
    if (value <= heap[child]) goto out; heap[at] = heap[child]; at = child; } while (0)
void f(unsigned *heap, int at, unsigned value, const int *n) {
JOULE_LOOP(1, 12)
while (2 * at + 1 < n[at & 3]) {
    DOWN;
}
out:
heap[at] = value; }
""")
        self.assertEqual([(loop["class"], loop["marked"]) for loop in loops], [("bounded", [1, 12])])

    def test_block_inserted_into_the_back_edge_keeps_the_mark(self):
        """If a value is reloaded only in some iterations, LLVM inserts a block into the back edge of the
        loop. The loop must still have its source position."""
        loops = self.loops("""struct s { int room, more; };
int step(struct s *);
int f(struct s *s, int n) {
    s->room = 0;
    JOULE_LOOP(1, 40)
    do {
        if (s->room == 0) { s->room = n > 9 ? 9 : n; n -= s->room; }
    } while (step(s) == 0);
    return n;
}
""")
        self.assertEqual([(loop["line"], loop["marked"]) for loop in loops], [(7, [1, 40])])

    def test_a_pragma_without_the_header(self):
        path = self.write("b.c", "int f(const int *x, int n) { int s = 1;\n#pragma joule loop(1, 9)\nfor (int i = 0; i < n; i++) s ^= x[i] * s; return s; }\n")
        done = subprocess.run([JOULEC, "-O2", "-c", path, "-o", self.path("b.o"), "--energy-report", "-"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout)["functions"][0]["loops"][0]["marked"], [1, 9])

    def test_wrong_marks_are_reported_at_their_position(self):
        cases = (("JOULE_LOOP(10, 1) for (int i = 0; i < n; i++) s ^= x[i] * s;", "JOULE_LOOP(10, 1): min 10 is above max 1"),
                 ("JOULE_LOOP(1, n) for (int i = 0; i < n; i++) s ^= x[i] * s;", "JOULE_LOOP(1, n): 'n' is not a whole number"),
                 ("JOULE_LOOP(-1, 1) for (int i = 0; i < n; i++) s ^= x[i] * s;", "JOULE_LOOP(-1, 1): min is -1, but must be at least 0"),
                 ("JOULE_LOOP(1, 2); for (int i = 0; i < n; i++) s ^= x[i] * s;", "JOULE_LOOP(1, 2): it is before ';'"),
                 ("JOULE_LOOP(1, 2) s++;", "JOULE_LOOP(1, 2): it is before 's'"),
                 ("} JOULE_LOOP(1, 2) int f2(int n) {", "JOULE_LOOP(1, 2): it is outside a function"))
        for words, message in cases:
            with self.subTest(words):
                done = self.compile("int s, *x;\nvoid f(int n) {\n  " + words + "\n}\n", "--energy-check")
                self.assertEqual(done.returncode, 1)
                column = 5 if words.startswith("}") else 3
                self.assertIn(f"a.c:4:{column}: error: {message}", done.stderr)
                self.assertIn("[JE0006]", done.stderr)
                self.assertFalse(os.path.exists(self.path("a.o")))

    def test_the_code_knows_better(self):
        text = "int f(const int *x) { int s = 1;\nJOULE_LOOP(1, 10)\nfor (int i = 0; i < 1000; i++) s ^= x[i] * s; return s; }\n"
        found = self.report(text)
        self.assertIn("a.c:3:1: warning: JOULE_LOOP(1, 10) is wrong and ignored: the code shows that this loop runs 1000 times [JW0105]", found["stderr"])
        self.assertEqual(found["functions"]["f"]["loops"][0]["iterations_each"], [1000, 1000, 1000])

    def test_of_bounds_the_middle(self):
        """The assumed count is the middle of the range, for example 256 for 0 to 511. If a loop restarts, or
        repeats a pass until nothing changes, each order of magnitude is equally likely, and the count is
        21.6."""
        queue = "int f(const int *x, int *y) { int s = 0, n = 1;\nJOULE_LOOP(0, 511)\nwhile (s < n) { y[s++] = 7; n += x[n]; } return n; }\n"
        restarted = "void f(const int *x, int *y) { for (int i = 0; i < 9; i++) { int n = i;\nJOULE_LOOP(0, 511)\nwhile (x[n]) n = x[n];\ny[i] = n; } }\n"
        passes = ("void f(int *x) { int more;\nJOULE_LOOP(0, 511)\ndo { more = 0;\nfor (int i = 1; i < %d; i++) if (x[i] < x[i - 1])"
                  " { int y = x[i]; x[i] = x[i - 1]; x[i - 1] = y; more = 1; } } while (more); }\n")
        for text, likely in ((queue, 256), (restarted, 21.6), (passes % 100, 21.6), (passes % 9, 256)):
            report = self.report(text)
            found = [loop["iterations_each"][1] for loop in report["functions"]["f"]["loops"] if loop["marked"]]
            if not found and "while (more)" in text and "[JW0105]" in report["stderr"]:
                continue  # LLVM 19 gives such a loop a second entry, and joulec reports that it cannot use the mark
            self.assertEqual(len(found), 1, text)
            self.assertAlmostEqual(found[0], likely, delta=1, msg=text)

    def test_no_mark_is_lost_in_a_large_source(self):
        text = "".join(f"int f{i}(const int *x, int n) {{ int s = 1;\nJOULE_LOOP(0, {i + 1})\nfor (int i = 0; i < n; i++) s ^= x[i] * s; return s; }}\n"
                       for i in range(300))
        found = self.functions(text)
        self.assertEqual([function["loops"][0]["marked"] for function in found.values()], [[0, i + 1] for i in range(300)])



WORK = "(const int *x) { int s = 1; for (int i = 0; i < 1000; i++) s ^= x[i] * s; return s; }\n"


class OneOfTwo(Source):
    """If the condition of an inner loop is known to hold at first, LLVM merges the inner and the outer loop.
    It splits a loop with two back edges into two loops. joulec refuses a mark of a merged loop. If a version
    of LLVM does not merge the loops, joulec uses the mark."""
    ROUND = """unsigned short a = lowest[roads[i].a], b = lowest[roads[i].b];
        if (a == b) continue;
        has_changed = true;
        lowest[roads[i].a] = lowest[roads[i].b] = a < b ? a : b;
"""
    HEAD = HEADER + """#include <stdbool.h>
unsigned short lowest[512]; struct { unsigned short a, b; } roads[400]; int data[1000], count[16];
int next(void);
"""

    def marks(self, text):
        """Returns for each loop, outer ones first, its mark and its maximum per call, and whether a mark was
        refused."""
        found = self.report(text)
        loops = found["functions"]["f"]["loops"]
        return [(loop["marked"], loop["iterations"][2]) for loop in loops], found["stderr"].count("[JW0105]")

    def check_refused(self, text, mark, max_runs):
        """Checks that every loop with the mark runs at most max_runs times in a call. If no loop has the
        mark, there must be a warning."""
        loops, refused = self.marks(text)
        used = [runs for marked, runs in loops if marked == mark]
        self.assertEqual(len(used) + refused, 1, loops)
        self.assertTrue(all(runs == max_runs for runs in used), loops)

    def test_the_outer_loops_mark(self):
        for begin, end in (("while (has_changed) {", "}"), ("do {", "} while (has_changed);"),
                           ("for (;;) {", "if (!has_changed) break; }")):
            text = "void f(void) { bool has_changed = true;\nJOULE_LOOP(1, 512)\n%s\nhas_changed = false;\nfor (int i = 0; i < 400; i++) {\n%s}\n%s\n}\n"
            with self.subTest(begin):
                self.check_refused(text % (begin, self.ROUND, end), [1, 512], 512)

    def test_an_inner_do(self):
        text = """void f(void) { bool has_changed = true;
    JOULE_LOOP(1, 512)
    while (has_changed) {
        has_changed = false;
        int i = 0;
        do {
            unsigned short a = lowest[roads[i].a], b = lowest[roads[i].b];
            if (a != b) {
                has_changed = true;
                lowest[roads[i].a] = lowest[roads[i].b] = a < b ? a : b;
            }
            i++;
        } while (i < 400);
    } }
"""
        self.check_refused(text, [1, 512], 512)

    def test_the_inner_loops_mark(self):
        text = "void f(void) { bool has_changed = true;\nwhile (has_changed) {\nhas_changed = false;\nJOULE_LOOP(0, 400)\nfor (int i = 0; i < 400; i++) {\n%s}\n}\n}\n"
        self.check_refused(text % self.ROUND, [0, 400], None)

    def test_an_inlined_inner_loop(self):
        """Neither keyword's statement contains the other keyword."""
        text = """static inline bool pass(void) { bool has_changed = false;
    %s
    for (int i = 0; i < 400; i++) {
        %s}
    return has_changed; }
void f(void) { bool has_changed = true;
    %s
    while (has_changed) has_changed = pass(); }
"""
        loops, _ = self.marks(text % ("JOULE_LOOP(0, 400)", self.ROUND, ""))
        self.assertTrue(len(loops) == 2 or loops == [(None, None)], loops)
        loops, _ = self.marks(text % ("", self.ROUND, "JOULE_LOOP(1, 512)"))
        self.assertTrue(len(loops) == 2 or loops == [(None, None)], loops)

    def test_refused_mark_gets_a_hint(self):
        text = "void f(void) { bool has_changed = true;\nJOULE_LOOP(1, 512)\nwhile (has_changed) {\nhas_changed = false;\nfor (int i = 0; i < 400; i++) {\n%s}\n}\n}\n"
        message = self.report(text % self.ROUND)["stderr"]
        self.assertTrue(not message or "write each loop on a line of its own, or move the inner loop to a function that is not inlined [JW0105]" in message, message)

    def test_loop_that_continues_only_by_a_break_is_not_bounded(self):
        """In LLVM IR the two loops look like one loop that resets its counter, so neither mark bounds it."""
        text = """void f(void) { bool has_changed = true;
    JOULE_LOOP(1, 512)
    while (has_changed) {
        has_changed = false;
        %s
        for (int i = 0; i < 400; i++) {
            unsigned short a = lowest[roads[i].a], b = lowest[roads[i].b];
            if (a == b)
                continue;
            has_changed = true;
            lowest[roads[i].a] = lowest[roads[i].b] = a < b ? a : b;
            break;
        }
    } }
"""
        self.assertEqual(self.marks(text % ""), ([(None, None)], 1))
        self.assertEqual(self.marks(text % "JOULE_LOOP(1, 400)"), ([(None, None)], 2))

    def test_one_that_sets_its_count_back(self):
        text = """void f(void) {
    JOULE_LOOP(50, 1000)
    for (int i = 0; i < 400;)
        if (data[i] > 7) {
            data[i] = 0;
            i = 0;
        } else {
            i++;
        }
}
"""
        self.assertEqual(self.marks(text), ([([50, 1000], 1000)], 0))

    def test_one_that_llvm_made_two(self):
        text = """int f(int n) { int run = 0, i = 0;
    JOULE_LOOP(50, 1000)
    for (;;) {
        if (data[i++] == n) {
            if (++run == 5)
                break;
        } else {
            count[2]++;
            run = 0;
        }
    }
    return i; }
"""
        loops, refused = self.marks(text)
        self.assertEqual(([mark for mark, _ in loops], refused), ([[50, 1000]] * len(loops), 0))
        self.assertEqual(loops[0][1], 1000)

    def test_a_goto_around(self):
        text = """void f(void) { int i;
again:
    i = 41;
    JOULE_LOOP(1, 41)
    while (i-- > 0)
        if (data[i + 1] > 7) { data[i + 1] = 0; goto again; }
}
"""
        self.assertEqual(self.marks(text), ([(None, None)], 1))
        text = """int f(const int *x, int n) { int s;
retry:
    s = 1;
    JOULE_LOOP(1, 64)
    for (int i = 0; i < n; i++) s ^= x[i] * s;
    if (s == 3) { count[0]++; goto retry; }
    return s; }
"""
        self.check_refused(text, [1, 64], None)

    def test_a_branch_around_is_no_guard(self):
        """A mark states the iterations for each entry into the loop. If a branch skips the loop, the total is
        lower, but the count for each entry is the same."""
        text = """int f(const unsigned char *x, int n) { int s = 1;
for (int i = 0; i < 40; i++) {
    if (x[i] < %s)
        continue;
    JOULE_LOOP(22, 22)
    while (data[s]) s = data[s] ^ n;
}
return s; }
"""
        low, likely, high = self.loops(text % "9")[1]["iterations"]
        self.assertEqual((low, high), (0, 40 * 22))
        self.assertLess(likely, 40 * 20)
        text = """void f(const int *a, const int *b, unsigned *sum) {
    if (a[3]) return;
    JOULE_LOOP(3, 64)
    for (int j = 0; b[j]; j++) *sum = *sum * 3 + b[j]; }
"""
        self.assertEqual(self.loops(text)[0]["iterations"][0], 0)

    def test_a_ring_in_one_loop(self):
        """In LLVM IR this one loop looks like two loops. The source has only one loop keyword, so the mark is
        used."""
        text = """int f(void) { int i = 0, s = 0;
    JOULE_LOOP(50, 1000)
    for (;;) {
        s += next();
        data[i] = s;
        if (++i == 400) {
            i = 0;
            if (next() == 7)
                break;
        }
    }
    return s; }
"""
        self.assertEqual(self.marks(text), ([([50, 1000], 1000)], 0))


class Warmth(Source):
    def test_warm_machine_needs_more_energy(self):
        """A warm machine has more leakage: the same work takes more energy, and the report gives the
        temperature."""
        found = self.report('JOULE_THERMAL_AWARE JOULE_BUDGET("max_joules=1pJ") int a' + WORK + 'JOULE_BUDGET("max_joules=1pJ") int b' + WORK)
        a, b = found["functions"]["a"], found["functions"]["b"]
        self.assertTrue(a["thermal_aware"] and not b["thermal_aware"])
        self.assertTrue(0 < a["warmer_kelvin"] < 100 and b["warmer_kelvin"] == 0)
        self.assertLess(b["energy_joules"], a["energy_joules"])
        self.assertEqual(found["stderr"].count("relative to the temperature of the table, caused by its own power"), 1)

    def test_thermal_states_change_the_energy(self):
        joules = []
        for state, kelvin in (("cool", -20), ("-10K", -10), ("nominal", 0), ("warm", 15), ("+20", 20), ("hot", 30)):
            found = self.report('JOULE_BUDGET("max_joules=1pJ") int f' + WORK, "--thermal-state", state)
            self.assertEqual(found["functions"]["f"]["warmer_kelvin"], kelvin)
            self.assertEqual("set by --thermal-state" in found["stderr"], kelvin != 0)
            joules.append(found["functions"]["f"]["energy_joules"])
        self.assertEqual(joules, sorted(joules))
        for wrong in ("boiling", "300K", "K", ""):
            done = self.compile("int f" + WORK, "--energy-check", "--thermal-state=" + wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--thermal-state must be cool, nominal, warm, hot, or a difference", done.stderr)


class Devices(Source):
    TEXT = 'JOULE_GPU_KERNEL JOULE_BUDGET("max_joules=1pJ") int k' + WORK + 'JOULE_BUDGET("max_joules=1nJ") int f(const int *x) { return k(x) + 1; }\n'

    def test_a_gpu_is_not_judged_as_a_cpu(self):
        found = self.report(self.TEXT)
        kernel, caller = found["functions"]["k"], found["functions"]["f"]
        self.assertEqual((kernel["device"], kernel["energy_joules"], kernel["verdict"], kernel["loops"]), ("gpu", None, "undecided", []))
        self.assertEqual((caller["device"], caller["verdict"]), ("cpu", "undecided"))
        self.assertIn("note: 'k' runs on a GPU: its budget is not checked; measure it with joule run [JN0201]", found["stderr"])

    def test_strict_policy_refuses_budgets_of_gpu_code(self):
        done = self.compile(self.TEXT, "--energy-policy=strict")
        self.assertEqual(done.returncode, 3)
        self.assertIn("error: 'k' runs on a GPU", done.stderr)


class Files(Source):
    def test_a_file_has_a_budget(self):
        """A file's budget applies to the total of all its functions. A callee counts once, in its caller."""
        text = "static __attribute__((noinline)) int g" + WORK + "int a(const int *x) { return g(x) + 1; }\nint b(const int *x) { return g(x) + 2; }\n"
        found = self.report(text)
        a, b, g = (found["functions"][name]["energy_joules"] for name in "abg")
        self.assertAlmostEqual(found["total_energy_joules"] / (a + b), 1, delta=1e-9)
        self.assertLess(g, a)
        self.assertNotIn("file_budget", found)
        for part, code in ((1e-4, 1), (1e4, 0)):
            limit = f"{(a + b) * part * 1e9:.6g}nJ"
            found = self.report(text, "--energy-budget", limit)
            self.assertEqual(found["file_budget"]["verdict"] == "violated", code == 1, limit)
            done = self.compile(text, "--energy-budget", limit)
            self.assertEqual(done.returncode, code)
            self.assertEqual("error: energy budget is exceeded in the whole file [JE0001]" in done.stderr, code == 1)
            self.assertEqual(" of the joules in one call of 'a'" in done.stderr, code == 1)

    def test_inlined_work_counts_for_its_caller(self):
        found = self.report("int leaf" + WORK + "int middle(const int *x) { { int k = leaf(x); return k + 1; } }\n"
                            "int top(const int *x) { return middle(x) + 1; }\nint alone(const int *x) { return x[3]; }\n")
        top, alone = (found["functions"][name]["energy_joules"] for name in ("top", "alone"))
        self.assertAlmostEqual(found["total_energy_joules"] / (top + alone), 1, delta=1e-9)

    def test_functions_that_call_each_other_count(self):
        found = self.report("int g(int n);\n__attribute__((noinline)) int f(int n) { return n < 2 ? n : g(n / 2) + g(n / 3); }\n"
                            "__attribute__((noinline)) int g(int n) { return n < 2 ? n : f(n - 1) * f(n - 2); }\n")
        self.assertGreater(found["total_energy_joules"], 0)

    def test_wrong_options_are_refused(self):
        for words, message in ((["--energy-budget", "5W"], "unknown unit"), (["--energy-budget=-1nJ"], "energy cannot be negative"),
                               (["--energy-budget=0nJ"], "--energy-budget must be above 0")):
            done = self.compile("int x;\n", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)



class Depth(Source):
    TEXT = """JOULE_DEPTH(10) int once(int n) { return n < 2 ? n : n / 3 * once(n - 1) + 1; }
#define LEVELS 5
JOULE_DEPTH(2 * LEVELS) int twice(int n) { return n < 2 ? n : twice(n - 1) + twice(n - 2); }
JOULE_DEPTH(10) int tail(const int *x, int n) { return n < 2 ? 7 : tail(x + x[n], x[n - 1]); }
struct t { struct t *k[8]; int v; };
JOULE_DEPTH(4) int tree(const struct t *t) { int s = t->v; JOULE_LOOP(0, 8) for (int i = 0; t->k[i]; i++) s += tree(t->k[i]) ^ s; return s; }
int odd(int n);
__attribute__((noinline)) JOULE_DEPTH(6) int even(int n) { return n == 0 ? 1 : odd(n - 3) * 3 + 1; }
__attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : even(n - 1) * 5 + 2; }
int plain(int n) { return n < 2 ? n : plain(n - 1) * n + plain(n - 2); }
JOULE_DEPTH(100) int deep(int n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
JOULE_BUDGET("max_joules=1mJ") int user(int n) { return once(n) + twice(n); }
JOULE_BUDGET("max_joules=1mJ") int open(int n) { return plain(n); }
"""

    def test_recursion_depth_gives_the_number_of_frames(self):
        """If a function with depth n calls itself once, there are up to n frames. If it calls itself several
        times, the number of frames is a geometric sum, for example 2^10 - 1. A tail call counts as a call, as
        in the source."""
        found = self.report(self.TEXT)
        frames = {name: function["frames"] for name, function in found["functions"].items()}
        self.assertEqual(frames, {"once": [1, 5, 10], "twice": [1, 31, 1023], "tail": [1, 5, 10], "tree": [1, 9, 585], "even": [1, 3, 6],
                                  "odd": [1, 4, 7], "plain": [1, 1, None], "deep": [1, 50, None], "user": [1, 1, 1], "open": [1, 1, 1]})
        doubts = {name: [doubt["kind"] for doubt in function["doubts"]] for name, function in found["functions"].items() if function["doubts"]}
        self.assertEqual(doubts["deep"], ["frames"])
        self.assertEqual(doubts["plain"], ["loop", "recursion"])
        self.assertEqual(found["functions"]["user"]["verdict"], "likely")
        self.assertEqual(found["functions"]["open"]["verdict"], "undecided")

    def test_depth_of_recursion_in_a_loop_is_assumed(self):
        """If the recursion starts in a loop, each order of magnitude of the depth is equally likely, as for
        the count of an inner loop. The assumed number of frames is then 31 instead of 256."""
        text = """JOULE_DEPTH(511) unsigned root(unsigned short *up, unsigned i) { if (up[i] != i) up[i] = root(up, up[i]); return up[i]; }
unsigned once(unsigned short *up) { return root(up, 7); }
"""
        again = "unsigned all(unsigned short *up, unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s ^= root(up, i); return s; }\n"
        for more, likely in (("", 256), (again, 31)):
            self.assertEqual(self.functions(text + more)["root"]["frames"], [1, likely, 511])

    def test_more_than_can_be_counted(self):
        """The maximum numbers of children (999) and levels (40) of a tree are known, but a tree with both
        maxima everywhere cannot exist. The number of frames therefore has no upper end."""
        text = """struct t { struct t *first, *next; int v; };
JOULE_DEPTH(40) int walk(const struct t *t) { int s = t->v; JOULE_LOOP(0, 999) for (t = t->first; t; t = t->next) s += walk(t) ^ s; return s; }
JOULE_BUDGET("max_joules=1mJ") int user(const struct t *t) { return walk(t); }
"""
        found = self.functions(text)
        walk, user = found["walk"], found["user"]
        self.assertEqual(walk["frames"], [1, 1000, None])
        # Each node except the root is the child of one node, so a node has about one child on average.
        self.assertEqual([loop["iterations_each"][1] for loop in walk["loops"]], [1])
        self.assertEqual((walk["interval_joules"][1], user["interval_joules"][1], user["budget_probability"]), (None, None, None))
        self.assertTrue(1 <= user["energy_joules"] / walk["energy_joules"] < 1.1)
        self.assertEqual(user["verdict"], "undecided")

    def test_calls_are_no_more(self):
        """Compares with execution: calls are as deep as stated, and no deeper."""
        text = """#include <stdio.h>
int calls[2];
JOULE_DEPTH(10) int twice(int n) { calls[0]++; return n < 1 ? n : twice(n - 1) + twice(n - 1); }
int even(int n);
__attribute__((noinline)) int odd(int n) { return n < 1 ? n : even(n - 1) + even(n - 1) + even(n - 1); }
__attribute__((noinline)) JOULE_DEPTH(5) int even(int n) { calls[1]++; return n < 1 ? n : odd(n); }
int main(void) { twice(9); even(4); printf("%d %d\\n", calls[0], calls[1]); }
"""
        frames = {name: function["frames"][2] for name, function in self.functions(text).items()}
        program = self.path("count")
        subprocess.run([JOULEC, self.path("a.c"), "-I", INCLUDE, "-o", program], check=True)
        calls = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual([frames["twice"], frames["even"]], list(map(int, calls)))

    def test_missing_depth_gets_a_hint(self):
        done = self.compile('JOULE_BUDGET("max_joules=1uJ") int f(int n) { return n < 2 ? n : f(n - 1) * n + f(n - 2) / 3; }\n', "--energy-check")
        self.assertIn("'f' is recursive, here and in 1 more call, and its depth is unknown: write JOULE_DEPTH(n) before it", done.stderr)
        done = self.compile('JOULE_BUDGET("max_joules=1uJ") int f(int a, int b) { return b ? f(b, a % b) : a; }\n', "--energy-check")
        self.assertIn("if it is a tail call of 'f', write JOULE_DEPTH(n) before 'f'", done.stderr)

    def test_wrong_depths_are_refused(self):
        for number, words in (("n", "'n' is not a whole number"), ("0", "expected a number from 1 to 1000000"), ("2000000", "expected a number from 1 to 1000000")):
            done = self.compile(f"JOULE_DEPTH({number}) int f(int n) {{ return n ? f(n - 1) * n : 0; }}\n", "--energy-check")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"JOULE_DEPTH({number}) of 'f': {words}", done.stderr)
            self.assertIn("[JE0006]", done.stderr)


if __name__ == "__main__":
    main()
