#!/usr/bin/env python3
"""Checks joulec's inputs: for any way of passing a C file to clang, joulec judges the budgets of the file, or
reports that it does not judge them.
"""
import json
import os
import re
import shutil
import subprocess

from joulec_support import Folder, INCLUDE, has_sanitizer, main

ASSEMBLY = '.section .note.GNU-stack,"",@progbits\n.text\n'
# If libjoule has a sanitizer, ld prints this warning for every program: "ld: .../libasan.so.8: warning: the
# use of `tmpnam' is dangerous".
OF_SANITIZER = re.compile(r"^\S*ld\S*: \S*/lib[a-z]*san\.(?:so\S*|a\S*): (?:in function .*|warning: .*)\n", re.MULTILINE)
OF_LEVEL = re.compile(r".*\[JW0107\]\n")  # note of a low optimization level, which most of these tests do not concern
COSTLY = """#include <joule/budget.h>
JOULE_BUDGET("max_joules=1nJ")
int f(int x) { int s = x; for (int i = 0; i < 1000; i++) s = s * 31 + i; return s; }
int main(int c, char **v) { (void)v; return f(c) == 3; }
"""
KEPT = COSTLY.replace("1nJ", "1mJ")


class Inputs(Folder):
    def setUp(self):
        super().setUp()
        self.write("costly.c", COSTLY)
        self.write("kept.c", KEPT)

    def joulec(self, *words, check=("--energy-check",), **options):
        done = super().joulec(*check, *words, C_INCLUDE_PATH=INCLUDE, **options)
        done.stderr = OF_LEVEL.sub("", OF_SANITIZER.sub("", done.stderr))
        return done

    def runs(self, program):
        """A program without a sanitizer may not run with a libjoule that has one."""
        if not has_sanitizer():
            self.assertEqual(subprocess.run([self.path(program)], check=False).returncode, 0)

    def judged(self, *words, text="", output="out"):
        """Checks that the budget of COSTLY is reported as exceeded, once, and that nothing is built. Returns
        the messages."""
        done = self.joulec(*words, "-o", output, text=text)
        self.assertEqual((done.returncode, done.stderr.count("[JE0001]")), (1, 1), (words, done.stderr))
        self.assertFalse(os.path.exists(self.path(output)), words)
        return done.stderr

    def test_files_of_other_languages_beside_it(self):
        for name, text in (("lib.S", "#define EMPTY\n" + ASSEMBLY), ("lib.s", ASSEMBLY), ("lib.cc", "int g() { return 1; }\n"),
                           ("lib.h", "int g(void);\n")):
            self.write(name, text)
            self.judged("costly.c", name)
            self.judged(name, "costly.c")
        done = self.joulec("kept.c", "lib.S", "-o", "both")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.runs("both")

    def test_objects_of_several_files(self):
        """Each file's language is the one that clang would use, and the file is read with all options."""
        self.write("more.c", KEPT.replace("f(", "more_f(").replace("main", "more_main"))
        self.write("lib.cc", "int g() { return NEEDED; }\n")
        self.write("needed.h", "#define NEEDED 1\n")
        self.write("lib.s", ASSEMBLY)
        for words in (["-c", "kept.c", "lib.s"], ["-c", "kept.c", "lib.cc", "more.c"], ["-S", "lib.cc", "kept.c"]):
            done = self.joulec(*words, "-include", "needed.h")
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            for name in words[1:]:
                made = self.path(os.path.splitext(name)[0] + (".o" if words[0] == "-c" else ".s"))
                with open(made, "rb") as file:
                    self.assertEqual(b"joule_budget_" in file.read(), name.endswith(".c"), (words, name))
                os.remove(made)
            self.write("lib.s", ASSEMBLY)
        done = self.joulec("kept.c", "lib.cc", "-include", "needed.h", "-o", "both")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_warnings_come_once(self):
        for words in (["-Werror=foo"], ["-Wfoo"], ["-O99"], ["-O5"], ["-Wall"]):
            self.write("warns.c", KEPT + "static int nobody;\n")
            plain, checked = (self.joulec(*words, "-c", "warns.c", "-o", "x.o", check=check) for check in ((), ("--energy-check",)))
            self.assertEqual((checked.returncode, checked.stderr), (plain.returncode, plain.stderr), words)

    def test_response_files_are_read_as_by_clang(self):
        self.write("inner", "costly.c\n")
        self.write("words", '-c\n"-DTEXT=\\"a b\\""  @inner\t-D\'X=1 + 2\' -DY=\\ 3 ""')
        self.judged("@words")
        self.write("all", "--energy-check costly.c -c -o out")
        self.assertIn("[JE0001]", self.joulec("@all", check=()).stderr)
        self.write("object", "-c kept.c")
        done = self.joulec("@object", "-Werror", "-o", "kept.o")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write("self", "@self")
        for words in (["@absent"], ["@self"]):
            self.assertEqual(self.joulec(*words, "-c", "kept.c", "-o", "kept.o").returncode, 1)

    def test_response_files_too_long_for_a_command_line(self):
        self.write("many", "-c kept.c -o kept.o " + "".join(f"-DNAME_{i}={'x' * 90}\n" for i in range(30000)))
        for check in ((), ("--energy-check",)):
            done = self.joulec("@many", check=check)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write("odd words.h", "#define ROUNDS 1000\n")
        self.write("costly.c", COSTLY.replace("1000", 'ROUNDS + (sizeof QUOTED - sizeof "a \\"\\\\b\'")'))
        self.write("costly", self.read("many").replace("kept", "costly") + r""" '-DQUOTED="a \\"\\\\b'\'\" -include odd\ words.h""")
        done = self.joulec("@costly")
        self.assertEqual((done.returncode, done.stderr.count("[JE0001]")), (1, 1), done.stderr[:999])

    def test_response_files_without_end(self):
        self.write("selves", "@selves\n" * 40)
        self.write("one", "@two @two")
        self.write("two", "@one @one")
        for name in ("selves", "one"):
            plain = self.joulec(f"@{name}", "-c", "kept.c", check=())
            checked = self.joulec(f"@{name}", "-c", "kept.c")
            self.assertEqual((plain.returncode, checked.returncode), (1, 1), checked.stderr)
        for i in range(40):
            self.write(f"twice{i}", f"@twice{i + 1} @twice{i + 1} {' ' * 9999}")
        done = self.joulec("@twice0", "-c", "kept.c")
        self.assertEqual(done.returncode, 2)
        self.assertIn("response files expand to more than 64 MiB", done.stderr)

    def test_a_response_file_that_is_a_pipe(self):
        """The pipe can be read only once, and joulec reads it before clang does."""
        os.mkfifo(self.path("pipe"))
        for check, words, code in (((), "-c kept.c -o kept.o", 0), (("--energy-check",), "-c kept.c -o kept.o", 0),
                                   (("--energy-check",), "-c costly.c -o kept.o", 1)):
            with subprocess.Popen(["sh", "-c", 'echo "$0" >pipe', words], cwd=self.folder):
                done = self.joulec("@pipe", check=check)
            self.assertEqual((done.returncode, done.stderr.count("[JE0001]"), os.path.exists(self.path("kept.o"))), (code, code, not code))
            if not code:
                os.remove(self.path("kept.o"))

    def test_standard_input_is_judged(self):
        self.write("near.h", "#define ROUNDS 1000\n")
        text = '#include "near.h"\n' + COSTLY.replace("1000", "ROUNDS")
        self.assertIn("<stdin>:4:", self.judged("-x", "c", "-", "-c", text=text))
        self.assertIn("<stdin>:3:", self.judged("-c", "-xc", "-", text=COSTLY))
        marked = COSTLY.replace("i < 1000", "i < x").replace("for", "JOULE_LOOP(500, 1000) for")
        self.assertIn("712.5 iterations per call (bounded)", self.judged("-x", "c", "-", "-c", text=marked))
        done = self.joulec("-x", "c", "-", "-o", "program", text=KEPT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.runs("program")

    def test_option_x_sets_the_language(self):
        shutil.copy(self.path("costly.c"), self.path("costly.inc"))
        for words in (["-x", "c"], ["-xc"], ["--language=c"], ["--language", "c"]):
            self.judged(*words, "-c", "costly.inc")
        self.write("other.s", ASSEMBLY)
        self.judged("-x", "c", "costly.inc", "-x", "none", "other.s")
        self.judged("-x", "assembler", "other.s", "-x", "none", "costly.c")
        self.judged("other.s", "-x", "c", "costly.inc")
        self.write("kept.inc", KEPT)
        done = self.joulec("-x", "c", "kept.inc", "-x", "none", "other.s", "-o", "both")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_files_behind_two_dashes(self):
        shutil.copy(self.path("costly.c"), self.path("-costly.c"))
        for name in ("costly.c", "-costly.c"):
            done = self.joulec("-c", "-o", "out", "--", name)
            self.assertEqual((done.returncode, done.stderr.count("[JE0001]")), (1, 1), done.stderr)
        done = self.joulec("-o", "kept", "--", "kept.c")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_values_of_options_are_no_files(self):
        self.write("other.c", "nonsense")
        for words in (["-iprefix", "other.c"], ["--param", "other.c"], ["-Xanalyzer", "other.c"], ["-MJ", "other.c"],
                      ["--include-directory", "other.c"], ["-Xarch_x86_64", "other.c"], ["-Xopenmp-target=x86_64", "other.c"]):
            self.judged("-c", *words, "costly.c")

    def test_the_preprocessor_sees_the_level_of_the_build(self):
        for level, guard in (("-O0", "ifdef __OPTIMIZE__"), ("-Ofast", "ifndef __FAST_MATH__"), ("-Os", "ifndef __OPTIMIZE_SIZE__"),
                             ("-O1", "ifndef __OPTIMIZE__"), ("-O3", "ifdef __FAST_MATH__")):
            self.write("guarded.c", f"#{guard}\n#error\n#endif\n" + COSTLY)
            self.judged(level, "-c", "guarded.c")
        self.judged("-Ofast", "-O0", "-c", "costly.c")

    def test_precompiled_headers_of_any_level(self):
        self.write("p.h", "#include <stdio.h>\n#define BELOW 1000\n")
        for level in ("-O0", "-O1", "-Os", "-Ofast"):
            done = self.joulec(level, "-x", "c-header", "p.h", "-o", "p.pch")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("joulec:", done.stderr)  # later versions of clang warn about -Ofast
            self.write("uses.c", COSTLY.replace("1000", "BELOW"))
            self.judged(level, "-include-pch", "p.pch", "-c", "uses.c")

    def test_fast_math_makes_sums_cheaper(self):
        self.write("sum.c", "float sum(const float *x) { float s = 0; for (int i = 0; i < 4096; i++) s += x[i]; return s; }\n")
        times = {}
        for options in (("-O2",), ("-O2", "-ffast-math"), ("-Ofast",), ("-Ofast", "-fno-fast-math")):
            self.assertEqual(self.joulec(*options, "-c", "sum.c", "-o", "sum.o", check=("--energy-report", "r.json")).returncode, 0)
            times[options] = json.loads(self.read("r.json"))["functions"][0]["time_seconds"]
        self.assertEqual(times["-Ofast",], times["-O2", "-ffast-math"])
        self.assertEqual(times["-Ofast", "-fno-fast-math"], times["-O2",])
        self.assertLess(times["-Ofast",], 0.5 * times["-O2",])

    def test_a_bare_level_is_the_first(self):
        self.write("add.c", "void add(float *x, float y) { for (int i = 0; i < 4096; i++) x[i] += y; }\n")
        reports = {}
        for level in ("-O", "-O1", "-O2"):
            self.assertEqual(self.joulec(level, "-c", "add.c", "-o", "add.o", check=("--energy-report", "r.json")).returncode, 0)
            reports[level] = json.loads(self.read("r.json"))["functions"][0]
        self.assertEqual(reports["-O"], reports["-O1"])
        self.assertNotEqual(reports["-O"], reports["-O2"])

    def test_instrumentation_is_not_counted(self):
        for words in (["-fprofile-instr-generate", "-fcoverage-mapping"], ["-fcs-profile-generate"], ["-fprofile-generate"]):
            self.judged(*words, "-c", "costly.c")

    def test_uncheckable_source_is_an_error(self):
        self.write("shy.c", "#ifdef __JOULEC__\n#error not for joulec\n#endif\n" + COSTLY)
        done = self.joulec("-c", "shy.c", "-o", "shy.o")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("shy.c: cannot check", done.stderr)
        self.assertIn("error: not for joulec", done.stderr)
        self.assertFalse(os.path.exists(self.path("shy.o")))
        self.write("wrong.c", COSTLY + "int g(void) { return nobody; }\n")
        for check in ((), ("--energy-check",)):
            done = self.joulec("-c", "wrong.c", "-o", "wrong.o", check=check)
            self.assertEqual((done.returncode, done.stderr.count("error: ")), (1, 1), done.stderr)

    def test_budgets_in_other_languages_are_not_built_silently(self):
        self.write("costly.cc", COSTLY)
        self.write("more.cc", "namespace n { int g() { return 1; } }\n" + COSTLY.replace("f(", "h(").replace("main", "more"))
        for words, text in ((["costly.cc"], None), (["kept.c", "costly.cc", "more.cc"], None), (["-x", "objective-c", "kept.c"], None),
                            (["-x", "c++", "-"], COSTLY)):
            done = self.joulec("-c", f"-I{INCLUDE}", *words, text=text)
            self.assertEqual((done.returncode, done.stderr.count("cannot check its budgets")), (125, 1), (words, done.stderr))
            self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".o")], [], words)
        done = self.joulec("-c", "costly.c", "costly.cc", f"-I{INCLUDE}")
        self.assertEqual((done.returncode, done.stderr.count("[JE0001]")), (1, 1), done.stderr)
        done = self.joulec("-c", "costly.cc", f"-I{INCLUDE}", check=())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_other_languages_without_budgets_of_their_own(self):
        """Attributes in other spellings, on blocks, and in C headers are not budgets of a C++ file."""
        self.write("kept.h", COSTLY.splitlines()[0] + '\n#ifdef __cplusplus\nextern "C"\n#endif\nJOULE_BUDGET("max_joules=1mJ")\nint f(int x);\n')
        self.write("plain.cc", '// JOULE_BUDGET("max_joules=1nJ")\n#include "kept.h"\n#ifndef JOULE_BUDGET\n#define JOULE_BUDGET(text)\n#endif\n'
                   'int g(int x) { JOULE_BUDGET_SCOPE("max_joules=1J"); return f(x); }\n')
        done = self.joulec("-c", "kept.c", "plain.cc", f"-I{INCLUDE}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(os.path.exists(self.path("plain.o")))

    def test_other_languages_may_be_preprocessed(self):
        self.write("kept.h", COSTLY.splitlines()[0] + '\nJOULE_BUDGET("max_joules=1mJ")\nint f(int x);\n')
        self.write("plain.cc", '#include "kept.h" // with a JOULE_BUDGET\nint g(int x) { return f(x); }\n')
        self.write("costly.cc", COSTLY)
        for word in ("-P", "-frewrite-includes"):
            for name, code in (("plain.cc", 0), ("costly.cc", 125)):
                done = self.joulec("-c", word, name, f"-I{INCLUDE}")
                self.assertEqual(done.returncode, code, (word, name, done.stderr))

    def test_a_file_that_is_read_is_not_written(self):
        for option in ("--energy-report", "--energy-sarif", "--energy-html", "--energy-annotations=gitlab:"):
            for name in ("kept.c", "other.s", "./kept.c"):
                self.write("other.s", ASSEMBLY)
                words = [option + name] if option.endswith(":") else [option, name]
                done = self.joulec(*words, "-c", "kept.c", "other.s", check=())
                self.assertEqual((done.returncode, self.read("kept.c"), self.read("other.s")), (2, KEPT, ASSEMBLY), done.stderr)
                self.assertIn("named twice", done.stderr)
        for name, words in (("kept", ["-o", "kept"]), ("./kept", ["-o", "kept"]), ("a.out", []), ("kept.o", ["-c"]), ("kept.s", ["-S"]), ("other.o", ["-c", "other.cc"])):
            self.write("other.cc", "int g() { return 1; }\n")
            done = self.joulec("--energy-report", name, "kept.c", *words, check=())
            self.assertEqual((done.returncode, os.path.exists(self.path(name))), (2, False), done.stderr)
            self.assertIn(f"{name} is named twice: each input and output needs its own file", done.stderr)
        done = self.joulec("--energy-report", "kept.o", "kept.c", "-fsyntax-only", check=())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.joulec("--energy-report", "-c", "kept.c", check=())
        self.assertEqual(done.returncode, 2)
        self.assertIn("'-c' looks like an option", done.stderr)
        done = self.joulec("--energy-report", "-", "-c", "kept.c", "-o", "kept.o", check=())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def runs_of_clang(self, *words):
        real = next(line for line in self.joulec("--version", check=()).stdout.splitlines() if line.startswith("InstalledDir: "))
        self.write("clang", f'#!/bin/sh\necho run >>"{self.path("runs")}"\nexec {real[len("InstalledDir: "):]}/clang "$@"\n')
        os.chmod(self.path("clang"), 0o755)
        self.write("runs", "")
        self.joulec(*words, JOULEC_CLANG=self.path("clang"))
        return len(self.read("runs").splitlines())

    def test_without_budgets_output_equals_that_of_clang(self):
        """If a source has no budget, joulec gives the same output as clang, in about the same time."""
        self.write("p.h", "int g(void);\n")
        for words in (["-E"], ["--preprocess"], ["-M"], ["-MM"], ["-emit-ast", "-o", "x.ast"], ["-Xclang", "-ast-dump", "-fsyntax-only"],
                      ["-Xclang", "-S", "-c", "-o", "-"], ["-ccc-print-phases"], ["-###"]):
            plain, checked = (self.joulec(*words, "costly.c", check=check) for check in ((), ("--energy-check",)))
            self.assertEqual(checked.returncode, plain.returncode, (words, checked.stderr))
            self.assertNotIn("[JE", checked.stderr, words)
            if words[0] in ("-E", "--preprocess"):  # the output contains the budget, between two pragmas
                self.assertIn("joule.budget:", checked.stdout)
            else:
                self.assertEqual(checked.stdout.count("\n"), plain.stdout.count("\n"), words)
            self.assertEqual(self.runs_of_clang(*words, "costly.c"), 1, words)
        for words in (["p.h"], ["-c", "p.h", "-o", "c.pch"], ["-x", "c-header", "p.h", "-o", "p.pch"], ["-x", "c-header", "costly.c", "-o", "p.pch"]):
            done = self.joulec(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_budgets_survive_separate_preprocessing(self):
        """Compiles in the same way as ccache and distcc: clang -E, then the output of clang -E."""
        self.write("near.c", COSTLY.replace("1000", "x").replace("for", "JOULE_LOOP(500, 1000) for"))
        for source, message in (("costly.c", "costly.c:3:"), ("near.c", "712.5 iterations per call (bounded)")):
            for words in (["-E", source, "-o", "out.i"], ["-P", "-E", source, "-o", "out.i"], ["-Qunused-arguments", "-E", "-c", source, "-o", "out.i"]):
                self.assertEqual(self.joulec(*words).returncode, 0)
                self.assertEqual("-P" not in words and message not in self.judged("-c", "out.i"), False, words)
                self.judged("-c", "-x", "cpp-output", "out.i")
        plain, unasked = (self.joulec("-E", "-P", "costly.c", check=check).stdout for check in (("--energy-check",), ()))
        self.assertIn("joule.budget", plain)
        self.assertNotIn("joule.budget", unasked)
        self.write("other.cc", COSTLY)
        self.assertNotIn("joule.budget", self.joulec("-E", "-P", "other.cc").stdout)

    def test_precompiled_headers_of_cmake(self):
        """Calls joulec in the same way as CMake's target_precompile_headers."""
        self.write("cmake_pch.h", "#pragma clang system_header\n#include <stdio.h>\n")
        self.write("cmake_pch.h.c", "/* generated by CMake */\n")
        header = ["-Xclang", "-include", "-Xclang", self.path("cmake_pch.h")]
        done = self.joulec("-Winvalid-pch", "-Xclang", "-emit-pch", *header, "-x", "c-header", "-o", "cmake_pch.h.pch", "-c", "cmake_pch.h.c")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        uses = ["-Winvalid-pch", "-Xclang", "-include-pch", "-Xclang", self.path("cmake_pch.h.pch"), *header]
        self.judged(*uses, "-c", "costly.c")
        done = self.joulec(*uses, "-c", "kept.c", "-o", "kept.o")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_budget_has_a_unit(self):
        done = self.joulec("--energy-budget", "100", "-c", "kept.c")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs a unit (J, mJ, uJ, nJ, pJ or Wh), such as 100nJ", done.stderr)


if __name__ == "__main__":
    main()
