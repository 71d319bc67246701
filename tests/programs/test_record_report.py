#!/usr/bin/env python3
"""Checks `joule record` and `joule report` for users: a record gives the same values again, also after a
kill."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import datetime

from run_support import Machine, state_of, wait_until

JOULE = os.environ.get("JOULE", "build/release/tools/joule/joule")
BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def run(*argv, **more):
    return subprocess.run([JOULE, *argv], capture_output=True, text=True, timeout=60, **more)


def read(path):
    with open(path) as file:
        return json.load(file)


def rows(table):
    return list(csv.DictReader(io.StringIO(table)))


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
        first, second = read(live), json.loads(again.stdout)
        for key in ("program", "timestamp", "labels", "command", "schema"):
            self.assertEqual(first[key], second[key], key)
        self.assertAlmostEqual(first["duration_seconds"], second["duration_seconds"], places=6)
        self.assertAlmostEqual(first["total_energy_joules"] / second["total_energy_joules"], 1, places=6)
        self.assertIn("joule", run("report", self.file).stdout)

    def test_recorded_report_is_complete(self):
        """Compares every value and text except the advice, which concerns the recording machine."""
        live, again = (os.path.join(self.folder.name, name) for name in ("live.json", "again.json"))
        command = "x" * 300 + "=1; " + BUSY  # a long command is stored in full
        ran = run("record", "-o", self.file, "--json", live, "-r", "3", "--budget", "1MJ", "--label", "a=b", "--", "sh", "-c",
                  command)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(run("report", "--json", again, self.file).returncode, 0)
        first, second = ({**read(path), "advice": None} for path in (live, again))
        self.assertEqual(len(first["runs"]), 3)
        self.same(first, second, "report")

    def test_runs_too_short_to_tell_are_so_in_both(self):
        """A model's last tick comes after the end of the command. The machine's energy may be below the limit
        of resolution."""
        live = os.path.join(self.folder.name, "live.json")
        for command in (("true",), ("sleep", "0.02")):
            self.assertEqual(run("record", "-q", "-o", self.file, "--json", live, "-r", "3", "--", *command).returncode, 0)
            first, second = read(live), json.loads(run("report", "--json", "-", self.file).stdout)
            for key in ("gross", "net", "devices", "runs"):
                self.same(first[key], second[key], key)

    def same(self, one, other, where):
        """Compares two reports. Recording omits points of the curves, so energies may differ slightly."""
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

    def test_samples_add_up_to_the_report(self):
        """The report's energy lies between that of the samples inside its window and that of the samples that
        overlap the window."""
        table = os.path.join(self.folder.name, "samples.csv")
        with Machine(50) as machine:
            ran = run("record", "-q", "-o", self.file, "--root", machine.root, "--sources", "rapl_powercap", "--interval", "20ms",
                      "--", "sleep", "1.5")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        report = json.loads(run("report", "--json", "-", self.file).stdout)
        answer = run("report", "--samples", table, self.file)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "", ""))
        with open(table, newline="") as file:
            samples = rows(file.read())
        self.assertGreater(len(samples), 3)
        self.assertEqual({tuple(row[key] for key in ("domain", "unit", "class")) for row in samples},
                         {("package-0", "J", "measured")})
        seconds, joules = ([float(row[key]) for row in samples] for key in ("seconds", "value"))
        self.assertEqual(joules, sorted(joules))
        for row in samples:
            for key in ("seconds", "value"):
                self.assertEqual(float(f"{float(row[key]):.17g}"), float(row[key]))
        walls = [datetime.fromisoformat(row["timestamp"].replace("Z", "+00:00")).timestamp() for row in samples]
        begin = datetime.fromisoformat(report["timestamp"].replace("Z", "+00:00")).timestamp()
        end = begin + report["duration_seconds"]
        inside = [energy for energy, wall in zip(joules, walls) if begin + 0.002 <= wall <= end - 0.002]
        beyond = max(0, end - walls[-1]) * max((b - a) / max(t - s, 1e-9) for a, b, s, t in
                                               zip(joules, joules[1:], seconds, seconds[1:]))
        self.assertGreaterEqual(report["total_energy_joules"], inside[-1] - inside[0] - 1e-6)
        self.assertLessEqual(report["total_energy_joules"], joules[-1] - joules[0] + beyond + 1e-6)

    def test_record_is_read_from_a_pipe(self):
        run("record", "-q", "-o", self.file, "--", "sh", "-c", BUSY)
        for options in ((), ("--samples", "-"), ("--csv", "-", "--samples", "-")):
            named = run("report", *options, self.file)
            self.assertEqual(named.returncode, 0, named.stderr)
            self.assertTrue(named.stdout)
            with open(self.file, "rb") as file:
                content = file.read()
                file.seek(0)
                self.assertEqual(run("report", *options, "-", stdin=file).stdout, named.stdout)
            piped = subprocess.run([JOULE, "report", *options, "-"], input=content, capture_output=True, timeout=60)
            self.assertEqual(piped.stdout.decode().replace("\r\n", "\n"), named.stdout)
        piped = subprocess.run([JOULE, "report", "-"], input=b"x" * 1000000, capture_output=True, timeout=60)
        self.assertEqual((piped.returncode, piped.stdout), (1, b""))
        self.assertIn(b"standard input: this is not a joule record", piped.stderr)
        empty = run("report", "-", stdin=subprocess.DEVNULL)
        self.assertEqual(empty.returncode, 1)
        self.assertIn("standard input is neither a file nor a pipe", empty.stderr)

    def test_a_record_goes_into_a_pipe_by_its_name(self):
        """Standard output belongs to the command. Its text would be mixed with the record's blocks."""
        for subject in ("record", "run"):
            refused = run(subject, "-o", "-", "--", "true", cwd=self.folder.name)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("name a file, or a pipe such as /dev/fd/3", refused.stderr)
            self.assertEqual(os.listdir(self.folder.name), [])
        script = '{ "$0" record -q -o /dev/fd/3 -- sh -c "$1; echo word" 3>&1 >&2; } | "$0" report -'
        piped = subprocess.run(["sh", "-c", script, os.path.abspath(JOULE), BUSY], capture_output=True, text=True, timeout=60)
        self.assertEqual((piped.returncode, piped.stderr), (0, "word\n"))
        self.assertIn("joule", piped.stdout)

    def test_samples_of_damaged_records(self):
        """If the record is truncated at any byte, the remaining rows must be rows of the whole record."""
        run("record", "-q", "-o", self.file, "--interval", "20ms", "--", "sh", "-c", BUSY)
        with open(self.file, "rb") as file:
            content = file.read()
        whole = run("report", "--samples", "-", self.file).stdout.splitlines()
        self.assertGreater(len(whole), 3)
        broken = bytearray(content)
        broken[len(broken) // 2] ^= 1
        for bytes_left in (content[:-1], content[:len(content) // 2], bytes(broken)):
            answer = subprocess.run([JOULE, "report", "--samples", "-", "-"], input=bytes_left, capture_output=True,
                                    timeout=60)
            self.assertEqual(answer.returncode, 0)
            self.assertIn(b"standard input is incomplete", answer.stderr)
            left = answer.stdout.decode().splitlines()
            self.assertEqual(left[0], whole[0])
            self.assertLessEqual(set(left), set(whole))
        self.assertEqual(len(run("report", "--samples", "-", self.file).stdout.splitlines()), len(whole))

    def test_a_command_that_cannot_be_run_costs_no_record(self):
        self.assertEqual(run("record", "-q", "-o", self.file, "--", "true").returncode, 0)
        with open(self.file, "rb") as file:
            before = file.read()
        self.assertEqual(run("record", "-o", self.file, "--", "no-such-command").returncode, 127)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)
        new = os.path.join(self.folder.name, "new.rec")
        ran = run("run", "-o", new, "--", "/")
        self.assertEqual((ran.returncode, os.path.exists(new)), (126, False))
        self.assertEqual(run("record", "-q", "-o", self.file, "--", "false").returncode, 1)
        with open(self.file, "rb") as file:
            self.assertNotEqual(file.read(), before)

    def test_waiting_for_a_pipes_reader_can_be_interrupted(self):
        pipe = os.path.join(self.folder.name, "pipe")
        os.mkfifo(pipe)
        with subprocess.Popen([JOULE, "run", "-o", pipe, "--", "true"]) as process:
            wait_until(lambda: state_of(process.pid) == "S", "its wait")
            process.send_signal(signal.SIGINT)
            try:
                self.assertEqual(process.wait(10), -signal.SIGINT)
            finally:
                process.kill()

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
        self.assertIn("is incomplete", again.stderr)
        self.assertEqual(json.loads(again.stdout)["program"], "sleep 30")
        samples = run("report", "--samples", "-", self.file)
        self.assertIn("is incomplete", samples.stderr)
        self.assertTrue(samples.stdout.startswith("seconds,timestamp,domain,unit,value,class\n"))

    def test_options_may_follow_the_file(self):
        run("record", "-q", "-o", self.file, "--", "true")
        before = run("report", "--json", "-", self.file)
        self.assertEqual((before.returncode, before.stdout), (0, run("report", self.file, "--json", "-").stdout))
        hidden = os.path.join(self.folder.name, "--json")
        os.rename(self.file, hidden)
        for words in (["--json=-", "--", "--json"], ["--json=-", "./--json"]):
            self.assertEqual(run("report", *words, cwd=self.folder.name).stdout, before.stdout, words)

    def test_other_files_are_refused(self):
        noise = os.path.join(self.folder.name, "noise")
        with open(noise, "wb") as file:
            file.write(os.urandom(10 << 20))
        for path in (noise, "/dev/null", self.folder.name, os.path.join(self.folder.name, "absent")):
            answer = run("report", path)
            self.assertEqual(answer.returncode, 1, path)
            self.assertIn(path, answer.stderr)
            self.assertEqual(answer.stdout, "")

    def test_wrong_usage_is_refused(self):
        self.assertEqual(run("record", "--", "true").returncode, 2)
        self.assertEqual(run("report").returncode, 2)
        for words, message in ((["--sample", "-", "x"], "did you mean --samples?"),
                               (["--samples"], "--samples needs a value"),
                               (["--samples", "x", "x"], "x is named twice"),
                               (["--samples", "x", "--csv", "x", "y"], "x is named twice"),
                               ([], "FILE is missing"),
                               (["-", "-"], "unexpected argument '-'")):
            answer = run("report", *words)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), words)
            self.assertIn(message, answer.stderr)
        run("record", "-q", "-o", self.file, "--", "true")
        for path in ("/nowhere/x", self.folder.name):
            unwritable = run("report", "--samples", path, self.file)
            self.assertEqual((unwritable.returncode, unwritable.stdout), (1, ""))
            self.assertIn(f"joule report: cannot write {path}", unwritable.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["a.rec"])
        unwritable = run("record", "-o", "/nowhere/x", "--", "true")
        self.assertEqual(unwritable.returncode, 125)
        self.assertIn("joule record: cannot write /nowhere/x", unwritable.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=0, argv=sys.argv[:1])
