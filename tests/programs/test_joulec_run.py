#!/usr/bin/env python3
"""Checks programs whose functions have budgets, built by joulec and run: the energy of each call, for every
kind of exit.
"""
import glob
import json
import os
import signal
import subprocess
import time

from joulec_support import Folder, INCLUDE, JOULEC, main
from run_support import JOULE

HEAD = """#include <joule/budget.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#define WATCHED JOULE_BUDGET("max_joules=50mJ") __attribute__((noinline))
volatile double sink;
static void burn(int n)
{
    for (int i = 0; i < n; i++)
        sink += i;
}
"""


class Run(Folder):
    def setUp(self):
        super().setUp()
        self.scratch = self.path("scratch")
        os.mkdir(self.scratch)

    def joulec(self, *words):
        done = super().joulec("--energy-check", "-I", INCLUDE, *words, TMPDIR=self.scratch)
        self.assertEqual(os.listdir(self.scratch), [])
        return done

    def build(self, text, *options):
        program = self.path("program")
        done = self.joulec("-O2", *options, self.write("p.c", HEAD + text), "-o", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def functions(self, program, expected=0):
        """Runs the program. Returns the report's functions by name."""
        done = subprocess.run([JOULE, "run", "--json", "report.json", "--", program], capture_output=True, text=True, check=False,
                              cwd=self.folder)
        self.assertEqual(done.returncode, expected, done.stderr)
        return self.report_in("report.json")["functions"]

    def test_each_call_counts(self):
        found = self.functions(self.build("""
WATCHED int work(int n) { burn(n); return n; }
WATCHED static int inner(int n) { burn(n); return n; }
WATCHED int again(int n) { burn(20000); return n ? again(n - 1) + 1 : 0; }
int main(void) { int s = again(4); for (int i = 0; i < 30; i++) s += i % 3 ? work(20000) : inner(20000); return s != 0 ? 0 : 1; }
"""))
        self.assertEqual({name: f["count"] for name, f in found.items()}, {"work": 20, "inner": 10, "again": 5})
        for f in found.values():
            self.assertFalse(f["counted"])
            self.assertAlmostEqual(f["budget_joules"], 0.05 * f["count"])
            self.assertGreater(f["stamps_joules"], 0)
            self.assertLess(f["stamps_joules"], f["energy_joules"])

    def test_without_a_parent_too(self):
        program = self.build("WATCHED void work(void) { burn(100000); } int main(void) { for (int i = 0; i < 7; i++) work(); return 0; }")
        done = subprocess.run([program], env=dict(os.environ, JOULE_ENERGY_JSON="1"), capture_output=True, text=True, check=True)
        functions = json.loads(done.stderr)["functions"]
        self.assertEqual([(f["name"], f["count"]) for f in functions], [("work", 7)])
        plain = subprocess.run([program], capture_output=True, text=True, check=True)
        self.assertEqual(plain.stderr, "")

    def test_however_it_is_left(self):
        found = self.functions(self.build("""
static jmp_buf back;
static void deep(int n) { if (!n) longjmp(back, 1); burn(10); deep(n - 1); burn(1); }
WATCHED void jumps(void) { burn(20000); deep(5); }
WATCHED int tries(void) { burn(20000); if (setjmp(back) == 0) jumps(); burn(200000); return 1; }
WATCHED void leaves(void) { burn(20000); exit(3); }
WATCHED void outer(void) { burn(20000); leaves(); }
int main(void) { for (int i = 0; i < 10; i++) tries(); outer(); }
"""), expected=3)
        self.assertEqual({name: f["count"] for name, f in found.items()}, {"jumps": 10, "tries": 10, "leaves": 1, "outer": 1})
        self.assertLess(found["jumps"]["duration_seconds"], 0.7 * found["tries"]["duration_seconds"])

    def test_a_jump_over_another_file(self):
        self.write("h.h", "#include <setjmp.h>\nextern jmp_buf back; void jumps(void);\n")
        a = self.write("a.c", HEAD + '#include "h.h"\nWATCHED void jumps(void) { burn(20000); longjmp(back, 1); }\n')
        b = self.write("b.c", '#include "h.h"\njmp_buf back; int main(void) { for (volatile int i = 0; i < 9; i++) if (!setjmp(back)) jumps(); }\n')
        done = self.joulec("-O2", a, b, "-o", "both")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.functions(self.path("both"))["jumps"]["count"], 9)

    def test_setjmp_alone_needs_no_library(self):
        source = self.write("s.c", "#include <setjmp.h>\nint main(void) { jmp_buf b; if (setjmp(b)) return 4; longjmp(b, 1); }\n")
        done = self.joulec("-O2", source, "-o", "s")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(subprocess.run([self.path("s")], check=False).returncode, 4)
        needed = subprocess.run(["readelf", "-d", self.path("s")], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libjoule", needed)

    def test_short_ones_are_counted(self):
        found = self.functions(self.build("""
JOULE_BUDGET("max_joules=1mJ") int tiny(int a) { return a * 3 + 1; }
int main(void) { int s = 0; for (int i = 0; i < 1234567; i++) s ^= tiny(i); printf("%d", s); return 0; }
"""))
        tiny = found["tiny"]
        self.assertEqual((tiny["count"], tiny["counted"], tiny["duration_seconds"], tiny["status"]), (1234567, True, None, "within_budget"))
        self.assertIn(tiny["class"], ("assumed", "modelled"))

    def test_short_ones_of_a_slow_build_are_stamped(self):
        found = self.functions(self.build("""
JOULE_BUDGET("max_joules=1mJ") int tiny(int a) { return a * 3 + 1; }
int main(void) { int s = 0; for (int i = 0; i < 100; i++) s ^= tiny(i); printf("%d", s); return 0; }
""", "-O0"))
        self.assertEqual((found["tiny"]["count"], found["tiny"]["counted"]), (100, False))

    def test_excess_at_run_time_is_reported(self):
        """The run shows an excess that the compiler cannot predict."""
        program = self.build("""
JOULE_BUDGET("max_joules=1uJ") __attribute__((noinline)) void work(int n) { burn(n); }
int main(int count, char **words) { (void)words; for (int i = 0; i < 20; i++) work(count * 3000000); return 0; }
""")
        self.assertEqual(self.functions(program)["work"]["status"], "over_budget")
        warned = subprocess.run([program], env=dict(os.environ, JOULE_BUDGET_WARN="1", JOULE_ENERGY_JSON="1"), capture_output=True,
                                text=True, check=True)
        self.assertRegex(warned.stderr, r"joule: work uses .* per call .*mean of \d+ calls\); its budget is max_joules=1uJ")

    def test_as_clang_builds(self):
        a = self.write("s/a.c", HEAD + '#include "h.h"\nWATCHED int work(int n) { burn(n); return n; }\n')
        b = self.write("s/b.c", '#include "h.h"\nint main(void) { return work(20000) == 20000 ? 0 : 1; }\n')
        self.write("s/h.h", "int work(int);\n")
        rules = {}
        for compiler in ([JOULEC, "-I", INCLUDE], [JOULEC, "--energy-check", "-I", INCLUDE]):
            subprocess.run([*compiler, "-O2", "-MMD", "-MP", "-c", "s/a.c", "s/b.c"], check=True, cwd=self.folder,
                           capture_output=True)
            subprocess.run([*compiler, "-O2", "-MD", "-c", "s/a.c", "-o", "other.o"], check=True, cwd=self.folder,
                           capture_output=True)
            rules[compiler[1]] = [self.read(name) for name in ("a.d", "b.d", "other.d")]
        self.assertEqual(*rules.values())
        for options in (["-O0", "-g"], ["-O2", "-flto", "-fuse-ld=lld"], ["-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror=all"],
                        ["-include", "stddef.h"], ["-fprofile-instr-generate"], ["-fexceptions", "-fPIC"]):
            plain = subprocess.run([JOULEC, "-I", INCLUDE, *options, a, b, "-o", "p"], capture_output=True, check=False,
                                   cwd=self.folder)
            if plain.returncode:
                continue  # this clang lacks a library for the option, or a linker that can read its bitcode
            done = self.joulec(*options, a, b, "-o", "p")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.functions(self.path("p"))["work"]["count"], 1, options)
        self.assertEqual(self.joulec("-c", a, "-o", "a.o").returncode + self.joulec("-c", b, "-o", "b.o").returncode, 0)
        self.assertEqual(self.joulec("a.o", "b.o", "-o", "p").returncode, 0)
        self.assertEqual(self.functions(self.path("p"))["work"]["count"], 1)
        self.assertEqual(self.joulec("--energy-run=no", a, b, "-o", "p").returncode, 0)
        self.assertEqual(self.functions(self.path("p")), {})

    def test_an_end_by_signal_leaves_nothing(self):
        loops = "".join(f"for (int i{n} = 0; i{n} < n; i{n}++) s += x[i{n}] * {n};\n" for n in range(400))
        text = "".join(f"int f{k}(const int *x, int n) {{ int s = 0;\n{loops} return s; }}\n" for k in range(40))
        source = self.write("long.c", text)
        child = subprocess.Popen([JOULEC, "--energy-check", "-O2", "-c", source, "-o", self.path("long.o")], env=dict(os.environ, TMPDIR=self.scratch))
        deadline = time.monotonic() + 60
        while not os.path.exists(f"/proc/{child.pid}/task/{child.pid}/children") and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(60), -signal.SIGTERM)
        self.assertEqual(os.listdir(self.scratch), [])
        self.assertFalse(glob.glob(self.path("long.o*")))


if __name__ == "__main__":
    main(runs_what_it_builds=True)
