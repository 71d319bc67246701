#!/usr/bin/env python3
"""Checks profiles: a program built by joulec counts as it runs, and its output gives the trip counts of its
loops."""
import json
import os
import subprocess

from joulec_support import Folder, INCLUDE, has_sanitizer, main
from run_support import JOULE

SOURCE = """#include <joule/budget.h>
#include <stdio.h>
volatile int sink;
#define FN __attribute__((noinline)) int
JOULE_BUDGET("max_joules=5mJ")
FN list(const int *x) { int s = 0; while (*x) s += *x++; return s; }
FN find(const int *x, int n, int y)
{
    for (int i = 0; i < n; i++)
        if (x[i] == y)
            return i;
    return -1;
}
FN once_more(const int *n) { int i = 0; do sink = i++; while (i < *n); return i; }
FN pairs(const int *n, const int *m)
{
    int s = 0;
    for (int i = 0; i < *n; i++)
        for (int k = 0; k < *m; k++)
            s += sink;
    return s;
}
FN rare(int n)
{
    int s = sink;
    if (n == 3)
        for (int i = 0; i < sink + 1000; i++)
            s += sink;
    return s;
}
FN exact(void) { int s = 0; for (int i = 0; i < 40; i++) s += sink; return s; }
FN never(const int *n) { int s = 0; for (int i = 0; i < *n; i++) s += sink; return s; }
struct node { struct node *first, *next; };
JOULE_BUDGET("max_joules=5mJ")
FN walk(const struct node *n) { int s = sink; for (n = n->first; n; n = n->next) s += walk(n); return s; }
FN odd(int n);
FN even(int n) { return n == 0 ? 1 : 2 + odd(n - 1) * 3; }
FN odd(int n) { return n == 0 ? 0 : 3 + even(n - 1) * 5; }
JOULE_DEPTH(4) FN deep(int n) { return n == 0 ? sink : deep(n - 1) * sink + deep(n - 1); }
static struct node nodes[41]; /* one with eight in it, each of them with four */
int main(int argc, char **argv)
{
    for (int i = 1; i < 41; i++) {
        struct node *in = &nodes[i < 9 ? 0 : (i - 9) / 4 + 1];
        nodes[i].next = in->first;
        in->first = &nodes[i];
    }
    int x[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}, s = 0, ten = 10, four = 4;
    for (int k = 0; k < 7; k++)
        s += list(x) + find(x, 10, k + 1) + once_more(&ten) + pairs(&four, &ten) + rare(k) + exact() + walk(nodes) + even(9) + deep(2);
    printf("%d\\n", s + (argc > 5 ? never(&argc) : 0));
    return 0;
}
"""


class Profile(Folder):
    def setUp(self):
        super().setUp()
        self.count(SOURCE)

    def joulec(self, *words):
        return super().joulec("-I", INCLUDE, "-O2", *words)

    def count(self, text):
        """Runs a program with a profile."""
        self.write("a.c", text)
        done = self.joulec("--profile-generate", "a.c", "-o", "program")
        if done.returncode and "clang_rt.profile" in done.stderr:
            self.skipTest("this clang has no runtime for profiles")
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([self.path("program")], cwd=self.folder, capture_output=True, check=True)

    def report(self, *words):
        done = self.joulec("--energy-report", "r.json", *words, "-c", "a.c", "-o", "a.o")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.report_in("r.json")["functions"], done.stderr

    def loops(self, found, name):
        return [(loop["class"], loop["iterations_each"][1]) for loop in found[name]["loops"]]

    def test_trip_counts_come_from_the_profile(self):
        plain, _ = self.report()
        found, errors = self.report("--profile-use")
        self.assertEqual({loop[0] for name in ("list", "once_more", "rare") for loop in self.loops(plain, name)}, {"guessed"})
        self.assertEqual(self.loops(found, "list"), [("profiled", 10)])
        self.assertEqual(self.loops(found, "find"), [("profiled", 4)])
        self.assertEqual(self.loops(found, "once_more"), [("profiled", 10)])
        self.assertEqual(self.loops(found, "pairs"), [("profiled", 4), ("profiled", 10)])
        self.assertEqual(self.loops(found, "rare"), [("profiled", 1009)])  # 1000 and the value of sink, which is 9
        self.assertEqual(self.loops(found, "exact"), [("exact", 40)])
        self.assertEqual(self.loops(found, "never"), [("guessed", 100)])
        self.assertEqual((plain["list"]["verdict"], found["list"]["verdict"]), ("undecided", "likely"))
        self.assertNotIn("JW0104", errors)

    def test_calls_of_itself_are_as_many_as_was_seen(self):
        plain, _ = self.report()
        found, _ = self.report("--profile-use")
        frames = {name: function["frames"] for name, function in found.items()}
        self.assertEqual(plain["walk"]["frames"], [1, 1, None])
        self.assertEqual([doubt["kind"] for doubt in plain["walk"]["doubts"]], ["loop", "recursion"])
        self.assertEqual(found["walk"]["doubts"], [])
        self.assertEqual({name: frames[name] for name in ("walk", "even", "odd")},
                         {"walk": [1, 41, 51.25], "even": [1, 5, 6.25], "odd": [1, 5, 6.25]})
        self.assertEqual(frames["deep"], [1, 7, 15])  # the code bounds this depth
        self.assertEqual((plain["walk"]["verdict"], found["walk"]["verdict"]), ("undecided", "likely"))
        self.assertTrue(20 < found["walk"]["energy_joules"] / plain["walk"]["energy_joules"] < 60)

    def test_calls_that_become_a_loop_are_as_many_as_was_seen(self):
        """LLVM turns all recursive calls of a list traversal into iterations of a loop, and half of the calls
        of a tree traversal. The remaining calls are counted as frames."""
        self.count("""#include <joule/budget.h>
#include <stdlib.h>
#define FN __attribute__((noinline)) long
struct node { struct node *left, *right; long value; };
JOULE_BUDGET("max_joules=1mJ") FN total(const struct node *n) { return n ? n->value + total(n->right) : 0; }
JOULE_BUDGET("max_joules=20mJ") FN walk(const struct node *n) { return n ? n->value + walk(n->left) + walk(n->right) : 0; }
static struct node nodes[1023];
int main(void)
{
    for (int i = 0; i < 511; i++)
        nodes[i] = (struct node){&nodes[2 * i + 1], &nodes[2 * i + 2], i};
    return total(nodes) + walk(nodes) == 3;
}
""")
        plain = self.joulec("--energy-check", "-c", "a.c", "-o", "a.o").stderr
        self.assertIn("is assumed to run once: ", plain)
        self.assertIn("write JOULE_DEPTH(n) before 'walk'", plain)
        found, errors = self.report("--profile-use")
        self.assertEqual(errors.count("has no bound"), 0, errors)
        self.assertEqual(self.loops(found, "total"), [("profiled", 11)])
        self.assertEqual(self.loops(found, "walk"), [("profiled", 1)])
        self.assertEqual(found["walk"]["frames"][1], 2047)
        self.assertEqual((found["total"]["verdict"], found["walk"]["verdict"]), ("likely", "likely"))

    def test_profile_gives_no_bounds(self):
        """A call may be longer than any that was profiled, so its budget is never reported as certain to be
        exceeded."""
        self.count("""#include <joule/budget.h>
#include <stdlib.h>
#define FN __attribute__((noinline)) int
JOULE_BUDGET("max_joules=1mJ") FN sum(const int *x, long n) { int s = 0; for (long i = 0; i < n; i++) s += x[i] ^ (s >> 1); return s; }
JOULE_BUDGET("max_joules=1mJ") FN once(int n) { return n * 3 + 1; }
int main(int count, char **words)
{
    long n = count > 1 ? atol(words[1]) : 10;
    return sum(calloc(n, 4), n) + once(count) == 0;
}
""")
        done = self.joulec("--energy-check", "--profile-use", "a.c", "-o", "program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("max_joules of 'sum' can never be exceeded", done.stderr)
        self.assertIn("max_joules of 'once' can never be exceeded", done.stderr)
        if has_sanitizer():
            return  # a program without a sanitizer may not run with a libjoule that has one
        subprocess.run([JOULE, "run", "--json", "run.json", "--", self.path("program"), "2000000"], cwd=self.folder, capture_output=True, check=True)
        found = self.report_in("run.json")["functions"]
        self.assertEqual({name: f["counted"] for name, f in found.items()}, {"sum": False, "once": True})

    def test_branch_probabilities_come_from_the_profile(self):
        """In the profile, one call of `rare` in seven runs the loop. Its energy must therefore be between 1
        and 10 times that of `exact`."""
        found, _ = self.report("--profile-use")
        rare, exact = found["rare"]["energy_joules"], found["exact"]["energy_joules"]
        self.assertTrue(1 < rare / exact < 10, (rare, exact))

    def test_calls_of_itself_behind_two_colons(self):
        """The recursive call is behind two operators `?:`. clang 14 counts the second operator wrongly, so no
        frames are known. Other versions may count correctly."""
        self.count("__attribute__((noinline)) int f(int n) { return n < 0 ? 3 : n < 2 ? n : f(n - 1) * 3 + 1; }\n"
                   "int main(void) { int s = 0; for (int i = 0; i < 100; i++) s += f(i < 60 ? -1 : 5); return s < 0; }\n")
        found, _ = self.report("--profile-use")
        self.assertIn(found["f"]["frames"], ([1, 1, None], [1, 2.6, 3.25]))

    def test_two_loops_of_which_llvm_makes_one(self):
        """LLVM merges the two loops into one. The profile has counts of both loops, and the merged loop must
        use neither. Other versions of LLVM do not merge the loops."""
        self.count("""#include <stdbool.h>
unsigned short lowest[512]; struct { unsigned short a, b; } roads[400];
__attribute__((noinline)) void passes(void)
{
    bool more = true;
    while (more) {
        more = false;
        for (int i = 0; i < 400; i++) {
            unsigned short a = lowest[roads[i].a], b = lowest[roads[i].b];
            if (a == b)
                continue;
            more = true;
            lowest[roads[i].a] = lowest[roads[i].b] = a < b ? a : b;
        }
    }
}
int main(void)
{
    for (int i = 0; i < 512; i++)
        lowest[i] = (unsigned short)i;
    for (int i = 0; i < 400; i++) {
        roads[i].a = (unsigned short)(400 - i);
        roads[i].b = (unsigned short)(399 - i);
    }
    passes(); /* each number moves by one place, and the last pass changes nothing */
}
""")
        found, _ = self.report("--profile-use")
        loops = found["passes"]["loops"]
        rounds = [loop["iterations_each"][1] for loop in loops]
        if len(rounds) == 1:
            self.assertEqual((loops[0]["class"], loops[0]["iterations"][2]), ("guessed", None))
        else:
            self.assertTrue(len(rounds) == 2 and 100 < rounds[0] < 402 and rounds[1] in (400, 401), rounds)

    def merge(self, runs=1):
        merged = self.path("merged.profdata")
        words = ["merge", "-o", merged, f"-weighted-input={runs},{self.path('default.profraw')}"]
        for tool in ("llvm-profdata", "llvm-profdata-14", "llvm-profdata-19"):
            try:
                if subprocess.run([tool, *words], capture_output=True, check=False).returncode == 0:
                    return merged
            except FileNotFoundError:
                continue
        self.skipTest("there is no llvm-profdata by name")

    def test_calls_of_itself_in_very_many_runs(self):
        """LLVM scales counts above 32 bits before joulec reads them, with a different divisor for each
        branch."""
        for runs, seen in ((1000, [1, 41, 51.25]), (10**10, [1, 1, None])):
            found, _ = self.report(f"--profile-use={self.merge(runs)}")
            self.assertEqual(found["walk"]["frames"], seen)

    def test_a_merged_profile_and_a_database(self):
        merged = self.merge()
        found, _ = self.report(f"--profile-use={merged}")
        self.assertEqual(self.loops(found, "list"), [("profiled", 10)])
        command = {"directory": self.folder, "file": "a.c", "arguments": ["cc", "-I", INCLUDE, "-c", "a.c"]}
        self.write("compile_commands.json", json.dumps([command]))
        done = self.joulec("--energy-database", "compile_commands.json", f"--profile-use={merged}", "--energy-report", "all.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.loops(self.report_in("all.json")["functions"], "list"), [("profiled", 10)])

    def test_clangs_own_profile_options_go_on(self):
        done = self.joulec("-fprofile-instr-generate", "--energy-check", "--energy-run=no", "a.c", "-o", "other")
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([self.path("other")], cwd=self.folder, capture_output=True, check=True,
                       env={**os.environ, "LLVM_PROFILE_FILE": "other.profraw"})
        self.assertTrue(os.path.exists(self.path("other.profraw")))

    def test_profile_of_another_version_is_refused(self):
        self.write("a.c", SOURCE.replace("while (*x) s += *x++;", "while (*x) { if (*x > 3) s += *x; x++; }"))
        found, errors = self.report("--profile-use")
        self.assertIn("the profile has no counts for the current version of 'list'", errors)
        self.assertIn("[JW0104]", errors)
        self.assertEqual(self.loops(found, "list"), [("guessed", 100)])
        self.assertEqual(self.loops(found, "once_more"), [("profiled", 10)])

    def test_wrong_options_and_files_are_refused(self):
        for words, message in ((["--profile-use"], "needs --energy-check or --energy-report FILE"), (["--energy-check", "--profile-use="], "needs the file"),
                               (["--energy-check", "--profile-use=none"], "writes default.profraw"), (["--profile-generate=x"], "takes no value"),
                               (["--energy-check", "--profile-use=a.c"], "cannot use a.c")):
            done = self.joulec(*words, "-c", "a.c", "-o", "wrong.o")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse(os.path.exists(self.path("wrong.o")))

    def test_damaged_profiles_are_refused(self):
        with open(self.path("default.profraw"), "rb") as file:
            good = file.read()
        for number in range(24):
            bad = bytearray(good)
            if number < 8:
                del bad[len(bad) * number // 8:]
            else:
                for i in range(number * 7 % 40 + 8, len(bad), 53 + number):
                    bad[i] ^= 1 << (number + i) % 8
            with open(self.path("bad.profraw"), "wb") as file:
                file.write(bad)
            done = self.joulec("--energy-check", "--profile-use=bad.profraw", "-c", "a.c", "-o", "b.o")
            self.assertIn(done.returncode, (0, 2, 125), done.stderr)
            if done.returncode:
                self.assertRegex(done.stderr, "joulec: .*profile")


if __name__ == "__main__":
    main()
