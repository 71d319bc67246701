#!/usr/bin/env python3
"""Checks joulec's outputs: the same files as clang's, with the same names, and programs linked as by clang.
"""
import os
import re
import subprocess

from joulec_support import Folder, INCLUDE, JOULEC, main

ARCHIVE = os.path.join(os.environ["JOULE_BUILD"], "src", "libjoule.a")
PLAIN = "int main(void) { return 0; }\n"
BUDGET = """#include <joule/budget.h>
JOULE_BUDGET("max_joules=1J") int twice(int x) { return 2 * x; }
"""
SCOPE = """#include <joule/budget.h>
int main(void) { JOULE_BUDGET_SCOPE("max_joules=1J"); return 0; }
"""
MAIN = "int twice(int); int main(void) { return twice(2) - 4; }\n"


class Outputs(Folder):
    def folder_with(self, name, **texts):
        """Creates a folder with a file NAME.c for each text. Returns its path."""
        os.makedirs(self.path(name, "out"))
        for stem, text in texts.items():
            self.write(f"{name}/{stem}.c", text)
        return self.path(name)

    def compile(self, folder, *words, check=True, own=("--energy-check",)):
        done = self.joulec(*own, "-I", INCLUDE, *words, cwd=folder)
        if check:
            self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done

    def both(self, *words, **texts):
        """Creates two folders in which clang and joulec ran the same command. Returns their paths."""
        number = len(os.listdir(self.folder))
        theirs, ours = self.folder_with(f"{number}", **texts), self.folder_with(f"{number + 1}", **texts)
        self.compile(theirs, *words, own=())
        self.compile(ours, *words)
        return theirs, ours

    @staticmethod
    def files(folder):
        return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)

    @staticmethod
    def links(program):
        """Returns the libraries and search folders that the dynamic loader uses for the program."""
        text = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        return re.findall(r"\((?:NEEDED|RUNPATH|RPATH)\).*\[(.*)\]", text)

    # --- names ----------------------------------------------------------------------------------------------------

    def test_the_files_of_clang(self):
        for words in (["-c", "a.c"], ["-c", "a.c", "-o", "out/x.o"], ["-S", "a.c"], ["--compile", "a.c"], ["--assemble", "a.c"],
                      ["-c", "a.c", "--output=out/x.o"], ["-c", "a.c", "--output", "out/x.o"], ["-c", "a.c", "-oout/x.o"],
                      ["-ftime-trace", "-c", "a.c", "-o", "out/x.o"], ["-fsave-optimization-record", "-c", "a.c", "-o", "out/x.o"],
                      ["--coverage", "-c", "a.c", "-o", "out/x.o"], ["--coverage", "-c", "a.c", "b.c"],
                      ["-ftest-coverage", "-fprofile-arcs", "-c", "a.c"], ["-g", "-gsplit-dwarf", "-c", "a.c", "-o", "out/x.o"],
                      ["-fstack-usage", "-c", "a.c", "-o", "out/x.o"], ["-Wp,-MMD,out/x.d", "-c", "a.c", "-o", "out/x.o"],
                      ["-MMD", "-MFout/x.d", "-c", "a.c"], ["-save-temps", "-c", "a.c", "-o", "out/x.o"],
                      ["-save-temps=obj", "-c", "a.c", "-o", "out/x.o"], ["--save-temps", "a.c", "b.c", "-o", "p"]):
            for text in (BUDGET, "int twice(int x) { return 2 * x; }\n"):
                theirs, ours = self.both("-O2", *words, a=text, b=MAIN)
                self.assertEqual(self.files(ours), self.files(theirs), words)

    def test_intermediate_files_of_a_given_language_are_kept(self):
        for words in (["-x", "c"], ["-xc"], ["--language=c"]):
            folder = self.folder_with("said" + "_".join(words), a=BUDGET)
            os.rename(os.path.join(folder, "a.c"), os.path.join(folder, "a.txt"))
            self.compile(folder, "-O2", *words, "a.txt", "-save-temps", "-c")
            self.assertIn("twice", self.read(folder, "a.i"))
            self.assertIn("a.o", self.files(folder))

    def test_names_in_the_files(self):
        words = {"-Wp,-MMD,out/x.d": "out/x.d", "-Wp,-MD,out/x.d": "out/x.d", "-MMD": "out/x.d", "-MD": "out/x.d"}
        for word, file in words.items():
            theirs, ours = self.both("-O2", word, "-c", "a.c", "-o", "out/x.o", a=BUDGET)
            self.assertEqual(self.read(ours, file).split(":")[0], "out/x.o", word)
            self.assertIn("joule/budget.h", self.read(ours, "out/x.d"), word)
            theirs, ours = self.both("-O2", word.replace("out/", ""), "-S", "a.c", a=BUDGET)
            name = "x.d" if "Wp" in word else "a.d"
            self.assertEqual(self.read(ours, name).split(":")[0], self.read(theirs, name).split(":")[0], word)
        _, ours = self.both("-O2", "-g", "-gsplit-dwarf", "-c", "a.c", "-o", "out/x.o", a=BUDGET)
        text = subprocess.run(["readelf", "--debug-dump=info", "x.o"], cwd=os.path.join(ours, "out"), capture_output=True, text=True,
                              check=True).stdout
        self.assertRegex(text, r"dwo_name.*out/x\.dwo")

    def test_coverage_of_each_file(self):
        for words in (["-c"], []):
            folder = self.folder_with("coverage" + "".join(words), a=BUDGET, b=BUDGET.replace("twice", "thrice") + MAIN)
            if words:
                self.compile(folder, "--coverage", "-c", "a.c", "b.c")
                done = self.compile(folder, "--coverage", "a.o", "b.o", "-o", "p", check=False)
            else:
                done = self.compile(folder, "--coverage", "a.c", "b.c", "-o", "p", check=False)
            if "libclang_rt" in done.stderr:
                self.skipTest("this clang has no library for --coverage")
            self.assertEqual(done.returncode, 0, done.stderr)
            subprocess.run(["./p"], cwd=folder, check=True)
            left = [name for name in self.files(folder) if ".gc" in name]
            self.assertEqual(left, ["a.gcda", "a.gcno", "b.gcda", "b.gcno"])

    # --- links ----------------------------------------------------------------------------------------------------

    def test_a_program_without_budgets_is_clangs(self):
        for words in (["a.c"], ["-shared", "-fPIC", "a.c"], ["a.c", "-lm"]):
            theirs, ours = self.both(*words, "-o", "p", a=PLAIN)
            self.assertEqual(self.links(os.path.join(ours, "p")), self.links(os.path.join(theirs, "p")))
            self.compile(ours, "-c", "-fPIC", "a.c")
            self.compile(ours, *["a.o" if word == "a.c" else word for word in words], "-o", "p")
            self.assertEqual(self.links(os.path.join(ours, "p")), self.links(os.path.join(theirs, "p")))

    def test_no_other_library_is_linked(self):
        """Scripts such as configure check in this way whether a function needs a library."""
        for text in ("char pow(); int main(void) { return pow(); }\n",
                     BUDGET + "char pow(); int main(void) { return pow() + twice(2); }\n"):
            done = self.compile(self.folder_with(str(len(text)), a=text), "-w", "a.c", "-o", "p", check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("pow", done.stderr)

    def needs(self, folder, *words):
        self.compile(folder, *words, "-o", "p")
        subprocess.run([os.path.join(folder, "p")], check=True)
        return any("libjoule" in library for library in self.links(os.path.join(folder, "p")))

    def test_whatever_calls_it_is_linked_with_it(self):
        folder = self.folder_with("calls", a=BUDGET, m=MAIN, n=PLAIN, s=SCOPE)
        os.mkdir(os.path.join(folder, "lib"))
        self.compile(folder, "-c", "a.c", "m.c", "s.c")
        subprocess.run(["ar", "rcs", "lib/liba.a", "a.o"], cwd=folder, check=True)
        subprocess.run(["ar", "rcsT", "lib/libthin.a", "a.o"], cwd=folder, check=True)
        self.compile(folder, "-S", "a.c")
        self.write("calls/words", "a.o")
        for words in (["s.c"], ["s.o"], ["a.c", "m.c"], ["a.o", "m.o"], ["m.c", "a.o"], ["m.c", "lib/liba.a"], ["m.c", "-Llib", "-la"],
                      ["m.c", "-L", "lib", "-l", "a"], ["m.c", "-Llib", "-l:liba.a"], ["m.c", "lib/libthin.a"], ["m.o", "a.s"],
                      ["m.c", "-Wl,--start-group,lib/liba.a,--end-group"], ["m.c", "-Xlinker", "a.o"], ["m.c", "@words"],
                      ["-x", "c", "a.c", "m.c"], ["-nodefaultlibs", "-lc", "a.c", "m.c"], ["-nodefaultlibs", "m.c", "a.o", "-lc"]):
            self.assertTrue(self.needs(folder, *words), words)
        self.assertFalse(self.needs(folder, "n.c", "-Llib", "-la"))
        self.assertIn("undefined", self.compile(folder, "--energy-run=no", "m.c", "a.o", "-o", "p", check=False).stderr)

    def test_a_line_without_a_check_links_it_too(self):
        """make passes CFLAGS when it compiles, but not when it links. The linked program still needs
        libjoule."""
        folder = self.folder_with("make", a=BUDGET, m=MAIN, n=PLAIN)
        self.compile(folder, "-c", "a.c", "m.c", "n.c")
        subprocess.run(["ar", "rcs", "liba.a", "a.o"], cwd=folder, check=True)
        self.write("make/words", "m.o a.o")
        for words in (["m.o", "a.o"], ["m.o", "-L.", "-la"], ["m.c", "a.o"], ["@words"]):
            self.assertEqual(self.compile(folder, *words, "-o", "p", own=()).stderr, "", words)
            subprocess.run([os.path.join(folder, "p")], check=True)
            self.assertIn("libjoule", " ".join(self.links(os.path.join(folder, "p"))), words)
        self.compile(folder, "n.o", "-o", "p", own=())
        self.assertNotIn("libjoule", " ".join(self.links(os.path.join(folder, "p"))))
        self.assertIn("undefined", self.compile(folder, "m.o", "a.o", "-o", "p", own=("--energy-run=no",), check=False).stderr)

    def test_bitcode_for_the_linker(self):
        folder = self.folder_with("lto", a=BUDGET, m=MAIN)
        self.compile(folder, "-flto", "-c", "a.c", "m.c")
        if self.compile(folder, "-flto", "-fuse-ld=lld", "m.o", "-Wl,--unresolved-symbols=ignore-all", "-o", "p", check=False).returncode:
            self.skipTest("no linker for this clang's bitcode")
        self.assertTrue(self.needs(folder, "-flto", "-fuse-ld=lld", "a.o", "m.o"))

    def test_without_a_library_of_c(self):
        folder = self.folder_with("bare", a=BUDGET)
        for word in ("-nostdlib", "-ffreestanding"):
            done = self.compile(folder, word, "-c", "a.c")
            self.assertEqual(done.stderr.count("not measured at run time"), 1, done.stderr)
            names = subprocess.run(["nm", "a.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
            self.assertNotIn("joule_", names)
            self.assertEqual(self.compile(folder, "--energy-run=no", word, "-c", "a.c").stderr.count("not measured"), 0)

    def test_more_files_than_may_be_open(self):
        folder = self.folder_with("many", m=MAIN, **{f"f{i}": BUDGET.replace("twice", f"f{i}") for i in range(30)}, a=BUDGET)
        command = f'ulimit -S -n 24; "$0" --energy-check -I "{INCLUDE}" *.c -o p'
        done = subprocess.run(["sh", "-c", command, JOULEC], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([os.path.join(folder, "p")], check=True)

    def test_static_programs_link(self):
        folder = self.folder_with("static", a=BUDGET, m=MAIN, n=PLAIN)
        for word in ("-static", "-static-pie", "--static"):
            if self.compile(folder, word, "n.c", "-o", "p", own=(), check=False).returncode:
                print(f"skipped: {word}: this machine has no static C library")
                continue
            self.compile(folder, word, "n.c", "-o", "p")
            if not os.path.exists(ARCHIVE):
                print("skipped: static programs with budgets: libjoule.a was not built")
                continue
            self.assertFalse(self.needs(folder, word, "a.c", "m.c"))
            names = subprocess.run(["nm", "p"], cwd=folder, capture_output=True, text=True, check=True).stdout
            self.assertRegex(names, r" T joule_budget_count")


if __name__ == "__main__":
    main(runs_what_it_builds=True)
