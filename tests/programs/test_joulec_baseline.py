#!/usr/bin/env python3
"""Checks functions compared with a stored report: only those that grew fail, and reports that are not
comparable are refused."""
import json
import os

from joulec_support import INCLUDE, Folder, main

BEFORE = """int other(int);
double table[64][64];
int sum(const int *x)
{
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += x[i];
    return s;
}
__attribute__((noinline)) int leaf(int a) { return a * 3 / 7; }
int caller(int a) { return leaf(a) + 1; }
double removed(double x) { return x * x + table[3][4]; }
int old_name(const double *x) { return x[1] > x[2] * 3 ? 5 : 6; }
int calls_out(int a) { return a + 1; }
"""
# Changes: leaf has two more divisions, and caller has them through leaf. One function is renamed, one
# removed, one new, and one calls an unknown function.
AFTER = (BEFORE.replace("a * 3 / 7", "a * 3 / 7 / (a + 1) / (a + 2)").replace("old_name", "new_name")
         .replace("double removed(double x) { return x * x + table[3][4]; }\n", "")
         .replace("return a + 1;", "return other(a) + 1;") + "long fresh(long x) { return x % 1000003; }\n")


class Baseline(Folder):
    def compile(self, *words, text=None, name="a.c"):
        if text is not None:
            self.write(name, text)
        return self.joulec("-I", INCLUDE, "-O2", "-c", name, *words)

    def keep(self, text=BEFORE, *words):
        """Stores the report of a version of the source."""
        done = self.compile("--energy-report", "base.json", *words, text=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def changes(self, name="now.json"):
        return {name: function["comparison"] for name, function in self.report_in(name)["functions"].items()}

    def test_the_same_version_is_the_same(self):
        self.keep()
        done = self.compile("--energy-baseline", "base.json", "--energy-report", "now.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name, change in self.changes().items():
            self.assertEqual((change["change"], change["ratio"], change["interval_ratio"]), ("same", 1, [1, 1]), name)
        self.assertTrue(os.path.exists(self.path("a.o")))

    def test_growth_is_an_error_and_leaves_no_object(self):
        self.keep()
        os.remove(self.path("a.o"))
        done = self.compile("--energy-baseline=base.json", "--energy-report", "now.json", text=AFTER)
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(self.path("a.o")))
        self.assertRegex(done.stderr, r"a\.c:10:31: error: 'leaf' takes .* as in base\.json \[JE0007\]|"
                         r"a\.c:10:31: error: 'leaf' takes \d+ % more joules than in base\.json \[JE0007\]")
        self.assertRegex(done.stderr, r"a\.c:11:5: error: 'caller' takes .*\[JE0007\]")
        self.assertRegex(done.stderr, r"a\.c:11:\d+: note: it calls 'leaf', which also takes more")
        self.assertRegex(done.stderr, r"a\.c:13:5: warning: 'calls_out' may take .*: the cost of 'other' is unknown, and only the new version contains it \[JW0108\]")
        self.assertRegex(done.stderr, r"  baseline  \S+ nJ before, limit \+5 %\n  estimate  \S+ nJ now, ")
        self.assertNotRegex(done.stderr, "'sum' takes|'new_name' takes|'fresh' takes")
        self.assertRegex(done.stderr, r"compared with base\.json: 2 over \+5 %, 1 that may be over \+5 %, 2 the same, 1 new, 1 gone, 1 renamed\n")
        self.assertRegex(done.stderr, r" renamed +new_name, was old_name  a\.c:12\n")
        self.assertRegex(done.stderr, r" gone +removed  a\.c:12\n")
        changes = self.changes()
        self.assertEqual({name: change["change"] for name, change in changes.items()},
                         {"sum": "same", "leaf": "over", "caller": "over", "new_name": "same", "calls_out": "undecided", "fresh": "new"})
        leaf = changes["leaf"]
        low, high = leaf["interval_ratio"]
        self.assertTrue(1.05 < low < leaf["ratio"] < high)
        self.assertLess(leaf["probability"], 0.5)
        self.assertAlmostEqual(leaf["ratio"], self.report_in("now.json")["functions"]["leaf"]["energy_joules"] / leaf["baseline"]["energy_joules"])
        self.assertEqual((changes["new_name"]["baseline"]["name"], changes["fresh"]["baseline"]), ("old_name", None))
        report = self.report_in("now.json")["baseline"]
        self.assertEqual((report["file"], report["program"], report["fail_over"]), ("base.json", "a.c", 0.05))
        self.assertEqual([gone["name"] for gone in report["gone"]], ["removed"])

    def test_reports_are_as_their_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("there is no jsonschema")
        self.keep()
        self.compile("--energy-baseline=base.json", "--energy-report", "now.json", text=AFTER)
        with open(os.path.join(os.environ["JOULE_SOURCE"], "docs/joulec.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for name in ("base.json", "now.json"):
            jsonschema.validate(json.loads(self.read(name)), schema, cls=jsonschema.Draft202012Validator)

    def test_the_interval_of_a_ratio_is_narrower_than_that_of_joules(self):
        self.keep()
        self.compile("--energy-baseline=base.json", "--energy-report", "now.json", text=AFTER)
        leaf = self.report_in("now.json")["functions"]["leaf"]
        of_joules, of_ratio = leaf["interval_joules"], leaf["comparison"]["interval_ratio"]
        self.assertLess(of_ratio[1] / of_ratio[0], of_joules[1] / of_joules[0])

    def test_a_limit_decides(self):
        self.keep()
        self.write("a.c", AFTER)
        self.assertEqual(self.compile("--energy-baseline=base.json", "--energy-fail-over", "100000%").returncode, 0)
        self.assertEqual(self.compile("--energy-baseline=base.json", "--energy-fail-over=0%").returncode, 1)

    def test_strict_policy_requires_a_decision(self):
        self.keep()
        text = BEFORE.replace("return a + 1;", "return other(a) + 1;")
        done = self.compile("--energy-baseline=base.json", text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.compile("--energy-baseline=base.json", "--energy-policy=strict")
        self.assertEqual(done.returncode, 3, done.stderr)
        done = self.compile("--energy-baseline=base.json", "-Werror")
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_guesses_of_both_sides_cancel(self):
        """The number of iterations is unknown, so the joules of both versions are uncertain. It is certain
        that each iteration needs more energy than before."""
        loop = "int f(const int *x, int n) {{ int s = 0; for (int i = 0; i != n; i++) s += {}; return s; }}\n"
        self.keep(loop.format("x[i]"))
        done = self.compile("--energy-baseline=base.json", "--energy-report", "now.json", text=loop.format("x[i] / (x[i + 1] + 1)"))
        self.assertEqual(done.returncode, 1)
        f = self.report_in("now.json")["functions"]["f"]
        self.assertEqual(f["comparison"]["change"], "over")
        self.assertGreater(f["comparison"]["ratio"], 1.5)

    def test_sarif_and_annotations(self):
        self.keep()
        done = self.compile("--energy-baseline=base.json", "--energy-sarif=log.sarif", "--energy-annotations=github",
                            "--energy-annotations=gitlab:lab.json", text=AFTER)
        self.assertIn("::error file=a.c,line=10,col=31,title=joulec JE0007::", done.stderr)
        found = {r["locations"][0]["logicalLocations"][0]["name"]: r for r in json.loads(self.read("log.sarif"))["runs"][0]["results"]}
        self.assertEqual({name: (r["ruleId"], r["level"]) for name, r in found.items()},
                         {"leaf": ("JE0007", "error"), "caller": ("JE0007", "error"), "calls_out": ("JW0108", "warning")})
        properties = found["leaf"]["properties"]
        self.assertTrue(1 < properties["ratioLow"] < properties["ratio"] < properties["ratioHigh"])
        self.assertEqual((properties["failOver"], properties["change"]), (0.05, "over"))
        self.assertIn("base.json", found["leaf"]["message"]["text"])
        lab = {(r["check_name"], r["location"]["lines"]["begin"]) for r in json.loads(self.read("lab.json"))}
        self.assertEqual(lab, {("JE0007", 10), ("JE0007", 11), ("JW0108", 13)})

    def refuse(self, message, *words, code=2):
        done = self.compile(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, message)
        return done

    def test_incomparable_reports_are_refused_with_the_reason(self):
        self.keep()
        os.remove(self.path("a.o"))
        report = json.loads(self.read("base.json"))
        for key, value, message in (("core", "another", r"cannot compare with bad\.json: the core of 'a\.c' is another there"),
                                    ("table", "prices-7", r"the table of prices of 'a\.c' is prices-7 there and "),
                                    ("figures", "0" * 16, "the revision of prices, caches and latencies"),
                                    ("figures", None, "it was written by an older joulec"),
                                    ("schema", "report-7", r"bad\.json:1 is not a report of joulec")):
            self.write("bad.json", json.dumps({**report, key: value}) + "\n")
            done = self.refuse(message, "--energy-baseline=bad.json")
            self.assertIn("\nhint: ", done.stderr)
        self.refuse("is none there and --thermal-state=", "--energy-baseline=base.json", "--thermal-state=hot")
        self.refuse("is none there and --energy-loop-default=7", "--energy-baseline=base.json", "--energy-loop-default=7")
        self.refuse("cannot read none.json: No such file", "--energy-baseline=none.json")
        self.refuse("a.c:1: ", "--energy-baseline=a.c")
        self.assertFalse(os.path.exists(self.path("a.o")))

    def test_wrong_options_are_refused(self):
        self.keep()
        for words in (["--energy-fail-over=5"], ["--energy-fail-over=-1%"], ["--energy-fail-over=%"], ["--energy-fail-over=nan%"]):
            self.refuse("must be a percentage of at least 0%, such as 5%, not", "--energy-baseline=base.json", *words)
        self.refuse("--energy-fail-over needs --energy-baseline FILE", "--energy-check", "--energy-fail-over=5%")
        self.refuse("--energy-baseline needs a file", "--energy-baseline=")
        before = self.read("base.json")
        self.refuse("named twice", "--energy-baseline=base.json", "--energy-report=base.json")
        self.assertEqual(self.read("base.json"), before)

    def test_other_options_are_named(self):
        self.keep()
        done = self.compile("--energy-baseline=base.json", "-O3", "-fcolor-diagnostics")
        self.assertRegex(done.stderr, r"warning: base\.json is of a build with '-O2', but this build has '-O2 -O3', .*\[JW0109\]")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_file_without_an_entry_is_named(self):
        self.keep()
        done = self.compile("--energy-baseline=base.json", "--energy-report=now.json", text="int f(int x) { return x; }\n", name="b.c")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"b\.c: warning: base\.json has no entry for this file: .*\[JW0109\]")
        self.assertEqual(self.changes()["f"]["change"], "new")

    def database(self, *names):
        entries = [{"directory": self.folder, "file": name, "command": f"cc -O2 -c {name} -I {INCLUDE}"} for name in names]
        self.write("db.json", json.dumps(entries))

    def test_a_whole_project(self):
        self.write("src/a.c", BEFORE)
        self.write("src/b.c", "int b(int x) { return x / 3; }\nstatic int leaf(int x) { return x; }\nint b2(int x) { return leaf(x) / 7; }\n")
        self.write("src/gone.c", "int vanished(int x) { return x / 5; }\n")
        self.database("src/a.c", "src/b.c", "src/gone.c")
        done = self.joulec("--energy-database=db.json", "--energy-report=base.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.joulec("--energy-database=db.json", "--energy-baseline=base.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"compared with base\.json: \d+ the same\n")
        self.write("src/a.c", AFTER)
        self.database("src/b.c", "src/a.c")
        done = self.joulec("--energy-database=db.json", "--energy-baseline=base.json", "--energy-report=now.json", "--energy-fail-over=2%")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"src/a\.c:10:31: error: 'leaf' takes .*\[JE0007\]")
        self.assertRegex(done.stdout, r"compared with base\.json: 2 over \+2 %, 1 that may be over \+2 %, \d the same, 1 new, 2 gone, 1 renamed\n")
        self.assertRegex(done.stdout, r" over +leaf  src/a\.c:10\n")
        self.assertRegex(done.stdout, r" gone +vanished  src/gone\.c:1\n")
        lines = [json.loads(line) for line in self.read("now.json").splitlines()]
        self.assertEqual([line["baseline"]["program"] for line in lines], ["src/b.c", "src/a.c"])
        done = self.joulec("--energy-database=db.json", "--energy-baseline=base.json", "--energy-only=b.c")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("gone", done.stdout)

    def test_a_project_and_its_builds_share_a_report(self):
        """The report of a file is found even if the file has another relative path, seen from another
        folder."""
        self.write("src/a.c", BEFORE)
        self.database("src/a.c")
        self.assertEqual(self.joulec("--energy-database=db.json", "--energy-report=base.json").returncode, 0)
        self.write("src/a.c", AFTER)
        os.makedirs(self.path("build"))
        for name in (self.path("src/a.c"), "../src/a.c"):
            done = self.joulec("-O2", "-c", name, "--energy-baseline=../base.json", cwd=self.path("build"))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"src/a\.c:10:31: error: 'leaf' takes .* \.\./base\.json \[JE0007\]")

    def test_another_name_of_a_callee_is_no_difference(self):
        """The functions have no upper end, and their callees were renamed. The comparison must recognise that
        only names have changed."""
        text = """
__attribute__((noinline)) static int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2) * 3; }
__attribute__((noinline)) static int open_loop(const int *p) { int s = 0; while (*p) s = s * 31 + *p++; return s; }
__attribute__((noinline)) static int calls_other(int n) { return other(n * 3) / 7; }
int caller(int n, const int *p) { return tree(n) + open_loop(p) * 5 + calls_other(n) / 3; }
"""
        self.keep("int other(int);" + text)
        text = text.replace("tree", "wood").replace("open_loop", "walk").replace("calls_other", "asks")
        done = self.compile("--energy-baseline=base.json", "--energy-report=now.json", text="int other(int);" + text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr)
        self.assertEqual({change["change"] for change in self.changes().values()}, {"same"}, done.stderr)
        done = self.compile("--energy-baseline=base.json", text="int other(int); int more(int);" + text.replace("other(n * 3)", "more(n * 3)"))
        self.assertRegex(done.stderr, "1 new, 1 gone, 2 renamed\n")

    def test_reports_behind_each_other_are_one(self):
        """Concatenated reports of several commands are read as one report."""
        self.write("b.c", "int b(int x) { return x / 3; }\n")
        self.write("a.c", BEFORE)
        for name in ("a", "b"):
            self.assertEqual(self.compile("--energy-report", name + ".json", name=name + ".c").returncode, 0)
        self.write("base.json", self.read("a.json") + self.read("b.json"))
        self.write("b.c", "int b(int x) { return x / 3 / (x + 5) / (x + 9); }\n")
        self.assertEqual(self.compile("--energy-baseline=base.json", name="a.c").returncode, 0)
        self.assertEqual(self.compile("--energy-baseline=base.json", name="b.c").returncode, 1)


main()
