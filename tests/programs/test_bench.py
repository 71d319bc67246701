#!/usr/bin/env python3
"""joule bench: the energy of a machine with known power, warm-up, rejected runs, signals, work and conversions."""
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import unittest
import unittest.mock

import bench_support
import run_support
import schema_check
from run_support import JOULE, Machine, patient, wait_until

WATTS = 50


class Bench(bench_support.BenchTest):
    @patient
    def test_energy_is_power_times_time(self):
        with Machine(WATTS) as machine:
            found = self.results("bench", "--root", machine.root, "-r", "7", "--warmup", "1", "--", "sleep", "0.2")
        command = found["commands"][0]
        self.assertEqual((found["basis"], found["class"]), ("gross", "measured"))
        self.assertAlmostEqual(command["joules"]["mean"] / command["seconds"]["mean"], WATTS, delta=0.1 * WATTS)
        self.assertEqual(len(command["runs"]), 8)
        self.assertTrue(command["runs"][0]["warm_up"])
        low, high = command["joules"]["interval"]
        self.assertLess(low, command["joules"]["mean"])
        self.assertLess(command["joules"]["mean"], high)

    def test_idle_baseline_is_measured_stored_and_judged_as_by_run(self):
        stored = os.path.join(self.folder.name, "cache", "joule", "idle.json")
        environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder.name, "cache")}
        spin = subprocess.Popen(["sh", "-c", f"for i in $(seq {os.cpu_count()}); do while :; do :; done & done; wait"],
                                start_new_session=True)
        self.addCleanup(lambda: (os.killpg(spin.pid, signal.SIGKILL), spin.wait()))
        with Machine(WATTS) as machine, unittest.mock.patch.dict(os.environ, environment):
            words = ("--root", machine.root, "--idle", "300ms", "-r", "2", "--warmup", "1", "--", "sleep", "0.2")
            done = self.joule("bench", "--json", self.path("bench.json"), *words)
            self.assertFalse(os.path.exists(stored))  # it is not the baseline of this machine
            self.joule("bench", "--sources", "estimated", "--idle", "100ms", "-r", "2", "--warmup", "1", "--", "true")
        found = json.loads(run_support.read_file(self.path("bench.json")))
        self.assertEqual(found["basis"], "net")
        self.assertAlmostEqual(found["idle_watts"], WATTS, delta=0.2 * WATTS)
        self.assertGreater(found["idle_busy_share"], 0.05)
        self.assertRegex(done.stderr, r"joule bench: the idle baseline is too high, because the CPUs were \d+ % busy")
        self.assertRegex(done.stdout, r"warning: net energy is too low, because the CPUs were \d+ % busy")
        kept = json.loads(run_support.read_file(stored))
        self.assertEqual((kept["schema"], kept["class"]), ("joule-idle-2", "modelled"))
        report = self.path("report.json")
        subprocess.run([JOULE, "run", "-q", "--json", report, "--sources", "estimated", "--", "true"], check=True, env=environment)
        watts = json.loads(run_support.read_file(report))["net"]["idle_power"]["power_watts"]
        self.assertAlmostEqual(watts, kept["total_watts"])
        for word in ("sometimes", "-3s", "0", ""):
            self.joule("bench", "--idle", word, "--", "true", code=2)

    def test_net_energy_is_gross_energy_without_idle_power_times_time(self):
        with Machine(WATTS) as machine:
            found = self.results("bench", "--root", machine.root, "--idle", "1s", "-r", "5", "--warmup", "1", "--", "sleep", "0.2")
        self.assertEqual(found["basis"], "net")
        self.assertAlmostEqual(found["idle_watts"], WATTS, delta=0.1 * WATTS)
        for run in found["commands"][0]["runs"]:
            net = run["machine_joules"] - found["idle_watts"] * run["seconds"]
            self.assertAlmostEqual(run["net_joules"], net, delta=1e-4 * run["machine_joules"])

    def test_gpus_are_reported_with_power_use_temperature_and_reduced_clocks(self):
        library = os.path.join(run_support.BUILD, "tests/fakes/nvml/580/libnvidia-ml.so.1")
        environment = dict(os.environ, JOULE_NVML_LIB=library, JOULE_FAKE_NVML="boards=2; duty=1; celsius=61")
        words = [JOULE, "bench", "--no-store", "--sources", "nvml", "-r", "3", "--warmup", "1", "--json", "-", "--", "sleep", "0.4"]
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertIn("nvml", found["sources"])
        self.assertEqual(found["start_temperature_celsius"], 61)
        for run in found["commands"][0]["runs"]:
            self.assertGreater(run["watts"], 0)
            self.assertTrue(0 < run["gpu_busy"] <= 1, run)
            self.assertEqual(run["temperature_celsius"], 61)
            self.assertEqual((run["throttled"], run["throttle_reasons"]), (True, ["power limit"]))
        schema_check.validator("bench").validate(found)

    def test_output_agrees_with_the_schema(self):
        validator = schema_check.validator("bench")
        found = self.results("bench", "-r", "3", "--warmup", "none", "--carbon", "DE", "--price", "0.3", "--work",
                             "samples=60", "--", "true")
        validator.validate(found)

    def test_modelled_energy_is_called_a_model(self):
        done = self.joule("bench", "-r", "3", "--", "true")
        if "modelled" not in done.stdout:
            self.skipTest("this machine has a sensor")
        self.assertIn("model", done.stdout)
        self.assertIn("not about a measurement", done.stdout)

    def test_failing_command_ends_the_benchmark(self):
        done = self.joule("bench", "-r", "3", "--", "sh", "-c", "exit 4", code=3)
        self.assertIn("failed with exit status 4", done.stderr)
        found = self.results("bench", "-r", "3", "-i", "--", "sh", "-c", "exit 4")
        self.assertEqual({run["exit_status"] for run in found["commands"][0]["runs"]}, {4})

    def test_missing_command_has_status_127(self):
        self.assertIn("cannot run", self.joule("bench", "--", "/nonexistent/program", code=127).stderr)

    def test_interrupt_reports_the_runs_so_far(self):
        log = os.path.join(self.folder.name, "log")
        program = subprocess.Popen([JOULE, "bench", "--db", self.database, "--warmup", "none", "-r", "1000", "--", "sh",
                                    "-c", f"echo x >>{log}; sleep 0.05"], stdout=subprocess.PIPE, text=True)
        wait_until(lambda: run_support.read_file(log).count("x") > 4, "runs")
        program.send_signal(signal.SIGINT)
        output = program.communicate(timeout=run_support.PATIENCE_S)[0]
        self.assertEqual(program.returncode, 130)
        self.assertIn("interrupted", output)
        self.assertGreater(self.history()[0]["runs"], 2)

    def test_work_comes_from_an_option_or_from_the_output(self):
        found = self.results("bench", "-r", "3", "--work", "1.2kflop", "--", "true")["commands"][0]
        self.assertEqual((found["work_unit"], found["runs"][0]["work"]), ("flop", 1200))
        rates = [1200 / run["seconds"] for run in found["runs"] if not run["warm_up"]]
        self.assertAlmostEqual(found["work_per_second"]["mean"] / (sum(rates) / 3), 1, delta=1e-4)
        found = self.results("bench", "-r", "3", "--work", "tokens", "--work-line", "made ([0-9]+) tokens", "--", "sh",
                             "-c", "echo made 42 tokens")["commands"][0]
        self.assertEqual((found["work_unit"], found["runs"][0]["work"]), ("tokens", 42))
        self.joule("bench", "-r", "3", "--work-line", "made ([0-9]+)", "--", "true", code=3)

    def test_conversions_are_energy_times_factor(self):
        found = self.results("bench", "-r", "3", "--carbon", "360", "--pue", "2", "--price", "3.6", "--", "true")
        command, conversion = found["commands"][0], found["commands"][0]["conversion"]
        self.assertAlmostEqual(conversion["grams_co2e"] / (command["joules"]["mean"] * 2 / 1e4), 1, delta=1e-3)
        self.assertAlmostEqual(conversion["cost"] / (command["joules"]["mean"] * 2 / 1e6), 1, delta=1e-3)

    def test_regions_have_the_intensity_of_the_table_of_the_python_package(self):
        sys.path.insert(0, os.path.join(run_support.SOURCE, "bindings", "python", "src", "joule"))
        self.addCleanup(sys.path.pop, 0)
        carbon = importlib.import_module("carbon")
        self.assertGreaterEqual(len(carbon.COUNTRIES), 30)
        for region, code in (("DE", "DEU"), ("deu", "DEU"), ("no", "NOR"), ("ZAF", "ZAF"), ("world", None)):
            words = ("--carbon", region, "-r", "2", "--warmup", "none", "--", "true")
            found = self.results("bench", *words)["commands"][0]["conversion"]
            wanted = carbon.intensity_of(code)
            self.assertEqual((found["grams_per_kwh"], found["source"]), (wanted.grams_per_kwh, wanted.source))
        refusal = self.joule("bench", "--carbon", "XX", "--", "true", code=2).stderr
        self.assertEqual(re.search(r"region \((.*)\)", refusal)[1].count(" "), len(carbon.COUNTRIES))
        notice = run_support.read_file(os.path.join(run_support.SOURCE, "NOTICE"))
        for wanted in ("Our World in Data", "CC BY 4.0", "carbon.def"):
            self.assertIn(wanted, notice)

    def test_prepare_runs_before_each_run_and_setup_once(self):
        log = os.path.join(self.folder.name, "log")
        self.joule("bench", "--warmup", "none", "-r", "3", "--setup", f"echo s >>{log}", "--prepare", f"echo p >>{log}",
                   "--", "true")
        self.assertEqual(run_support.read_file(log).split(), ["s", "p", "p", "p"])
        self.joule("bench", "-r", "3", "--prepare", "exit 5", "--", "true", code=3)

    def test_pictures_and_tables_are_written(self):
        for name, begin in (("a.svg", "<svg"), ("a.html", "<!"), ("a.csv", "name,")):
            path = os.path.join(self.folder.name, name)
            option = "--csv" if name.endswith("csv") else "--plot"
            self.joule("bench", "-r", "3", option, path, "--", "true")
            self.assertIn(begin, run_support.read_file(path)[:300])

    def test_wrong_usage_is_explained(self):
        for words, text in ((["--target", "0", "--", "true"], "--target"), (["--warmup", "x", "--", "true"], "--warmup"),
                            (["--work", "5", "--", "true"], "--work"), (["--carbon", "ZZ", "--", "true"], "--carbon"),
                            (["--work-line", "(", "--", "true"], "--work-line"), ([], "no command"),
                            (["--min-runs", "9", "--max-runs", "8", "--", "true"], "--max-runs"),
                            (["--plot", "a.xyz", "--", "true"], "a.xyz"), (["--pue", "0.5", "--", "true"], "--pue")):
            done = subprocess.run([JOULE, "bench", *words], capture_output=True, text=True)
            self.assertIn(done.returncode, (2, 125), words)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    bench_support.need_bench()
    run_support.main()
