#!/usr/bin/env python3
"""Checks that sources without a budget, a pragma or a budget of the file are compiled once, by clang. No
budget may be missed, however it gets into a source."""
import json
import os
import subprocess

from joulec_support import INCLUDE, JOULEC, Folder, main

PLAIN = "#include <stdio.h>\nint f(int x) { return x + 1; }\n"
LONG = "int f(const int *x) { int s = 0; for (int i = 0; i < 100000; i++) s += x[i] * x[i]; return s; }\n"
BUDGET = 'JOULE_BUDGET("max_joules=1pJ") '
OWN = "__attribute__((annotate(\"joule.budget:max_joules=1pJ\"))) "


class Skip(Folder):
    """Tests with a clang that logs each of its runs."""

    def setUp(self):
        super().setUp()
        real = subprocess.run([JOULEC, "-print-prog-name=clang"], capture_output=True, text=True, check=True).stdout.strip()
        self.write("clang.sh", f'#!/bin/sh\necho "run $*" >>"{self.path("runs")}"\nexec "{real}" "$@"\n')
        os.chmod(self.path("clang.sh"), 0o755)

    def compile(self, *words, check="--energy-check", **environment):
        self.write("runs", "")
        done = self.joulec("-O2", "-c", *([check] if check else []), *words, JOULEC_CLANG=self.path("clang.sh"), **environment)
        return done, self.read("runs").count("run ")

    def test_a_source_without_budgets_is_compiled_once(self):
        self.write("a.c", PLAIN)
        self.write("b.c", '#include "own.h"\n' + PLAIN.replace("f(", "g("))
        self.write("own.h", "#ifndef OWN\n#define OWN\n#include <string.h>\n#include \"own.h\"\n#include \"absent.h\"\n#endif\n".replace(
            '#include "absent.h"', '#ifdef _WIN32\n#include "absent.h"\n#endif'))
        for words in (["a.c"], ["a.c", "b.c"], ["-I", ".", "-DX=1", "-Wall", "b.c"], ["-w", "-Werror", "-MD", "a.c"]):
            done, runs = self.compile(*words)
            self.assertEqual((done.returncode, done.stderr, runs), (0, "", 1), words)
        for check in ("--energy-policy=strict", "--energy-annotations=github"):
            done, runs = self.compile("a.c", check=check)
            self.assertEqual((done.returncode, done.stderr, runs), (0, "", 1), check)
        self.assertTrue(os.path.exists(self.path("a.o")))

    def test_the_header_alone_is_no_budget(self):
        self.write("a.c", "#include <joule/budget.h>\n" + PLAIN)
        done, runs = self.compile("-I", INCLUDE, "a.c")
        self.assertEqual((done.returncode, done.stderr, runs), (0, "", 1))

    def test_names_of_libjoule_are_no_budgets(self):
        """A program that measures itself contains many names of libjoule, but no budget."""
        self.write("a.c", """#include <joule/joule.h>
int f(void) { joule_meter *meter; joule_error error; joule_quantity energy;
    if (joule_open(NULL, &meter, &error) != JOULE_OK) return 1;
    joule_energy_joules(meter, JOULE_TOTAL, &energy); joule_close(meter); return energy.cls == JOULE_CLASS_MEASURED; }
""")
        done, runs = self.compile("-I", INCLUDE, "a.c")
        self.assertEqual((done.returncode, done.stderr, runs), (0, "", 1))

    def test_logs_are_written_of_any_source(self):
        self.write("a.c", PLAIN)
        done, _ = self.compile("a.c", "--energy-sarif=log.sarif", "--energy-annotations=gitlab:lab.json", check=None)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(self.read("log.sarif"))["runs"][0]["results"], [])
        self.assertEqual(json.loads(self.read("lab.json")), [])

    def test_only_sources_with_budgets_are_checked(self):
        self.write("a.c", PLAIN)
        self.write("b.c", "#include <joule/budget.h>\n" + BUDGET + LONG.replace("f(", "g("))
        done, _ = self.compile("-I", INCLUDE, "a.c", "b.c")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn(" a.c", self.read("runs"))  # only b.c was counted, and nothing was built
        self.assertRegex(done.stderr, r"b\.c:2:\d+: error: energy budget is exceeded in 'g'")

    def test_options_for_all_functions_are_not_skipped(self):
        self.write("a.c", LONG)
        done, _ = self.compile("a.c", "--energy-budget=1pJ", check=None)
        self.assertEqual(done.returncode, 1)
        done, _ = self.compile("a.c", "--energy-report=r.json", check=None)
        self.assertEqual((done.returncode, list(self.report_in("r.json")["functions"])), (0, ["f"]))

    def test_errors_of_clang_are_reported_once(self):
        self.write("a.c", "int f(void) { return x; }\n")
        done, runs = self.compile("a.c")
        self.assertEqual((done.returncode, done.stderr.count("undeclared"), runs), (1, 1, 1))

    WAYS = {
        "in the source": ({"a.c": "#include <joule/budget.h>\n" + BUDGET + LONG}, ["a.c"]),
        "by an annotation of one's own": ({"a.c": OWN + LONG}, ["a.c"]),
        "by a name of two parts": ({"a.c": "#include <joule/budget.h>\n#define BOTH(a, b) a##b\nBOTH(JOULE_BUD, GET)(\"max_joules=1pJ\") " + LONG},
                                   ["a.c"]),
        "by a name in two lines": ({"a.c": "#include <joule/budget.h>\nJOULE_\\\n" + BUDGET[len("JOULE_"):] + LONG}, ["a.c"]),
        "in a header": ({"a.c": '#include "b.h"\nint g(const int *x) { return f(x); }\n',
                         "b.h": "#include <joule/budget.h>\n" + BUDGET + "static " + LONG}, ["a.c"]),
        "by a header's macro": ({"a.c": '#include "x/b.h"\nLOW ' + LONG, "x/b.h": '#include "c.h"\n',
                                 "x/c.h": "#define LOW " + OWN}, ["a.c"]),
        "by a folder of headers": ({"a.c": "#  include <b.h>\nLOW " + LONG, "inc/b.h": "#define LOW " + OWN}, ["-Iinc", "a.c"]),
        "by a folder in the next word": ({"a.c": "#include <d/b.h>\nLOW " + LONG, "inc/d/b.h": "#define LOW " + OWN},
                                         ["-isystem", "inc", "a.c"]),
        "by include_next": ({"a.c": "#include <b.h>\nLOW " + LONG, "one/b.h": "#include_next <b.h>\n", "two/b.h": "#define LOW " + OWN},
                            ["-Ione", "-Itwo", "a.c"]),
        "by a computed include": ({"a.c": '#define FILE_OF "b.h"\n#include FILE_OF\nLOW ' + LONG, "b.h": "#define LOW " + OWN}, ["a.c"]),
        "by a name that goes on in the next line": ({"a.c": '#include \\\n "b.h"\nLOW ' + LONG, "b.h": "#define LOW " + OWN}, ["a.c"]),
        "behind a comment": ({"a.c": '/* */ # /* */ include "b.h"\nLOW ' + LONG, "b.h": "#define LOW " + OWN}, ["a.c"]),
        "by -include": ({"a.c": "LOW " + LONG, "b.h": "#define LOW " + OWN}, ["-include", "b.h", "a.c"]),
        "by -include from a folder": ({"a.c": "LOW " + LONG, "inc/b.h": "#define LOW " + OWN}, ["-Iinc", "-include", "b.h", "a.c"]),
        "by -imacros": ({"a.c": "LOW " + LONG, "b.h": "#define LOW " + OWN}, ["-imacros", "b.h", "a.c"]),
        "by -D": ({"a.c": "LOW " + LONG}, ["-DLOW=" + OWN.strip(), "a.c"]),
        "by -D in the next word": ({"a.c": "LOW " + LONG}, ["-D", "LOW=" + OWN.strip(), "a.c"]),
        "by a response file": ({"a.c": "LOW " + LONG, "words": "-include b.h", "b.h": "#define LOW " + OWN}, ["@words", "a.c"]),
        "in a file that was preprocessed": ({"a.i": OWN + LONG}, ["a.i"]),
        "in a source of several": ({"a.c": PLAIN.replace("f(", "g("), "b.c": OWN + LONG}, ["a.c", "b.c"]),
        "behind a folder of the environment": ({"a.c": "#include <b.h>\nLOW " + LONG, "env/b.h": "#define LOW " + OWN}, ["a.c"]),
        "with a wrong mark": ({"a.c": "int f(int n) { int s = 0;\n_Pragma(\"joule loop(9, 3)\")\nfor (int i = 0; i < n; i++) s += i * i; return s; }\n"},
                              ["a.c"]),
    }

    def test_no_budget_is_overlooked(self):
        for name, (files, words) in self.WAYS.items():
            with self.subTest(name):
                for path, text in files.items():
                    self.write(path, text)
                done, _ = self.compile("-I", INCLUDE, *words, CPATH=self.path("env"))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, r"error: energy budget is exceeded in 'f'|\[JE0006\]")
                for path in files:
                    os.remove(self.path(path))

    def test_a_budget_on_standard_input(self):
        done = self.joulec("-O2", "--energy-check", "-x", "c", "-c", "-", "-o", "a.o", text=OWN + LONG)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_cxx_with_a_budget_stays_refused(self):
        self.write("a.cc", "#include <joule/budget.h>\n" + BUDGET + LONG)
        done, _ = self.compile("-I", INCLUDE, "a.cc")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"a\.cc: cannot check its budgets: joulec checks only C")
        self.assertFalse(os.path.exists(self.path("a.o")))
        self.write("b.cc", "#include <cstddef>\nint f(std::size_t n) { return (int)n; }\n")
        done, runs = self.compile("b.cc")
        self.assertEqual((done.returncode, runs), (0, 1), done.stderr)


main()
