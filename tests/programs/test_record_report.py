#!/usr/bin/env python3
"""`joule record` and `joule report` as a person uses them: the same figures again, also after a kill."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

JOULE = os.environ.get("JOULE", "build/release/tools/joule/joule")
BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def run(*argv, **more):
    return subprocess.run([JOULE, *argv], capture_output=True, text=True, timeout=60, **more)


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "a.rec")

    def test_report_gives_the_figures_of_the_run(self):
        live = os.path.join(self.folder.name, "live.json")
        ran = run("record", "-o", self.file, "--json", live, "--label", "a=b", "--", "sh", "-c", BUSY + "; exit 3")
        self.assertEqual(ran.returncode, 3)
        again = run("report", "--json", "-", self.file)
        self.assertEqual(again.returncode, 0, again.stderr)
        with open(live) as file:
            first = json.load(file)
        second = json.loads(again.stdout)
        for key in ("program", "timestamp", "labels", "command", "schema"):
            self.assertEqual(first[key], second[key], key)
        self.assertAlmostEqual(first["duration_seconds"], second["duration_seconds"], places=6)
        self.assertAlmostEqual(first["total_energy_joules"] / second["total_energy_joules"], 1, places=2)
        self.assertIn("joule", run("report", self.file).stdout)

    def test_whole_report_comes_back(self):
        """Every figure and every word, beside the advice, which is for the machine that recorded."""
        live, again = (os.path.join(self.folder.name, name) for name in ("live.json", "again.json"))
        command = "x" * 300 + "=1; " + BUSY  # also a long one
        ran = run("record", "-o", self.file, "--json", live, "-r", "3", "--budget", "1MJ", "--label", "a=b", "--", "sh", "-c",
                  command)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(run("report", "--json", again, self.file).returncode, 0)
        first, second = ({**json.load(open(path)), "advice": None} for path in (live, again))
        self.assertEqual(len(first["runs"]), 3)
        self.same(first, second, "report")

    def same(self, one, other, where):
        """Curves are thinned while they are kept, so energies may differ a little."""
        if isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys(), where)
            for key in one:
                self.same(one[key], other[key], f"{where}.{key}")
        elif isinstance(one, list):
            self.assertEqual(len(one), len(other), where)
            for i, pair in enumerate(zip(one, other)):
                self.same(*pair, f"{where}[{i}]")
        elif isinstance(one, (int, float)) and isinstance(other, (int, float)):
            self.assertAlmostEqual(one, other, delta=0.02 * abs(one), msg=where)
        else:
            self.assertEqual(one, other, where)

    def test_a_killed_writer_leaves_a_readable_record(self):
        process = subprocess.Popen([JOULE, "record", "-o", self.file, "--", "sleep", "30"],
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if os.path.exists(self.file) and os.path.getsize(self.file) > 600:
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        again = run("report", "--json", "-", self.file)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("cut off", again.stderr)
        self.assertEqual(json.loads(again.stdout)["program"], "sleep 30")

    def test_what_is_no_record(self):
        noise = os.path.join(self.folder.name, "noise")
        with open(noise, "wb") as file:
            file.write(os.urandom(10 << 20))
        for path in (noise, "/dev/null", self.folder.name, os.path.join(self.folder.name, "absent")):
            answer = run("report", path)
            self.assertEqual(answer.returncode, 1, path)
            self.assertIn(path, answer.stderr)
            self.assertEqual(answer.stdout, "")

    def test_wrong_usage(self):
        self.assertEqual(run("record", "--", "true").returncode, 2)
        self.assertEqual(run("report").returncode, 2)
        unwritable = run("record", "-o", "/nowhere/x", "--", "true")
        self.assertEqual(unwritable.returncode, 125)
        self.assertIn("joule record: cannot write /nowhere/x", unwritable.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=0, argv=sys.argv[:1])
