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

MOMENTS = 50

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

    def test_a_killed_writer_takes_no_run_of_another_with_it(self):
        log = os.path.join(self.folder.name, "log")
        killed, other = [subprocess.Popen([JOULE, "bench", "--db", self.database, "--warmup", "none", "-r", str(count),
                                           "--name", name, "--", "sh", "-c", f"echo {name} >>{log}"],
                                          stdout=subprocess.DEVNULL) for name, count in (("killed", 5000), ("other", 30))]
        run_support.wait_until(lambda: all(run_support.read_file(log).split().count(name) > 4 for name in ("killed", "other")),
                               "runs of both")
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        started = run_support.read_file(log).split().count("killed")
        self.assertEqual(other.wait(), 0)
        stored = {b["name"]: b["runs"] + b["rejected"] for b in self.history()}
        self.assertEqual(stored["other"], 30)
        self.assertGreaterEqual(stored["killed"], started - 1)
        self.check_database()

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

    def stored_bytes(self):
        with open(self.database, "rb") as file:
            return file.read()

    def check_refusal(self, text=""):
        """Checks that reading ends with a message or with results, and changes nothing in the file."""
        before = self.stored_bytes()
        for words in (["list"], ["show", "1"], ["trend", "one"], ["list", "--json"], ["show", "1", "--csv"]):
            done = subprocess.run([JOULE, "history", "--db", self.database, *words], capture_output=True, timeout=60)
            error = done.stderr.decode(errors="replace")
            self.assertIn(done.returncode, (125,) if text else (0, 1, 125), (words, error))
            self.assertEqual(done.returncode == 125, "cannot" in error, (words, error))
            self.assertIn(text, error)
            if done.returncode == 0 and "--json" in words:
                json.loads(done.stdout)
        if text:
            self.assertIn(text, self.joule("bench", "-r", "2", "--", "true", code=125).stderr)
        self.assertEqual(self.stored_bytes(), before)

    def test_damaged_databases_are_refused_or_read_and_never_changed(self):
        self.joule("bench", "-r", "40", "--name", "one", "--", "true")
        sound = self.stored_bytes()
        order = random.Random(22)
        for size in (0, 1, 99, 100, 4095, 4096, 8192, len(sound) - 1):
            with open(self.database, "wb") as file:
                file.write(sound[:size])
            if size:
                self.check_refusal()
        for _ in range(40):
            damaged = bytearray(sound)
            begin = order.randrange(len(sound))
            for i in range(begin, min(len(sound), begin + order.choice((1, 8, 500)))):
                damaged[i] = order.randrange(256)
            with open(self.database, "wb") as file:
                file.write(damaged)
            self.check_refusal()

    def test_views_triggers_and_other_tables_are_refused(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        self.joule("bench", "-r", "2", "--name", "one", "--", "true")
        sound = self.stored_bytes()
        for script in (f"ALTER TABLE benchmarks RENAME TO hidden; CREATE VIEW benchmarks AS {endless} SELECT *, i FROM n",
                       "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
                       "DROP TABLE runs", "ALTER TABLE benchmarks RENAME TO other", "ALTER TABLE runs ADD COLUMN x",
                       "PRAGMA user_version=-3"):
            with sqlite3.connect(self.database) as database:
                database.executescript(script)
            self.check_refusal("it is not a database of joule")
            with open(self.database, "wb") as file:
                file.write(sound)

    def test_values_of_a_wrong_kind_are_unknown(self):
        self.joule("bench", "-r", "3", "--name", "one", "--", "true")
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE benchmarks SET joules='much', joules_low=9e999, watts=x'00ff', run_count=-5, basis=99,"
                             " date=NULL, machine=CAST(x'fffe80' AS TEXT), labels='{', command=x'0041'")
            database.execute("UPDATE runs SET seconds='long', machine_joules=-9e999, throttled=1e300, class=77, block=-1,"
                             " rejected=CAST(x'80' AS TEXT), coverage='0'")
        self.check_refusal()
        found = self.history("show", "1")[0]
        self.assertEqual([found[key] for key in ("joules", "joules_low", "watts", "date", "runs")], [None, None, None, None, 0])
        self.assertEqual({run["seconds"] for run in found["each_run"]}, {None})
        self.assertEqual({run["machine_joules"] for run in found["each_run"]}, {None})
        self.assertIsNone(found["command"])
        self.assertEqual({run["rejected"] for run in found["each_run"]}, {"?"})
        self.joule("compare", "-r", "3", "--baseline", "one", "true")

    def test_control_characters_of_stored_texts_are_not_printed(self):
        self.joule("bench", "-r", "3", "--name", "one", "--", "true")
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE benchmarks SET name=?, machine=?", ("one\x1b]0;x\x07\u009b", "\x1b[2J"))
        for words in (["list"], ["show", "1"], ["--csv"], ["--json"]):
            text = self.joule("history", *words).stdout
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\\u001b", text)
            self.assertIn("one?]0;x???", text)

    def test_wrong_usage_is_explained(self):
        for words in (("show", "x"), ("show",), ("trend",), ("forget", "-1"), ("burn",), ("--json", "--csv")):
            self.joule("history", *words, code=2)


if __name__ == "__main__":
    bench_support.need_bench()
    run_support.main()
