#!/usr/bin/env python3
"""What joulec writes for other programs, and of many files at once: SARIF, annotations, databases of commands, what it sees."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

JOULEC = os.environ.get("JOULEC", "")
SOURCE = os.environ["JOULE_SOURCE"]
INCLUDE = os.path.join(SOURCE, "include")
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


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def joulec(self, *words, **environment):
        return subprocess.run([JOULEC, *words], capture_output=True, text=True, cwd=self.folder,
                              env=dict(os.environ, **environment), check=False)

    def compile(self, *words):
        return self.joulec("-I", INCLUDE, "-O2", "-c", *words)

    def run_of(self, name):
        """The one run of a SARIF log, after a look at what the standard asks of every log."""
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


class Sarif(Folder):
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
        self.assertIn("1000 times round in a call (exact)", loop["message"]["text"])
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

    def test_nothing_is_wrong(self):
        self.write("a.c", KEPT)
        done = self.compile("--energy-sarif", "log.sarif", "a.c")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_of("log.sarif")["results"], [])
        self.assertTrue(os.path.exists(self.path("a.o")))

    def test_what_clang_refuses_is_no_clean_file(self):
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

    def test_it_keeps_to_the_standard_s_schema(self):
        """With the schema of OASIS, which SARIF_SCHEMA may name."""
        schema = os.environ.get("SARIF_SCHEMA")
        if not schema:
            self.skipTest("SARIF_SCHEMA names no sarif-schema-2.1.0.json")
        import jsonschema
        self.write("a.c", ALL)
        self.compile("--energy-sarif", "log.sarif", "a.c")
        with open(schema, encoding="utf-8") as file:
            jsonschema.validate(json.loads(self.read("log.sarif")), json.load(file))


class Annotations(Folder):
    def test_github(self):
        self.write("src/a,b.c", ALL)
        done = self.compile("--energy-annotations=github", "src/a,b.c")
        commands = [line for line in done.stderr.splitlines() if line.startswith("::")]
        self.assertEqual([re.match(r"::(\w+) file=([^,]*),line=(\d+),col=(\d+),title=joulec (\w+)::", c).groups() for c in commands],
                         [("error", "src/a%2Cb.c", "3", "38", "JE0001"), ("warning", "src/a%2Cb.c", "10", "46", "JE0004"),
                          ("error", "src/a%2Cb.c", "17", "48", "JE0005"), ("warning", "src/a%2Cb.c", "18", "35", "JW0103")])
        self.assertIn("90 %25", commands[0])
        self.assertIn("%0Aa,b.c:6: ", commands[0])

    def test_gitlab(self):
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

    def test_wrong_words(self):
        for word in ("--energy-annotations", "--energy-annotations=gitlab", "--energy-annotations=gitlab:", "--energy-annotations=jenkins"):
            done = self.compile(word, "a.c")
            self.assertEqual(done.returncode, 2)
            self.assertIn("is 'github' or 'gitlab:FILE'", done.stderr)


class Manual(unittest.TestCase):
    def test_help_and_manual_have_the_same_options(self):
        helped = subprocess.run([JOULEC, "--energy-help"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(SOURCE, "docs/man/joulec.1"), encoding="utf-8") as file:
            written = re.findall(r"^\.It Fl Fl ([a-z-]+)", file.read(), re.M)
        self.assertEqual(set(re.findall(r"^ +(?:-\w, +)?--([a-z-]+)", helped, re.M)), set(written))


if __name__ == "__main__":
    if not os.path.exists(JOULEC):
        print("skipped: this build has no joulec (no LLVM)")
        sys.exit(77)
    unittest.main(verbosity=2)
