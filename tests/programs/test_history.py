#!/usr/bin/env python3
"""joule history, and its database: kill -9 at any moment, two writers at once, wrong files."""
import collections
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import time
import unittest
import xml.etree.ElementTree

import bench_support
import run_support
import schema_check
from run_support import JOULE

MOMENTS = 50 if os.environ.get("JOULE_TEST_FULL") else 5

SVG = "{http://www.w3.org/2000/svg}"


class History(bench_support.BenchTest):
    def check_database(self):
        """Checks the database, and returns the number of its runs."""
        with sqlite3.connect(self.database) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
            for number, basis, count, *means in database.execute("SELECT id, basis, run_count, joules, seconds, watts FROM benchmarks"):
                joules = ("NULL", "machine_joules", "net_joules", "command_joules")[basis]
                found = database.execute(f"SELECT count(*), avg({joules}), avg(seconds), avg({joules} / seconds) FROM runs"
                                         " WHERE benchmark=? AND is_warm_up=0 AND rejected IS NULL", (number,)).fetchone()
                self.assertEqual(found[0], count)
                for mean, wanted in zip(means, found[1:]):
                    self.assertTrue(mean is wanted or math.isclose(mean, wanted, rel_tol=1e-9), (number, means, found))
            return database.execute("SELECT count(*) FROM runs").fetchone()[0]

    def test_killed_writer_leaves_a_sound_database(self):
        order = random.Random(22)
        self.joule("bench", "-r", "2", "--", "true")
        for moment in range(MOMENTS):
            # The command of a killed benchmark may write later, so each benchmark has its own log.
            log = os.path.join(self.folder.name, f"log{moment}")
            before = self.check_database()
            open(log, "w", encoding="utf-8").close()
            program = subprocess.Popen([JOULE, "bench", "--db", self.database, "--warmup", "none", "-r", "5000", "--",
                                        "sh", "-c", f"echo x >>{log}"], stdout=subprocess.DEVNULL)
            wanted = order.randrange(2, 12)
            run_support.wait_until(lambda: run_support.read_file(log).count("x") >= wanted, "runs")
            time.sleep(order.random() * 0.02)
            program.send_signal(signal.SIGKILL)
            program.wait()
            started = run_support.read_file(log).count("x")
            self.assertGreaterEqual(self.check_database() - before, started - 1)

    def test_two_writers_lose_no_run(self):
        programs = [subprocess.Popen([JOULE, "bench", "--db", self.database, "--warmup", "none", "-r", "30", "--", "true"],
                                     stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([program.wait() for program in programs], [0, 0])
        self.assertEqual(self.run_total(), 60)

    def run_total(self):
        with sqlite3.connect(self.database) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            return database.execute("SELECT count(*) FROM runs").fetchone()[0]

    def test_stored_runs_are_listed_shown_and_deleted(self):
        self.joule("bench", "-r", "3", "--name", "one", "--label", "commit=abc", "--", "true")
        self.joule("bench", "-r", "3", "--name", "two", "--", "true")
        self.joule("bench", "-r", "3", "--name", "one", "--", "true")
        found = self.history()
        self.assertEqual([b["name"] for b in found], ["one", "two", "one"])
        self.assertEqual(found[2]["labels"], '{"commit":"abc"}')
        self.assertEqual(len(self.history("--name", "one", "--limit", "1")), 1)
        self.assertEqual(self.history("show", "1"), json.loads(self.joule("history", "show", "--json", "1").stdout)["benchmarks"])
        runs = self.history("show", str(found[0]["number"]))[0]["each_run"]
        self.assertEqual(sum(not run["warm_up"] for run in runs), 3)
        validator = schema_check.validator("history")
        validator.validate({"schema": "joule-history-1", "benchmarks": found})
        validator.validate({"schema": "joule-history-1", "benchmarks": self.history("show", "1")})
        self.assertIn("relative to number 1", self.joule("history", "trend", "one").stdout)
        self.assertEqual(len(self.joule("history", "--csv").stdout.splitlines()), 4)
        self.joule("history", "forget", "--name", "one")
        self.assertEqual([b["name"] for b in self.history()], ["two"])
        self.joule("history", "forget", "2")
        self.joule("history", "forget", "2", code=1)
        self.assertEqual(self.check_database(), 0)

    def trend_lines(self, name):
        """Draws a trend. Returns the texts of the picture, and the number of points of each line."""
        picture = os.path.join(self.folder.name, "trend.svg")
        self.joule("history", "trend", name, "--plot", picture)
        root = xml.etree.ElementTree.parse(picture).getroot()
        titles = [group.find(f"{SVG}title").text.split(":")[0] for group in root.iter(f"{SVG}g")
                  if group.find(f"{SVG}title") is not None]
        return [text.text for text in root.iter(f"{SVG}text")], collections.Counter(titles)

    def test_trend_draws_each_command_of_its_comparisons(self):
        for _ in range(3):
            self.joule("compare", "-r", "2", "--warmup", "1", "--name", "one", "--name", "two", "true", "true")
        self.joule("bench", "-r", "2", "--warmup", "1", "--name", "one", "--", "true")
        self.joule("bench", "-r", "2", "--warmup", "1", "--name", "three", "--", "true")
        texts, lines = self.trend_lines("one")
        self.assertEqual(lines, {"one": 4, "two": 3})
        self.assertLess(texts.index("one"), texts.index("two"))
        self.assertEqual(self.trend_lines("two")[1], {"one": 3, "two": 3})
        self.joule("compare", "-r", "2", "--warmup", "1", "true", "true")
        texts, lines = self.trend_lines("true")
        self.assertEqual(lines, {"true": 1, "true (2)": 1})
        self.assertTrue(any(f"({self.history()[0]['class']})" in text for text in texts), texts)

    def test_commands_of_a_comparison_belong_together_in_any_order(self):
        for seed in range(6):
            self.joule("compare", "-r", "2", "--warmup", "none", "--seed", str(seed), "true", "true", "true")
            benchmarks = self.history("--limit", "3")
            first = min(b["number"] for b in benchmarks)
            self.assertEqual({b["comparison"] for b in benchmarks if b["number"] != first}, {first})

    def test_stored_summary_is_that_of_the_report(self):
        found = self.results("bench", "-r", "20", "--work", "samples=3", "--", "true")["commands"][0]
        stored = self.history()[0]
        self.assertEqual(stored["runs"], found["joules"]["count"])
        for kept, reported in zip([stored[name] for name in ("joules", "joules_low", "joules_high", "seconds", "watts", "work")],
                                  [found["joules"]["mean"], *found["joules"]["interval"], found["seconds"]["mean"],
                                   found["watts"]["mean"], 3]):
            self.assertAlmostEqual(kept / reported, 1, delta=1e-9)

    def test_wrong_databases_are_refused(self):
        self.joule("history", "list", code=125)
        with open(self.database, "w", encoding="utf-8") as file:
            file.write("no database " * 1000)
        self.assertIn("cannot", self.joule("history", code=125).stderr)
        self.joule("bench", "-r", "2", "--", "true", code=125)
        os.remove(self.database)
        with sqlite3.connect(self.database) as database:
            database.execute("PRAGMA user_version=99")
        self.assertIn("newer version", self.joule("history", code=125).stderr)

    def test_wrong_usage_is_explained(self):
        for words in (("show", "x"), ("show",), ("trend",), ("forget", "-1"), ("burn",), ("--json", "--csv")):
            self.joule("history", *words, code=2)


if __name__ == "__main__":
    bench_support.need_bench()
    run_support.main()
