#!/usr/bin/env python3
"""Checks joulec's output for other programs and for many files: SARIF, annotations, compile databases,
--emit."""
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import unittest
import urllib.parse

from joulec_support import Folder, INCLUDE, JOULEC, main

SOURCE = os.environ["JOULE_SOURCE"]
ALL = """#include <joule/budget.h>
int other(int);
JOULE_BUDGET("max_joules=100pJ") int sum(const int *x)
{
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += x[i];
    return s;
}
/* \u00e9\u00e9 */ JOULE_BUDGET("max_joules=50uJ") int open_f(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += other(i);
    return s;
}
JOULE_BUDGET("max_joules=5uJ, max_wats=3") int bad(int n) { return n; }
JOULE_BUDGET("max_joules=1J") int vacuous(int n) { return n + 1; }
"""
KEPT = ALL[:ALL.index("/*")].replace("100pJ", "50uJ")


SELDOM = """
int seldom(const int *p, int n)
{
    if (!p) return -1;
    if (p[0] == 7) return 0;
    if (p[1] == 9) return 1;
    if (p[2] == 9) return 1;
    int s = 0;
    for (int i = 0; i < n; i++) {
        s += p[i];
        if (p[i] == 77 && p[i + 1] == 78)
            for (int k = 0; k < p[i]; k++)
                s ^= p[k + i] * k;
    }
    return s;
}
int walk(const unsigned char *a, const unsigned char *b, int at)
{
    do {
        if (a[at] != b[at]) return a[at] > b[at];
        at++;
        while (a[at] == 7) at++;
    } while (at < 1000);
    return 0;
}
"""


class Reports(Folder):
    def compile(self, *words):
        return self.joulec("-I", INCLUDE, "-O2", "-c", *words)

    def run_of(self, name):
        """Returns the single run of a SARIF log, after checking the standard's rules for every log."""
        log = json.loads(self.read(name))
        self.assertEqual(log["version"], "2.1.0")
        self.assertTrue(log["$schema"].endswith("sarif-2.1.0.json"))
        run, = log["runs"]
        driver = run["tool"]["driver"]
        ids = [rule["id"] for rule in driver["rules"]]
        self.assertEqual((driver["name"], len(set(ids))), ("joulec", len(ids)))
        for rule in driver["rules"]:
            for key in ("shortDescription", "fullDescription", "help"):
                self.assertTrue(rule[key]["text"])
            self.assertIn(rule["defaultConfiguration"]["level"], ("error", "warning", "note"))
        for base in run["originalUriBaseIds"].values():
            self.assertTrue(base["uri"].startswith("file:///") and base["uri"].endswith("/"))
        for result in run["results"]:
            self.assertEqual(ids[result["ruleIndex"]], result["ruleId"])
            self.assertIn(result["level"], ("error", "warning", "note"))
            self.assertTrue(result["message"]["text"])
            for place in result["locations"] + result["relatedLocations"]:
                artifact = place["physicalLocation"]["artifactLocation"]
                self.assertEqual(artifact["uri"].startswith("file:"), "uriBaseId" not in artifact)
                self.assertGreaterEqual(place["physicalLocation"]["region"]["startLine"], 1)
            for related in result["relatedLocations"]:
                self.assertTrue(related["message"]["text"])
        return run


class Conservation(Reports):
    def test_no_loop_uses_more_than_its_function(self):
        self.write("a.c", SELDOM)
        self.joulec("-O2", "--energy-report", "a.json", "-c", "a.c")
        seen = 0
        for function in json.loads(self.read("a.json"))["functions"]:
            loops = function["loops"]
            seen += len(loops)
            for loop in loops:
                self.assertGreater(loop["energy_joules"], 0)
                self.assertLessEqual(loop["energy_joules"], 1.0001 * function["energy_joules"], (function["name"], loop))
            for outer, inner in zip(loops, loops[1:]): # each of these functions has one loop inside another
                self.assertLessEqual(inner["energy_joules"], 1.0001 * outer["energy_joules"], function["name"])
        self.assertEqual(seen, 4)


class Sarif(Reports):
    def test_each_finding_with_its_place_and_figures(self):
        self.write("src/a b.c", ALL)
        done = self.compile("--energy-sarif", "log.sarif", "src/a b.c")
        self.assertEqual(done.returncode, 1)
        run = self.run_of("log.sarif")
        found = {result["locations"][0]["logicalLocations"][0]["name"]: result for result in run["results"]}
        self.assertEqual({name: (r["ruleId"], r["level"]) for name, r in found.items()},
                         {"sum": ("JE0001", "error"), "open_f": ("JE0004", "warning"), "bad": ("JE0005", "error"),
                          "vacuous": ("JW0103", "warning")})
        place = found["sum"]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"], {"uri": "src/a%20b.c", "uriBaseId": "%SRCROOT%"})
        self.assertEqual(place["region"], {"startLine": 3, "startColumn": 38, "endColumn": 41})
        self.assertEqual(urllib.parse.unquote(run["originalUriBaseIds"]["%SRCROOT%"]["uri"]), f"file://{self.folder}/")
        loop = found["sum"]["relatedLocations"][0]
        self.assertEqual(loop["physicalLocation"]["region"]["startLine"], 6)
        self.assertIn("1000 iterations per call (exact)", loop["message"]["text"])
        joules = found["sum"]["properties"]["energyJoules"]
        self.assertTrue(0 < joules["low"] < joules["estimate"] < joules["high"])
        self.assertEqual(found["sum"]["properties"]["max_joules"], 1e-10)
        self.assertTrue(any("'other'" in r["message"]["text"] for r in found["open_f"]["relatedLocations"]))
        self.assertTrue(run["invocations"][0]["executionSuccessful"])

    def test_columns_are_characters(self):
        self.write("a.c", ALL)
        self.compile("--energy-sarif", "log.sarif", "a.c")
        run = self.run_of("log.sarif")
        self.assertEqual(run["columnKind"], "unicodeCodePoints")
        region = run["results"][1]["locations"][0]["physicalLocation"]["region"]
        line = ALL.splitlines()[region["startLine"] - 1]
        self.assertEqual(line[region["startColumn"] - 1:region["endColumn"] - 1], "open_f")

    def test_one_log_for_all_files(self):
        for name in ("a.c", "b.c", "c.c"):
            self.write(name, KEPT if name == "b.c" else ALL)
        done = self.compile("--energy-sarif=log.sarif", "a.c", "b.c", "c.c")
        self.assertEqual(done.returncode, 1)
        uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in self.run_of("log.sarif")["results"]]
        self.assertEqual(uris, ["a.c"] * 4 + ["c.c"] * 4)
        prints = [r["partialFingerprints"]["joulecRuleAndFunction/v1"] for r in self.run_of("log.sarif")["results"]]
        self.assertEqual(len(set(prints)), 8)

    def test_a_fingerprint_stays_where_lines_move(self):
        seen = []
        for text in (ALL, ALL.replace("int other", "\n\nint other")):
            self.write("a.c", text)
            self.compile("--energy-sarif", "log.sarif", "a.c")
            seen.append([r["partialFingerprints"] for r in self.run_of("log.sarif")["results"]])
        self.assertEqual(seen[0], seen[1])

    def test_findings_without_a_function_have_a_position(self):
        mark = "    JOULE_LOOP(9, 3)\n    for (int i = 0; i < n; i++) s += x[i];\n"
        self.write("a.c", "#include <joule/budget.h>\nint f(const int *x, int n)\n{\n    int s = 0;\n" + 2 * mark + "    return s;\n}\n")
        self.assertEqual(self.compile("--energy-sarif", "log.sarif", "a.c").returncode, 1)
        results = self.run_of("log.sarif")["results"]
        self.assertEqual([(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in results], [("JE0006", 5), ("JE0006", 7)])
        self.assertEqual(len({r["partialFingerprints"]["joulecRuleAndFunction/v1"] for r in results}), 2)
        self.assertNotIn("logicalLocations", results[0]["locations"][0])
        self.assertEqual(results[0]["locations"][0]["physicalLocation"]["region"], {"startLine": 5, "startColumn": 5})

    def test_an_option_that_compiles_nothing_hides_nothing(self):
        self.write("a.c", ALL)
        done = self.joulec("-I", INCLUDE, "-fsyntax-only", "--energy-check", "a.c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("[JE0001]", done.stderr)

    def test_nothing_is_wrong(self):
        self.write("a.c", KEPT)
        done = self.compile("--energy-sarif", "log.sarif", "a.c")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_of("log.sarif")["results"], [])
        self.assertTrue(os.path.exists(self.path("a.o")))

    def test_failed_compilation_is_no_success(self):
        self.write("a.c", "int f(void) { return x; }\n")
        done = self.compile("--energy-sarif", "log.sarif", "a.c")
        self.assertEqual(done.returncode, 1)
        invocation = self.run_of("log.sarif")["invocations"][0]
        self.assertFalse(invocation["executionSuccessful"])
        self.assertIn("a.c", invocation["toolExecutionNotifications"][0]["message"]["text"])

    def test_a_file_that_cannot_be_written_or_is_named_twice(self):
        self.write("a.c", KEPT)
        done = self.compile("--energy-sarif", "no/such/log", "a.c")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write no/such/log", done.stderr)
        for files in (("-", "-"), ("x", "x")):
            done = self.compile("--energy-sarif", files[0], "--energy-report", files[1], "a.c")
            self.assertIn(done.returncode, (0, 2) if files[0] == "x" else (2,))
        self.assertIn("needs a file", self.compile("a.c", "--energy-sarif").stderr)

    def test_standard_output_that_is_closed_is_as_one_that_is_full(self):
        self.write("kept.c", KEPT)
        for own in ("--energy-report -", "--energy-sarif -", "--emit eir", "--emit ir", "--lift c"):
            for where, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
                command = f'exec "$0" {own} -O2 -I "$1" -c kept.c{" -o kept.o" * ("report" in own)} {where}'
                done = subprocess.run(["sh", "-c", command, JOULEC, INCLUDE], cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (125, f"joulec: cannot write standard output: {reason}\n"), command)

    def test_it_keeps_to_the_standard_s_schema(self):
        """Validates with the OASIS schema. SARIF_SCHEMA may name a file with this schema."""
        schema = os.environ.get("SARIF_SCHEMA")
        if not schema:
            self.skipTest("SARIF_SCHEMA names no sarif-schema-2.1.0.json")
        import jsonschema
        self.write("a.c", ALL)
        self.compile("--energy-sarif", "log.sarif", "a.c")
        with open(schema, encoding="utf-8") as file:
            jsonschema.validate(json.loads(self.read("log.sarif")), json.load(file))


class Annotations(Reports):
    def test_annotations_of_github_have_file_line_and_code(self):
        self.write("src/a,b.c", ALL)
        done = self.compile("--energy-annotations=github", "src/a,b.c")
        commands = [line for line in done.stderr.splitlines() if line.startswith("::")]
        self.assertEqual([re.match(r"::(\w+) file=([^,]*),line=(\d+),col=(\d+),title=joulec (\w+)::", c).groups() for c in commands],
                         [("error", "src/a%2Cb.c", "3", "38", "JE0001"), ("warning", "src/a%2Cb.c", "10", "46", "JE0004"),
                          ("error", "src/a%2Cb.c", "17", "48", "JE0005"), ("warning", "src/a%2Cb.c", "18", "35", "JW0103")])
        self.assertIn("90 %25", commands[0])
        self.assertIn("%0Aa,b.c:6: ", commands[0])

    def test_issues_of_gitlab_have_file_line_and_severity(self):
        self.write("src/a.c", ALL)
        self.compile("--energy-annotations=gitlab:quality.json", os.path.join(self.folder, "src/a.c"))
        issues = json.loads(self.read("quality.json"))
        self.assertEqual([(i["check_name"], i["severity"], i["location"]) for i in issues],
                         [("JE0001", "critical", {"path": "src/a.c", "lines": {"begin": 3}}),
                          ("JE0004", "minor", {"path": "src/a.c", "lines": {"begin": 10}}),
                          ("JE0005", "major", {"path": "src/a.c", "lines": {"begin": 17}}),
                          ("JW0103", "info", {"path": "src/a.c", "lines": {"begin": 18}})])
        self.assertEqual(len({i["fingerprint"] for i in issues}), 4)
        self.write("src/a.c", KEPT)
        self.compile("--energy-annotations=gitlab:quality.json", "src/a.c")
        self.assertEqual(json.loads(self.read("quality.json")), [])

    def test_wrong_options_are_refused(self):
        for word in ("--energy-annotations", "--energy-annotations=gitlab", "--energy-annotations=gitlab:", "--energy-annotations=jenkins"):
            done = self.compile(word, "a.c")
            self.assertEqual(done.returncode, 2)
            self.assertIn("must be 'github' or 'gitlab:FILE'", done.stderr)


class Database(Reports):
    """Each file of a project is checked with its own folder and options, in the order of the database."""

    def entry(self, file, *options, directory="build", **keys):
        words = ["cc", f"-I{INCLUDE}", "-O2", *options, "-c", file, "-o", os.path.basename(file) + ".o"]
        return dict({"directory": self.path(directory), "file": file, "arguments": words}, **keys)

    def check(self, entries, *words):
        self.write("build/compile_commands.json", entries if isinstance(entries, str) else json.dumps(entries))
        return self.joulec("--energy-database", "build/compile_commands.json", *words)

    def test_each_file_as_it_is_compiled(self):
        self.write("src/a.c", '#include "size.h"\n' + ALL.replace("1000", "SIZE"))
        self.write("include/size.h", "#define SIZE 70\n")
        self.write("src/b.c", KEPT.replace("1000", "WIDTH"))
        plain = f"/usr/bin/gcc '-I{INCLUDE}' \"-DWIDTH=(30 + 3)\" -DNAME=\\\"x\\ y\\\" -O2 -c ../src/b.c -o b.o"
        self.write("src/x.cc", KEPT)
        self.write("src/y.cc", '#ifndef JOULE_BUDGETS\nint y() { JOULE_BUDGET_SCOPE("max_joules=1J"); return 0; }\n#endif\n')
        entries = [self.entry("../src/a.c", "-I../include"),
                   {"directory": self.path("build"), "command": f"ccache {plain}", "file": "../src/b.c"},
                   *({"directory": self.path("build"), "command": f"c++ -c {name}", "file": name} for name in ("../src/x.cc", "../src/y.cc", "z.cc"))]
        done = self.check(entries, "--energy-report", "all.json", "--energy-sarif", "all.sarif", "-j2")
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = [json.loads(line) for line in self.read("all.json").splitlines()]
        self.assertEqual([line["program"] for line in lines], ["src/a.c", "src/b.c"])
        trips = [line["functions"][0]["loops"][0]["iterations"][1] for line in lines]
        self.assertEqual(trips, [70, 33])
        self.assertEqual({f["file"] for line in lines for f in line["functions"]}, {"src/a.c", "src/b.c"})
        self.assertEqual({r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in self.run_of("all.sarif")["results"]},
                         {"src/a.c"})
        self.assertIn("src/a.c:4:38: error: energy budget is exceeded in 'sum' [JE0001]", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^2 C files, 5 functions, 5 with a budget\nbudgets: 2 likely to be kept, 1 undecided, 1 exceeded, "
                                      r"1 invalid\nnot checked: 3 not in C$")
        self.assertEqual(re.findall("(.*): not checked: it has a JOULE_BUDGET, but is not in C", done.stderr), ["joulec: ../src/x.cc"])
        self.assertRegex(done.stdout, r"(?m)^ +[\d.]+ .?J +[\d.]+ .?J to [\d.]+ .?J +violated +sum  src/a.c:4$")
        self.assertEqual(os.listdir(self.path("build")), ["compile_commands.json"])  # nothing is built

    def test_marks_of_included_files_count(self):
        body = "int f(const int *x, int n) { int s = 0; JOULE_LOOP(0, 40)\n for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
        self.write("src/a.c", '#include <joule/budget.h>\n#include "part.h"\n')
        self.write("src/part.h", 'JOULE_BUDGET("max_joules=50uJ")\n' + body)
        done = self.check([self.entry("../src/a.c")], "--energy-report", "all.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        function, = json.loads(self.read("all.json"))["functions"]
        self.assertEqual((function["file"], function["loops"][0]["iterations_each"][2]), ("src/part.h", 40))

    def test_the_order_is_the_database_s(self):
        names = [f"f{i}.c" for i in range(12)]
        for i, name in enumerate(names):
            self.write("build/" + name, ALL + "".join(f"int g{k}(int x) {{ return x / {k + 3}; }}\n" for k in range(0 if i % 3 else 300)))
        entries = [self.entry(name) for name in names]
        seen = []
        for jobs in ("-j1", "-j5"):
            done = self.check(entries, jobs, "--energy-report", "-")
            self.assertEqual([json.loads(line)["program"] for line in done.stdout.splitlines()], ["build/" + n for n in names])
            self.assertIn("12 C files", done.stderr)
            seen.append((done.stdout, done.stderr))
        self.assertEqual(seen[0], seen[1])

    def test_broken_entries_are_named_and_left_out(self):
        self.write("build/a.c", KEPT)
        good = self.entry("a.c")
        broken = [(7, ""), (dict(good, directory=7), "'directory' is missing"), ({"directory": "/"}, "'file' is missing"),
                  (dict(good, arguments="cc"), "'arguments' is not a list"), (dict(good, arguments=["cc", 3]), "'arguments' contains a value that is not a string"),
                  (dict(good, arguments=[]), "is empty"), ({"directory": "/", "file": "a.c"}, "'arguments' and 'command' are missing"),
                  ({"directory": "/", "file": "a.c", "command": "cc 'a.c"}, "a quote in 'command' is not closed"),
                  (dict(good, directory=self.path("nowhere")), "its 'directory' does not exist")]
        done = self.check([good] + [entry for entry, _ in broken])
        self.assertEqual(done.returncode, 2)
        ignored = [line for line in done.stderr.splitlines() if "the entry is ignored" in line]
        self.assertEqual(len(ignored), len(broken), done.stderr)
        for number, (line, (_, words)) in enumerate(zip(ignored, broken), start=2):
            self.assertIn(f"entry {number}", line)
            self.assertIn(words, line)
        self.assertIn("1 C file, 1 function, 1 with a budget", done.stdout)
        self.assertIn(f"not checked: {len(broken)} invalid entries", done.stdout)
        self.assertIn("not checked: 1 invalid entry\n", self.check([good, 7]).stdout)

    def test_invalid_databases_are_refused(self):
        for text in ("", "{}", "[{]", "[]", '[{"directory": "/", "file": "a.cc", "command": "c++ a.cc"}]'):
            done = self.check(text, "--energy-sarif", "x.sarif")
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn("compile_commands.json", done.stderr)
        done = self.joulec("--energy-database", "build")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot read build: Is a directory", done.stderr)
        self.assertIn("cannot read no.json", self.joulec("--energy-database", "no.json").stderr)
        self.assertFalse(os.path.exists(self.path("x.sarif")))

    def test_a_pipe_is_a_database_too(self):
        self.write("a.c", KEPT)
        command = f"'{JOULEC}' --energy-database <(echo '{json.dumps([self.entry('a.c', directory='.')])}')"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 C file, 1 function", done.stdout)

    def test_errors_of_clang_are_reported_once(self):
        self.write("build/a.c", "int f(void) { return x; }\n")
        self.write("build/b.c", KEPT)
        done = self.check([self.entry("a.c"), self.entry("b.c")], "--energy-sarif", "x.sarif")
        self.assertEqual(done.returncode, 1)
        self.assertIn("use of undeclared identifier 'x'", done.stderr)
        self.assertIn("build/a.c: not checked: clang rejects it", done.stderr)
        self.assertIn("not checked: 1 rejected by clang", done.stdout)
        self.assertFalse(self.run_of("x.sarif")["invocations"][0]["executionSuccessful"])

    def test_options_that_only_gcc_knows_are_left_out(self):
        self.write("build/a.c", KEPT)
        done = self.check([self.entry("a.c", "-fconserve-stack", "-fno-code-hoisting", "-fno-var-tracking-assignments")])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^checked without options that clang does not know: 1, such as -f")
        self.assertIn("1 C file, 1 function, 1 with a budget", done.stdout)

    def test_option_only_selects_files(self):
        self.write("build/a.c", KEPT)
        self.write("build/b.c", KEPT.replace("JOULE_BUDGET", "BUDGET"))
        entries = [self.entry("a.c", output="CMakeFiles/x.dir/a.c.o"), self.entry("b.c")]
        done = self.check(entries, "--energy-only=/x.dir/", "--energy-policy=strict")
        self.assertEqual(done.returncode, 3)
        self.assertIn("1 C file,", done.stdout)
        done = self.check(entries, "--energy-only=b.c", "-DBUDGET(x)=")
        self.assertIn("1 C file, 1 function, 0 with a budget", done.stdout, done.stderr)
        done = self.check(entries, "--energy-only=a.c", "--energy-budget", "1nJ")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.check(entries, "--energy-only=/none/").returncode, 2)

    def test_wrong_options_are_refused(self):
        for words, message in ((["-j0"], "-j must be a number from 1"), (["-j"], "-j must be a number"), (["a.c"], "name a database or files"),
                               (["--energy-only"], "needs a part of a file name"),
                               (["--energy-report", "build/compile_commands.json"], "named twice")):
            done = self.check([], *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
        self.assertIn("--energy-only needs --energy-database", self.joulec("--energy-only=x", "a.c").stderr)

    def test_an_interrupt_ends_all(self):
        """Compilers that would run for ever are ended, and no partial file is left. On a terminal, progress
        is shown."""
        self.write("build/a.c", "#include \"fifo.h\"\n")
        os.mkfifo(self.path("build/fifo.h"))
        self.write("all.json", "as it was")
        entries = [self.entry("a.c"), self.entry("a.c"), self.entry("a.c")]
        self.write("build/compile_commands.json", json.dumps(entries))
        shown_on, terminal = os.openpty()
        with subprocess.Popen([JOULEC, "--energy-database=build/compile_commands.json", "--energy-report", "all.json", "-j2"],
                              stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, cwd=self.folder,
                              env=dict(os.environ, TERM="xterm"), start_new_session=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as child:
            os.close(terminal)
            shown = b""
            while b"[0/3] build/a.c" not in shown:
                shown += os.read(shown_on, 1000)
            with open(self.path("build/fifo.h"), "wb"):  # blocks until a compiler has opened the pipe
                compilers = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.is_compiler(pid)]
                child.send_signal(signal.SIGINT)
                self.assertEqual(child.wait(60), -signal.SIGINT)
        self.assertTrue(compilers)
        self.assertEqual([pid for pid in compilers if self.is_compiler(pid)], [])
        self.assertEqual(self.read("all.json"), "as it was")
        self.assertEqual(sorted(os.listdir(self.folder)), ["all.json", "build"])

    def is_compiler(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd") == self.path("build")
        except OSError:
            return False


class Pages(Reports):
    """joulec's view of a source, as text."""

    TEXT = KEPT + """static int twice(int n) { return 2 * n; }
int nest(const int *x, int n)
{
    int s = twice(n);
    for (int i = 0; i < 30; i++)
        for (int j = i; j < 30; j++)
            s += x[i * 30 + j] / (j + 1);
    while (n-- > 0)
        s += other(s);
    return s;
}
"""

    def emit(self, kind, *words):
        self.write("src/a.c", self.TEXT)
        return self.joulec("-I", INCLUDE, "--emit", kind, *words, "src/a.c")

    def test_eir_lists_functions_loops_and_blocks(self):
        done = self.emit("eir")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        joules = r"[\d.]+ .?J \([\d.]+ .?J \.\. [\d.]+ .?J"
        for line in (r"function sum src/a.c:3\n  budget \"max_joules=50uJ\": likely\n  call " + joules,
                     r"  loop src/a.c:6:5: exact, 1000 times; per entry " + joules,
                     r"    block \S+ x 1: int 2 load 1 branch 1; cycles [\d.]+ \([\d.]+ \.\. [\d.]+\); " + joules,
                     r"function nest src/a.c:11\n  call .*\n  open: callee other src/a.c:18:14$",
                     r"  loop src/a.c:14:5: exact, 30 times; .*\n(    block .*\n)*    loop src/a.c:15:9: exact, 1 to 30 times, 15.5 expected; "
                     r"exact in a call: 465 times; ",
                     r"  loop src/a.c:17:5: guessed, 1 times and more, 100 expected; .*\n    block .*\n      call other: unknown$"):
            self.assertRegex(done.stdout, "(?m)^" + line)
        self.assertEqual(self.emit("eir").stdout, done.stdout)

    def test_c_is_still_c(self):
        done = self.emit("c", "-o", "seen.c")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        text = self.read("seen.c")
        self.assertRegex(text, r"/\* joule: sum: .*J a call .*; budget: likely \*/\n# 3 \"src/a.c\"\n.* int sum\(const int \*x\)\n")
        self.assertRegex(text, r"/\* joule: loop in nest: exact, 465 times; .*J of a call \*/\n# 15 \"src/a.c\"\n +for \(int j")
        self.assertRegex(text, r"/\* joule: loop in nest: guessed, .* \*/\n# 17 \"src/a.c\"\n +while")
        self.assertNotIn("twice:", text)  # the output contains nothing of this function
        for compiler in ("clang", "gcc"):
            if shutil.which(compiler):
                done = subprocess.run([compiler, "-fsyntax-only", "-Wno-attributes", self.path("seen.c")], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_ir_is_printed(self):
        done = self.emit("ir")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"define .* @nest\(")

    def test_a_page_and_a_check(self):
        self.TEXT = ALL
        done = self.emit("eir", "--energy-check", "-o", "a.eir")
        self.assertEqual(done.returncode, 1)
        self.assertIn("[JE0001]", done.stderr)
        self.assertIn("violated", self.read("a.eir"))
        self.assertEqual(self.emit("eir").returncode, 0)

    def test_errors_of_clang_are_reported_once(self):
        self.TEXT = "int f(void) { return x; }\n"
        for kind in ("c", "ir", "eir"):
            self.write("out", "as it was")
            done = self.emit(kind, "-o", "out")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("undeclared identifier 'x'"), 1)
            self.assertEqual(self.read("out"), "as it was")

    def test_wrong_options_are_refused(self):
        self.assertIn("--emit must be 'c', 'ir' or 'eir', not 'asm'", self.emit("asm").stderr)
        self.assertIn("--emit needs one C file, not 2", self.emit("c", "b.c").stderr)
        self.assertIn("need a C file", self.joulec("--emit=c").stderr)
        self.assertIn("cannot be used with --energy-database", self.joulec("--emit=c", "--energy-database", "x.json").stderr)
        self.assertIn("--lift must be 'c', not 'python'", self.joulec("--lift", "python", "a.py").stderr)
        self.assertEqual(self.emit("asm").returncode, 2)

    def test_lift_prints_the_energy_of_each_function(self):
        self.write("a.c", self.TEXT)
        done = self.joulec("--lift", "c", "-I", INCLUDE, "-O2", "a.c", "--energy-report", "a.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^sum +[\d.]+ .?J  \(.*J to .*J\)  \(confidence: 0\.\d\d\)$")
        self.assertRegex(done.stdout, r"(?m)^nest +[\d.]+ .?J  \([\d.]+ .?J and more\)  \(confidence: unknown\)$")
        self.assertRegex(done.stdout, r"(?m)^total +[\d.]+ .?J  one call of each, in a\.c$")
        self.assertEqual([f["name"] for f in json.loads(self.read("a.json"))["functions"]], ["sum", "nest"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.c", "a.json"])
        self.write("a.c", ALL)
        self.assertEqual(self.joulec("--lift=c", "-I", INCLUDE, "a.c").returncode, 1)


class Html(Reports):
    """The page is complete, loads nothing from elsewhere, and its bars follow the joules."""

    def test_an_inlined_copy_counts_for_the_caller_s_line(self):
        """The joules of an inlined copy count for the line of the call, not for lines of the inlined
        function."""
        self.write("a.c", """int f(const int *x, int n)
{
    int s = 0;
    for (int i = 0; i < 10; i++)
        s += x[i] / n;
    return s;
}
static inline int sum(const int *x)
{
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += x[i];
    return s;
}
int call(const int *x, int n)
{
    int s =
        sum(x);
    return s + n +
        f(x, 3);
}
""")
        self.compile("--energy-html", "page.html", "a.c", "--energy-report", "a.json")
        report = self.report_in("a.json")["functions"]
        self.assertEqual(set(report), {"f", "call"})
        rows = dict(re.findall(r'<tr><td class=n>(\d+)<td class="r t">(?:[^<]*<td class=r>([^<]*)<)?', self.read("page.html")))
        for line in (11, 12):
            self.assertEqual(rows[str(line)], "", "the lines of sum have nothing")
        self.assertNotEqual(rows["18"], "", "the call of sum has its joules")
        self.assertNotEqual(rows["5"], "", "f keeps its own lines")
        times = dict(re.findall(r'<tr><td class=n>(\d+)<td class="r t">([0-9.e+]+) &times;', self.read("page.html")))
        self.assertLess(float(times["18"]), 1000)

    def test_page_has_a_bar_for_each_line(self):
        self.write("src/a.c", ALL.replace("s += other(i)", "s += i <n&& i%3"))
        self.write("src/b.c", KEPT)
        self.compile("--energy-html", "page.html", "src/a.c", "src/b.c")
        page = self.read("page.html")
        self.assertEqual(page.count("<h2>"), 2)
        self.assertNotRegex(page, r"<script|src=|href=|url\(|@import")
        self.assertIn("s += i &lt;n&amp;&amp; i%3", page)
        rows = re.findall(r"<tr><td class=n>(\d+)<td class=\"r t\">([\d.e+]+) &times;<td class=r>([^<]*)<td class=b><i style=\"width:([\d.]+)%\"></i>"
                          r"<td class=c>(.*)", page)
        hot = [(number, times, words.strip()) for number, times, _, width, words in rows if float(width) > 90]
        self.assertIn(("7", "1000", "s += x[i];"), hot)
        self.assertIn('<b>sum</b>', page)
        self.assertRegex(page, r"max_joules=100pJ: <span class=violated>violated</span>")
        self.assertRegex(page, r"<span class=bad>invalid</span>")

        class Reader(html.parser.HTMLParser):
            lines = 0

            def handle_starttag(self, tag, attrs):
                self.lines += ("class", "n") in attrs
        reader = Reader()
        reader.feed(page)
        self.assertEqual(reader.lines, len(ALL.splitlines()) + len(KEPT.splitlines()))


    def test_bytes_that_are_not_utf_8_are_replaced(self):
        """Each byte that is not UTF-8 becomes U+FFFD, so that the page is valid UTF-8."""
        name = os.path.join(os.fsencode(self.folder), b"caf\xe9.c")
        with open(name, "wb") as file:
            file.write(KEPT.encode() + "/* \u00e9 */ /* ".encode() + b"\xe9\xff */\n")
        done = self.compile("--energy-html", "page.html", os.fsdecode(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.read("page.html")
        self.assertRegex(page, "<h2>.*caf\ufffd.c</h2>")
        self.assertIn("/* \u00e9 */ /* \ufffd\ufffd */", page)


class CMake(Reports):
    """Uses joule_check_energy() for a project, as a build step and as a test."""

    PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(x LANGUAGES C)
enable_testing()
include({SOURCE}/cmake/joule-energy.cmake)
include_directories({INCLUDE})
add_subdirectory(part)
"""

    def configure(self, generator, text):
        self.write("CMakeLists.txt", self.PROJECT)
        self.write("part/CMakeLists.txt", text)
        self.write("part/a.c", '#include "made.h"\n' + KEPT.replace("1000", "TIMES * SIZE"))
        self.write("part/b.c", "int b(void) { return 3; }\n")
        self.write("part/made.h.in", "#define SIZE 10\n")
        done = subprocess.run(["cmake", "-G", generator, "-S", self.folder, "-B", self.path("build"), f"-DJOULEC_EXECUTABLE={JOULEC}",
                               "-DCMAKE_C_FLAGS=-O2"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def build(self):
        return subprocess.run(["cmake", "--build", self.path("build")], capture_output=True, text=True, check=False)

    TARGET = """add_custom_command(OUTPUT made.h COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/made.h.in made.h DEPENDS made.h.in)
add_library(codec %s a.c b.c made.h)
target_include_directories(codec PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_compile_definitions(codec PRIVATE TIMES=7)
add_library(other STATIC b.c)
"""

    def test_as_a_step_of_the_build(self):
        for generator, program, kind in (("Ninja", "ninja", "OBJECT"), ("Unix Makefiles", "make", "STATIC")):
            if not shutil.which(program):
                continue
            with self.subTest(generator=generator, kind=kind):
                shutil.rmtree(self.path("build"), ignore_errors=True)
                text = self.TARGET % kind + "joule_check_energy(codec REPORT energy.json SARIF energy.sarif)\n"
                self.assertEqual(self.configure(generator, text), (0, ""))
                done = self.build()
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("2 C files, 2 functions, 1 with a budget", done.stdout)
                report = [json.loads(line) for line in self.read("build/part/energy.json").splitlines()]
                self.assertEqual([line["program"] for line in report], ["part/a.c", "part/b.c"])
                self.assertEqual(report[0]["functions"][0]["loops"][0]["iterations"][1], 70)
                self.assertEqual(self.run_of("build/part/energy.sarif")["results"], [])
                # Nothing was checked again, because nothing has changed.
                self.assertNotIn("C files", self.build().stdout)
                self.write("part/made.h.in", "#define SIZE 1000000\n")
                done = self.build()
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("part/a.c:4:37: error: energy budget", done.stdout + done.stderr)
                self.assertNotEqual(self.build().returncode, 0)  # the check fails again until the source is corrected

    def test_as_a_test(self):
        text = self.TARGET % "STATIC" + "joule_check_energy(codec TEST STRICT OPTIONS -DMORE=1)\n"
        self.assertEqual(self.configure("Unix Makefiles" if shutil.which("make") else "Ninja", text), (0, ""))
        self.assertEqual(self.build().returncode, 0)
        done = subprocess.run(["ctest", "--test-dir", self.path("build"), "--output-on-failure"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("energy.codec", done.stdout)
        self.assertIn("but not proved", done.stdout)

    def test_wrong_arguments_are_reported_at_configuration(self):
        for text, message in (("joule_check_energy(codec)", "no target 'codec'"),
                              ("add_library(codec INTERFACE)\njoule_check_energy(codec)", "compiles no sources"),
                              ("add_library(codec b.c)\njoule_check_energy(codec STRICKT)", "unknown argument 'STRICKT'")):
            shutil.rmtree(self.path("build"), ignore_errors=True)
            code, output = self.configure("Ninja" if shutil.which("ninja") else "Unix Makefiles", text)
            self.assertNotEqual(code, 0)
            self.assertIn(message, " ".join(output.split()))


class Manual(unittest.TestCase):
    def test_help_and_manual_have_the_same_options(self):
        helped = subprocess.run([JOULEC, "--energy-help"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(SOURCE, "docs/man/joulec.1"), encoding="utf-8") as file:
            written = re.findall(r"^\.It Fl Fl ([a-z-]+)", file.read(), re.M)
        self.assertEqual(set(re.findall(r"^ +(?:-\w, +)?--([a-z-]+)", helped, re.M)), set(written))


if __name__ == "__main__":
    main()
