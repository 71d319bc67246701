#!/usr/bin/env python3
"""Checks Prometheus with `joule serve`: a real Prometheus scrapes the server and answers dashboards, and
promtool tests the rules in contrib/.

Runs Prometheus on a free loopback port with its data in a temporary folder, and ends it by its process id. In
`./dev test --full` missing programs are taken from Debian's archive without installing them. Note: every
expression of every dashboard is evaluated. If one has no result, docs/exporter.md must give the reason.
"""
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from run_support import IS_FULL, skip
from serving import serving

SOURCE = os.environ["JOULE_SOURCE"]
BUILD = os.environ["JOULE_BUILD"]
DATA = os.environ.get("JOULE_TEST_DATA", os.path.join(SOURCE, "..", "shared", "data"))
NVML = os.path.abspath(os.path.join(BUILD, "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1"))
RULES = os.path.join(SOURCE, "contrib", "prometheus")
BOARDS = "boards=3; duty=1; gpm=1; 2.denied=1"


def tool(name):
    """Returns the path of a program; None, after printing the reason, if it is not available."""
    unpacked = os.path.join(BUILD, "prometheus", "usr", "bin", name)
    found = shutil.which(name) or (unpacked if os.path.exists(unpacked) else None)
    if not found and IS_FULL and shutil.which("apt-get"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run("apt-get download -q prometheus && dpkg-deb -x prometheus_*.deb " + os.path.join(BUILD, "prometheus"),
                           shell=True, cwd=folder, capture_output=True)
        found = unpacked if os.path.exists(unpacked) else None
    if not found:
        print(f"skipped: there is no {name} (apt-get install prometheus)")
    return found


def expressions(dashboard):
    """Returns every expression of a Grafana dashboard. Variables are replaced by a pattern that matches
    anything."""
    with open(dashboard, encoding="utf-8") as file:
        text = file.read()
    found = []

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("expr"), str):
                found.append(node["expr"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(json.loads(text))
    return [re.sub(r"\$\{?\w+\}?", ".*", e.replace("$__rate_interval", "4s").replace("$__range", "1m")) for e in found]


def fields_unknown():
    """Returns the first cells of the rows in docs/exporter.md about missing series."""
    with open(os.path.join(SOURCE, "docs", "exporter.md"), encoding="utf-8") as file:
        rows = file.read().split("have no series:")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]*)\|", rows, re.M))))


class Prometheus:
    def __init__(self, program, folder, target, rules):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [rules],
                       "scrape_configs": [{"job_name": "joule", "static_configs": [{"targets": [target]}]}]}, file)
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([program, "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "data"),
                                         "--web.listen-address=" + self.address], stdout=self.log, stderr=self.log)

    def ask(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                result = self.query(expression)
                if result:
                    return result
            except OSError:
                pass
            time.sleep(0.3)
        self.log.seek(0)
        raise AssertionError(f"{expression} has no answer:\n{self.log.read()[-3000:]}")

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class InPrometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = tool("prometheus")
        if not program:
            raise unittest.SkipTest("there is no prometheus")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        server = cls.enterClassContext(serving("--sources", "nvml,estimated", JOULE_NVML_LIB=NVML, JOULE_FAKE_NVML=BOARDS))
        cls.server = server
        cls.prometheus = Prometheus(program, cls.folder.name, server.address, os.path.join(RULES, "joule.rules.yml"))
        cls.addClassCleanup(cls.prometheus.end)
        cls.prometheus.wait_for("rate(joule_device_energy_joules_total[5s])")

    def test_the_scrape_is_whole(self):
        target = self.prometheus.ask("targets")["activeTargets"][0]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        energy = self.prometheus.ask("metadata", metric="joule_energy_joules")
        self.assertEqual(energy["joule_energy_joules"][0]["type"], "counter", "it was scraped as OpenMetrics")
        self.assertEqual(energy["joule_energy_joules"][0]["unit"], "joules")
        boards = {sample["metric"]["device"] for sample in self.prometheus.query("joule_device_energy_joules_total")}
        self.assertEqual(boards, {"gpu:0", "gpu:1"})

    def test_slope_of_energy_is_the_power(self):
        energy = 'joule_device_energy_joules_total{device="gpu:0"}[10s]'
        # deriv is used because rate() ignores the initial 0 of a new counter.
        watts = self.prometheus.wait_for(f"deriv({energy}) and count_over_time({energy}) >= 9")
        self.assertAlmostEqual(float(watts[0]["value"][1]), 400, delta=40)

    def check_dashboard(self, path):
        unknown = fields_unknown()
        queries = expressions(path)
        self.assertTrue(queries, path)
        for expression in queries:
            fields = re.findall(r"\bDCGM_\w+", expression)
            if not self.prometheus.query(expression) and not (fields and unknown.issuperset(fields)):
                self.prometheus.wait_for(expression, 15)
        return len(queries)

    def test_expressions_of_dcgm_dashboards_have_values(self):
        found = glob.glob(os.path.join(DATA, "monitoring", "dcgm-exporter", "*.json"))
        if not found:
            self.skipTest("there is no data of dcgm-exporter: JOULE_TEST_DATA")
        for path in found:
            print(f"{self.check_dashboard(path)} expressions of {os.path.basename(path)} answer")

    def test_expressions_of_the_dashboard_have_values(self):
        print(self.check_dashboard(os.path.join(SOURCE, "contrib", "grafana", "joule.json")), "expressions answer")

    def test_counters_of_dcgm_exporter(self):
        """Each field in the lists of dcgm-exporter has a result, or docs/exporter.md lists it as unknown with
        a reason."""
        found = glob.glob(os.path.join(DATA, "monitoring", "dcgm-exporter", "d*.csv"))
        if not found:
            self.skipTest("there is no data of dcgm-exporter: JOULE_TEST_DATA")
        unknown = fields_unknown()
        for path in found:
            with open(path, encoding="utf-8") as file:
                fields = re.findall(r"^(DCGM_\w+) *, *(?:gauge|counter)", file.read(), re.M)
            self.assertGreater(len(fields), 10)
            for field in fields:
                answers = bool(self.prometheus.query(field))
                self.assertNotEqual(answers, field in unknown, f"{field}: answers: {answers}")

    def test_rules_are_evaluated(self):
        rules = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
        self.assertGreater(len(rules), 5)
        end = time.monotonic() + 20
        while any(rule["health"] == "unknown" for rule in rules) and time.monotonic() < end:
            time.sleep(0.5)
            rules = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"], [])


class Rules(unittest.TestCase):
    def promtool(self, *arguments):
        program = tool("promtool")
        if not program:
            self.skipTest("there is no promtool")
        done = subprocess.run([program, *arguments], cwd=RULES, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_rules_are_valid(self):
        self.assertIn("SUCCESS", self.promtool("check", "rules", "joule.rules.yml"))

    def test_rules_fire_when_they_should(self):
        self.assertIn("SUCCESS", self.promtool("test", "rules", "joule.rules.test.yml"))

    def test_metrics_are_well_named(self):
        """promtool also checks Prometheus' naming rules. DCGM's names are exempt, because Joule does not
        choose them."""
        program = tool("promtool")
        if not program:
            self.skipTest("there is no promtool")
        for boards in (BOARDS, "boards=2; mig=3"):
            with serving("--sources", "nvml,estimated", JOULE_NVML_LIB=NVML, JOULE_FAKE_NVML=boards) as server:
                time.sleep(1.5)
                page = server.metrics()
            done = subprocess.run([program, "check", "metrics"], input=page, capture_output=True, text=True)
            complaints = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("DCGM_FI_")]
            self.assertEqual(complaints, [])
            self.assertIn("joule_device_energy_joules_total", page)
        instances = re.findall(r'^DCGM_FI_DEV_FB_USED\{gpu="1",.*GPU_I_PROFILE="1g.18gb",GPU_I_ID="(\d+)",.*\} (\d+)$', page, re.M)
        self.assertEqual(instances, [("7", "100"), ("8", "200"), ("9", "300")])
        self.assertEqual(len(re.findall("^DCGM_FI_DEV_FB_USED", page, re.M)), 6, "the boards' own is not told once more")


class Dashboard(unittest.TestCase):
    def test_own_dashboard_is_whole(self):
        with open(os.path.join(SOURCE, "contrib", "grafana", "joule.json"), encoding="utf-8") as file:
            dashboard = json.load(file)
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in dashboard["panels"]:
            self.assertTrue(panel["title"], panel)
            self.assertLessEqual(panel["gridPos"]["x"] + panel["gridPos"]["w"], 24)
        with open(os.path.join(SOURCE, "docs", "exporter.md"), encoding="utf-8") as file:
            page = file.read()
        # Names whose family the page lists, with braces or dots for the common parts.
        known = set(re.findall(r"joule_\w+", page)) | {f"joule_device_memory_{w}_bytes" for w in ("total", "used", "free")} | {
            f"joule_{of}{quantity}_{point}_{unit}" for of in ("", "total_") for point in ("low", "high")
            for quantity, unit in (("energy", "joules"), ("power", "watts"))}
        used = {name for e in expressions(os.path.join(SOURCE, "contrib", "grafana", "joule.json"))
                for name in re.findall(r"\bjoule_\w+", e)}
        self.assertEqual(used - known, set())


if __name__ == "__main__":
    if subprocess.run([os.environ["JOULE"], "serve", "--help"], capture_output=True).returncode == 125:
        skip("this build has no joule serve (libmicrohttpd)")
    unittest.main(verbosity=2)
