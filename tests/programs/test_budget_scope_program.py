#!/usr/bin/env python3
"""Checks JOULE_BUDGET_SCOPE in a compiled program on a machine of 50 W: the report, and the calls of
handlers.

Note: calls sleep for milliseconds. Budgets are thousands of times larger or smaller than the energy of such a
call, so a busy machine changes no verdict.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from run_support import JOULE, Machine, main, read_file, sanitizer_of

BUILD, SOURCE = os.environ["JOULE_BUILD"], os.environ["JOULE_SOURCE"]

SANITIZER = sanitizer_of(os.path.join(BUILD, "src", "libjoule.so"))
SANITIZE = [f"-fsanitize={SANITIZER}"] if SANITIZER else []  # a program must have the same sanitizers as libjoule
COMPILERS = {name: kind for name, kind in (("gcc", "c"), ("clang", "c"), ("g++", "c++"), ("clang++", "c++"))
             # libjoule was built with gcc's sanitizers, which differ from clang's.
             if shutil.which(name) and not (SANITIZE and name.startswith("clang"))}

PROGRAM = r"""
#include <joule/budget.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void rest(void)
{
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
}

/* Is left in every way: five regions in five calls. */
static int leave(int way)
{
    for (;;) {
        JOULE_BUDGET_SCOPE("max_joules=1kJ");
        if (way == 1)
            break;
        if (way == 2)
            goto out;
        if (way++ == 3)
            continue;
        return 2;
    }
out:
    return 0;
}

static int loose(int way)
{
    JOULE_BUDGET_SCOPE("max_joules=1kJ, per_call");
    rest();
    return way ? leave(way) : 1;
}

static void tight(void)
{
    JOULE_BUDGET_SCOPE("max_joules=1uJ");
    rest();
}

static void short_one(void)
{
    JOULE_BUDGET_SCOPE("max_joules=1nJ, max_watts=1kW");
}

static void wrong(void)
{
    JOULE_BUDGET_SCOPE("max_jouls=1J");
}

static void only_watts(void)
{
    JOULE_BUDGET_SCOPE("max_watts=1W");
}

static void print(const joule_budget_event *event, void *context)
{
    printf("%s|%s|%s|%s|%d\n", (const char *)context, event->name, joule_budget_status_name(event->status), event->message,
           event->count > 0 && event->joules.value > 0);
}

int main(int argc, char **argv)
{
    char told[] = "told";
    if (argc > 1 && strcmp(argv[1], "handler") == 0)
        joule_budget_set_handler(print, told);
    rest(); /* until the sensor has ticked */
    for (int i = 0; i < 60; i++) {
        loose(i % 5);
        tight();
        wrong();
        only_watts();
    }
    short_one();
    return 0;
}
"""

THROWS = r"""
#include <joule/budget.h>
static void thrower(int depth)
{
    JOULE_BUDGET_SCOPE("max_joules=1kJ");
    if (depth == 0)
        throw 1;
    thrower(depth - 1);
}
int main()
{
    for (int i = 0; i < 10; i++)
        try {
            thrower(3);
        } catch (int) {
        }
}
"""


class Scopes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not COMPILERS:
            raise unittest.SkipTest("there is no compiler")
        cls.work = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def build(self, compiler, text=PROGRAM):
        kind = COMPILERS[compiler]
        source, program = (os.path.join(self.work.name, name) for name in ("scope.source", f"scope-{compiler}"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        library = os.path.join(BUILD, "src")
        subprocess.run([compiler, "-x", kind, "-std=c11" if kind == "c" else "-std=c++11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
                        "-Wpedantic", "-Wshadow", "-Werror", *SANITIZE, f"-I{SOURCE}/include", source, "-o", program,
                        f"-L{library}", f"-Wl,-rpath,{library}", "-ljoule"], check=True)
        return program

    def run_on(self, machine, *command, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("JOULE_BUDGET")}
        return subprocess.run(command, env={**environment, "JOULE_ROOT": machine.root, **variables}, capture_output=True, text=True,
                              timeout=60, check=True)

    def report(self, program, *words, **variables):
        path = os.path.join(self.work.name, "report.json")
        with Machine(50) as machine:
            done = self.run_on(machine, program, *words, JOULE_ENERGY_JSON=path, **variables)
        return functions_of(path), done

    def check_functions(self, functions):
        if functions["short_one"]["duration_seconds"] > 50e-6:
            functions["short_one"]["status"] = "below_resolution"  # other processes used the CPU during the call
        self.assertEqual({name: (f["count"], f["status"]) for name, f in functions.items()},
                         {"loose": (60, "within_budget"), "leave": (60, "within_budget"), "tight": (60, "over_budget"),
                          "short_one": (1, "below_resolution"), "wrong": (60, None), "only_watts": (60, None)}, functions)
        self.assertAlmostEqual(functions["loose"]["budget_joules"], 60e3)
        self.assertAlmostEqual(functions["tight"]["budget_joules"], 60e-6)
        self.assertIsNone(functions["wrong"]["budget_joules"])
        self.assertGreater(functions["tight"]["energy_joules"], 60 * 0.005 * 50 * 0.8)
        self.assertLess(functions["tight"]["budget_probability"], 0.05)

    def test_reports_of_all_compilers(self):
        for compiler in COMPILERS:
            with self.subTest(compiler):
                functions, done = self.report(self.build(compiler))
                self.check_functions(functions)
                self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_handler_is_called_once_per_site(self):
        _, done = self.report(self.build(next(iter(COMPILERS))), "handler", JOULE_BUDGET_WARN="1")
        events = sorted(line.split("|") for line in done.stdout.splitlines())
        self.assertEqual([(origin, name.split(":")[0], status, known) for origin, name, status, _, known in events],
                         [("told", "only_watts", "not_measured", "0"), ("told", "tight", "over_budget", "1"),
                          ("told", "wrong", "not_measured", "0")], done.stdout)
        self.assertIn("max_joules", events[0][3])
        self.assertIn(", mean of ", events[1][3])
        self.assertIn("its budget is max_joules=1uJ", events[1][3])
        self.assertIn("column 1; did you mean max_joules?", events[2][3])
        self.assertEqual(done.stderr, "")

    def test_warnings_where_the_user_asks(self):
        program = self.build(next(iter(COMPILERS)))
        _, done = self.report(program, JOULE_BUDGET_WARN="1")
        lines = sorted(line.split(":")[1] for line in done.stderr.splitlines())
        self.assertEqual(lines, [" cannot watch the budget of only_watts", " cannot watch the budget of wrong", " tight"], done.stderr)
        _, done = self.report(program, JOULE_BUDGET_WARN="0")
        self.assertEqual(done.stderr, "")

    def test_warnings_without_a_report(self):
        program = self.build(next(iter(COMPILERS)))
        with Machine(50) as machine:
            done = self.run_on(machine, program, JOULE_BUDGET_WARN="1")
            lines = sorted(line.split(":")[1] for line in done.stderr.splitlines())
            self.assertEqual(lines, [" cannot watch the budget of only_watts", " cannot watch the budget of wrong", " tight"], done.stderr)
            self.assertEqual(self.run_on(machine, program).stderr, "")

    def test_below_joule_run_the_parent_judges(self):
        program, path = self.build(next(iter(COMPILERS))), os.path.join(self.work.name, "run.json")
        with Machine(50) as machine:
            done = self.run_on(machine, JOULE, "run", "-q", "--root", machine.root, "--json", path, "--", program, "handler")
        self.check_functions(functions_of(path))
        self.assertNotIn("tight", done.stdout)

    def test_without_a_meter_nothing_happens(self):
        with Machine(50) as machine:
            done = self.run_on(machine, self.build(next(iter(COMPILERS))))
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_exceptions_end_scopes(self):
        compilers = [c for c, kind in COMPILERS.items() if kind == "c++"]
        if not compilers:
            self.skipTest("there is no C++ compiler")
        for compiler in compilers:
            functions, _ = self.report(self.build(compiler, THROWS))
            self.assertEqual({name: f["count"] for name, f in functions.items()}, {"thrower": 40})


def functions_of(path):
    """Returns the functions of a report, by name without line."""
    return {f["name"].split(":")[0]: f for f in json.loads(read_file(path))["functions"]}


if __name__ == "__main__":
    main()
